"""ACE: a playbook of bullets that is edited chunk by chunk, without a look at the question.

After "Agentic Context Engineering" (ICLR 2026): a reflector reports on each chunk of the source, a curator turns the
report into a small delta, and code applies it. With `ops: [ADD]` it accumulates as the released code does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from rdforget.calls import reflect, revise
from rdforget.calls.base import Call, Caller
from rdforget.calls.reflect import ReflectInputs, Reflection, Shown
from rdforget.calls.revise import OPS, Operation, ReviseInputs
from rdforget.calls.units import Asker, P, Units, halves, unit_lines
from rdforget.methods.base import Builder, Method
from rdforget.methods.extraction import chunked
from rdforget.methods.playbook import Playbook
from rdforget.records import History, Memory, Protocol, Query, Switches

MAX_SPLITS = 2

Count = Annotated[int, Field(gt=0)]


@dataclass(frozen=True, slots=True)
class Options:
    chunk_tokens: Count | None = None
    """Source tokens a step; None leaves it to the suite's protocol."""
    temperature: Annotated[float, Field(ge=0)] = 0.0
    retries: Annotated[int, Field(ge=0)] = 1
    """Times that an unusable reply is asked for again, with its defect named."""
    on_truncation: Literal["split", "salvage"] = "split"
    """A cut-off reply: do the halves of the chunk instead, twice over at most, or keep its complete items."""
    on_failure: Literal["skip", "add_observations"] = "add_observations"
    """An unusable delta: leave the playbook as it is, or add every observation of the report."""
    strict_batch: bool = False
    """Whether one bad operation makes the whole delta unusable."""
    fallback_on_empty: Literal["none", "lexical"] = "none"
    ops: tuple[Literal["ADD", "UPDATE", "DELETE", "MERGE"], ...] = ("ADD", "UPDATE", "DELETE")
    update_mode: Literal["in_place", "versioned"] = "in_place"
    """UPDATE rewrites the bullet, or supersedes it by a new one."""
    delete_mode: Literal["soft", "hard"] = "soft"
    """DELETE deprecates the bullet, or removes it."""
    rounds: Count = 1
    """Reports a chunk; each sees the one before."""
    reflector: bool = True
    """False shows the chunk to the curator itself."""
    view_tokens: Count = 16_000
    """Tokens of the playbook that a call sees."""
    playbook_tokens: Count = 80_000
    """Size that the curator is told, and above which `dedup: lazy` begins."""
    max_ops: Count = 400
    """Operations of one delta; further ones are left out."""
    dedup: Literal["never", "proactive", "lazy"] = "lazy"
    dedup_threshold: Annotated[float, Field(gt=0, le=1)] = 0.90
    dedup_drop: Literal["older", "newer"] = "older"
    dedup_guard: bool = True
    """Whether duplicates must agree in numbers, names, negations and dates."""
    harmful_margin: Count | None = None
    """Bullets contradicted this many times more often than confirmed are deprecated; None keeps them."""


class _CutOffError(Exception):
    """A reply was cut off, and its chunk can be split."""


@dataclass(slots=True)
class _Build:
    """One build: the playbook so far and the account of it."""

    options: Options
    note: str
    cap: int
    asker: Asker
    book: Playbook
    ops: Counter[str]

    @property
    def counts(self) -> Counter[str]:
        return self.asker.counts

    async def learn(self, units: Units, splits: int = MAX_SPLITS) -> None:
        """Bring the playbook up to date with a chunk, or with its halves one after the other."""
        shown = self.book.view(unit_lines(units), self.options.view_tokens)
        may_split = self.options.on_truncation == "split" and splits > 0 and len(units) > 1
        try:
            reflection = await self._reflect(units, shown, may_split)
            operations = await self._revise(units, shown, reflection, may_split)
        except _CutOffError:
            self.counts["splits"] += 1
            for half in halves(units):
                await self.learn(half, splits - 1)
        else:
            self._apply(shown, reflection, operations)

    async def _reflect(self, units: Units, shown: Shown, may_split: bool) -> Reflection | None:
        """The last report that can be used, if any."""
        reflection = None
        for _ in range(self.options.rounds if self.options.reflector else 0):
            inputs = ReflectInputs(units, self.note, shown, reflection)
            call = reflect.build(inputs, cap=self.cap, temperature=self.options.temperature)
            found = await self._ask(call, lambda text: reflect.parse(text, units), may_split)
            if found.defect:
                break
            reflection = found
        return reflection

    async def _revise(
        self, units: Units, shown: Shown, reflection: Reflection | None, may_split: bool
    ) -> Sequence[Operation]:
        """The delta of a chunk, or what stands in for one that cannot be used."""
        if self.options.reflector and reflection is None:
            return ()
        summary = (
            f"The playbook has {len(self.book.active)} bullets, "
            f"{self.book.tokens} of at most {self.options.playbook_tokens} tokens."
        )
        versioned = self.options.update_mode == "versioned"
        inputs = ReviseInputs(units, self.note, shown, summary, reflection, self.options.ops, versioned)
        call = revise.build(inputs, cap=self.cap, temperature=self.options.temperature)
        strict = self.options.strict_batch
        delta = await self._ask(call, lambda text: revise.parse(text, inputs, strict=strict), may_split)
        if delta.defect and reflection and self.options.on_failure == "add_observations":
            return revise.additions(reflection)
        return delta.operations

    async def _ask(self, call: Call, read: Callable[[str], P], may_split: bool) -> P:
        found, cut = await self.asker.ask(call, read)
        if cut and may_split:
            raise _CutOffError
        self.counts[f"failed_{call.role}"] += bool(found.defect)
        self.counts["dropped"] += len(found.faults)
        return found

    def _apply(self, shown: Shown, reflection: Reflection | None, operations: Sequence[Operation]) -> None:
        options, editable = self.options, {bullet.id for bullet in shown.bullets}
        done = self.book.tag(reflection.relations if reflection else (), editable)
        done += self.book.apply(
            operations,
            editable,
            update_mode=options.update_mode,
            delete_mode=options.delete_mode,
            limit=options.max_ops,
        )
        self.counts["chunks"] += 1
        self.counts["chunks_without_entry"] += not (done["ADD"] or done["UPDATE"] or done["MERGE"])
        self.counts["hidden"] += sum(shown.hidden.values())
        self.counts["unsourced"] += sum(not one.refs and one.op != "DELETE" for one in operations)
        for name, number in done.items():
            (self.ops if name in OPS else self.counts)[name] += number
        self._refine()

    def _refine(self) -> None:
        options = self.options
        if options.dedup == "proactive" or (options.dedup == "lazy" and self.book.tokens > options.playbook_tokens):
            self.counts["duplicates"] += self.book.deduplicate(
                options.dedup_threshold, guard=options.dedup_guard, drop=options.dedup_drop
            )
        if options.harmful_margin is not None:
            self.counts["pruned"] += self.book.prune(options.harmful_margin)


async def remember(history: History, caller: Caller, options: Options, protocol: Protocol) -> Memory:
    """Build the playbook of a history. Raises CallError, and nothing for a bad reply.

    Histories that begin alike give the same calls for all full chunks of their common beginning.
    """
    build = _Build(
        options, history.note, protocol.curate_cap, Asker(caller, options.retries), Playbook(), Counter[str]()
    )
    for chunk in chunked(history, options.chunk_tokens, protocol):
        await build.learn(chunk)
    entries = build.book.entries()
    stats: dict[str, Any] = {
        "entries": dict(Counter(str(entry.status) for entry in entries)),
        "ops": dict(build.ops),
        **build.asker.stats(),
    }
    return Memory(entries, stats)


def make(name: str, options: Options) -> Method:
    async def build(
        history: History, query: Query | None, caller: Caller, switches: Switches, protocol: Protocol
    ) -> Memory:
        return await remember(history, caller, options, protocol)

    variant = name.partition("-")[2]
    return Method(
        name=name,
        title=f"ACE ({variant})" if variant else "ACE",
        remember=build,
        empty=options.fallback_on_empty,
    )


BUILDER = Builder(Options, make)
