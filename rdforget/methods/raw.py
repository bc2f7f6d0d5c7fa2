"""The controls that construct nothing: `full-context`, `no-memory` and `last-session`.

They bound what memory can be worth. The whole visible history shows whether a view helps at all, an empty one what
the model knows already, and the newest units what recency alone does. None asks a selector.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from rdforget.calls.base import Caller
from rdforget.calls.units import dated
from rdforget.methods.base import Builder, Method, Remember
from rdforget.records import Entry, History, Memory, Observation, Protocol, Query, Status, Switches
from rdforget.view.pack import pack


@dataclass(frozen=True, slots=True)
class NoOptions:
    """Nothing to choose."""


@dataclass(frozen=True, slots=True)
class WindowOptions:
    window_tokens: Annotated[int, Field(gt=0)] | None = None
    """What the answer model's window has room for, counted as the view is; over it the newest units are kept."""


def raw_entries(observations: Iterable[Observation]) -> tuple[Entry, ...]:
    """Each unit as an entry: its line, with its date where the source has one."""
    return tuple(
        Entry(
            id=f"m{number}",
            text=dated(seen.line, seen.when),
            status=Status.ACTIVE,
            when=seen.when,
            meta={"refs": [seen.ref]},
        )
        for number, seen in enumerate(observations, start=1)
    )


def newest(entries: Sequence[Entry], limit: int) -> tuple[Entry, ...]:
    """The entries that the packer takes when the newest come first, in source order.

    The window is cut here and not by ranking, because the answer model sees entries in the order in which they are
    packed, and a conversation told backwards would be another control.
    """
    return tuple(reversed(pack(reversed(entries), limit).entries))


def _window(entries: tuple[Entry, ...], limit: int | None) -> Memory:
    kept = entries if limit is None else newest(entries, limit)
    return Memory(kept, {"left_out": len(entries) - len(kept)})


async def nothing(
    history: History, query: Query | None, caller: Caller, switches: Switches, protocol: Protocol
) -> Memory:
    return Memory(())


def make_full_context(name: str, options: WindowOptions) -> Method:
    async def remember(
        history: History, query: Query | None, caller: Caller, switches: Switches, protocol: Protocol
    ) -> Memory:
        return _window(raw_entries(history.observations), options.window_tokens)

    return _control(name, "Full context", remember, budgeted=False)


def make_last_session(name: str, options: NoOptions) -> Method:
    async def remember(
        history: History, query: Query | None, caller: Caller, switches: Switches, protocol: Protocol
    ) -> Memory:
        return _window(raw_entries(history.observations), protocol.budget)

    return _control(name, "Newest units", remember)


def make_no_memory(name: str, options: NoOptions) -> Method:
    return _control(name, "No memory", nothing)


def in_order(entries: Sequence[Entry], query: Query) -> tuple[Entry, ...]:
    """No ranking: the answer model reads the source in its own order."""
    return tuple(entries)


def _control(name: str, title: str, remember: Remember, *, budgeted: bool = True) -> Method:
    return Method(
        name=name,
        title=title,
        remember=remember,
        switches=frozenset(),
        rank=in_order,
        selector=False,
        budgeted=budgeted,
    )


FULL_CONTEXT = Builder(WindowOptions, make_full_context)
NO_MEMORY = Builder(NoOptions, make_no_memory)
LAST_SESSION = Builder(NoOptions, make_last_session)
