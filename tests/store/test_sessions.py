"""Chats: what is blanked, what is not extracted again, and what becomes a candidate."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from rdforget.calls.base import Call, Reply
from rdforget.calls.memorize import MemorizeInputs
from rdforget.models.rules import Rules
from rdforget.records import Status
from rdforget.store import MemoryStore
from rdforget.store.records import Category, Outcome, StoreError
from rdforget.store.sessions import Session, Turn, blanked

SECRET = "hunter" + "2"
AT = datetime(2024, 3, 1, 10, tzinfo=UTC)
HOME = "ines|lives in|"


class Model:
    """Replies with what a test says, and remembers what it was asked."""

    def __init__(self, *memories: dict[str, Any], finish_reason: str = "stop") -> None:
        self.memories = memories
        self.finish_reason = finish_reason
        self.calls: list[Call] = []

    async def __call__(self, call: Call) -> Reply:
        self.calls.append(call)
        return Reply(json.dumps({"memories": self.memories}), self.finish_reason)

    @property
    def inputs(self) -> MemorizeInputs:
        [call] = self.calls
        assert isinstance(call.inputs, MemorizeInputs)
        return call.inputs

    @property
    def said(self) -> list[str]:
        return [seen.text for seen in self.inputs.units]


def session(*turns: str | tuple[str, str] | Turn, at: datetime = AT) -> Session:
    """A chat; a text alone is said by Ines."""
    made = (
        turn if isinstance(turn, Turn) else Turn(*(("Ines", turn) if isinstance(turn, str) else turn)) for turn in turns
    )
    return Session("c1", at, tuple(made))


def texts(*turns: str | tuple[str, str]) -> list[str]:
    return [turn.text for turn in blanked(session(*turns))[0].turns]


CREDENTIAL, ASKED = "[withheld: credential]", "[withheld: asked]"


@pytest.mark.parametrize(
    ("turns", "kept"),
    [
        (["I like tea."], ["I like tea."]),
        ([f"My password is {SECRET}. I like tea.", "I like tea."], [CREDENTIAL, "I like tea."]),
        ([("assistant", "What is your wifi password?"), SECRET], ["What is your wifi password?", CREDENTIAL]),
        (
            [("assistant", "And the door code?"), "4711", "I like tea."],
            ["And the door code?", CREDENTIAL, "I like tea."],
        ),
        ([("assistant", "Which password manager?"), "KeePass2"], ["Which password manager?", "KeePass2"]),
        (["I am leaving Orla.", "Please forget I said that."], [ASKED, ASKED]),
        (
            [
                "I like tea.",
                ("assistant", "Nice."),
                "I am leaving Orla.",
                ("assistant", "Why leave?"),
                "Forget I said that.",
            ],
            ["I like tea.", "Nice.", ASKED, ASKED, ASKED],
        ),
        (
            ["I like tea.", "Don't remember this: my sister is pregnant.", ("assistant", "A baby!"), "And cake."],
            ["I like tea.", ASKED, ASKED, "And cake."],
        ),
        (["I don't remember the name of the café."], ["I don't remember the name of the café."]),
    ],
)
def test_turns_that_may_not_be_kept_are_blanked(turns: list[Any], kept: list[str]) -> None:
    assert texts(*turns) == kept
    assert len(blanked(session(*turns))[1]) == sum(text.startswith("[withheld") for text in kept)


def test_a_speaker_may_be_a_secret_too() -> None:
    safe, withheld = blanked(session((f"password={SECRET}", "Hello.")))
    assert SECRET not in repr((safe, withheld))


@pytest.mark.parametrize(
    "malformed",
    [
        Session(" ", AT, ()),
        Session(f"password={SECRET}", AT, ()),
        Session("c1", AT.replace(tzinfo=None), ()),
        session("half \ud800"),
    ],
)
async def test_a_malformed_chat_is_refused_before_anything_happens(malformed: Session, store: MemoryStore) -> None:
    model = Model()
    with pytest.raises(StoreError) as error:
        await store.chat("ines", malformed, model)
    assert SECRET not in str(error.value)
    assert not model.calls
    assert store.stats("ines").rows[Category.SEMANTIC].open == 0


async def test_no_model_sees_what_is_withheld(store: MemoryStore) -> None:
    model = Model({"text": "Ines likes tea."})
    refused, tea = await store.chat("ines", session(f"My password is {SECRET}.", "I like tea."), model)
    assert (refused.outcome, refused.reason, tea.outcome) == (Outcome.REFUSED, "credential", Outcome.ADDED)
    assert SECRET not in repr(model.calls)
    assert model.said == ["I like tea."]


async def test_what_a_model_makes_up_is_refused_when_it_is_written(store: MemoryStore) -> None:
    [decision] = await store.chat("ines", session("I like tea."), Model({"text": f"Her password is {SECRET}"}))
    assert decision.outcome is Outcome.REFUSED
    assert list(store.rows("ines")) == []


async def test_recalled_turns_and_stored_sentences_are_not_extracted_again(store: MemoryStore) -> None:
    store.add("ines", "Ines lives in Lyon.", slot=HOME)
    store.add("max", "Ines likes tea.")
    model = Model()
    chat = session(
        Turn("assistant", "You told me that you like cake.", recalled=True),
        ("assistant", "Ines lives in Lyon. The weather there is mild."),
        ("assistant", "- ines lives in lyon\n- Ines likes tea."),
        "Ines lives in Lyon!",
        "I like coffee.",
    )
    assert await store.chat("ines", chat, model) == []
    assert model.said == ["The weather there is mild.", "- Ines likes tea.", "I like coffee."]


async def test_only_a_person_can_say_again_what_was_true_before(store: MemoryStore, clock: Any) -> None:
    store.add("ines", "Ines lives in Lyon.", slot=HOME)
    clock.forward(days=1)
    store.add("ines", "Ines lives in Paris.", slot=HOME)
    model = Model()
    await store.chat("ines", session(("assistant", "Ines lives in Lyon."), "Ines lives in Lyon."), model)
    assert [(seen.speaker, seen.text) for seen in model.inputs.units] == [("Ines", "Ines lives in Lyon.")]


@pytest.mark.parametrize("turns", [[], [" "], ["\u200b"], [f"My password is {SECRET}"]])
async def test_a_chat_with_nothing_left_asks_nobody(turns: list[str], store: MemoryStore) -> None:
    model = Model({"text": "Ines likes tea."})
    await store.chat("ines", session(*turns), model)
    assert not model.calls
    assert store.delete_chat("ines", "c1")


async def test_the_ten_nearest_open_rows_of_the_user_are_shown(store: MemoryStore) -> None:
    for number in range(30):
        store.add("ines", f"Ines keeps bees in hive {number}.")
        store.add("max", f"Max keeps bees in hive {number}.")
    store.add("ines", "Ines lives in Lyon.", slot=HOME, valid_from=AT - timedelta(days=2))
    store.add("ines", "Ines lives in Paris.", slot=HOME, valid_from=AT - timedelta(days=1))
    model = Model()
    before = {row.id: row.last_accessed for row in store.rows("ines")}
    await store.chat("ines", session("My bees keep well in hive 7.", "I still live in Paris."), model)
    known = model.inputs.known
    assert len(known) == 10
    assert {"Ines lives in Paris.", "Ines keeps bees in hive 7."} < set(known)
    assert "Ines lives in Lyon." not in known
    assert not any("Max" in text for text in known)
    assert {row.id: row.last_accessed for row in store.rows("ines")} == before


EAST = timezone(timedelta(hours=9))


@pytest.mark.parametrize(
    ("when", "at", "valid_from"),
    [
        ("", AT, AT),
        ("soon", AT, AT),
        ("2024-02-26", AT, datetime(2024, 2, 26, tzinfo=UTC)),
        ("26 February 2024", AT.astimezone(EAST), datetime(2024, 2, 26, tzinfo=EAST)),
        ("February 2023", AT, datetime(2023, 2, 1, tzinfo=UTC)),
        ("2022", AT, datetime(2022, 1, 1, tzinfo=UTC)),
        ("2024-03-01", AT, AT),
        ("2025-01-01", AT, AT),
        ("1 January 0001", AT.astimezone(EAST), AT),
        ("9999", AT, AT),
    ],
)
async def test_a_memory_holds_since_its_date_or_since_it_was_said(
    when: str, at: datetime, valid_from: datetime, store: MemoryStore
) -> None:
    await store.chat("ines", session("I like tea.", at=at), Model({"text": "Ines likes tea.", "when": when}))
    [row] = store.rows("ines")
    assert row.valid_from == valid_from
    assert row.source == "c1"


async def test_fields_of_a_memory_reach_its_row(store: MemoryStore) -> None:
    found = {"text": "Ines lives in Vik.", "subject": "Ines", "relation": "Lives  in", "scope": "", "importance": 8}
    other = {"text": "Answer Ines in short.", "category": "procedural", "subject": "Ines"}
    await store.chat("ines", session("I live in Vik. Be short."), Model(found, other, {"text": "\u200b"}))
    vik, short = store.rows("ines")
    assert (vik.slot, vik.category, vik.importance, vik.status) == (HOME, Category.SEMANTIC, 0.8, Status.ACTIVE)
    assert (short.slot, short.category, short.importance) == (None, Category.PROCEDURAL, 0.5)


async def test_an_unusable_reply_is_asked_for_once_more(store: MemoryStore) -> None:
    calls: list[Call] = []

    async def model(call: Call) -> Reply:
        calls.append(call)
        return Reply("no JSON" if len(calls) == 1 else '{"memories": [{"text": "Ines likes tea."}]}')

    [decision] = await store.chat("ines", session("I like tea."), model)
    assert decision.outcome is Outcome.ADDED
    assert len(calls) == 2


async def test_a_long_chat_is_read_in_parts_and_a_cut_reply_in_halves(store: MemoryStore) -> None:
    model = Model()
    await store.chat(
        "ines", session(*(f"On day {n} I walked along the coast. {'It rained. ' * 40}" for n in range(40))), model
    )
    assert len(model.calls) > 2
    cut = Model(finish_reason="length")
    await store.chat("ines", session("I like tea.", "I like cake."), cut)
    assert [len(call.inputs.units) for call in cut.calls] == [2, 1, 1]  # type: ignore[attr-defined]


async def test_the_same_chat_again_replaces_itself_and_adds_nothing(store: MemoryStore) -> None:
    model = Model({"text": "Ines likes tea."})
    outcomes = [(await store.chat("ines", session("I like tea."), model))[0].outcome for _ in range(2)]
    assert outcomes == [Outcome.ADDED, Outcome.DUPLICATE]
    assert store.delete_chat("ines", "c1")
    assert not store.delete_chat("ines", "c1")


async def test_the_deterministic_reader_fills_the_role(open_store: Callable[..., MemoryStore]) -> None:
    store = open_store()
    said = ("I live in Lyon.", "I moved to Paris."), ("I like tea with my sister.", "Always answer in short sentences.")
    for number, turns in enumerate(said):
        await store.chat("ines", session(*turns, at=AT + timedelta(days=number)), Rules().answer)
    assert [(row.slot, row.category) for row in store.rows("ines")] == [
        ("ines|seat|", Category.SEMANTIC),
        (None, Category.SEMANTIC),
        (None, Category.PROCEDURAL),
    ]
    assert len(store.history("ines", slot="ines|seat|")) == 2
