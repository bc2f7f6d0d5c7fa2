"""`lifecycle`: the memory store of `rdforget.store` as a method; `append-only`: a hoarder that is told the same.

Session by session one call (role `memorize`) proposes memories, shown the stored ones that are most similar. The store
skips duplicates, closes the row of a slot that gets a later value, and puts what only happened into cold storage 90
days later; closed and cold rows stay, SUPERSEDED and DEPRECATED. The hoarder keeps every proposal ACTIVE.

Time is the source's, never the machine's: a row holds since the date that the reply names, else since that of the unit
whose words it repeats, and a source without dates has a clock of its own, by which each unit is later than the one
before. Questions are no accesses, or they would leak into each other.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count, groupby
from pathlib import Path
from typing import Annotated

from pydantic import Field

from rdforget.calls import memorize as role
from rdforget.calls.base import Caller
from rdforget.calls.memorize import MAX_ITEMS, MemorizeInputs, Proposed
from rdforget.calls.units import Asker, Units, dated, halves, when_of
from rdforget.dates import parse_date
from rdforget.methods.base import Builder, Method
from rdforget.methods.extraction import CHUNK_TOKENS, MAX_SPLITS
from rdforget.records import Entry, History, Memory, Observation, Protocol, Query, Status, Switches
from rdforget.store.memory_store import MemoryStore
from rdforget.store.records import Candidate, Category, Decision, Policy, Row, StoreError, Weights
from rdforget.text import overlap, word_set
from rdforget.view.chunk import chunks

_USER = "user"
_BEGIN = datetime(2000, 1, 1, tzinfo=UTC)
"""When a source without dates begins."""
_SIMILAR = Weights(relevance=1.0, recency=0.0, importance=0.0)
"""What is shown to the model are the most similar rows, however old they are."""


@dataclass(frozen=True, slots=True)
class Options:
    chunk_tokens: Annotated[int, Field(gt=0)] = CHUNK_TOKENS
    """The suite's own chunks are no default: a reply holds 40 memories."""
    days_per_unit: Annotated[float, Field(gt=0)] = 1 / 24
    """How long a unit of a source without dates lasts."""
    expire_days: Annotated[float, Field(gt=0)] = Policy().expire_days
    retries: Annotated[int, Field(ge=0)] = 1
    """Times that an unusable reply is asked for again, with its defect named."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a history leaves behind."""

    proposed: tuple[Candidate, ...]
    rows: tuple[Row, ...]
    """Of the store, in the order of their writing."""
    stats: Mapping[str, object]


def moments(observations: Sequence[Observation], days_per_unit: float) -> dict[str, datetime]:
    """Time by ref: the date of the unit, or a step after the unit before where it has none."""
    found: dict[str, datetime] = {}
    step = timedelta(days=days_per_unit)
    now = _BEGIN - step
    for seen in observations:
        date = parse_date(seen.when) if seen.when else None
        now = date.replace(tzinfo=UTC) if date else now + step
        found[seen.ref] = now
    return found


def parts(observations: Sequence[Observation], chunk_tokens: int) -> Iterator[Units]:
    """Each session in chunks, and none of more units than a reply holds memories: those of a fact list are one each."""
    for _, session in groupby(observations, key=lambda seen: (seen.session, seen.when)):
        for chunk in chunks(tuple(session), chunk_tokens):
            yield from (chunk[at : at + MAX_ITEMS] for at in range(0, len(chunk), MAX_ITEMS))


async def tell(history: History, caller: Caller, options: Options) -> Told:
    """Bring a history to a store of its own, part by part. Raises CallError."""
    asker, times = Asker(caller, options.retries), moments(history.observations, options.days_per_unit)
    now = _BEGIN
    numbers = count(1)
    policy = Policy(expire_days=options.expire_days, weights=_SIMILAR)
    proposed: list[Candidate] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryStore(Path(folder), clock=lambda: now, policy=policy, ids=lambda: f"m{next(numbers)}") as store,
    ):
        for number, units in enumerate(parts(history.observations, options.chunk_tokens)):
            latest = max(times[seen.ref] for seen in units)
            now = latest if not number else max(now, latest)
            asker.counts["cold"] += store.expire().rows
            found = [_candidate(one, units, times) for one in await _found(store, units, asker)]
            proposed += found
            for decision in _add(store, found):
                asker.counts[decision.outcome if decision else "malformed"] += 1
        rows = tuple(store.rows(_USER, open_only=False))
    return Told(tuple(proposed), rows, asker.stats())


async def _found(store: MemoryStore, units: Units, asker: Asker, splits: int = MAX_SPLITS) -> Sequence[Proposed]:
    """Memories of a part, or of its halves where the reply is cut off. Raises CallError."""
    found, cut = await asker.ask(role.build(MemorizeInputs(units, _similar(store, units))), role.parse)
    if cut and splits and len(units) > 1:
        asker.counts["splits"] += 1
        return [one for half in halves(units) for one in await _found(store, half, asker, splits - 1)]
    asker.counts["dropped"] += len(found.faults)
    return found.memories


def _similar(store: MemoryStore, units: Units) -> tuple[str, ...]:
    """Texts of the open rows that are most similar to any of the units, most similar first."""
    hits = [hit for seen in units for hit in store.search(_USER, seen.line, top=store.policy.shown, touch=False)]
    best: dict[str, float] = {}
    for hit in hits:
        best[hit.row.text] = max(hit.score, best.get(hit.row.text, 0.0))
    return tuple(sorted(best, key=lambda text: (-best[text], text))[: store.policy.shown])


def _candidate(found: Proposed, units: Units, times: Mapping[str, datetime]) -> Candidate:
    """A proposal with the unit that it repeats most of, the later of two, and the time since when it holds."""
    wanted = word_set(found.text)
    _, at = max((overlap(wanted, seen.line), at) for at, seen in enumerate(units))
    said = times[units[at].ref]
    date = parse_date(found.when)
    since = date.replace(tzinfo=UTC) if date else said
    category = Category(found.category)
    return Candidate(found.text, found.slot or None, category, min(since, said), found.importance, units[at].ref)


def _add(store: MemoryStore, candidates: Sequence[Candidate]) -> Iterator[Decision | None]:
    """What became of each; None of one that no store can hold, such as a text without a letter."""
    try:
        yield from store.add_many(_USER, candidates)
    except StoreError:
        for candidate in candidates:
            try:
                yield from store.add_many(_USER, [candidate])
            except StoreError:
                yield None


def entries(history: History, told: Told, options: Options, *, hoard: bool) -> tuple[Entry, ...]:
    """The rows of the store with their statuses, or all that was proposed."""
    units = {seen.ref: seen for seen in history.observations}
    times = moments(history.observations, options.days_per_unit)

    def entry(name: str, kept: Candidate | Row, status: Status, by: str | None = None) -> Entry:
        seen = units[kept.source or ""]
        when = when_of("", (seen.ref,), (seen,))
        if seen.when and kept.valid_from and kept.valid_from.date() != times[seen.ref].date():
            when = kept.valid_from.date().isoformat()
        meta = {"refs": [seen.ref], "category": str(kept.category), "importance": kept.importance}
        return Entry(name, dated(kept.text, when), status, superseded_by=by, when=when, meta=meta)

    if hoard:
        return tuple(entry(f"m{at}", one, Status.ACTIVE) for at, one in enumerate(told.proposed, start=1))
    # A cold row that something has replaced meanwhile is no less cold.
    by = {row.id: row.superseded_by if row.status is Status.SUPERSEDED else None for row in told.rows}
    return tuple(entry(row.id, row, row.status, by[row.id]) for row in told.rows)


def _make(title: str, hoard: bool, switches: frozenset[str]) -> Builder[Options]:
    def make(name: str, options: Options) -> Method:
        async def remember(
            history: History, query: Query | None, caller: Caller, switches: Switches, protocol: Protocol
        ) -> Memory:
            told = await tell(history, caller, options)
            return Memory(entries(history, told, options, hoard=hoard), told.stats)

        return Method(name=name, title=title, remember=remember, switches=switches)

    return Builder(Options, make)


LIFECYCLE = _make("Lifecycle store", False, frozenset({"no-rescue"}))
APPEND_ONLY = _make("Append-only", True, frozenset())
