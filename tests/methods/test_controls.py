"""The controls: what they remember, what they ask, and how they are packed."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.calls.base import Call
from rdforget.errors import MendableError
from rdforget.item import Desk, Ledger, Setup, view_of
from rdforget.methods import bm25, oracle, raw
from rdforget.methods.base import Method
from rdforget.models.scripted import Scripted
from rdforget.records import Gold, History, Observation, Protocol, Query, Switches, Trace
from tests.builders import entry, query
from tests.methods.building import MIRA, NOW, build, calls_of_an_item, check_entries, method

CHAT = History(
    "chat",
    (
        Observation("D1:1", "I moved to  Metz.\nIt rains.", "Session 1", "8 May 2023", "Ines"),
        Observation("D1:2", "Lovely!", "Session 1", "8 May 2023", "Orla"),
        Observation("D2:1", "Now I am in Nancy.", "Session 2", "9 June 2023", "Ines"),
    ),
)
CHAT_TEXTS = (
    "Ines: I moved to Metz. It rains. (8 May 2023)",
    "Orla: Lovely! (8 May 2023)",
    "Ines: Now I am in Nancy. (9 June 2023)",
)
FULL, NOTHING, LAST, ORACLE, BM25 = (
    method(builder) for builder in (raw.FULL_CONTEXT, raw.NO_MEMORY, raw.LAST_SESSION, oracle.BUILDER, bm25.BUILDER)
)


def say(call: Call) -> str:
    return '{"ids": ["m1"]}' if call.role == "select" else '{"answer": "Metz"}'


def texts(made: Method, history: History) -> tuple[str, ...]:
    memory, asked = build(made, history, say)
    assert asked == []
    check_entries(memory)
    return tuple(entry.text for entry in memory.entries)


def trace(made: Method, history: History, asked: Query, protocol: Protocol, gold: Gold | None = None) -> Trace:
    """The way of a question over a history, with a selector that wants `m1` alone."""

    async def run() -> Trace:
        desk = Desk(lambda call, reply: None, lambda history, calls: None)
        ledger = Ledger(Scripted(say), desk)
        if made.from_gold and gold:
            memory = made.from_gold(history, gold)
        else:
            memory = await made.remember(history, None, ledger, Switches(), protocol)
        return await view_of(memory, history, asked, Setup(made, protocol=protocol), ledger)

    return asyncio.run(run())


def test_entries_are_the_units_with_their_dates() -> None:
    assert texts(FULL, CHAT) == texts(BM25, CHAT) == CHAT_TEXTS
    assert texts(FULL, MIRA)[0] == "1. Mira works at Acme."


def test_full_context_goes_beyond_the_budget_and_asks_no_selector() -> None:
    seen = trace(FULL, CHAT, NOW, Protocol(budget=1))
    assert tuple(e.text for e in seen.view.entries) == CHAT_TEXTS
    assert seen.view.budget is None
    assert [call.role for call in calls_of_an_item(FULL, say, CHAT, Gold())] == ["answer"]


@pytest.mark.parametrize(
    ("window", "kept"), [(100, (0, 1, 2)), (45, (1, 2)), (24, (2,)), (20, (1,)), (5, ()), (None, (0, 1, 2))]
)
def test_what_has_no_room_leaves_the_window_from_the_front(window: int | None, kept: tuple[int, ...]) -> None:
    made = method(raw.FULL_CONTEXT, window_tokens=window)
    memory, _ = build(made, CHAT, say)
    assert tuple(entry.text for entry in memory.entries) == tuple(CHAT_TEXTS[at] for at in kept)
    assert memory.stats == {"left_out": 3 - len(kept)}


def test_the_newest_units_up_to_the_budget_are_read_in_their_order() -> None:
    seen = trace(LAST, CHAT, NOW, Protocol(budget=45))
    assert tuple(e.text for e in seen.view.entries) == CHAT_TEXTS[1:]
    assert seen.view.tokens <= 45


@given(st.lists(st.text("ab. ", min_size=1, max_size=200), max_size=12), st.integers(1, 300))
def test_a_window_is_a_part_of_the_source_in_its_order_and_within_the_limit(lines: list[str], limit: int) -> None:
    entries = raw.raw_entries(Observation(f"#{at}", line) for at, line in enumerate(lines))
    kept = raw.newest(entries, limit)
    assert [e.id for e in entries if e in kept] == [e.id for e in kept]
    seen = trace(LAST, History("h", tuple(Observation(f"#{n}", s) for n, s in enumerate(lines))), NOW, Protocol(limit))
    assert seen.view.entries == seen.memory.entries
    assert seen.view.tokens <= limit


def test_without_memory_the_question_stands_alone() -> None:
    [asked] = calls_of_an_item(NOTHING, say, MIRA, Gold())
    assert "(no memory entry)" in asked.messages[1].content
    assert "Acme" not in asked.messages[1].content


@pytest.mark.parametrize(
    ("evidence", "kept", "stats"),
    [
        (("D2:1", "D1:1", "D2:1"), (0, 2), {"unlabelled": 0, "unknown_refs": 0}),
        (("D2:1", "D9:9"), (2,), {"unlabelled": 0, "unknown_refs": 1}),
        ((), (), {"unlabelled": 1, "unknown_refs": 0}),
    ],
)
def test_the_ceiling_holds_the_labelled_units(
    evidence: tuple[str, ...], kept: tuple[int, ...], stats: dict[str, int]
) -> None:
    seen = trace(ORACLE, CHAT, NOW, Protocol(), Gold(("Metz",), evidence))
    assert tuple(e.text for e in seen.view.entries) == tuple(CHAT_TEXTS[at] for at in kept)
    assert seen.memory.stats == stats


def test_the_ceiling_keeps_to_the_budget() -> None:
    seen = trace(ORACLE, CHAT, NOW, Protocol(budget=24), Gold(evidence=("D1:1", "D1:2", "D2:1")))
    assert 0 < seen.view.tokens <= 24


@pytest.mark.parametrize("made", [FULL, NOTHING, LAST, ORACLE, BM25])
def test_no_request_holds_anything_of_the_gold(made: Method) -> None:
    gold = Gold(("MARKER-answer",), ("D1:1", "MARKER-ref"), ("MARKER-rubric",), "MARKER-option")
    for call in calls_of_an_item(made, say, CHAT, gold):
        assert "MARKER" not in repr((call.messages, call.inputs, call.schema))


@pytest.mark.parametrize(
    ("asked", "order"),
    [
        ("Where did Ines move?", (1, 0, 2, 3)),
        ("rain in Metz", (2, 0, 1, 3)),
        ("nothing of this", (0, 1, 2, 3)),
        ("", (0, 1, 2, 3)),
        ("?!", (0, 1, 2, 3)),
    ],
)
def test_bm25_ranks_rare_words_first_and_ties_in_source_order(asked: str, order: tuple[int, ...]) -> None:
    stored = [
        entry("m0", "Orla is in Metz"),
        entry("m1", "where Ines is"),
        entry("m2", "rain in Metz"),
        entry("m3", "Finch sings"),
    ]
    assert [e.id for e in BM25.rank(stored, query(asked))] == [f"m{at}" for at in order]


def test_bm25_constants_change_the_order() -> None:
    stored = [entry("m0", "metz " + "and more of it " * 9 + "metz"), entry("m1", "metz it is")]
    flat = method(bm25.BUILDER, b=0.0)
    assert [e.id for e in BM25.rank(stored, query("metz"))] == ["m1", "m0"]
    assert [e.id for e in flat.rank(stored, query("metz"))] == ["m0", "m1"]


@given(st.lists(st.text("abc é7.?", max_size=20), max_size=8), st.text("abc é7.?", max_size=12))
def test_bm25_orders_any_entries_and_always_alike(lines: list[str], asked: str) -> None:
    stored = [entry(f"m{at}", line) for at, line in enumerate(lines)]
    once, again = (BM25.rank(stored, query(asked)) for _ in range(2))
    assert once == again
    assert sorted(e.id for e in once) == sorted(e.id for e in stored)


def test_bm25_is_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    BM25.rank([entry("m1", "a text that no other test ranks")], query("text"))
    assert capfd.readouterr() == ("", "")


def test_bm25_entries_pass_the_shared_selector() -> None:
    assert [call.role for call in calls_of_an_item(BM25, say, CHAT, Gold())] == ["select", "answer"]
    wide = replace(CHAT, observations=CHAT.observations * 3)
    assert [e.id for e in trace(BM25, wide, NOW, Protocol()).view.entries] == ["m1"]


@pytest.mark.parametrize(
    ("builder", "options"),
    [
        (raw.FULL_CONTEXT, {"window": 1}),
        (raw.FULL_CONTEXT, {"window_tokens": 0}),
        (raw.LAST_SESSION, {"window_tokens": 9}),
        (bm25.BUILDER, {"b": 2}),
    ],
)
def test_a_wrong_option_is_named(builder: raw.Builder, options: dict[str, object]) -> None:  # type: ignore[type-arg]
    with pytest.raises(MendableError, match=next(iter(options))):
        builder.build("control", options)
