"""`generative-agents`: ratings of units, and a ranking by recency, importance and relevance."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.calls import extract
from rdforget.calls.base import Call
from rdforget.calls.extract import MIDDLE, RateInputs
from rdforget.methods.generative_agents import BUILDER, scaled
from rdforget.reader import extracting
from rdforget.records import Entry, Gold, History, Observation, Status
from tests.builders import query
from tests.methods.building import (
    MIRA,
    NOW,
    build,
    calls_of_an_item,
    check_entries,
    method,
    refs,
    reply,
    shared,
    wild,
)


def rating(*pairs: tuple[Any, Any]) -> str:
    return reply("ratings", *({"ref": ref, "importance": number} for ref, number in pairs))


def importance(memory: Any) -> list[float]:
    check_entries(memory)
    return [entry.meta["importance"] for entry in memory.entries]


def test_units_are_rated_chunk_by_chunk() -> None:
    memory, asked = build(
        method(BUILDER, chunk_tokens=18), MIRA, lambda call: rating(*((ref, 8) for ref in refs(call)))
    )
    assert [refs(call) for call in asked] == [("#1", "#2"), ("#3",)]
    assert {call.role for call in asked} == {"rate"}
    assert importance(memory) == [8.0, 8.0, 8.0]
    assert [entry.text for entry in memory.entries] == [seen.line for seen in MIRA.observations]
    assert [entry.meta["hours"] for entry in memory.entries] == pytest.approx([0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("said", "expected", "unrated"),
    [
        (rating(("#1", 8), ("#9", 3)), [8.0, 5.0, 5.0], 2),
        (rating(("[#1]", "7"), ("#2", 0), ("#3", 99)), [7.0, 1.0, 10.0], 0),
        (rating((2, 9), ("#2", 4)), [5.0, 4.0, 5.0], 2),
        (rating(("#1", None), ("#2", True), ("#3", "much")), [5.0] * 3, 3),
        (rating(("#1", 10**400), ("#2", "nan"), ("#3", "inf")), [5.0, 5.0, 10.0], 2),
        ('{"ratings": [{"ref": "#1", "importance": 9}, {"ref": "#2", "imp', [9.0, 5.0, 5.0], 2),
        ("They all matter.", [5.0] * 3, 3),
    ],
)
def test_a_unit_without_a_usable_rating_is_in_the_middle(said: str, expected: list[float], unrated: int) -> None:
    memory, _ = build(method(BUILDER), MIRA, lambda call: said)
    assert importance(memory) == expected
    assert memory.stats["unrated"] == unrated
    assert MIDDLE == 5


def test_pieces_of_a_long_unit_count_by_the_highest_rating() -> None:
    long = History("long", (Observation("u0", "Some tea. " * 20),))
    numbers = iter((3, 9, 2, 1, 1, 1, 1))
    memory, asked = build(method(BUILDER, chunk_tokens=25), long, lambda call: rating(("u0", next(numbers))))
    assert len(asked) > 1
    assert importance(memory) == [9.0]


def entries(*rows: tuple[str, float, float]) -> list[Entry]:
    return [
        Entry(f"m{at}", text, Status.ACTIVE, meta={"hours": hours, "importance": rated})
        for at, (text, hours, rated) in enumerate(rows)
    ]


ROWS = entries(("rain fell", 0.0, 9.0), ("tea was had", 90.0, 1.0), ("Mira works here", 40.0, 4.0))


@pytest.mark.parametrize(
    ("options", "order"),
    [
        ({"importance": 0, "relevance": 0}, [1, 2, 0]),
        ({"recency": 0, "relevance": 0}, [0, 2, 1]),
        ({"recency": 0, "importance": 0}, [2, 0, 1]),
        ({"recency": 0, "importance": 0, "relevance": 0}, [0, 1, 2]),
        ({}, [2, 0, 1]),
        ({"decay": 1.0, "relevance": 0, "importance": 0}, [0, 1, 2]),
    ],
)
def test_the_weights_of_the_three_parts(options: dict[str, float], order: list[int]) -> None:
    ranked = method(BUILDER, **options).rank(ROWS, query("Where does Mira work? Mira works"))
    assert [entry.id for entry in ranked] == [f"m{at}" for at in order]


def test_recency_after_scaling_is_the_same_from_any_moment() -> None:
    ages = [0.0, 40.0, 90.0]
    from_newest = scaled([0.995**age for age in ages])
    from_later = scaled([0.995 ** (age + 1_000) for age in ages])
    assert from_newest == pytest.approx(from_later)


@pytest.mark.parametrize(
    ("values", "expected"), [([2.0, 4.0, 3.0], [0.0, 1.0, 0.5]), ([5.0, 5.0], [0.0, 0.0]), ([], [])]
)
def test_scaling(values: list[float], expected: list[float]) -> None:
    assert scaled(values) == expected


@given(
    st.lists(st.tuples(st.text("ab ", max_size=8), st.floats(0, 1e8), st.floats(1, 10)), max_size=8),
    st.text("ab ?", max_size=8),
)
def test_any_entries_are_ordered_and_always_alike(rows: list[tuple[str, float, float]], asked: str) -> None:
    stored, rank = entries(*rows), method(BUILDER).rank
    once = rank(stored, query(asked))
    assert once == rank(stored, query(asked))
    assert sorted(entry.id for entry in once) == sorted(entry.id for entry in stored)


def test_dated_sources_go_by_their_dates() -> None:
    history = History(
        "h", tuple(Observation(f"s{at}", "x", when=when) for at, when in enumerate(("1 May 2023", "3 May 2023")))
    )
    memory, _ = build(method(BUILDER), history, lambda call: rating())
    first, second = (entry.meta["hours"] for entry in memory.entries)
    assert second - first == 48.0


def test_histories_that_begin_alike_share_their_calls() -> None:
    longer = replace(MIRA, id="longer", observations=(*MIRA.observations, Observation("#4", "4. Orla is in Metz.")))
    asked = shared(method(BUILDER, chunk_tokens=9), lambda call: rating(), MIRA, longer)
    assert [refs(call) for call in asked] == [("#1",), ("#2",), ("#3",), ("#4",)]


def test_no_request_holds_the_question_or_anything_of_the_gold() -> None:
    gold = Gold(("MARKER",), ("MARKER",), ("MARKER",), "MARKER")

    def script(call: Call) -> str:
        return {"rate": rating(), "select": '{"ids": []}', "answer": "{}"}[call.role]

    asked = calls_of_an_item(method(BUILDER), script, MIRA, gold)
    assert [call.role for call in asked] == ["rate", "select", "answer"]
    for call in asked:
        assert "MARKER" not in repr((call.messages, call.inputs, call.schema))
        assert call.role != "rate" or NOW.text not in repr((call.messages, call.inputs))


@given(wild(["ratings", "ref", "importance"], ["#1", "#2", "7"]))
def test_no_reply_breaks_a_build(said: str) -> None:
    memory, _ = build(method(BUILDER), MIRA, lambda call: said)
    assert all(1 <= number <= 10 for number in importance(memory))


def test_rules_rate_by_names_and_numbers() -> None:
    lines = ("hello to you all", "Mira moved to Lyon in 2023", "I saw Orla at the market today", "")
    units = tuple(Observation(f"u{at}", line) for at, line in enumerate(lines))
    said = json.dumps(extracting.rated(RateInputs(units)))
    assert extract.parse_rating(said, units).by_ref == {"u0": 1.0, "u1": 10.0, "u2": 6.0, "u3": 1.0}
