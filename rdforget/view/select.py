"""Selection: a model orders the candidates that it wants in the view (Sec. 3.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rdforget.calls import select as role
from rdforget.calls.base import Caller
from rdforget.records import Entry, Protocol, Query


@dataclass(frozen=True, slots=True)
class Selection:
    entries: tuple[Entry, ...]
    fallback: bool
    """True where no id was usable and the candidate order stands in."""
    unusable: int
    """Ids that name no candidate, or name one again."""


def usable(ids: Sequence[str], candidates: Sequence[Entry]) -> Selection:
    """Known ids at their first occurrence, in the order given; all candidates in order if there is none."""
    by_id = {entry.id.lower(): entry for entry in candidates}
    chosen = tuple(by_id[name] for name in dict.fromkeys(ids) if name in by_id)
    return Selection(chosen or tuple(candidates), not chosen, len(ids) - len(chosen))


async def select(query: Query, candidates: tuple[Entry, ...], caller: Caller, protocol: Protocol) -> Selection:
    """Ask for the order of the candidates. Without candidates nothing is asked. Raises CallError."""
    if not candidates:
        return Selection((), fallback=False, unusable=0)
    reply = await caller(role.build(query, candidates, protocol))
    return usable(role.parse(reply.text), candidates)
