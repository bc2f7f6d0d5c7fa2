"""`lifecycle` and `append-only`: what the store makes of proposals, what the hoarder keeps, and what a build asks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from hypothesis import given, settings
from hypothesis import strategies as st

from rdforget.calls.base import Call, Reply
from rdforget.calls.memorize import MAX_ITEMS, MemorizeInputs
from rdforget.methods.lifecycle import APPEND_ONLY, LIFECYCLE, moments, parts
from rdforget.reader.memorizing import memorized
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

ACME, BERYL, LYON = "Mira works at Acme (#1)", "Mira works at Beryl (#3)", "Beryl is in Lyon (#2)"


def memory_of(text: str, slot: str = "", **more: Any) -> dict[str, Any]:
    subject, _, relation = slot.partition(" ")
    return {"text": text, "subject": subject, "relation": relation, "scope": "", "category": "semantic", **more}


FIRST = reply("memories", memory_of("Mira works at Acme", "Mira employer"), memory_of("Beryl is in Lyon", "Beryl city"))
SECOND = reply("memories", memory_of("Mira works at Beryl", "mira Employer"))


def mira(second: str = SECOND, *, hoard: bool = False, **options: Any) -> tuple[Memory, list[Call]]:
    """The memory of Mira's two parts, where `second` is the reply about the second one."""
    made = method(APPEND_ONLY if hoard else LIFECYCLE, chunk_tokens=MIRA_CHUNKS, **options)
    return build(made, MIRA, lambda call: second if refs(call) == ("#3",) else FIRST)


def states(memory: Memory) -> list[tuple[str, str, Status, str | None]]:
    check_entries(memory)
    return [(entry.id, entry.text, entry.status, entry.superseded_by) for entry in memory.entries]


def dated(*sessions: tuple[str, str]) -> History:
    """A chat of one turn a session, each with its date."""
    turns = (
        Observation(f"D{at}:1", text, f"session {at}", when, "Ines")
        for at, (when, text) in enumerate(sessions, start=1)
    )
    return History("ines", tuple(turns))


def by_text(history: History, replies: Mapping[str, Sequence[Mapping[str, Any]]], **options: Any) -> Memory:
    """The store's memory where the part with a text gets the memories given for it."""

    def script(call: Call) -> str:
        assert isinstance(call.inputs, MemorizeInputs)
        return reply("memories", *replies[call.inputs.units[0].text])

    return build(method(LIFECYCLE, **options), history, script)[0]


def test_a_later_value_closes_the_row_of_its_slot() -> None:
    memory, asked = mira()
    assert states(memory) == [
        ("m1", ACME, Status.SUPERSEDED, "m3"),
        ("m2", LYON, Status.ACTIVE, None),
        ("m3", BERYL, Status.ACTIVE, None),
    ]
    assert [usable(memory, query) for query in (NOW, BEFORE, CITY)] == [
        {BERYL, LYON},
        {ACME, BERYL, LYON},
        {BERYL, LYON},
    ]
    assert usable(memory, BEFORE, rescue=False) == {BERYL, LYON}
    assert [call.role for call in asked] == ["memorize", "memorize"]
    assert {name: memory.stats[name] for name in ("added", "superseded")} == {"added": 2, "superseded": 1}
    assert memory.entries[0].meta == {"refs": ["#1"], "category": "semantic", "importance": 0.5}


def test_the_hoarder_keeps_every_proposal_and_asks_the_same() -> None:
    again = reply("memories", memory_of("Mira works at Acme", "Mira employer"), memory_of("Mira works at Beryl"))
    memory, asked = mira(again, hoard=True)
    assert {status for _, _, status, _ in states(memory)} == {Status.ACTIVE}
    assert [text.partition(" (")[0] for _, text, _, _ in states(memory)] == [
        "Mira works at Acme",
        "Beryl is in Lyon",
        "Mira works at Acme",
        "Mira works at Beryl",
    ]
    assert [call.key for call in asked] == [call.key for call in mira(again)[1]]


@pytest.mark.parametrize("text", ["Mira works at Acme", "mira  works at ACME"])
def test_what_is_stored_already_is_no_second_row(text: str) -> None:
    memory, _ = mira(reply("memories", memory_of(text)))
    assert [entry for entry, *_ in states(memory)] == ["m1", "m2"]
    assert memory.stats["duplicate"] == 1


def test_a_part_is_shown_the_rows_that_are_most_similar_and_open() -> None:
    _, asked = mira()
    shown = [call.inputs.known for call in asked if isinstance(call.inputs, MemorizeInputs)]
    assert shown[0] == ()
    assert set(shown[1]) == {"Mira works at Acme", "Beryl is in Lyon"}
    assert "- Mira works at Acme" in asked[1].messages[1].content
    many = [memory_of(f"Quartz {at} lies on shelf {at}") for at in range(20)]
    _, asked = build(
        method(LIFECYCLE, chunk_tokens=9),
        MIRA,
        lambda call: reply("memories", *(many if refs(call) == ("#1",) else [memory_of("Mira has moved to Beryl")])),
    )
    assert isinstance(last := asked[-1].inputs, MemorizeInputs)
    assert len(last.known) == 10


def test_of_a_fact_list_the_larger_number_is_later_in_whatever_order_it_is_told() -> None:
    told = [memory_of("Mira has moved to Beryl", "Mira employer"), memory_of("Mira works at Acme", "Mira employer")]
    memory, _ = build(method(LIFECYCLE), MIRA, lambda call: reply("memories", *told))
    assert [(text, status) for _, text, status, _ in states(memory)] == [
        ("Mira has moved to Beryl (#3)", Status.ACTIVE),
        ("Mira works at Acme (#1)", Status.SUPERSEDED),
    ]
    assert memory.stats["late"] == 1


CITIES = dated(("8 May 2023", "I live in Oslo."), ("9 June 2023", "Until last year I lived in Rome."))


def test_a_memory_that_is_told_late_enters_as_history() -> None:
    memory = by_text(
        CITIES,
        {
            "I live in Oslo.": [memory_of("Ines lives in Oslo.", "Ines home")],
            "Until last year I lived in Rome.": [memory_of("Ines lived in Rome.", "Ines home", when="2021-02-01")],
        },
    )
    assert states(memory) == [
        ("m1", "Ines lives in Oslo. (8 May 2023)", Status.ACTIVE, None),
        ("m2", "Ines lived in Rome. (2021-02-01)", Status.SUPERSEDED, "m1"),
    ]


def test_no_memory_holds_before_it_is_said() -> None:
    plan = [memory_of("Ines moves to Bern.", "Ines home", when="2030-01-01")]
    memory = by_text(CITIES, {CITIES.observations[0].text: plan, CITIES.observations[1].text: []})
    assert [text for _, text, _, _ in states(memory)] == ["Ines moves to Bern. (8 May 2023)"]


def walk(days: float) -> tuple[Memory, Memory]:
    """A walk, and the same chat gone on with 80 days later and at the given age of it in days."""
    last = datetime(2023, 1, 1, tzinfo=UTC).toordinal() + days
    when = datetime.fromordinal(int(last)).strftime("%Y-%m-%d") + (" 00:01" if days % 1 else "")
    history = dated(("2023-01-01", "walked"), ("2023-03-22", "rested"), (when, "slept"))
    replies = {
        "walked": [
            memory_of("Ines walked along the river", category="episodic"),
            memory_of("Ines has a dog"),
        ],
        "rested": [],
        "slept": [],
    }
    return by_text(history, replies), by_text(replace(history, observations=history.observations[:2]), replies)


def test_an_episode_goes_cold_after_more_than_ninety_days_of_the_source() -> None:
    cold, early = walk(90.5)
    on_the_day, _ = walk(90)
    assert [status for _, _, status, _ in states(early)] == [Status.ACTIVE] * 2
    assert [status for _, _, status, _ in states(on_the_day)] == [Status.ACTIVE] * 2
    assert [status for _, _, status, _ in states(cold)] == [Status.DEPRECATED, Status.ACTIVE]
    assert cold.stats["cold"] == 1
    assert len(usable(cold, NOW)) == 2
    assert len(usable(cold, NOW, rescue=False)) == 1


def test_what_the_store_refuses_is_counted_and_not_kept() -> None:
    secret = reply("memories", memory_of("The password of Mira is hunter2"), memory_of("Mira works at Beryl"))
    memory, _ = mira(secret)
    assert "hunter2" not in json.dumps(states(memory))
    assert memory.stats["refused"] == 1


def test_the_machine_has_no_part_in_it() -> None:
    found = []
    for year in (2020, 2031):
        with time_machine.travel(datetime(year, 1, 1, tzinfo=UTC)):
            found.append(mira()[0])
    assert found[0] == found[1]


def test_times_of_units() -> None:
    day = datetime(2023, 5, 8, tzinfo=UTC)
    seen = [Observation(f"u{at}", "x", when=when) for at, when in enumerate([None, None, "8 May 2023", None])]
    begin = datetime(2000, 1, 1, tzinfo=UTC)
    assert list(moments(seen, 0.5).values()) == [begin, begin.replace(hour=12), day, day.replace(hour=12)]


def test_parts_keep_to_sessions_and_to_what_a_reply_holds() -> None:
    facts = [Observation(f"#{at}", f"{at}. Orla is in Metz.") for at in range(2 * MAX_ITEMS + 1)]
    assert [len(part) for part in parts(facts, 100_000)] == [MAX_ITEMS, MAX_ITEMS, 1]
    chat = [Observation(f"D{at}", "Hello.", f"session {at // 2}", "8 May 2023", "Ada") for at in range(5)]
    assert [len(part) for part in parts(chat, 1_500)] == [2, 2, 1]


@pytest.mark.parametrize("bad", ["", "I would keep the first one.", '{"memories": "m1"}', "{}"])
def test_an_unusable_reply_is_asked_for_again_and_then_gives_nothing(bad: str) -> None:
    memory, asked = mira(bad)
    assert [text for _, text, _, _ in states(memory)] == [ACME, LYON]
    assert len(asked) == len({call.key for call in asked}) == 3
    assert len(mira(bad, retries=0)[1]) == 2


def test_a_cut_off_reply_is_asked_for_in_halves() -> None:
    def script(call: Call) -> str | Reply:
        whole = reply("memories", memory_of(f"Orla saw number {refs(call)[-1]}"))
        return whole if len(refs(call)) == 1 else Reply(whole[:-2] + ', {"text": "half of', "length")

    for builder in (LIFECYCLE, APPEND_ONLY):
        memory, asked = build(method(builder), MIRA, script)
        assert [refs(call) for call in asked] == [("#1", "#2", "#3"), ("#1",), ("#2", "#3"), ("#2",), ("#3",)]
        assert len(states(memory)) == 3
        assert (memory.stats["splits"], memory.stats["truncated"]) == (2, 2)


def test_histories_that_begin_alike_share_their_calls() -> None:
    longer = replace(MIRA, id="longer", observations=(*MIRA.observations, Observation("#4", "4. Orla is in Metz.")))
    asked = shared(method(LIFECYCLE, chunk_tokens=9), lambda call: FIRST, MIRA, longer)
    assert len({call.key for call in asked}) == len(asked)
    assert [refs(call) for call in asked] == [("#1",), ("#2",), ("#3",), ("#4",)]


@pytest.mark.parametrize("builder", [LIFECYCLE, APPEND_ONLY])
def test_no_request_holds_the_question_or_anything_of_the_gold(builder: Any) -> None:
    gold = Gold(("MARKER",), ("MARKER",), ("MARKER",), "MARKER")
    replies = {"memorize": FIRST, "select": '{"ids": []}', "answer": "{}"}
    for call in calls_of_an_item(method(builder), lambda call: replies[call.role], MIRA, gold):
        assert "MARKER" not in repr((call.messages, call.inputs, call.schema))
        assert call.role in ("select", "answer") or NOW.text not in repr((call.messages, call.inputs))


KEYS = ["memories", "memory", "text", "subject", "relation", "category", "when", "importance"]
WORDS = [
    "Mira works at Acme",
    "mira",
    "episodic",
    "2023-01-01",
    "9999-12-31",
    "!",
    "\ud800",
    "card 4111 1111 1111 1111",
]


@settings(deadline=None, max_examples=150)
@given(wild(KEYS, WORDS), wild(KEYS, WORDS), st.booleans())
def test_any_replies_give_a_memory(first: str, second: str, hoard: bool) -> None:
    builder = APPEND_ONLY if hoard else LIFECYCLE
    memory, _ = build(
        method(builder, chunk_tokens=MIRA_CHUNKS), MIRA, lambda call: second if refs(call) == ("#3",) else first
    )
    check_entries(memory)


def test_rules_keep_the_latest_value_of_a_slot() -> None:
    lines = ("1. Ada Holm lives in Vik.", "2. Bo Lind lives in Rome.", "3. Ada Holm lives in Oslo.")
    history = History("h", tuple(Observation(f"#{at}", line) for at, line in enumerate(lines, start=1)))

    def script(call: Call) -> str:
        assert isinstance(call.inputs, MemorizeInputs)
        return json.dumps(memorized(call.inputs))

    for chunk_tokens in (12, 1_500):
        memory, _ = build(method(LIFECYCLE, chunk_tokens=chunk_tokens), history, script)
        opened = {entry.text for entry in memory.entries if entry.status is Status.ACTIVE}
        assert opened == {"Bo Lind lives in Rome. (#2)", "Ada Holm lives in Oslo. (#3)"}
        hoard, _ = build(method(APPEND_ONLY, chunk_tokens=chunk_tokens), history, script)
        assert len(hoard.entries) == 3
