"""`memgpt-tiers`: when the window is saved and flushed, what stays in which tier, and what is offered first."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.calls import condense
from rdforget.calls.base import Call, Reply
from rdforget.calls.condense import Condensed, CondenseInputs, Edit, PressureInputs
from rdforget.calls.extract import Fact
from rdforget.calls.units import unit_lines
from rdforget.methods.memgpt_tiers import BUILDER, clip, edited
from rdforget.reader import extracting
from rdforget.records import Gold, History, Memory, Observation, Protocol
from rdforget.tokens import count_tokens
from tests.builders import entry, query
from tests.methods.building import MIRA, NOW, build, calls_of_an_item, check_entries, method, refs, shared, wild

UNITS = 12
SIZE = 20
"""Tokens of each unit of `TALK` as the window counts it."""
TALK = History("talk", tuple(Observation(f"u{at:02}", " ".join(["tea"] * 14), "s", None, "Ada") for at in range(UNITS)))
WINDOW = {"window_tokens": 10 * SIZE, "summary_tokens": 10}
NOTHING = '{"working": [], "archival": []}'


def saying(pressure: str = NOTHING, summary: str = '{"text": "tea"}') -> Any:
    return lambda call: {"pressure": pressure, "condense": summary, "select": '{"ids": []}', "answer": "{}"}[call.role]


def shown(call: Call) -> tuple[str, ...]:
    return refs(call) if call.role == "pressure" else ()


def tiers(memory: Memory) -> dict[str, list[str]]:
    check_entries(memory)
    found: dict[str, list[str]] = {}
    for one in memory.entries:
        found.setdefault(one.meta["tier"], []).append(one.text)
    return found


def test_units_have_the_size_that_these_tests_reckon_with() -> None:
    assert {count_tokens(unit_lines((seen,)) + "\n") for seen in TALK.observations} == {SIZE}


def test_the_window_is_saved_once_a_fill_and_flushed_by_half_when_it_is_full() -> None:
    memory, asked = build(method(BUILDER, **WINDOW), TALK, saying())
    assert [call.role for call in asked] == ["pressure", "condense", "pressure"]
    assert shown(asked[0]) == tuple(f"u{at:02}" for at in range(7))  # 0.7 of ten units
    assert isinstance(evicted := asked[1].inputs, CondenseInputs)
    assert len(evicted.texts) == 5
    assert shown(asked[2]) == tuple(f"u{at:02}" for at in range(5, 12))
    assert tiers(memory) == {"summary": ["tea"], "recall": [TALK.observations[0].line] * UNITS}
    assert memory.stats["flushes"] == 1


def test_a_short_history_asks_nothing() -> None:
    memory, asked = build(method(BUILDER), MIRA, saying())
    assert asked == []
    assert list(tiers(memory)) == ["recall"]


def test_the_next_summary_is_made_of_the_last_one_and_what_leaves() -> None:
    longer = replace(TALK, observations=(*TALK.observations, *(Observation(f"v{at}", "x " * 40) for at in range(5))))
    _, asked = build(method(BUILDER, **WINDOW), longer, saying())
    texts = [call.inputs.texts for call in asked if isinstance(call.inputs, CondenseInputs)]
    assert len(texts) > 1
    assert texts[0][0] == TALK.observations[0].line
    assert {told[0] for told in texts[1:]} == {"tea"}


def test_a_summary_is_kept_within_its_size_and_where_none_is_had() -> None:
    long = json.dumps({"text": "tea and bread " * 20})
    memory, _ = build(method(BUILDER, **WINDOW), TALK, saying(summary=long))
    [summary] = tiers(memory)["summary"]
    assert summary.startswith("tea and bread tea")
    assert count_tokens(summary) <= WINDOW["summary_tokens"]
    memory, asked = build(method(BUILDER, **WINDOW), TALK, saying(summary='{"text": '))
    assert "summary" not in tiers(memory)
    assert (memory.stats["failed_summaries"], [call.role for call in asked].count("condense")) == (1, 2)


def test_working_lines_and_notes_are_entries_of_their_tiers() -> None:
    saved = json.dumps(
        {
            "working": [{"line": 0, "text": "Mira works at Acme"}, {"line": 1, "text": "x"}],
            "archival": [{"text": "Beryl is  in Lyon", "refs": ["#2", "#9"]}, {"text": ""}, {"text": "tea"}],
        }
    )
    memory, [asked] = build(method(BUILDER, window_tokens=50), MIRA, saying(saved))
    assert tiers(memory) == {
        "working": ["Mira works at Acme"],
        "archival": ["Beryl is in Lyon (#2)", "tea"],
        "recall": [seen.line for seen in MIRA.observations],
    }
    assert [e.meta["refs"] for e in memory.entries] == [[], ["#2"], [], ["#1"], ["#2"], ["#3"]]
    assert (memory.stats["dropped"], memory.stats["refused_edits"]) == (1, 1)
    assert MIRA.note in asked.messages[1].content
    assert "(empty)" in asked.messages[1].content


@pytest.mark.parametrize(
    ("edits", "lines", "refused"),
    [
        ([], ["a", "b"], 0),
        ([Edit(0, "c")], ["a", "b", "c"], 0),
        ([Edit(1, "c")], ["c", "b"], 0),
        ([Edit(1, ""), Edit(2, "c"), Edit(0, "d")], ["c", "d"], 0),
        ([Edit(3, "c")], ["a", "b"], 1),
        ([Edit(0, "d"), Edit(3, "c")], ["a", "b", "d"], 1),
        ([Edit(0, "c d e f g h i j"), Edit(0, "c")], ["a", "b", "c"], 1),
        ([Edit(1, ""), Edit(2, ""), Edit(0, "c d e f g")], ["c d e f g"], 0),
    ],
)
def test_edits_of_the_working_page(edits: list[Edit], lines: list[str], refused: int) -> None:
    assert edited(["a", "b"], edits, 5) == (lines, refused)


def test_a_line_number_is_that_of_the_page_as_shown() -> None:
    replies = iter(
        ['{"working": [{"line": 0, "text": "a"}, {"line": 0, "text": "b"}], "archival": []}'] + [NOTHING] * 9
    )
    asked: list[tuple[str, ...]] = []

    def script(call: Call) -> str:
        if isinstance(call.inputs, PressureInputs):
            asked.append(call.inputs.working)
            return next(replies)
        return '{"text": "tea"}'

    build(method(BUILDER, **WINDOW), TALK, script)
    assert asked == [(), ("a", "b")]


def test_a_unit_that_would_fill_the_window_is_cut_and_recalled_whole() -> None:
    long = History("long", (Observation("u0", "Some tea. " * 60), Observation("u1", "More.")))
    memory, asked = build(method(BUILDER, **WINDOW), long, saying())
    assert {seen for call in asked for seen in shown(call)} == {"u0"}
    assert len(tiers(memory)["recall"]) == 2


def test_working_lines_and_summary_are_offered_first_unless_unpinned() -> None:
    rows = [("recall", "Mira works"), ("summary", "tea"), ("archival", "tea"), ("working", "bread")]
    entries = [entry(f"m{at}", text, meta={"tier": tier}) for at, (tier, text) in enumerate(rows)]
    asked = query("Where does Mira work?")
    assert [e.id for e in method(BUILDER).rank(entries, asked)] == ["m3", "m1", "m0", "m2"]
    assert [e.id for e in method(BUILDER, pin=False).rank(entries, asked)] == ["m0", "m1", "m2", "m3"]


@given(st.lists(st.text("ab ", max_size=9), max_size=30).map(" ".join), st.integers(0, 20))
def test_a_text_is_clipped_to_whole_words(text: str, limit: int) -> None:
    short = clip(text, limit)
    words = text.split()
    assert words[: len(short.split())] == short.split()
    assert not short or count_tokens(short) <= limit
    if len(short.split()) < len(words):
        assert count_tokens(" ".join(words[: len(short.split()) + 1])) > limit


@pytest.mark.parametrize(
    ("reply", "text", "status"),
    [
        ('{"text": " tea\\nand bread "}', "tea and bread", "whole"),
        ('So: {"text": "tea"}', "tea", "embedded"),
        ("<think>hm</think> tea and bread", "tea and bread", "plain"),
        ('{"text": "tea and', "", "none"),
        ('{"text": 3}', "", "whole"),
        ("", "", "none"),
    ],
)
def test_the_text_of_a_summary(reply: str, text: str, status: str) -> None:
    found = condense.parse(reply)
    assert (found.text, found.status, bool(found.defect)) == (text, status, not text)
    assert isinstance(found, Condensed)


@pytest.mark.parametrize(
    ("reply", "edits", "notes"),
    [
        ('{"working": [{"text": "a"}, {"line": true, "text": "b"}, {"line": -1, "text": "c"}]}', (Edit(0, "a"),), ()),
        ('{"archival": [{"note": "a", "refs": "#1"}]}', (), (Fact("a", "#1", ("#1",)),)),
        ('{"archival": [{"text": "a"}, {"text": "b', (), (Fact("a"),)),
        ('{"working": 3, "archival": "x"}', (), ()),
        ("", (), ()),
    ],
)
def test_what_a_reply_saves(reply: str, edits: tuple[Edit, ...], notes: tuple[Fact, ...]) -> None:
    found = condense.parse_pressure(reply, MIRA.observations)
    assert (found.edits, found.notes) == (edits, notes)


def test_histories_that_begin_alike_share_their_calls() -> None:
    longer = replace(TALK, id="longer", observations=(*TALK.observations, *MIRA.observations))
    asked = shared(method(BUILDER, **WINDOW), saying(), TALK, longer)
    assert len({call.key for call in asked}) == len(asked)
    assert [call.role for call in asked] == ["pressure", "condense", "pressure"]


def test_no_request_holds_the_question_or_anything_of_the_gold() -> None:
    gold = Gold(("MARKER",), ("MARKER",), ("MARKER",), "MARKER")
    asked = calls_of_an_item(method(BUILDER, **WINDOW), saying(), TALK, gold)
    assert [call.role for call in asked] == ["pressure", "condense", "pressure", "select", "answer"]
    for call in asked:
        assert "MARKER" not in repr((call.messages, call.inputs, call.schema))
        assert call.role in ("select", "answer") or NOW.text not in repr((call.messages, call.inputs))


@given(
    st.lists(wild(["working", "archival", "line", "text", "refs"], ["u01", "tea"]), min_size=3, max_size=3),
    wild(["text", "summary"], ["tea"]),
)
def test_no_reply_breaks_a_build(saved: list[str], summary: str) -> None:
    asked: list[str] = []

    def script(call: Call) -> str | Reply:
        asked.append(call.role)
        return summary if call.role == "condense" else saved[len(asked) % 3]

    memory, _ = build(method(BUILDER, **WINDOW, working_tokens=20), TALK, script)
    found = tiers(memory)
    assert len(found["recall"]) == UNITS
    assert sum(map(count_tokens, found.get("working", []))) <= 20
    assert all(count_tokens(text) <= WINDOW["summary_tokens"] for text in found.get("summary", []))


# The deterministic reader in the same roles.


def test_rules_save_what_people_say_of_themselves_and_all_facts() -> None:
    units = (
        Observation("D1:1", "I live in Oslo. We went to see the old harbour.", "s", None, "Ada"),
        Observation("D1:2", "I live in Rome.", "s", None, "Bo"),
    )
    inputs = PressureInputs(("Ada: I live in Vik.",), units, "", 100)
    found = condense.parse_pressure(json.dumps(extracting.saved(inputs)), units)
    assert found.edits == (Edit(1, "Ada: I live in Oslo."), Edit(0, "Bo: I live in Rome."))
    assert [(note.text, note.refs) for note in found.notes] == [
        ("Ada: I live in Oslo.", ("D1:1",)),
        ("Ada: We went to see the old harbour.", ("D1:1",)),
        ("Bo: I live in Rome.", ("D1:2",)),
    ]
    again = PressureInputs(("Ada: I live in Oslo.", "Bo: I live in Rome."), units, "", 100)
    assert condense.parse_pressure(json.dumps(extracting.saved(again)), units).edits == ()


def test_the_prompt_shows_numbered_lines_units_and_the_size_of_the_page() -> None:
    call = condense.build_pressure(PressureInputs(("one", "two"), MIRA.observations, "", 77), Protocol())
    assert "at most 77 tokens" in call.messages[0].content
    for part in ("1. one\n2. two", "[#2] 2. Beryl is in Lyon."):
        assert part in call.messages[1].content
