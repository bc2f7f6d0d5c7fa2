"""Curation: the source becomes items, in one call or chunk by chunk (Sec. 3.2, 4.2)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rdforget.calls import curate as role
from rdforget.calls.base import Caller
from rdforget.calls.curate import Curation, Item
from rdforget.records import Entry, History, Protocol, Query, Status, Switches
from rdforget.text import overlap, word_set
from rdforget.view.chunk import chunks
from rdforget.view.materialize import normalise_slot, stated


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
    """Ask for the items of a history, chunk by chunk; `query` is None under -QC. Raises CallError.

    Chunks are curated independently: none is shown what another gave.
    """
    found: list[Curation] = []
    truncated = 0
    for chunk in chunks(history.observations, protocol.chunk_target()):
        reply = await caller(role.build(chunk, history.note, query, switches, protocol))
        found.append(role.parse(reply.text))
        truncated += reply.finish_reason == "length"
    active, replaced = combine(found, protocol.cross_chunk)
    if protocol.supersession == "order":
        active, replaced = by_order(active, replaced)
    return Curated(
        active=active,
        replaced=replaced,
        parse=dict(Counter(curation.status for curation in found)),
        dropped=sum(curation.dropped for curation in found),
        truncated=truncated,
    )


def combine(
    curations: Sequence[Curation], cross_chunk: Literal["keep", "demote"]
) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """Active and replaced items of all chunks, in chunk order.

    `keep`, the paper's letter: an old value that an early chunk gave as active stays active. `demote`: it is
    replaced where a later chunk has another active value in its slot.
    """
    active: list[Item] = []
    replaced = [item for curation in curations for item in curation.replaced]
    for number, curation in enumerate(curations):
        later: defaultdict[str, set[str]] = defaultdict(set)
        for after in curations[number + 1 :] if cross_chunk == "demote" else ():
            for item in after.active:
                later[normalise_slot(item.slot) or ""].add(item.text)
        later.pop("", None)
        for item in curation.active:
            slot = normalise_slot(item.slot)
            held = later.get(slot or "", {item.text})
            (active if item.text in held else replaced).append(item)
    return tuple(active), tuple(replaced)


def by_order(active: Sequence[Item], replaced: Sequence[Item]) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """Of the active items in a slot the last, and what says the same, stays active; the earlier ones are replaced.

    For models that write values down in source order, and do not tell which one holds.
    """
    last = {slot: item.text for item in active if (slot := normalise_slot(item.slot))}
    held = [last.get(normalise_slot(item.slot) or "", item.text) == item.text for item in active]
    kept = tuple(item for item, holds in zip(active, held, strict=True) if holds)
    return kept, (*replaced, *(item for item, holds in zip(active, held, strict=True) if not holds))


def lexical_fallback(history: History, query: Query, lines: int) -> tuple[Entry, ...]:
    """Up to `lines` non-empty source lines ranked by overlap with q, ties in source order (Sec. 3.2).

    Used when the memory is empty. Lines that share no word with the question only fill up the number.
    """
    wanted = word_set(query.text)
    source = [
        replace(seen, text=line) for seen in history.observations for line in seen.text.splitlines() if line.strip()
    ]
    ranked = sorted(source, key=lambda seen: -overlap(wanted, seen.line))[:lines]
    return tuple(
        Entry(f"m{number}", stated(Item(seen.line, when=seen.when)), Status.ACTIVE, when=seen.when, evidence=seen.line)
        for number, seen in enumerate(ranked, start=1)
    )
