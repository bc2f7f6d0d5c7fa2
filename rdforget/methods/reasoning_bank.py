"""ReasoningBank: titled memory items, distilled chunk by chunk and only ever added, without a look at the question.

After "ReasoningBank" (arXiv 2509.25140). Its test-time scaling is left out: chunks are no attempts to be compared.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Annotated, Literal

from pydantic import Field

from rdforget.calls import distill
from rdforget.calls.base import Caller
from rdforget.calls.distill import BankItem, DistillInputs
from rdforget.calls.units import Asker, Units, dated, halves
from rdforget.methods.ace import MAX_SPLITS, Count
from rdforget.methods.base import Builder, Method
from rdforget.methods.extraction import chunked
from rdforget.records import Entry, History, Memory, Protocol, Query, Status, Switches
from rdforget.text import one_line, word_set
from rdforget.view.rank import rank


@dataclass(frozen=True, slots=True)
class Options:
    chunk_tokens: Count | None = None
    """Source tokens a call; None leaves it to the suite's protocol."""
    temperature: Annotated[float, Field(ge=0)] = 0.0
    retries: Annotated[int, Field(ge=0)] = 1
    """Times that an unusable reply is asked for again, with its defect named."""
    on_truncation: Literal["split", "salvage"] = "split"
    """A cut-off reply: do the halves of the chunk instead, twice over at most, or keep its complete items."""
    fallback_on_empty: Literal["none", "lexical"] = "none"
    unit: Literal["chunk", "session"] = "chunk"
    """What one call distils; a session above the chunk target is cut."""
    max_items: Count | None = None
    """Items a call. The paper has 3 for a task; a dense chunk has a hundred facts."""
    lens: Literal["dual", "single"] = "dual"
    """Whether corrections are asked for besides what is established."""
    text_fields: Annotated[tuple[Literal["title", "description", "content"], ...], Field(min_length=1)] = (
        "title",
        "content",
    )
    """Fields of an item that an entry shows."""
    retrieval: Literal["shared", "native"] = "shared"
    """Native: the items of the `k` chunks nearest to the question, ahead of the packer, and no selector."""
    k: Count = 1


async def remember(history: History, caller: Caller, options: Options, protocol: Protocol) -> Memory:
    """The items of all chunks. Raises CallError, and nothing for a bad reply.

    No chunk is shown what another gave, so that their order changes nothing but ids.
    """
    asker = Asker(caller, options.retries)
    entries: list[Entry] = []
    for number, chunk in enumerate(_units(history, options, protocol), start=1):
        for item in await _distil(chunk, history.note, asker, options, protocol.curate_cap):
            entries.append(_entry(f"m{len(entries) + 1}", number, item, options))
    kinds = Counter(entry.meta["kind"] for entry in entries)
    return Memory(
        tuple(entries), {"entries": {str(Status.ACTIVE): len(entries)}, "kinds": dict(kinds), **asker.stats()}
    )


def _units(history: History, options: Options, protocol: Protocol) -> Iterator[Units]:
    if options.unit == "chunk":
        yield from chunked(history, options.chunk_tokens, protocol)
        return
    for _, session in groupby(history.observations, key=lambda seen: (seen.session, seen.when)):
        yield from chunked(replace(history, observations=tuple(session)), options.chunk_tokens, protocol)


async def _distil(
    units: Units, note: str, asker: Asker, options: Options, cap: int, splits: int = MAX_SPLITS
) -> list[BankItem]:
    """The items of a chunk, or of its halves where the reply is cut off."""
    inputs = DistillInputs(units, note, options.lens == "dual", options.max_items)
    call = distill.build(inputs, cap=cap, temperature=options.temperature)
    found, cut = await asker.ask(call, lambda text: distill.parse(text, inputs))
    if cut and options.on_truncation == "split" and splits and len(units) > 1:
        asker.counts["splits"] += 1
        return [item for half in halves(units) for item in await _distil(half, note, asker, options, cap, splits - 1)]
    kept = found.items[: options.max_items]
    asker.counts["chunks"] += 1
    asker.counts["chunks_without_entry"] += not kept
    asker.counts["failed_distill"] += bool(found.defect)
    asker.counts["dropped"] += len(found.faults)
    asker.counts["over_limit"] += len(found.items) - len(kept)
    asker.counts["unsourced"] += sum(not item.refs for item in kept)
    return list(kept)


def _entry(id: str, chunk: int, item: BankItem, options: Options) -> Entry:
    head, *rest = [said for name in options.text_fields if (said := getattr(item, name))] or [item.content]
    return Entry(
        id=id,
        text=dated(one_line(f"{head}: {' '.join(rest)}" if rest else head), item.when),
        status=Status.ACTIVE,
        when=item.when,
        meta={
            "title": item.title,
            "description": item.description,
            "kind": item.kind,
            "refs": list(item.refs),
            "chunk": chunk,
        },
    )


def nearest_chunks(entries: Sequence[Entry], query: Query, k: int) -> tuple[Entry, ...]:
    """All items of the `k` chunks whose words are nearest to the question, by the cosine of word sets.

    The paper embeds the task of each attempt, and all items of the nearest come along; here a chunk's items stand in
    for its task.
    """
    asked = word_set(query.text)
    by_chunk: defaultdict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_chunk[entry.meta.get("chunk", 0)].append(entry)

    def nearness(items: list[Entry]) -> float:
        known = frozenset[str]().union(*(word_set(entry.text) for entry in items))
        return len(asked & known) / math.sqrt(len(asked) * len(known)) if asked and known else 0.0

    nearest = sorted(by_chunk.values(), key=nearness, reverse=True)[:k]
    return tuple(entry for items in nearest for entry in items)


def make(name: str, options: Options) -> Method:
    async def build(
        history: History, query: Query | None, caller: Caller, switches: Switches, protocol: Protocol
    ) -> Memory:
        return await remember(history, caller, options, protocol)

    variant = name.partition("-")[2]
    native = options.retrieval == "native"
    return Method(
        name=name,
        title=f"ReasoningBank ({variant})" if variant else "ReasoningBank",
        remember=build,
        empty=options.fallback_on_empty,
        rank=(lambda entries, query: nearest_chunks(entries, query, options.k)) if native else rank,
        selector=not native,
    )


BUILDER = Builder(Options, make)
