"""`memgpt-tiers`: a window that overflows into a summary, a page of working lines, notes and recall (arXiv 2310.08560).

Units go into a queue. When the window fills up, a model saves what matters to the working page and to the archive;
when it is full, the older half of the queue leaves it and a summary is made of the old summary and what left.
Every unit stays in recall. Retrieval is static: the agent that searches its own tiers is not part of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from rdforget.calls import condense as role
from rdforget.calls.base import Caller
from rdforget.calls.condense import CondenseInputs, Edit, PressureInputs
from rdforget.calls.extract import Fact
from rdforget.calls.units import Asker, dated, unit_lines
from rdforget.methods.base import Builder, Method
from rdforget.records import Entry, History, Memory, Observation, Protocol, Query, Status, Switches
from rdforget.tokens import count_tokens
from rdforget.view.chunk import chunks
from rdforget.view.rank import rank

_PINNED = ("working", "summary")


@dataclass(frozen=True, slots=True)
class Options:
    window_tokens: Annotated[int, Field(gt=0)] = 8_000
    working_tokens: Annotated[int, Field(ge=0)] = 1_000
    summary_tokens: Annotated[int, Field(gt=0)] = 500
    warn_at: Annotated[float, Field(gt=0, le=1)] = 0.7
    """Share of the window at which the model is told to save what matters."""
    flush_at: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Share of the window at which the older half leaves it."""
    retries: Annotated[int, Field(ge=0)] = 1
    """Times that an unusable reply is asked for again, with its defect named."""
    pin: bool = True
    """Whether working lines and summary are offered before everything else."""


@dataclass(slots=True)
class Tiers:
    """What stands in the window, and the notes outside of it."""

    options: Options
    asker: Asker
    note: str = ""
    working: list[str] = field(default_factory=list)
    summary: str = ""
    queue: list[Observation] = field(default_factory=list)
    archive: list[Fact] = field(default_factory=list)
    warned: bool = False

    @property
    def size(self) -> int:
        return count_tokens(self.summary) + sum(map(count_tokens, self.working)) + sum(map(_size, self.queue))

    async def take(self, seen: Observation, protocol: Protocol) -> None:
        """Append a unit and keep within the window. Raises CallError."""
        self.queue.append(seen)
        if not self.warned and self.size >= self.options.warn_at * self.options.window_tokens:
            self.warned = True
            await self._save(protocol)
        if self.size >= self.options.flush_at * self.options.window_tokens:
            self.warned = False
            await self._flush()

    async def _save(self, protocol: Protocol) -> None:
        units = tuple(self.queue)
        asked = PressureInputs(tuple(self.working), units, self.note, self.options.working_tokens)
        saved, _ = await self.asker.ask(
            role.build_pressure(asked, protocol), lambda text: role.parse_pressure(text, units)
        )
        self.working, refused = edited(self.working, saved.edits, self.options.working_tokens)
        self.archive.extend(saved.notes)
        self.asker.counts["dropped"] += len(saved.faults)
        self.asker.counts["refused_edits"] += refused

    async def _flush(self) -> None:
        """Evict whole units, oldest first, until at least half of the queue's tokens are gone."""
        half, gone = sum(map(_size, self.queue)) / 2, 0
        evicted = []
        while self.queue and gone < half:
            evicted.append(self.queue.pop(0))
            gone += _size(evicted[-1])
        told = [dated(seen.line, seen.when) for seen in evicted]
        texts = (self.summary, *told) if self.summary else tuple(told)
        found, _ = await self.asker.ask(role.build(CondenseInputs(texts, self.options.summary_tokens)), role.parse)
        self.asker.counts["flushes"] += 1
        self.asker.counts["failed_summaries"] += not found.text
        self.summary = clip(found.text, self.options.summary_tokens) or self.summary


def _size(seen: Observation) -> int:
    return count_tokens(unit_lines((seen,)) + "\n")


def clip(text: str, limit: int) -> str:
    """The longest beginning of whole words within a number of tokens."""
    parts = text.split()
    sizes = range(1, len(parts) + 1)
    return " ".join(parts[: bisect_right(sizes, limit, key=lambda n: count_tokens(" ".join(parts[:n])))])


def edited(working: Sequence[str], edits: Sequence[Edit], limit: int) -> tuple[list[str], int]:
    """The working lines after the edits, and how many edits named no line or had no room.

    Line numbers are those of the page as it was shown.
    """
    shown, refused = dict(enumerate(working, start=1)), 0
    added: list[str] = []
    for edit in edits:
        lines = {**shown, edit.line: edit.text} if edit.line else shown
        more = added if edit.line else [*added, edit.text]
        if (edit.line and edit.line > len(working)) or sum(map(count_tokens, [*lines.values(), *more])) > limit:
            refused += 1
        else:
            shown, added = lines, more
    return [line for line in [*shown.values(), *added] if line], refused


def entries(tiers: Tiers, observations: Sequence[Observation]) -> tuple[Entry, ...]:
    """Working lines, summary, notes and every unit of the source, all ACTIVE, with their tier."""
    rows: list[tuple[str, str, tuple[str, ...], str | None]] = [("working", text, (), None) for text in tiers.working]
    rows += [("summary", tiers.summary, (), None)] if tiers.summary else []
    rows += [("archival", note.stated, note.refs, note.when) for note in tiers.archive]
    rows += [("recall", dated(seen.line, seen.when), (seen.ref,), seen.when) for seen in observations]
    return tuple(
        Entry(f"m{number}", text, Status.ACTIVE, when=when, meta={"tier": tier, "refs": list(refs)})
        for number, (tier, text, refs, when) in enumerate(rows, start=1)
    )


def pinned(ranked: Sequence[Entry], query: Query) -> tuple[Entry, ...]:
    """Working lines, then the summary, then everything else by the shared ranking."""
    first = [entry for tier in _PINNED for entry in ranked if entry.meta["tier"] == tier]
    return (*first, *rank([entry for entry in ranked if entry.meta["tier"] not in _PINNED], query))


async def build(history: History, caller: Caller, protocol: Protocol, options: Options) -> Memory:
    """The tiers after the whole history. Raises CallError."""
    tiers = Tiers(options, Asker(caller, options.retries), history.note)
    # Only a unit that alone would fill much of the window is cut here.
    for piece in chunks(history.observations, max(options.window_tokens // 4, 1)):
        for seen in piece:
            await tiers.take(seen, protocol)
    return Memory(entries(tiers, history.observations), tiers.asker.stats())


def make(name: str, options: Options) -> Method:
    async def remember(
        history: History, query: Query | None, caller: Caller, switches: Switches, protocol: Protocol
    ) -> Memory:
        return await build(history, caller, protocol, options)

    return Method(
        name=name,
        title="MemGPT tiers",
        remember=remember,
        switches=frozenset(),
        rank=pinned if options.pin else rank,
    )


BUILDER = Builder(Options, make)
