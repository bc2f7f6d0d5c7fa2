"""The contract of a memory construction method."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from rdforget.calls.base import Caller
from rdforget.records import History, Memory, Protocol, Query, Switches

Remember = Callable[[History, Query | None, Caller, Switches, Protocol], Awaitable[Memory]]
"""History in, memory out; deterministic given the replies. `query` is None for query-agnostic methods."""


@dataclass(frozen=True, slots=True)
class Method:
    name: str
    title: str
    remember: Remember
    sees_query: bool
    """Whether construction is conditioned on the question; -QC turns it off."""
    empty: Literal["lexical", "none"]
    """What stands in for an empty memory: source lines ranked by overlap with q, or nothing."""
    switches: frozenset[str] = frozenset({"no-rescue"})
    """Ablations that change what the method does; `no-rescue` acts on the shared path."""
