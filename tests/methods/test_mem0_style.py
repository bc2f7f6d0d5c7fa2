"""`mem0-style`: what operations do to memory, what a bad reply does, and what a build asks."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.calls import extract, reconcile
from rdforget.calls.base import Call, Reply
from rdforget.calls.extract import ExtractInputs, Fact
from rdforget.calls.reconcile import Known, New, ReconcileInputs
from rdforget.methods.extraction import Nearness
from rdforget.methods.mem0_style import BUILDER
from rdforget.reader import extracting
from rdforget.records import Gold, History, Memory, Observation, Protocol
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
    "facts", {"text": "Mira works at Acme", "refs": ["#1"]}, {"text": "Beryl is in Lyon", "when": "", "refs": ["[#2]"]}
)
SECOND = reply("facts", {"text": "Mira works at Beryl", "refs": ["#3"]})
ACME, BERYL, LYON = "Mira works at Acme (#1)", "Mira works at Beryl (#3)", "Beryl is in Lyon (#2)"


def decided(*decisions: dict[str, Any]) -> str:
    return reply("decisions", *decisions)


def mira(second: str | Reply, **options: Any) -> tuple[Memory, list[Call]]:
    """The memory of Mira's two chunks, where `second` decides about the fact of the second one."""

    def script(call: Call) -> str | Reply:
        if call.role == "extract":
            return SECOND if refs(call) == ("#3",) else FIRST
        return second

    return build(method(BUILDER, chunk_tokens=MIRA_CHUNKS, **options), MIRA, script)


def said(memory: Memory) -> list[tuple[str, str]]:
    check_entries(memory)
    return [(entry.id, entry.text) for entry in memory.entries]


@pytest.mark.parametrize(
    ("decisions", "now", "before", "city"),
    [
        ([{"fact": "n1", "op": "UPDATE", "id": "m1"}], {BERYL, LYON}, {BERYL, LYON}, {BERYL, LYON}),
        ([{"fact": 1, "op": "DELETE", "id": "[M1]"}, {"fact": "n1", "op": "ADD"}], *[{BERYL, LYON}] * 3),
        ([{"fact": "n1", "op": "DELETE", "id": "m1"}], *[{LYON}] * 3),
        ([{"fact": "n1", "op": "NOOP", "id": "m1"}], *[{ACME, LYON}] * 3),
        ([{"fact": "n1", "op": "ADD"}], *[{ACME, BERYL, LYON}] * 3),
        ([], *[{ACME, BERYL, LYON}] * 3),
    ],
)
def test_what_a_question_can_use_after_a_knowledge_update(
    decisions: list[dict[str, Any]], now: set[str], before: set[str], city: set[str]
) -> None:
    memory, _ = mira(decided(*decisions))
    check_entries(memory)
    assert [usable(memory, query) for query in (NOW, BEFORE, CITY)] == [now, before, city]


def test_an_update_is_in_place_and_the_old_text_is_gone() -> None:
    memory, asked = mira(decided({"fact": "n1", "op": "UPDATE", "id": "m1", "text": "Mira is at Beryl now"}))
    assert said(memory) == [("m1", "Mira is at Beryl now (#3)"), ("m2", LYON)]
    assert memory.entries[0].meta == {"refs": ["#1", "#3"], "rev": 1}
    assert {name: memory.stats[name] for name in ("facts", "add", "update")} == {"facts": 3, "add": 2, "update": 1}
    assert [call.role for call in asked] == ["extract", "extract", "reconcile"]


def test_ids_are_not_used_again() -> None:
    decisions = decided({"fact": "n1", "op": "DELETE", "id": "m1"}, {"fact": "n1", "op": "ADD"})
    assert said(mira(decisions)[0]) == [("m2", LYON), ("m3", BERYL)]


@pytest.mark.parametrize("op", ["UPDATE", "DELETE"])
@pytest.mark.parametrize("target", ["m9", "", "n7"])
def test_an_operation_on_an_unknown_memory_adds_and_is_counted(op: str, target: str) -> None:
    memory, _ = mira(decided({"fact": "n1", "op": op, "id": target}))
    assert [text for _, text in said(memory)] == [ACME, LYON, BERYL]
    assert memory.stats["unknown_ids"] == 1


def test_a_fact_may_change_an_earlier_one_of_its_chunk() -> None:
    facts = reply(
        "facts",
        {"text": "Mira works at Acme", "refs": ["#1"]},
        {"text": "Mira works at Beryl", "refs": ["#3"]},
        {"text": "Mira works at Beryl still", "refs": ["#3"]},
    )
    changes = decided({"fact": "n2", "op": "UPDATE", "id": "n1"}, {"fact": "n3", "op": "NOOP", "id": "n2"})
    memory, asked = build(method(BUILDER), MIRA, lambda call: facts if call.role == "extract" else changes)
    assert said(memory) == [("m1", BERYL)]
    assert isinstance(asks := asked[1].inputs, ReconcileInputs)
    assert [new.near for new in asks.facts] == [(), ("n1",), ("n2", "n1")]


def test_a_chunk_is_shown_the_memories_near_to_its_facts_and_no_others() -> None:
    lines = [*(f"Quartz {at} lies on shelf {at}" for at in range(9)), "Mira works at Acme"]
    facts = reply("facts", *({"text": line, "refs": ["#1"]} for line in lines))

    def script(call: Call) -> str:
        return (SECOND if refs(call) == ("#3",) else facts) if call.role == "extract" else decided()

    _, asked = build(method(BUILDER, chunk_tokens=MIRA_CHUNKS), MIRA, script)
    assert isinstance(asks := asked[-1].inputs, ReconcileInputs)
    assert asks.memories == (Known("m10", "Mira works at Acme (#1)"),)
    assert asks.facts == (New("n1", BERYL, ("m10",)),)
    assert "[n1] Mira works at Beryl (#3) | near: m10" in asked[-1].messages[1].content
    assert MIRA.note in asked[-1].messages[1].content


@pytest.mark.parametrize("op", ["UPDATE", "DELETE"])
def test_a_memory_that_a_call_was_not_shown_is_not_its_to_change(op: str) -> None:
    lines = [*(f"Quartz {at} lies on shelf {at}" for at in range(3)), "Mira works at Acme"]
    facts = reply("facts", *({"text": line, "refs": ["#1"]} for line in lines))

    def script(call: Call) -> str:
        if call.role == "extract":
            return SECOND if refs(call) == ("#3",) else facts
        assert isinstance(call.inputs, ReconcileInputs)
        return decided({"fact": "n1", "op": op, "id": "m1"} if len(call.inputs.facts) == 1 else {})

    memory, asked = build(method(BUILDER, chunk_tokens=MIRA_CHUNKS), MIRA, script)
    assert isinstance(asks := asked[-1].inputs, ReconcileInputs)
    assert "m1" not in {known.id for known in asks.memories}
    assert "Quartz 0 lies on shelf 0 (#1)" in {text for _, text in said(memory)}
    assert memory.stats["unknown_ids"] == 1


def test_where_nothing_is_near_nothing_is_asked() -> None:
    facts = reply("facts", {"text": "Orla sings", "refs": ["#1"]}, {"text": "rain fell", "refs": ["#2"]})
    memory, asked = build(method(BUILDER), MIRA, lambda call: facts)
    assert [call.role for call in asked] == ["extract"]
    assert len(memory.entries) == 2


@pytest.mark.parametrize("bad", ["", "I would update the first one.", '{"decisions": "m1"}', "{}"])
def test_an_unusable_decision_is_asked_for_again_and_then_adds(bad: str) -> None:
    memory, asked = mira(bad)
    assert [text for _, text in said(memory)] == [ACME, LYON, BERYL]
    assert [call.role for call in asked].count("reconcile") == 2
    assert len({call.key for call in asked}) == len(asked)
    assert [call.role for call in mira(bad, retries=0)[1]].count("reconcile") == 1


def test_items_are_read_one_by_one() -> None:
    memory, _ = mira(
        decided(
            {"fact": "n1", "op": "REPLACE", "id": "m1"},
            {"fact": "n8", "op": "DELETE", "id": "m2"},
            {"fact": "n1", "op": "update", "id": "m1"},
        )
    )
    assert [text for _, text in said(memory)] == [BERYL, LYON]
    assert memory.stats["dropped"] == 2


def test_a_cut_off_extraction_is_done_in_halves_and_keeps_what_is_complete() -> None:
    def script(call: Call) -> str | Reply:
        if call.role != "extract":
            return decided()
        one = {"text": f"fact of {refs(call)[-1]}", "refs": [refs(call)[-1]]}
        whole = reply("facts", one)
        return whole if len(refs(call)) == 1 else Reply(whole[:-2] + ', {"text": "half of', "length")

    memory, asked = build(method(BUILDER), MIRA, script)
    assert [refs(call) for call in asked if call.role == "extract"] == [
        ("#1", "#2", "#3"),
        ("#1",),
        ("#2", "#3"),
        ("#2",),
        ("#3",),
    ]
    assert [text for _, text in said(memory)] == [f"fact of #{at} (#{at})" for at in (1, 2, 3)]
    assert (memory.stats["splits"], memory.stats["truncated"]) == (2, 2)


@pytest.mark.parametrize(
    ("item", "fact"),
    [
        ({"text": "a  b\nc", "refs": ["#2", "#1"]}, Fact("a b c", "#1", ("#2", "#1"))),
        ({"fact": "a", "when": "2023", "refs": "[#1]"}, Fact("a", "2023", ("#1",))),
        ({"text": "a", "refs": ["#9"]}, Fact("a", None, ())),
        ({"text": " "}, None),
        ({"text": 5}, None),
        ("a", None),
    ],
)
def test_a_fact_of_a_reply(item: Any, fact: Fact | None) -> None:
    units = (Observation("#2", "x"), Observation("#1", "y"))
    found = extract.parse(json.dumps({"facts": [item]}), units)
    assert found.facts == ((fact,) if fact else ())
    assert bool(found.faults) is bool(found.defect) is (fact is None)


def test_histories_that_begin_alike_share_their_calls() -> None:
    longer = replace(MIRA, id="longer", observations=(*MIRA.observations, Observation("#4", "4. Orla is in Metz.")))
    asked = shared(
        method(BUILDER, chunk_tokens=9),
        lambda call: decided() if call.role == "reconcile" else FIRST,
        MIRA,
        longer,
    )
    assert len({call.key for call in asked}) == len(asked)
    assert [refs(call) for call in asked if call.role == "extract"] == [("#1",), ("#2",), ("#3",), ("#4",)]


def test_no_request_holds_the_question_or_anything_of_the_gold() -> None:
    gold = Gold(("MARKER",), ("MARKER",), ("MARKER",), "MARKER")
    replies = {"extract": FIRST, "reconcile": decided(), "select": '{"ids": []}', "answer": "{}"}
    for call in calls_of_an_item(method(BUILDER), lambda call: replies[call.role], MIRA, gold):
        assert "MARKER" not in repr((call.messages, call.inputs, call.schema))
        assert call.role in ("select", "answer") or NOW.text not in repr((call.messages, call.inputs))


WORDS = ["n1", "n2", "m1", "m2", "ADD", "UPDATE", "DELETE", "NOOP", "#1", "#3", "Mira works"]


@given(
    st.lists(wild(["facts", "text", "when", "refs"], WORDS), min_size=3, max_size=3),
    st.lists(wild(["decisions", "fact", "op", "id", "text"], WORDS), min_size=3, max_size=3),
)
def test_no_reply_breaks_a_build(facts: list[str], decisions: list[str]) -> None:
    asked: list[str] = []

    def script(call: Call) -> str:
        asked.append(call.role)
        mixed = FIRST if len(asked) % 2 else facts[len(asked) % 3]
        return mixed if call.role == "extract" else decisions[len(asked) % 3]

    memory, _ = build(method(BUILDER, chunk_tokens=9), MIRA, script)
    check_entries(memory)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"fact": st.sampled_from(["n1", "n2", "n3"]), "op": st.sampled_from(["ADD", "UPDATE", "DELETE", "NOOP"])},
            optional={"id": st.sampled_from(["m1", "m2", "m3", "n1", "n2"]), "text": st.sampled_from(["", "other"])},
        ),
        max_size=8,
    )
)
def test_counts_say_what_became_of_every_fact(decisions: list[dict[str, str]]) -> None:
    facts = reply("facts", *({"text": f"Mira works at {at}", "refs": ["#1"]} for at in "abc"))
    memory, _ = build(
        method(BUILDER, chunk_tokens=9), MIRA, lambda call: facts if call.role == "extract" else decided(*decisions)
    )
    check_entries(memory)
    assert len(memory.entries) == memory.stats.get("add", 0) - memory.stats.get("delete", 0)


def test_nearness_is_the_cosine_of_words_and_rare_words_count_more() -> None:
    texts = ("Mira is at Acme", "Finch is at sea", "Mira left", "MIRA is at Acme", "Orla is at home", "rain is at hand")
    index = Nearness(dict(zip("abcdefg", (*texts, ""), strict=True)))
    near = index.near("a", 0.0)
    assert [name for name, _ in near] == ["d", "c", "b", "e", "f"]
    assert near[0][1] == pytest.approx(1.0)
    assert [name for name, _ in index.near("a", near[2][1])] == ["d", "c"]
    assert index.earlier("d", 0.2, 1) == [("a", pytest.approx(1.0))]
    assert index.near("g", 0.0) == index.earlier("a", 0.0, 5) == []


@given(st.lists(st.text("abcd ", max_size=12), min_size=1, max_size=8), st.sampled_from([0.0, 0.2, 0.5, 0.9]))
def test_a_bound_only_leaves_out_what_is_below_it(lines: list[str], above: float) -> None:
    index = Nearness({str(at): line for at, line in enumerate(lines)})
    for name in map(str, range(len(lines))):
        everything = {other: cosine for other, cosine in index.near(name, 0.0) if abs(cosine - above) > 1e-9}
        found = {other: cosine for other, cosine in index.near(name, above) if abs(cosine - above) > 1e-9}
        assert found == pytest.approx({other: cosine for other, cosine in everything.items() if cosine > above})


# The deterministic reader in the same roles.

CHAT = (
    Observation("D1:1", "Hi! I live in Oslo. Is it cold? That was a long day at work.", "s", "8 May 2023", "Ada"),
    Observation("D1:2", "Bo Lind lives in Rome.", "s", "8 May 2023", "Bo"),
)


def test_rules_extract_statements_and_sentences_but_no_questions() -> None:
    found = extract.parse(json.dumps(extracting.extracted(ExtractInputs(CHAT, ""))), CHAT).facts
    assert [(fact.text, fact.refs) for fact in found] == [
        ("Ada: I live in Oslo.", ("D1:1",)),
        ("Ada: That was a long day at work.", ("D1:1",)),
        ("Bo Lind lives in Rome.", ("D1:2",)),
    ]
    assert {fact.when for fact in found} == {"8 May 2023"}


def test_rules_keep_the_latest_value_of_a_slot() -> None:
    lines = (
        "1. Ada Holm lives in Vik.",
        "2. Ada Holm lives in Oslo.",
        "3. Bo Lind lives in Rome.",
        "4. Nothing more.",
    )
    history = History("h", tuple(Observation(f"#{at}", line) for at, line in enumerate((*lines, lines[1]), start=1)))

    def script(call: Call) -> str:
        if isinstance(call.inputs, ExtractInputs):
            return json.dumps(extracting.extracted(call.inputs))
        assert isinstance(call.inputs, ReconcileInputs)
        return json.dumps(extracting.reconciled(call.inputs))

    for chunk_tokens in (12, 1_500):
        memory, _ = build(method(BUILDER, chunk_tokens=chunk_tokens), history, script)
        assert [text for _, text in said(memory)] == [
            "Ada Holm lives in Oslo. (#2)",
            "Bo Lind lives in Rome. (#3)",
            "Nothing more. (#4)",
        ]
        assert (memory.stats["add"], memory.stats["update"], memory.stats["noop"]) == (3, 1, 1)


@given(st.lists(st.tuples(st.text("abc. ", max_size=20), st.lists(st.sampled_from(["m1", "n1", "n2"]))), max_size=4))
def test_rules_reconcile_anything(facts: list[tuple[str, list[str]]]) -> None:
    new = tuple(New(f"n{at}", text, tuple(near)) for at, (text, near) in enumerate(facts, start=1))
    inputs = ReconcileInputs((Known("m1", "Ada Holm lives in Vik."),), new, "")
    found = reconcile.parse(json.dumps(extracting.reconciled(inputs)), inputs)
    assert (found.status, found.faults) == ("whole", ())


def test_the_prompt_shows_what_the_inputs_hold() -> None:
    inputs = ReconcileInputs((), (New("n1", "Ada\nlives"),), "Later holds.")
    shown = reconcile.build(inputs, Protocol()).messages[1].content
    for part in ("(none)", "[n1] Ada lives\n", "Later holds."):
        assert part in shown
