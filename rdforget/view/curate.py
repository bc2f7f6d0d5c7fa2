"""Curation: the source becomes items, in one call or chunk by chunk (Sec. 3.2, 4.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from rdforget.calls import curate as role
from rdforget.calls.base import Caller
from rdforget.calls.curate import Item
from rdforget.records import Entry, History, Protocol, Query, Status, Switches
from rdforget.text import overlap, word_set


@dataclass(frozen=True, slots=True)
class Curated:
    """Items of the whole source in source order, and how well the replies could be read."""

    active: tuple[Item, ...]
    replaced: tuple[Item, ...]
    parse: Mapping[str, int] = field(default_factory=dict)
    """Replies by the rung of the parser that read them."""
    dropped: int = 0
    """Items without a usable text."""
    truncated: int = 0
    """Replies cut off by the output cap."""


async def curate(
    history: History, query: Query | None, caller: Caller, switches: Switches, protocol: Protocol
) -> Curated:
    """Ask for the items of a history; `query` is None under -QC. Raises CallError."""
    call = role.build(history.observations, history.note, query, switches, protocol)
    reply = await caller(call)
    found = role.parse(reply.text)
    return Curated(
        active=found.active,
        replaced=found.replaced,
        parse=dict(Counter([found.status])),
        dropped=found.dropped,
        truncated=int(reply.finish_reason == "length"),
    )


def lexical_fallback(history: History, query: Query, lines: int) -> tuple[Entry, ...]:
    """Up to `lines` non-empty source lines ranked by overlap with q, ties in source order (Sec. 3.2).

    Used when the memory is empty. Lines that share no word with the question only fill up the number.
    """
    wanted = word_set(query.text)
    seen = [observation for observation in history.observations if observation.text.strip()]
    ranked = sorted(seen, key=lambda observation: -overlap(wanted, observation.line))[:lines]
    return tuple(
        Entry(id=f"m{number}", text=o.line.strip(), status=Status.ACTIVE, when=o.when, evidence=o.line)
        for number, o in enumerate(ranked, start=1)
    )
