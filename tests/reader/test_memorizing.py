"""Role `memorize` filled by rules."""

from __future__ import annotations

import pytest

from rdforget.calls import memorize
from rdforget.calls.memorize import MemorizeInputs, Proposed
from rdforget.models.rules import Rules
from rdforget.records import Observation

WHEN = "2024-03-01 10:00"


async def memories(*said: str, speaker: str | None = "Ines", known: tuple[str, ...] = ()) -> tuple[Proposed, ...]:
    units = tuple(Observation(f"T{n}", text, when=WHEN, speaker=speaker) for n, text in enumerate(said, 1))
    return memorize.parse((await Rules().answer(memorize.build(MemorizeInputs(units, known)))).text).memories


@pytest.mark.parametrize(
    ("said", "slot", "category", "when"),
    [
        ("I live in Oslo.", "ines|seat|", "semantic", ""),
        ("I moved to Vik yesterday.", "ines|seat|", "semantic", "29 February 2024"),
        ("My phone is a Nokia.", "ines|phone|", "semantic", ""),
        ("Max Lind lives in Vik.", "max lind|seat|", "semantic", ""),
        ("I don't live in Oslo.", "", "semantic", ""),
        ("We watched the eclipse from the roof last week.", "", "episodic", "the week before 1 March 2024"),
        ("Always answer me in short sentences, please.", "", "procedural", ""),
        ("From now on call me Captain, please.", "", "procedural", ""),
        ("Green tea keeps me awake at night.", "", "semantic", ""),
    ],
)
async def test_statements_with_slot_category_and_time(said: str, slot: str, category: str, when: str) -> None:
    (found,) = await memories(said)
    assert (found.slot, found.category, found.when) == (slot, category, when)
    assert said in found.text
    assert 0.1 <= found.importance <= 1


@pytest.mark.parametrize("said", ["Hello there!", "Where do I live?", "I might move to Vik some day.", ""])
async def test_what_states_nothing_is_left_out(said: str) -> None:
    assert await memories(said) == ()


async def test_advice_of_an_assistant_is_no_memory() -> None:
    assert await memories("Oslo is the capital of Norway.", speaker="assistant") == ()
    assert len(await memories("Oslo is the capital of Norway.", speaker="Max")) == 1


async def test_what_is_stored_or_said_twice_is_not_said_again() -> None:
    (once,) = await memories("I live in Oslo.", "I live in Oslo.")
    assert await memories("I live in Oslo.", known=(once.text,)) == ()
