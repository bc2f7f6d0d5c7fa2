"""`generative-agents`: raw units ranked by recency, importance and relevance (arXiv 2304.03442, memory stream).

One call a chunk rates how much each of its units matters. Ranking is the published sum of the three, each scaled to
0 to 1 over the entries; relevance is the lexical overlap that every method here is ranked by. There is no
reflection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from pydantic import Field

from rdforget.calls import extract as role
from rdforget.calls.base import Caller
from rdforget.calls.extract import RateInputs
from rdforget.calls.units import Asker
from rdforget.methods.base import Builder, Method
from rdforget.methods.extraction import chunked, clock
from rdforget.methods.raw import raw_entries
from rdforget.records import Entry, History, Memory, Protocol, Query, Switches
from rdforget.text import overlap, word_set

Weight = Annotated[float, Field(ge=0)]


@dataclass(frozen=True, slots=True)
class Options:
    chunk_tokens: Annotated[int, Field(gt=0)] | None = None
    """None leaves it to the suite's protocol."""
    hours_per_unit: Annotated[float, Field(gt=0)] = 1.0
    """How long a unit of a source without dates lasts."""
    decay: Annotated[float, Field(gt=0, le=1)] = 0.995
    """Recency that an hour leaves."""
    retries: Annotated[int, Field(ge=0)] = 1
    """Times that an unusable reply is asked for again, with its defect named."""
    recency: Weight = 1.0
    importance: Weight = 1.0
    relevance: Weight = 1.0


def scaled(values: Sequence[float]) -> list[float]:
    """The values from 0 to 1, least to most; all 0 where they are the same."""
    least, most = min(values, default=0.0), max(values, default=0.0)
    return [(value - least) / (most - least) if most > least else 0.0 for value in values]


def ranked(entries: Sequence[Entry], query: Query, options: Options) -> tuple[Entry, ...]:
    """Highest sum first, ties in source order.

    Hours count back from the newest entry: from any other moment, scaling would give the same recency.
    """
    newest = max((entry.meta["hours"] for entry in entries), default=0.0)
    wanted = word_set(query.text)
    parts = (
        (options.recency, scaled([options.decay ** (newest - entry.meta["hours"]) for entry in entries])),
        (options.importance, scaled([entry.meta["importance"] for entry in entries])),
        (options.relevance, scaled([overlap(wanted, entry.text) for entry in entries])),
    )
    scores = [sum(weight * values[at] for weight, values in parts) for at in range(len(entries))]
    return tuple(entries[at] for at in sorted(range(len(entries)), key=lambda at: -scores[at]))


async def build(history: History, caller: Caller, protocol: Protocol, options: Options) -> Memory:
    """The units with hours and importance; one without a rating is in the middle. Raises CallError."""
    asker, ratings = Asker(caller, options.retries), dict[str, float]()
    for chunk in chunked(history, options.chunk_tokens, protocol):
        found, _ = await asker.ask(
            role.build_rating(RateInputs(chunk), protocol), partial(role.parse_rating, units=chunk)
        )
        asker.counts["dropped"] += len(found.faults)
        for ref, rating in found.by_ref.items():  # pieces of one long unit are rated apart
            ratings[ref] = max(rating, ratings.get(ref, 0.0))
    days = clock(history.observations, options.hours_per_unit / 24)
    asker.counts["unrated"] = sum(seen.ref not in ratings for seen in history.observations)
    entries = tuple(
        replace(
            entry,
            meta={**entry.meta, "hours": 24 * days[seen.ref], "importance": ratings.get(seen.ref, float(role.MIDDLE))},
        )
        for entry, seen in zip(raw_entries(history.observations), history.observations, strict=True)
    )
    return Memory(entries, asker.stats())


def make(name: str, options: Options) -> Method:
    async def remember(
        history: History, query: Query | None, caller: Caller, switches: Switches, protocol: Protocol
    ) -> Memory:
        return await build(history, caller, protocol, options)

    return Method(
        name=name,
        title="Generative agents",
        remember=remember,
        switches=frozenset(),
        rank=lambda entries, query: ranked(entries, query, options),
    )


BUILDER = Builder(Options, make)
