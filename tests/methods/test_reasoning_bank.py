"""ReasoningBank: items are distilled chunk by chunk and only added."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from rdforget.calls import distill
from rdforget.calls.base import Call, Reply
from rdforget.calls.distill import DistillInputs
from rdforget.methods.reasoning_bank import BUILDER
from rdforget.reader.bank import distilled
from rdforget.records import Entry, Gold, History, Memory, Observation, Query, Status
from tests.builders import query
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


def item(title: str, content: str, *src: str, **more: str) -> dict[str, Any]:
    return {"title": title, "description": f"On {title}.", "content": content, "src": list(src), **more}


BY_REF = {
    "#1": item("Job of Mira", "Mira works at Acme.", "#1", kind="established"),
    "#2": item("Seat of Beryl", "Beryl is in Lyon.", "#2", kind="established"),
    "#3": item("Job of Mira", "Mira now works at Beryl, no longer at Acme.", "#3", kind="correction"),
}


def script(call: Call) -> str:
    return reply("items", *(BY_REF[ref] for ref in refs(call))) if call.role == "distill" else "{}"


def mira(said: str | Reply | None = None, **options: Any) -> tuple[Memory, list[Call]]:
    return build(method(BUILDER, **{"chunk_tokens": MIRA_CHUNKS, **options}), MIRA, lambda call: said or script(call))


def test_a_knowledge_update_leaves_both_values_active_with_their_numbers() -> None:
    memory, asked = mira()
    assert [(e.id, e.text, e.status, e.when) for e in memory.entries] == [
        ("m1", "Job of Mira: Mira works at Acme. (#1)", Status.ACTIVE, "#1"),
        ("m2", "Seat of Beryl: Beryl is in Lyon. (#2)", Status.ACTIVE, "#2"),
        ("m3", "Job of Mira: Mira now works at Beryl, no longer at Acme. (#3)", Status.ACTIVE, "#3"),
    ]
    for asking in (NOW, BEFORE, CITY):
        assert usable(memory, asking) == usable(memory, asking, rescue=False) == {e.text for e in memory.entries}
    assert [refs(call) for call in asked] == [("#1", "#2"), ("#3",)]
    assert memory.entries[2].meta == {
        "title": "Job of Mira",
        "description": "On Job of Mira.",
        "kind": "correction",
        "refs": ["#3"],
        "chunk": 2,
    }
    assert {name: value for name, value in memory.stats.items() if value} == {
        "entries": {"ACTIVE": 3},
        "kinds": {"established": 2, "correction": 1},
        "parse": {"whole": 2},
        "chunks": 2,
    }
    check_entries(memory)


def test_the_order_of_chunks_changes_nothing_but_ids() -> None:
    lines = MIRA.observations
    one, _ = build(method(BUILDER, chunk_tokens=10), MIRA, script)
    other, _ = build(method(BUILDER, chunk_tokens=10), History("h", lines[::-1], MIRA.note), script)
    assert len(one.entries) == 3
    assert sorted(entry.text for entry in one.entries) == sorted(entry.text for entry in other.entries)
    _, forth = build(method(BUILDER, chunk_tokens=10), MIRA, script)
    _, back = build(method(BUILDER, chunk_tokens=10), History("h", lines[::-1], MIRA.note), script)
    assert [call.key for call in forth] == [call.key for call in reversed(back)]


def test_histories_with_a_common_beginning_share_the_calls_of_all_full_chunks() -> None:
    lines = tuple(Observation(f"#{n}", f"{n}. Line number {n} of the source.") for n in range(12))
    made = method(BUILDER, chunk_tokens=30)
    asked = shared(made, lambda call: reply("items"), History("long", lines), History("short", lines[:8]))
    assert [len(refs(call)) for call in asked] == [3, 3, 3, 3, 2]


def test_builders_see_the_rule_of_the_suite_and_nothing_of_question_or_gold() -> None:
    gold = Gold(("CANARY-a",), ("CANARY-e",), ("CANARY-r",), "CANARY-o")
    asked = calls_of_an_item(method(BUILDER), script, MIRA, gold)
    assert [call.role for call in asked] == ["distill", "select", "answer"]
    for call in asked:
        assert "CANARY" not in repr((call.messages, call.inputs, call.schema))
    assert NOW.text not in repr(asked[0])
    assert MIRA.note in asked[0].messages[1].content


HEADINGS = """Here is what I found.

```markdown
# Memory item 1
## Title: Job of Mira
## Description
Where Mira works.

## Content
Mira works at Acme.

She started there last year.
## Src
#1, [#2]
# Memory item 2
## **Title** Seat of Beryl
### Content
Beryl is in Lyon.
```
"""


def test_items_under_headings_are_read_by_their_headings() -> None:
    memory, _ = mira(HEADINGS, chunk_tokens=1_000)
    assert [(e.text, e.meta["description"], e.meta["refs"]) for e in memory.entries] == [
        (
            "Job of Mira: Mira works at Acme. She started there last year. (#2)",
            "Where Mira works.",
            ["#1", "#2"],
        ),
        ("Seat of Beryl: Beryl is in Lyon.", "", []),
    ]
    assert (memory.stats["parse"], memory.stats["unsourced"]) == ({"headings": 1}, 1)


def test_bad_items_are_dropped_and_an_unusable_reply_is_asked_for_once_more() -> None:
    memory, _ = mira(reply("items", BY_REF["#1"], {"title": "Nothing"}, {"content": ["no"]}), chunk_tokens=1_000)
    assert (len(memory.entries), memory.stats["dropped"], memory.stats["parse"]) == (1, 2, {"whole": 1})
    memory, asked = mira("Nothing to remember.", chunk_tokens=1_000)
    assert (len(asked), memory.stats["failed_distill"], memory.stats["chunks_without_entry"]) == (2, 1, 1)
    assert 'no JSON object with the list "items"' in asked[1].messages[1].content
    memory, asked = mira(reply("items"), chunk_tokens=1_000)
    assert (len(asked), memory.stats["failed_distill"]) == (1, 0)


@pytest.mark.parametrize(("mode", "sizes", "entries"), [("split", [3, 1, 2, 1, 1], 3), ("salvage", [3], 2)])
def test_a_cut_off_reply_is_split_or_salvaged(mode: str, sizes: list[int], entries: int) -> None:
    def cut(call: Call) -> Reply:
        return Reply(script(call)[:-9], "length") if len(refs(call)) > 1 else Reply(script(call))

    memory, asked = build(method(BUILDER, on_truncation=mode), MIRA, cut)
    assert [len(refs(call)) for call in asked] == sizes
    assert len(memory.entries) == entries


def test_the_number_of_items_may_be_limited() -> None:
    memory, asked = mira(max_items=1)
    assert [entry.meta["refs"] for entry in memory.entries] == [["#1"], ["#3"]]
    assert memory.stats["over_limit"] == 1
    assert "at most 1 items" in asked[0].messages[0].content


def test_sessions_may_be_the_unit() -> None:
    lines = [Observation(f"#{n}", f"{n}. Fact.", f"s{n // 2}") for n in range(1, 6)]
    for unit, sizes in (("session", [1, 2, 2]), ("chunk", [5])):
        _, asked = build(method(BUILDER, unit=unit), History("h", tuple(lines)), lambda call: reply("items"))
        assert [len(refs(call)) for call in asked] == sizes


def test_entries_show_the_fields_that_are_asked_for_and_the_lens_may_be_single() -> None:
    memory, asked = mira(text_fields=["title", "description", "content"], lens="single", temperature=1.0)
    assert memory.entries[0].text == "Job of Mira: On Job of Mira. Mira works at Acme. (#1)"
    assert {entry.meta["kind"] for entry in memory.entries} == {"established"}
    assert "correction" not in repr((asked[0].messages, asked[0].schema))
    assert asked[0].sampling == {"temperature": 1.0}


def test_native_retrieval_takes_all_items_of_the_nearest_chunk() -> None:
    made = method(BUILDER, chunk_tokens=MIRA_CHUNKS, retrieval="native")
    memory, _ = build(made, MIRA, script)
    assert not made.selector
    assert [entry.id for entry in made.rank(memory.entries, query("Where is Beryl, in Lyon?"))] == ["m1", "m2"]
    assert [entry.id for entry in made.rank(memory.entries, query("no longer at Acme now"))] == ["m3"]
    assert made.rank((), query("anything")) == ()
    assert len(method(BUILDER, retrieval="native", k=2).rank(memory.entries, query("Mira"))) == 3
    fallback = (Entry("m1", "a line of the source", Status.ACTIVE),)
    assert made.rank(fallback, Query("q", "s", "")) == fallback


REPLIES = wild(
    ["items", "title", "description", "content", "kind", "when", "src"],
    ["established", "correction", "#1", "# Memory\n## Title x\n## Content y", "## Content\n## Src\n"],
)


@given(REPLIES, REPLIES)
def test_no_reply_raises(first: str, second: str) -> None:
    replies = iter([first, second] * 4)
    memory, _ = build(method(BUILDER, chunk_tokens=MIRA_CHUNKS), MIRA, lambda call: next(replies))
    check_entries(memory)


@pytest.mark.parametrize(
    "odd",
    [
        "",
        "#" * 1_000_000,
        "## Title\n" * 100_000,
        "## Content\n" + "x\n" * 500_000,
        "# a" + " " * 500_000 + "b",
        "## Content\nx\n## Title\n## Title",
        '{"items": ' * 100_000,
        reply("items", *[item("t", "x" * 1_000)] * 1_000),
    ],
)
def test_odd_and_huge_replies_do_not_raise(odd: str) -> None:
    memory, _ = mira(odd, chunk_tokens=1_000)
    check_entries(memory)


# The rules reader


def rules(observations: tuple[Observation, ...], **options: Any) -> list[dict[str, Any]]:
    inputs = DistillInputs(observations, "", options.get("dual", True), options.get("max_items"))
    said = distilled(inputs)
    assert len(distill.parse(json.dumps(said), inputs).items) == len(said["items"])
    return list(said["items"])


FACTS = (
    Observation("#0", "0. Ada Holm lives in Oslo."),
    Observation("#1", "1. Vik is located in the country of Nordia."),
    Observation("#2", "2. Ada Holm lives in Vik."),
    Observation("#3", "Unreadable words here"),
)


def test_rules_make_an_item_of_each_slot_and_of_what_cannot_be_read() -> None:
    assert [(i["content"], i["kind"], i["when"], i["src"]) for i in rules(FACTS)] == [
        ("Ada Holm lives in Vik. Earlier: Ada Holm lives in Oslo.", "correction", "#2", ["#0", "#2"]),
        ("Vik is located in the country of Nordia.", "established", "#1", ["#1"]),
        ("Unreadable words here", "established", None, ["#3"]),
    ]
    assert rules(FACTS, dual=False, max_items=1)[0]["content"] == "Ada Holm lives in Vik."
    assert len(rules(FACTS, max_items=1)) == 1


def test_rules_make_items_of_a_few_sentences_of_a_speaker() -> None:
    said = " ".join(f"The garden has {n} old apple trees." for n in range(2, 6))
    items = rules((Observation("t1", said, "s1", "8 May 2023", "Ada"),))
    assert [(i["title"], i["content"].count("garden"), i["when"]) for i in items] == [
        ("Ada", 3, "8 May 2023"),
        ("Ada", 1, "8 May 2023"),
    ]
