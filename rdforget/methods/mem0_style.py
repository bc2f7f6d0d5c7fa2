"""`mem0-style`: facts of each chunk are added to memory, or change or remove what is there (arXiv 2504.19413).

Per chunk one call extracts facts, and one call decides about all of them at once, shown the memories nearest to
each: ADD, UPDATE in place, DELETE, NOOP. An old text is gone; nothing is marked as replaced. Nearness is that of words
and not of embeddings. What a reply does not decide, or decides about a memory that it was not shown, is added.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

from pydantic import Field

from rdforget.calls import reconcile as role
from rdforget.calls.base import Caller
from rdforget.calls.extract import Fact
from rdforget.calls.reconcile import Decision, Known, New, Op, ReconcileInputs
from rdforget.calls.units import Asker
from rdforget.methods.base import Builder, Method
from rdforget.methods.extraction import Nearness, chunked, facts_of
from rdforget.records import Entry, History, Memory, Protocol, Query, Status, Switches

_ABOVE = 0.2
"""Cosine under which two texts share no more than common words."""


@dataclass(frozen=True, slots=True)
class Options:
    chunk_tokens: Annotated[int, Field(gt=0)] | None = None
    """None leaves it to the suite's protocol."""
    neighbours: Annotated[int, Field(ge=1)] = 5
    """Memories shown for each fact."""
    retries: Annotated[int, Field(ge=0)] = 1
    """Times that an unusable reply is asked for again, with its defect named."""


@dataclass(slots=True)
class Store:
    """Memories by id, in the order of their making. Ids are never used again."""

    memories: dict[str, Fact] = field(default_factory=dict)
    revisions: Counter[str] = field(default_factory=Counter)
    made: int = 0

    def apply(
        self, facts: Mapping[str, Fact], decisions: Sequence[Decision], shown: Collection[str], counts: Counter[str]
    ) -> None:
        """Take the facts in their order, each with its decisions in theirs; facts without one are added.

        A decision may change what it was shown, and what earlier facts of its chunk became.
        """
        by_fact: dict[str, list[Decision]] = defaultdict(list)
        for decision in decisions:
            by_fact[decision.fact].append(decision)
        became: dict[str, str] = {}
        for name, fact in facts.items():
            for decision in by_fact.get(name) or [Decision(name, Op.ADD)]:
                target = became.get(decision.target, decision.target)
                op = decision.op
                seen = decision.target in shown or decision.target in became
                if op in (Op.UPDATE, Op.DELETE) and not (seen and target in self.memories):
                    counts["unknown_ids"] += 1
                    op = Op.ADD
                if op is Op.ADD:
                    if name in became:
                        continue
                    target = self._add(fact, decision.text)
                elif op is Op.UPDATE:
                    self._update(target, fact, decision.text)
                elif op is Op.DELETE:
                    del self.memories[target]
                counts[op.lower()] += 1
                if op is not Op.DELETE:
                    became[name] = target

    def _add(self, fact: Fact, text: str) -> str:
        self.made += 1
        self.memories[f"m{self.made}"] = Fact(text or fact.text, fact.when, fact.refs)
        return f"m{self.made}"

    def _update(self, target: str, fact: Fact, text: str) -> None:
        refs = tuple(dict.fromkeys((*self.memories[target].refs, *fact.refs)))
        self.memories[target] = Fact(text or fact.text, fact.when, refs)
        self.revisions[target] += 1

    def entries(self) -> tuple[Entry, ...]:
        return tuple(
            Entry(
                name,
                fact.stated,
                Status.ACTIVE,
                when=fact.when,
                meta={"refs": list(fact.refs), "rev": self.revisions[name]},
            )
            for name, fact in self.memories.items()
        )


def question(store: Store, facts: Mapping[str, Fact], neighbours: int, note: str) -> ReconcileInputs:
    """The memories near any of the facts, and the facts with what each is near to, earlier facts included."""
    texts = {name: fact.text for name, fact in store.memories.items()}
    index = Nearness(texts | {name: fact.text for name, fact in facts.items()})
    near = {name: tuple(other for other, _ in index.earlier(name, _ABOVE, neighbours)) for name in facts}
    shown = {other for found in near.values() for other in found}
    known = tuple(Known(name, fact.stated) for name, fact in store.memories.items() if name in shown)
    return ReconcileInputs(known, tuple(New(name, fact.stated, near[name]) for name, fact in facts.items()), note)


async def build(history: History, caller: Caller, protocol: Protocol, options: Options) -> Memory:
    """The memory of a history, chunk by chunk. Raises CallError."""
    store, asker = Store(), Asker(caller, options.retries)
    for chunk in chunked(history, options.chunk_tokens, protocol):
        found = await facts_of(chunk, history.note, asker, protocol)
        facts = {f"n{number}": fact for number, fact in enumerate(found, start=1)}
        asked = question(store, facts, options.neighbours, history.note)
        decisions: tuple[Decision, ...] = ()
        if any(new.near for new in asked.facts):
            decided, _ = await asker.ask(role.build(asked, protocol), partial(role.parse, inputs=asked))
            asker.counts["dropped"] += len(decided.faults)
            decisions = decided.decisions
        store.apply(facts, decisions, {known.id for known in asked.memories}, asker.counts)
    return Memory(store.entries(), asker.stats())


def make(name: str, options: Options) -> Method:
    async def remember(
        history: History, query: Query | None, caller: Caller, switches: Switches, protocol: Protocol
    ) -> Memory:
        return await build(history, caller, protocol, options)

    return Method(name=name, title="Mem0-style", remember=remember, switches=frozenset())


BUILDER = Builder(Options, make)
