"""`fademem-style`: memories that fade with source time, by importance, unless later facts touch them (FadeMem).

Each chunk: extract facts, let time pass, label the pairs of a new fact and a near older memory in one call, apply
the labels, keep the layers within their capacity, forget what is weaker than `prune_below`. Now and then memories that
are alike and of one week are fused. Differences from the published code, each to a purpose:

- Decay is incremental; see `fading`.
- A full layer forgets its weakest memory; the code refuses the new one.
- Time is the source's. Access is a later fact that agrees with a memory; questions are none, or they would
  leak into each other.
- Whether a fusion keeps what it fuses is read from its numbers and names, not asked of a model.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from rdforget.calls import condense, reconcile
from rdforget.calls.base import Caller
from rdforget.calls.condense import CondenseInputs
from rdforget.calls.extract import Fact
from rdforget.calls.reconcile import Label, Pair, RelateInputs, Relation
from rdforget.calls.units import Asker
from rdforget.methods.base import Builder, Method
from rdforget.methods.extraction import Nearness, chunked, clock, facts_of
from rdforget.methods.fading import Trace, suppressed
from rdforget.records import Entry, History, Memory, Protocol, Query, Status, Switches
from rdforget.text import fold, overlap, word_set
from rdforget.view.rank import rank

NearPair = tuple[str, str, float]
"""A new fact, an older memory or an earlier new fact, and their cosine."""
_FUSED_TOKENS = 160
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Options:
    chunk_tokens: Annotated[int, Field(gt=0)] | None = None
    """None leaves it to the suite's protocol."""
    days_per_unit: Annotated[float, Field(gt=0)] = 1 / 24
    """How long a unit of a source without dates lasts."""
    similar: Annotated[float, Field(ge=0, le=1)] = 0.4
    """Cosine above which two texts make a pair. Published is 0.7, of embeddings: of words it would miss two of three
    updates of MAB-FC, 0.4 misses one of forty."""
    neighbours: Annotated[int, Field(ge=1)] = 5
    """Pairs for each new fact at most."""
    capacity_long: Annotated[int, Field(ge=1)] | None = 100
    capacity_short: Annotated[int, Field(ge=1)] | None = 50
    prune_below: Annotated[float, Field(ge=0, le=1)] = 0.05
    idle_days: Annotated[float, Field(gt=0)] | None = None
    """Also forget what was not accessed for that long. Published is 30, which leaves little of a talk over months."""
    prune_mode: Literal["hard", "soft"] = "hard"
    """Whether what is forgotten is gone or DEPRECATED."""
    fuse_every: Annotated[int, Field(ge=1)] | None = 4
    """Chunks between fusions; None fuses nothing."""
    fuse_similar: Annotated[float, Field(ge=0, le=1)] = 0.6
    """Cosine above which memories are fused."""
    fuse_days: Annotated[float, Field(gt=0)] = 7.0
    fuse_least: Annotated[int, Field(ge=2)] = 3
    preserve: Annotated[float, Field(ge=0, le=1)] = 0.8
    """Share of numbers and names that a fusion has to keep."""
    retries: Annotated[int, Field(ge=0)] = 1
    """Times that an unusable reply is asked for again, with its defect named."""
    rank_by_strength: bool = False
    """Whether strength adds to the shared ranking, in place of the bonus for ACTIVE entries."""


@dataclass(slots=True)
class Store:
    """The traces by id in the order of their making, and what was forgotten softly."""

    options: Options
    counts: Counter[str] = field(default_factory=Counter)
    traces: dict[str, Trace] = field(default_factory=dict)
    retired: dict[str, Trace] = field(default_factory=dict)
    made: int = 0
    now: float = -math.inf

    def pass_time(self, now: float) -> None:
        """Let everything fade; a source whose dates go back stands still meanwhile."""
        self.now = max(self.now, now)
        for trace in self.traces.values():
            trace.fade(self.now)

    def insert(self, trace: Trace) -> str:
        self.made += 1
        self.traces[f"m{self.made}"] = trace
        return f"m{self.made}"

    def forget(self, name: str, cause: str) -> None:
        trace = self.traces.pop(name)
        self.counts[cause] += 1
        if self.options.prune_mode == "soft":
            self.retired[name] = trace

    def prune(self) -> None:
        """Forget what is too weak or idle, then the weakest, the older first, of a layer that is too full."""
        idle = math.inf if self.options.idle_days is None else self.options.idle_days
        for name, trace in list(self.traces.items()):
            if trace.strength < self.options.prune_below or self.now - max([trace.born, *trace.hits]) > idle:
                self.forget(name, "pruned")
        for layer, capacity in (("long", self.options.capacity_long), ("short", self.options.capacity_short)):
            names = [name for name, trace in self.traces.items() if trace.layer == layer]
            names.sort(key=lambda name: (self.traces[name].strength, self.traces[name].born))
            for name in names[: len(names) - capacity] if capacity and len(names) > capacity else ():
                self.forget(name, "evicted")

    def apply(self, new: Mapping[str, Trace], pairs: Sequence[NearPair], found: Sequence[Relation]) -> None:
        """Insert the new traces in their order, each after what it does to the older ones of its pairs.

        A trace that subsumes or is subsumed becomes one with the first such older one.
        """
        became: dict[str, str] = {}
        for name, trace in new.items():
            for (newer, older, cosine), relation in zip(pairs, found, strict=True):
                if newer != name or (old := self.traces.get(became.get(older, older))) is None:
                    continue
                self.counts[str(relation.label)] += 1
                if relation.label is Label.CONTRADICTS:
                    old.strength = suppressed(old.strength, trace.born - old.born)
                    continue
                old.access(trace.born)
                if relation.label is Label.COMPATIBLE:
                    old.damp *= 1 - 0.3 * cosine
                elif name not in became:
                    old.fact = _merged(old.fact, trace.fact, relation)
                    became[name] = became.get(older, older)
            if name not in became:
                became[name] = self.insert(trace)

    def entries(self) -> tuple[Entry, ...]:
        known = {name: (trace, Status.ACTIVE) for name, trace in self.traces.items()}
        known |= {name: (trace, Status.DEPRECATED) for name, trace in self.retired.items()}
        return tuple(
            Entry(
                name,
                trace.fact.stated,
                status,
                when=trace.fact.when,
                meta={"refs": list(trace.fact.refs), "strength": round(trace.strength, 6), "layer": trace.layer},
            )
            for name, (trace, status) in sorted(known.items(), key=lambda item: int(item[0][1:]))
        )


def _merged(old: Fact, new: Fact, relation: Relation) -> Fact:
    covering = new if relation.label is Label.SUBSUMES else old
    return Fact(relation.text or covering.text, covering.when, tuple(dict.fromkeys((*old.refs, *new.refs))))


def near_pairs(store: Store, new: Mapping[str, Trace]) -> list[NearPair]:
    index = Nearness({name: trace.fact.text for name, trace in {**store.traces, **new}.items()})
    most, above = store.options.neighbours, store.options.similar
    return [(name, older, cosine) for name in new for older, cosine in index.earlier(name, above, most)]


def groups(traces: Mapping[str, Trace], options: Options) -> list[tuple[str, ...]]:
    """Memories to fuse: those alike and close in time to the first of them that is in no group yet."""
    index = Nearness({name: trace.fact.text for name, trace in traces.items()})
    taken: set[str] = set()
    found = []
    for name, trace in traces.items():
        alike = {other for other, _ in index.near(name, options.fuse_similar)} - taken
        close = [n for n in traces if n in alike and abs(traces[n].born - trace.born) <= options.fuse_days]
        if name not in taken and len(close) + 1 >= options.fuse_least:
            found.append((name, *close))
            taken.update(found[-1])
    return found


def preservation(texts: Sequence[str], fused: str) -> float:
    """Share of the numbers and names of the texts that the fused text has; 1 where they have none."""
    told = {word for text in texts for word in _WORD.findall(text)}
    marks = {fold(word) for word in told if word != word.lower() or word[0].isdecimal()}
    return len(marks & word_set(fused)) / len(marks) if marks else 1.0


async def fuse(store: Store, asker: Asker) -> None:
    """Make one memory of each group whose fused text keeps enough. Raises CallError."""
    for names in groups(store.traces, store.options):
        members = [store.traces[name] for name in names]
        texts = tuple(trace.fact.stated for trace in members)
        found, _ = await asker.ask(condense.build(CondenseInputs(texts, _FUSED_TOKENS)), condense.parse)
        if not found.text or preservation(texts, found.text) < store.options.preserve:
            store.counts["fusion_refused"] += 1
            continue
        strengths = [trace.strength for trace in members]
        mean = sum(strengths) / len(strengths)
        variance = sum((strength - mean) ** 2 for strength in strengths) / len(strengths)
        first = min(members, key=lambda trace: trace.born)
        refs = tuple(dict.fromkeys(ref for trace in members for ref in trace.fact.refs))
        fused = replace(
            first,
            fact=Fact(found.text, None, refs),
            strength=min(max(strengths) + 0.1 * variance, 1.0),
            hits=sorted(hit for trace in members for hit in trace.hits),
            damp=min(trace.damp for trace in members),
            size=sum(trace.size for trace in members),
        )
        for name in names:
            del store.traces[name]
        store.insert(fused)
        store.counts["fused"] += len(names)


async def build(history: History, caller: Caller, protocol: Protocol, options: Options) -> Memory:
    """The memory of a history, chunk by chunk. Raises CallError."""
    asker = Asker(caller, options.retries)
    store, days = Store(options, asker.counts), clock(history.observations, options.days_per_unit)
    for number, chunk in enumerate(chunked(history, options.chunk_tokens, protocol), start=1):
        found = await facts_of(chunk, history.note, asker, protocol)
        end = max(days[seen.ref] for seen in chunk)
        new = {
            f"n{at}": Trace(fact, max((days[ref] for ref in fact.refs), default=end))
            for at, fact in enumerate(found, start=1)
        }
        store.pass_time(end)
        pairs = near_pairs(store, new)
        relations: tuple[Relation, ...] = ()
        if pairs:
            texts = {name: trace.fact.stated for name, trace in {**store.traces, **new}.items()}
            asked = RelateInputs(tuple(Pair(texts[older], texts[newer]) for newer, older, _ in pairs), history.note)
            labelled, _ = await asker.ask(
                reconcile.build_pairs(asked, protocol), partial(reconcile.parse_pairs, inputs=asked)
            )
            store.counts["dropped"] += len(labelled.faults)
            relations = labelled.relations
        store.apply(new, pairs, relations)
        if options.fuse_every and number % options.fuse_every == 0:
            await fuse(store, asker)
        store.prune()
    return Memory(store.entries(), asker.stats())


def make(name: str, options: Options) -> Method:
    async def remember(
        history: History, query: Query | None, caller: Caller, switches: Switches, protocol: Protocol
    ) -> Memory:
        return await build(history, caller, protocol, options)

    return Method(
        name=name,
        title="FadeMem-style",
        remember=remember,
        switches=frozenset({"no-rescue"} if options.prune_mode == "soft" else ()),
        rank=by_strength if options.rank_by_strength else rank,
    )


def by_strength(entries: Sequence[Entry], query: Query) -> tuple[Entry, ...]:
    """Most relevant and strongest first; ties keep the order of memory."""
    wanted = word_set(query.text)
    return tuple(sorted(entries, key=lambda entry: -overlap(wanted, entry.text) - entry.meta["strength"]))


BUILDER = Builder(Options, make)
