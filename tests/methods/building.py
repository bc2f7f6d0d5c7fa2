"""Building memory from scripted replies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

from rdforget.calls.base import Call, Reply
from rdforget.item import Builds, Desk, Ledger, Setup, run_item
from rdforget.methods.base import Builder, Method
from rdforget.models.scripted import Scripted
from rdforget.records import Gold, History, Memory, Observation, Protocol, Query, Switches, Task
from rdforget.tokens import count_tokens
from rdforget.view.eligibility import eligible, history_intent
from rdforget.view.pack import ENTRY_OVERHEAD, cost

Script = Callable[[Call], Reply | str | Exception]

MIRA = History(
    "mira",
    (
        Observation("#1", "1. Mira works at Acme."),
        Observation("#2", "2. Beryl is in Lyon."),
        Observation("#3", "3. Mira has moved to Beryl."),
    ),
    "A larger number is later.",
)
MIRA_CHUNKS = 18
"""Chunk target that puts the first two lines of `MIRA` into one chunk and the third into another."""
NOW, BEFORE, CITY = (
    Query("q", "test", text) for text in ("Where does she work?", "Where did she work before?", "Which city is it?")
)


def method(builder: Builder[Any], **options: Any) -> Method:
    return builder.build("method", options)


def build(
    made: Method, history: History, script: Script, protocol: Protocol | None = None
) -> tuple[Memory, list[Call]]:
    """The memory that scripted replies give, and the calls that were asked."""
    asked: list[Call] = []

    async def caller(call: Call) -> Reply:
        asked.append(call)
        return await Scripted(script).answer(call)

    return asyncio.run(made.remember(history, None, caller, Switches(), Protocol())), asked


def refs(call: Call) -> tuple[str, ...]:
    """The units that a call shows."""
    return tuple(seen.ref for seen in call.inputs.units)  # type: ignore[attr-defined]


def usable(memory: Memory, query: Query, *, rescue: bool = True) -> set[str]:
    """Texts of the entries that a question may use."""
    found = eligible(memory.entries, history_intent=history_intent(query), rescue=rescue)
    return {entry.text for entry in found}


def shared(made: Method, script: Script, *histories: History) -> list[Call]:
    """The calls that builds of several histories of one run ask, with those over their common beginnings once."""
    asked: list[Call] = []

    def counted(call: Call) -> Reply | str | Exception:
        asked.append(call)
        return script(call)

    async def run() -> None:
        desk = Desk(lambda call, reply: None, lambda history, calls: None)
        builds = Builds(Setup(made), Scripted(counted), desk)
        for history in histories:
            await builds.memory(history)

    asyncio.run(run())
    return asked


def calls_of_an_item(made: Method, script: Script, history: History, gold: Gold) -> list[Call]:
    """All calls of one question, from its memory to its answer."""
    asked: list[Call] = []

    def counted(call: Call) -> Reply | str | Exception:
        asked.append(call)
        return script(call)

    async def run() -> None:
        backend = Scripted(counted)
        desk = Desk(lambda call, reply: None, lambda history, calls: None)
        setup = Setup(made)
        ledgers = Ledger(backend, desk), Ledger(backend, desk)
        await run_item(Task(NOW, history, gold), setup, *ledgers, Builds(setup, backend, desk))

    asyncio.run(run())
    return asked


def check_entries(memory: Memory) -> None:
    """What the shared path relies on."""
    ids = [entry.id for entry in memory.entries]
    assert len({id.lower() for id in ids}) == len(ids)
    for entry in memory.entries:
        assert entry.text
        assert entry.text == " ".join(entry.text.split())
        assert cost(entry) == count_tokens(entry.text) + ENTRY_OVERHEAD
        assert (entry.superseded_by in ids) if entry.status == "SUPERSEDED" else entry.superseded_by is None
        assert (entry.slot, entry.evidence) == (None, "")
    json.dumps([dict(entry.meta) for entry in memory.entries])
    json.dumps(memory.stats)


def wild(keys: list[str], words: list[str]) -> st.SearchStrategy[str]:
    """Replies of every shape: prose, JSON of wrong types, fenced, cut off, with keys twice and ids that are numbers."""
    scalar = (
        st.none() | st.booleans() | st.integers(-3, 500) | st.floats() | st.sampled_from(words) | st.text(max_size=6)
    )
    value = st.recursive(
        scalar,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(keys), inner, max_size=5),
        max_leaves=20,
    )
    listed = st.dictionaries(
        st.sampled_from(keys[:2]), st.lists(st.dictionaries(st.sampled_from(keys), value, max_size=6), max_size=4)
    )
    text = (value | listed).map(json.dumps)
    return st.one_of(
        st.text(max_size=60),
        text,
        text.map(lambda one: f"```json\n```\n{one}\n```\n```"),
        st.tuples(text, text).map(lambda two: f'{{"{keys[0]}": {two[0]}, "{keys[0]}": {two[1]}}}'),
        text.flatmap(lambda one: st.integers(0, len(one)).map(lambda cut: one[:cut])),
    )


def reply(key: str, *items: Mapping[str, Any], **more: Any) -> str:
    return json.dumps({key: items, **more})
