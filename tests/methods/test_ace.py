"""ACE: deltas, what a bad reply does, and what a build asks."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from rdforget.calls import reflect, revise
from rdforget.calls.base import Call, Reply
from rdforget.calls.reflect import Bullet, ReflectInputs, Reflection, Relation, Shown
from rdforget.calls.revise import OPS, Operation, ReviseInputs
from rdforget.calls.units import dated, undated
from rdforget.errors import MendableError
from rdforget.methods.ace import BUILDER
from rdforget.methods.playbook import Playbook
from rdforget.reader import playbook as reader
from rdforget.records import Gold, History, Memory, Observation, Status
from tests.methods.building import (
    BEFORE,
    CITY,
    MIRA,
    MIRA_CHUNKS,
    NOW,
    build,
    calls_of_an_item,
    check_entries,
    method,
    refs,
    reply,
    shared,
    usable,
    wild,
)

FIRST = reply(
    "observations",
    {"o": 1, "text": "Mira works at Acme", "kind": "fact", "src": ["#1"]},
    {"o": 2, "text": "Beryl is in Lyon", "kind": "relation", "src": ["#2"]},
    relations=[],
)
SECOND = reply(
    "observations",
    {"o": 1, "text": "Mira works at Beryl", "kind": "fact", "src": ["#3"]},
    relations=[{"id": "fct-00001", "rel": "contradicts", "o": [1]}],
)
ADD_ALL = reply("operations", {"op": "ADD", "o": 1}, {"op": "ADD", "o": 2})
ACME, BERYL, LYON = "Mira works at Acme (#1)", "Mira works at Beryl (#3)", "Beryl is in Lyon (#2)"


def mira(second: str, **options: Any) -> tuple[Memory, list[Call]]:
    """The memory of Mira's two chunks, where `second` edits after the second one."""

    def script(call: Call) -> str:
        late = refs(call) == ("#3",)
        return {"reflect": (FIRST, SECOND), "revise": (ADD_ALL, second)}[call.role][late]

    return build(method(BUILDER, chunk_tokens=MIRA_CHUNKS, **options), MIRA, script)


def states(memory: Memory) -> list[tuple[str, str, str, str | None, int]]:
    return [(e.id, e.text, e.status, e.superseded_by, e.meta["rev"]) for e in memory.entries]


UPDATE = reply("operations", {"op": "UPDATE", "id": "fct-00001", "o": 1})
REPLACE = reply("operations", {"op": "ADD", "o": 1}, {"op": "DELETE", "id": "fct-00001", "why": "moved"})
AS_NEW = reply("operations", {"op": "ADD", "o": 1})


def test_in_place_an_update_leaves_nothing_of_the_past() -> None:
    memory, _ = mira(UPDATE)
    assert states(memory) == [
        ("fct-00001", BERYL, "ACTIVE", None, 1),
        ("rel-00002", LYON, "ACTIVE", None, 0),
    ]
    for query in (NOW, BEFORE, CITY):
        assert usable(memory, query) == {BERYL, LYON}
    assert memory.entries[0].meta == {"section": "facts", "helpful": 0, "harmful": 1, "rev": 1, "refs": ["#1", "#3"]}


@pytest.mark.parametrize("mode", ["soft", "hard"])
def test_delete_and_add_keep_the_past_for_rescue_unless_it_is_removed(mode: str) -> None:
    memory, _ = mira(REPLACE, delete_mode=mode)
    old = [("fct-00001", ACME, "DEPRECATED", None, 0)] if mode == "soft" else []
    assert states(memory) == [
        *old,
        ("rel-00002", LYON, "ACTIVE", None, 0),
        ("fct-00003", BERYL, "ACTIVE", None, 0),
    ]
    for query in (NOW, BEFORE):
        assert usable(memory, query) == {BERYL, LYON} | ({ACME} if old else set())
        assert usable(memory, query, rescue=False) == {BERYL, LYON}


def test_versioned_updates_keep_the_past_for_questions_about_it() -> None:
    memory, asked = mira(UPDATE, update_mode="versioned")
    assert "kept\n  as what held before" in asked[-1].messages[0].content
    assert states(memory) == [
        ("fct-00001", ACME, "SUPERSEDED", "fct-00003", 0),
        ("rel-00002", LYON, "ACTIVE", None, 0),
        ("fct-00003", BERYL, "ACTIVE", None, 0),
    ]
    assert usable(memory, NOW) == usable(memory, CITY) == {BERYL, LYON}
    assert usable(memory, BEFORE) == {ACME, BERYL, LYON}
    assert usable(memory, BEFORE, rescue=False) == {BERYL, LYON}


def test_adding_only_keeps_both_values_with_their_numbers() -> None:
    memory, asked = mira(AS_NEW, ops=["ADD"])
    assert {entry.status for entry in memory.entries} == {Status.ACTIVE}
    for query in (NOW, BEFORE, CITY):
        assert usable(memory, query) == {ACME, LYON, BERYL}
    system = next(call for call in asked if call.role == "revise").messages[0].content
    assert "UPDATE" not in system
    assert "never rewritten" in system


def test_operations_that_are_not_offered_are_dropped() -> None:
    memory, _ = mira(UPDATE, ops=["ADD"], retries=0, on_failure="skip")
    assert [entry.text for entry in memory.entries] == [ACME, LYON]
    assert memory.stats["failed_revise"] == 1


def test_stats_tell_how_the_memory_came_about() -> None:
    memory, _ = mira(REPLACE)
    assert {name: value for name, value in memory.stats.items() if value} == {
        "entries": {"ACTIVE": 2, "DEPRECATED": 1},
        "ops": {"ADD": 3, "DELETE": 1},
        "parse": {"whole": 4},
        "chunks": 2,
    }


# What a reply may be


def one_chunk(revised: str | Reply, reflected: str | Reply = FIRST, **options: Any) -> tuple[Memory, list[Call]]:
    return build(method(BUILDER, **options), MIRA, lambda call: {"reflect": reflected, "revise": revised}[call.role])


def test_a_reply_cut_in_the_middle_of_an_operation_applies_those_before_it() -> None:
    seven = [{"op": "ADD", "text": f"Fact {n}", "section": "facts", "src": ["#1"]} for n in range(7)]
    cut = Reply(json.dumps({"operations": seven})[:-25], "length")
    memory, _ = one_chunk(cut, on_truncation="salvage")
    assert [entry.text for entry in memory.entries] == [f"Fact {n} (#1)" for n in range(6)]
    assert (memory.stats["truncated"], memory.stats["parse"]) == (1, {"whole": 1, "salvaged": 1})
    memory, _ = one_chunk(cut, on_truncation="salvage", strict_batch=True, on_failure="skip")
    assert memory.entries == ()


BAD = reply("operations", {"op": "ADD", "o": 1}, {"op": "ADD", "o": 9}, {"op": "MOVE"}, {"op": "ADD", "o": 2})


def test_one_bad_operation_does_not_lose_the_others_unless_the_batch_is_strict() -> None:
    memory, _ = one_chunk(BAD)
    assert [entry.text for entry in memory.entries] == [ACME, LYON]
    assert memory.stats["dropped"] == 2
    memory, asked = one_chunk(BAD, strict_batch=True, on_failure="skip")
    assert (memory.entries, memory.stats["failed_revise"]) == ((), 1)
    assert [call.role for call in asked] == ["reflect", "revise", "revise"]
    assert "ADD has neither a text nor the number of an observation" in asked[2].messages[1].content


def test_an_unusable_delta_is_asked_for_once_more_and_then_stands_in_for_itself() -> None:
    memory, asked = one_chunk("I would add both facts.")
    assert [(entry.id, entry.text) for entry in memory.entries] == [("fct-00001", ACME), ("rel-00002", LYON)]
    assert asked[1].key != asked[2].key
    assert 'no JSON object with the list "operations"' in asked[2].messages[1].content
    assert (memory.stats["retries"], memory.stats["failed_revise"]) == (1, 1)
    memory, asked = one_chunk("I would add both facts.", on_failure="skip", retries=0)
    assert (memory.entries, len(asked)) == ((), 2)


def test_without_a_report_the_playbook_stays_as_it_is() -> None:
    memory, asked = one_chunk(ADD_ALL, "The chunk says a lot.")
    assert memory.entries == ()
    assert [call.role for call in asked] == ["reflect", "reflect"]
    assert (memory.stats["failed_reflect"], memory.stats["chunks_without_entry"]) == (1, 1)


def test_a_cut_off_chunk_is_halved_twice_and_then_salvaged() -> None:
    source = History("h", tuple(Observation(f"#{n}", f"{n}. Fact.") for n in range(8)))

    def script(call: Call) -> Reply:
        texts = [{"o": 1, "text": f"Fact {ref}", "kind": "fact", "src": [ref]} for ref in refs(call)[:1]]
        if call.role == "reflect":
            return Reply(json.dumps({"observations": texts})[:-1], "length")
        return Reply(reply("operations", {"op": "ADD", "o": 1}))

    memory, asked = build(method(BUILDER), source, script)
    assert [len(refs(call)) for call in asked] == [8, 4, 2, 2, 2, 2, 4, 2, 2, 2, 2]
    assert [entry.when for entry in memory.entries] == ["#0", "#2", "#4", "#6"]
    assert (memory.stats["splits"], memory.stats["truncated"], memory.stats["chunks"]) == (3, 7, 4)


def test_further_rounds_see_the_report_before_and_the_curator_the_last_one() -> None:
    better = json.loads(FIRST)
    better["observations"].append({"o": 3, "text": "Mira has moved", "kind": "event", "src": ["#3"]})

    def script(call: Call) -> str:
        if call.role == "revise":
            return reply("operations", {"op": "ADD", "o": 3})
        return json.dumps(better) if "first report" in call.messages[1].content else FIRST

    memory, asked = build(method(BUILDER, rounds=2), MIRA, script)
    assert [call.role for call in asked] == ["reflect", "reflect", "revise"]
    assert "1. (fact) Mira works at Acme (#1)" in asked[1].messages[1].content
    assert [(entry.id, entry.text) for entry in memory.entries] == [("evt-00001", "Mira has moved (#3)")]


def test_without_a_reflector_the_curator_sees_the_source() -> None:
    own = reply("operations", {"op": "ADD", "text": "Mira works\n at Beryl", "section": "fact", "src": "3"})
    memory, asked = build(method(BUILDER, reflector=False), MIRA, lambda call: own)
    assert [(entry.id, entry.text) for entry in memory.entries] == [("fct-00001", BERYL)]
    assert "[#1] 1. Mira works at Acme." in asked[0].messages[1].content


REPLIES = wild(
    [
        "observations",
        "operations",
        "relations",
        "o",
        "text",
        "op",
        "id",
        "ids",
        "src",
        "section",
        "when",
        "rel",
        "kind",
    ],
    [*OPS, "fct-00001", "contradicts", "#1", "facts"],
)


@given(REPLIES, REPLIES, REPLIES, st.booleans())
def test_no_reply_raises(first: str, second: str, third: str, strict: bool) -> None:
    replies = iter([FIRST, ADD_ALL, first, second, third, first, second, third])
    options = {"chunk_tokens": MIRA_CHUNKS, "strict_batch": strict, "ops": list(OPS)}
    memory, _ = build(method(BUILDER, **options), MIRA, lambda call: next(replies))
    check_entries(memory)


@pytest.mark.parametrize(
    "odd",
    [
        "",
        "[" * 100_000,
        '{"operations": ' * 60_000,
        reply("operations", *[{"op": "ADD", "text": "x" * 1_000, "section": "facts"}] * 1_000),
        '{"operations": [{"op": "UPDATE", "id": 7, "text": "a"}, {"op": "DELETE", "id": ["fct-00001"]}, 3]}',
    ],
)
def test_odd_and_huge_replies_do_not_raise(odd: str) -> None:
    memory, _ = mira(odd)
    check_entries(memory)


# Deltas


def book(*texts: str) -> Playbook:
    made = Playbook()
    made.apply([Operation("ADD", text=text, section="facts") for text in texts], ())
    return made


def apply(made: Playbook, *operations: Operation, **modes: Any) -> dict[str, int]:
    return dict(made.apply(operations, tuple(made.bullets), **modes))


def texts(made: Playbook) -> dict[str, str]:
    return {bullet.id: bullet.text for bullet in made.active}


def test_unknown_sections_become_others_and_unknown_bullets_are_added() -> None:
    made = book("a")
    done = apply(
        made,
        Operation("ADD", text="b", section="recipes"),
        Operation("ADD", text="c", section="EVT"),
        Operation("UPDATE", ("fct-00009",), "d", "preference"),
        Operation("DELETE", ("fct-00008",)),
    )
    assert texts(made) == {"fct-00001": "a", "msc-00002": "b", "evt-00003": "c", "prf-00004": "d"}
    assert done == {"ADD": 3, "unknown_ids": 2, "unknown_sections": 1}


def test_operations_apply_in_their_order_and_the_last_on_an_id_wins() -> None:
    made = book("a", "b", "c")
    done = apply(
        made,
        Operation("ADD", text="new", section="facts"),
        Operation("DELETE", ("fct-00001",)),
        Operation("UPDATE", ("fct-00002",), "first"),
        Operation("UPDATE", ("fct-00002",), "second"),
        Operation("DELETE", ("fct-00003",)),
        Operation("UPDATE", ("fct-00003",), "kept"),
    )
    assert texts(made) == {"fct-00002": "second", "fct-00003": "kept", "fct-00004": "new"}
    assert done == {"ADD": 1, "DELETE": 1, "UPDATE": 2, "overridden": 2}


def test_a_merge_keeps_the_first_id_with_everything_of_the_others() -> None:
    made = Playbook()
    made.apply(
        [
            Operation("ADD", text="Mira likes tea", section="preferences", when="#1", refs=("#1",)),
            Operation("ADD", text="Mira is fond of tea", section="preferences", when="#4", refs=("#4",)),
        ],
        (),
    )
    made.tag([Relation("prf-00002", "confirms", ())], made.bullets)
    apply(made, Operation("MERGE", ("prf-00001", "prf-00002", "prf-00007"), "Mira likes tea a lot"))
    assert list(made.bullets.values()) == [
        Bullet("prf-00001", "preferences", "Mira likes tea a lot", "#4", ("#1", "#4"), helpful=1, rev=1)
    ]


def test_more_operations_than_allowed_are_left_out() -> None:
    made = book()
    done = apply(made, *(Operation("ADD", text=str(n), section="facts") for n in range(5)), limit=3)
    assert (len(made.active), done["over_limit"]) == (3, 2)


def test_what_is_said_again_is_united_but_not_what_is_said_again_later() -> None:
    made = book()
    first = Operation("ADD", text="Mira is in Lyon.", section="facts", when="#1", refs=("#1",))
    done = apply(made, first, replace(first, text="mira is in  Lyon", refs=("#2",)), replace(first, when="#9"))
    assert [(bullet.when, bullet.refs) for bullet in made.active] == [("#1", ("#1", "#2")), ("#9", ("#1",))]
    assert (done["ADD"], done["repeated"]) == (2, 1)


def test_what_a_removed_bullet_had_replaced_is_retired() -> None:
    made = book("a")
    apply(made, Operation("UPDATE", ("fct-00001",), "b"), update_mode="versioned")
    apply(made, Operation("DELETE", ("fct-00002",)), delete_mode="hard")
    assert [(b.text, b.status, b.superseded_by) for b in made.bullets.values()] == [("a", Status.DEPRECATED, None)]


def test_ids_never_repeat_across_save_and_load() -> None:
    made = book("a", "b")
    apply(made, Operation("DELETE", ("fct-00002",)), delete_mode="hard")
    kind = TypeAdapter(Playbook)
    loaded = kind.validate_json(kind.dump_json(made))
    assert loaded == made
    apply(loaded, Operation("ADD", text="c", section="facts"))
    assert texts(loaded) == {"fct-00001": "a", "fct-00003": "c"}


def test_relations_move_the_counters_once_each() -> None:
    made = book("a")
    relations = [
        Relation("fct-00001", rel, ()) for rel in ("confirms", "confirms", "contradicts", "retracts", "extends")
    ]
    assert made.tag([*relations, Relation("fct-00009", "confirms", ())], made.bullets) == {"unknown_ids": 1}
    assert (made.bullets["fct-00001"].helpful, made.bullets["fct-00001"].harmful) == (1, 2)
    assert made.prune(2) == 0
    assert made.prune(1) == 1
    assert made.active == []


# Growing and refining


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Mira was approved for a mortgage of $350,000.", "Mira was approved for a mortgage of $400,000."),
        ("She has tried three of the restaurants in the town.", "She has tried four of the restaurants in the town."),
        ("Mira trains at the gym by the old mill Mon.", "Mira trains at the gym by the old mill Tue."),
        ("Mira does eat fish on the days of the feast.", "Mira does not eat fish on the days of the feast."),
    ],
)
def test_guarded_deduplication_keeps_updates(one: str, other: str) -> None:
    assert book(one, other).deduplicate(0.8, guard=True, drop="older") == 0
    assert book(one, other).deduplicate(0.8, guard=False, drop="older") == 1


def test_duplicates_are_dropped_with_what_is_known_of_them() -> None:
    twice = ("Mira likes long walks by the sea", "Mira likes walks by the long sea")
    for drop, left in (("older", "fct-00002"), ("newer", "fct-00001")):
        made = book(*twice)
        made.tag([Relation(id, "confirms", ()) for id in made.bullets], made.bullets)
        assert made.deduplicate(0.9, guard=True, drop=drop) == 1  # type: ignore[arg-type]
        assert [(bullet.id, bullet.helpful) for bullet in made.active] == [(left, 2)]


@pytest.mark.parametrize(("dedup", "size", "left"), [("lazy", 80_000, 2), ("lazy", 5, 1), ("proactive", 80_000, 1)])
def test_deduplication_is_lazy_by_default(dedup: str, size: int, left: int) -> None:
    two = reply("operations", *({"op": "ADD", "text": f"Mira likes tea{end}", "src": ["#1"]} for end in ("", " tea")))
    memory, _ = one_chunk(two, dedup=dedup, playbook_tokens=size)
    assert len(memory.entries) == left


def test_a_large_playbook_shows_what_the_chunk_speaks_of_and_the_rest_cannot_be_edited() -> None:
    made = book("Orla is in Metz", "Finch is in Nancy", "Ines is in Lyon")
    shown = made.view("1. Finch left Nancy.", 18)
    assert [bullet.id for bullet in shown.bullets] == ["fct-00002"]
    assert reflect.playbook_lines(shown) == "facts:\n[fct-00002] (+0 -0) Finch is in Nancy\n(2 more are not shown)"
    done = made.apply([Operation("UPDATE", ("fct-00001",), "Orla is in Rome")], {b.id for b in shown.bullets})
    assert (done["unknown_ids"], texts(made)["fct-00001"]) == (1, "Orla is in Metz")
    assert made.view("", 10_000) == Shown(tuple(made.active))


# What is asked


def echo(call: Call) -> str:
    """A reader that takes over every line."""
    if call.role == "reflect":
        lines = enumerate(call.inputs.units, start=1)  # type: ignore[attr-defined]
        return reply("observations", *({"o": n, "text": u.text, "kind": "fact", "src": [u.ref]} for n, u in lines))
    if call.role == "revise":
        return reply("operations", *({"op": "ADD", "o": n} for n in range(1, 1 + len(refs(call)))))
    return "{}"


def test_histories_with_a_common_beginning_share_the_calls_of_all_full_chunks() -> None:
    lines = tuple(Observation(f"#{n}", f"{n}. Line number {n} of the source.") for n in range(12))
    made = method(BUILDER, chunk_tokens=30)
    whole = [call.key for call in shared(made, echo, History("long", lines))]
    both = [call.key for call in shared(made, echo, History("long", lines), History("short", lines[:8]))]
    assert len(whole) == 2 * 4
    assert both[:8] == whole
    assert len(set(both)) == len(both) == 10  # a reflection and a delta for the one chunk that is not full


def test_builders_see_the_rule_of_the_suite_and_nothing_of_question_or_gold() -> None:
    gold = Gold(("CANARY-a",), ("CANARY-e",), ("CANARY-r",), "CANARY-o")
    asked = calls_of_an_item(method(BUILDER), echo, MIRA, gold)
    assert [call.role for call in asked] == ["reflect", "revise", "select", "answer"]
    for call in asked:
        assert "CANARY" not in repr((call.messages, call.inputs, call.schema))
    for call in asked[:2]:
        assert NOW.text not in repr(call)
        assert MIRA.note in call.messages[1].content
        assert call.max_output_tokens == 4_096


def test_options_are_checked() -> None:
    with pytest.raises(MendableError, match="update_mode"):
        BUILDER.build("ace", {"update_mod": "versioned"})
    with pytest.raises(MendableError, match="ops"):
        BUILDER.build("ace", {"ops": ["CREATE"]})
    assert (BUILDER.build("ace", {}).title, BUILDER.build("ace-addonly", {}).title) == ("ACE", "ACE (addonly)")


def test_reports_are_read_whatever_their_numbers() -> None:
    units = (
        Observation("D1:1", "I moved.", "s1", "8 May 2023", "Mira"),
        Observation("D1:2", "Oh!", "s1", "8 May 2023"),
    )
    found = reflect.parse(
        reply(
            "observations",
            {"o": 5, "text": "Mira\nmoved", "kind": "rumour", "src": ["[d1:1]", "D9:9"]},
            {"text": ""},
            {"o": "7", "text": "Mira met Jo", "kind": "Event", "when": "1 May 2023"},
            relations=[{"id": "[FCT-00001]", "rel": "extends", "o": [7, 5, 4]}, {"id": "x", "rel": "likes"}],
        ),
        units,
    )
    assert [(f.text, f.kind, f.when, f.refs) for f in found.findings] == [
        ("Mira moved", "fact", "8 May 2023", ("D1:1",)),
        ("Mira met Jo", "event", "1 May 2023", ()),
    ]
    assert found.relations == (Relation("fct-00001", "extends", (2, 1)),)
    assert len(found.faults) == 2


@given(
    st.text("ab 1(", max_size=12).map(str.strip).filter(bool),
    st.sampled_from(["#7", "8 May 2023", "2023/05/30 (Tue) 21:56"]),
)
def test_undated_takes_off_what_dated_puts_on(text: str, when: str) -> None:
    assert undated(dated(text, when)) == " ".join(text.split())
    assert undated("Ida (Oslo)") == dated("Ida (Oslo)", None) == "Ida (Oslo)"


# The rules reader


def rules(call: Call) -> str:
    match call.inputs:
        case ReflectInputs() as inputs:
            return json.dumps(reader.reflection(inputs))
        case ReviseInputs() as inputs:
            return json.dumps(reader.delta(inputs))
    raise AssertionError(call.role)


LIVES = tuple(
    Observation(f"#{n}", f"{n}. {text}")
    for n, text in enumerate(
        (
            "Ada Holm lives in Oslo.",
            "Ada Holm lives in Vik.",
            "Vik is located in the country of Nordia.",
            "Ada Holm lives in Rome.",
            "Unreadable words here",
            "Vik is located in the country of Nordia.",
        )
    )
)
ROME, NORDIA = "Ada Holm lives in Rome. (#3)", "Vik is located in the country of Nordia. (#2)"


@pytest.mark.parametrize("reflector", [True, False])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {("fct-00001", ROME, "ACTIVE"), ("fct-00002", NORDIA, "ACTIVE")}),
        (
            {"ops": ["ADD", "DELETE"]},
            {
                ("fct-00001", "Ada Holm lives in Vik. (#1)", "DEPRECATED"),
                ("fct-00002", NORDIA, "ACTIVE"),
                ("fct-00004", ROME, "ACTIVE"),
            },
        ),
    ],
)
def test_rules_edit_what_is_contradicted(reflector: bool, options: dict[str, Any], expected: set[Any]) -> None:
    made = method(BUILDER, chunk_tokens=30, reflector=reflector, **options)
    memory, asked = build(made, History("h", LIVES), rules)
    assert [refs(call) for call in asked if call.role == "revise"] == [("#0", "#1", "#2"), ("#3", "#4", "#5")]
    found = {(entry.id, entry.text, str(entry.status)) for entry in memory.entries if "readable" not in entry.text}
    assert found == expected
    assert memory.stats["unsourced"] == len([e for e in memory.entries if not e.meta["refs"]]) == 0


def test_rules_that_only_add_take_every_value() -> None:
    memory, _ = build(method(BUILDER, chunk_tokens=30, ops=["ADD"]), History("h", LIVES), rules)
    assert sum("Ada Holm" in entry.text for entry in memory.entries) == 3


def test_rules_leave_a_bullet_that_is_later_than_the_chunk() -> None:
    units = (Observation("#1", "1. Ada Holm lives in Oslo."),)
    shown = Shown((Bullet("fct-00001", "facts", "Ada Holm lives in Vik.", "#5"),))
    found = reflect.parse(json.dumps(reader.reflection(ReflectInputs(units, "", shown))), units)
    assert [relation.rel for relation in found.relations] == ["extends"]
    inputs = ReviseInputs(units, "", shown, "", found, ("ADD", "UPDATE"))
    assert reader.delta(inputs) == {"operations": []}


def test_rules_read_conversations_sentence_by_sentence() -> None:
    units = (
        Observation("t1", "I live in the city of Oslo. It rains a lot here today.", "s1", "8 May 2023", "Ada"),
        Observation("t2", "I live in the city of Rome.", "s2", "9 May 2023", "Ada"),
    )
    memory, _ = build(method(BUILDER), History("h", units), rules)
    assert "Ada: I live in the city of Rome. (9 May 2023)" in {entry.text for entry in memory.entries}
    assert all("Oslo" not in entry.text for entry in memory.entries)


def test_a_delta_of_a_report_that_failed_has_every_finding() -> None:
    assert revise.additions(Reflection(status="none")) == ()
