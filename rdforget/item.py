"""One question from history to scores: the pure job that a run is made of.

The same task, method, settings and replies give the same `Record`. Nothing here knows a run folder; the engine
passes in who answers and keeps what comes out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from rdforget.calls import answer as answer_role
from rdforget.calls.base import Call, Reply
from rdforget.methods.base import Method
from rdforget.models.base import Backend, CallError
from rdforget.records import (
    CallRecord,
    Failure,
    History,
    Memory,
    Protocol,
    Query,
    Record,
    Switches,
    Task,
    Trace,
    Usage,
)
from rdforget.scoring.metrics import excluded, score
from rdforget.view.curate import lexical_fallback
from rdforget.view.eligibility import eligible, history_intent
from rdforget.view.pack import pack
from rdforget.view.rank import collect
from rdforget.view.select import Selection, select

OnReply = Callable[[Call, Reply], None]
"""Told of every reply before anything is made of it, so that what was paid for is kept first."""

OnBuild = Callable[[str, tuple[CallRecord, ...]], None]
"""Told of the calls that a shared memory took, by the id of its history."""


_REPEATS_OF_A_CALL = 2  # a judge is asked once more after a bad reply


@dataclass(frozen=True, slots=True)
class Setup:
    """What is measured: a method under its switches and the protocol, and the metrics asked for."""

    method: Method
    switches: Switches = field(default_factory=Switches)
    protocol: Protocol = field(default_factory=Protocol)
    metrics: tuple[str, ...] = ("rule",)
    """Names in `scoring.metrics.SCORERS`; the first is the headline."""

    @property
    def shares_memory(self) -> bool:
        """One memory a history, for all its questions: query-agnostic methods, and -QC."""
        return not (self.method.sees_query and self.switches.qc)


@dataclass(frozen=True, slots=True)
class Desk:
    """Where replies come from and go to besides the backend."""

    on_reply: OnReply
    on_build: OnBuild
    known: Mapping[str, Reply] = field(default_factory=dict)
    """Replies of an earlier session of the same run, by the key of their call."""
    repeat: int = 0
    """Which of several equal runs this is: part of every request's key, so that repeats are asked anew."""


class Ledger:
    """Asks a backend and writes down every call; the `Caller` that stages receive.

    What an earlier session of the same run got for a call is not asked again.
    """

    def __init__(self, backend: Backend, desk: Desk) -> None:
        self.calls: list[CallRecord] = []
        self.unanswered: list[CallRecord] = []
        self._backend = backend
        self._desk = desk

    async def __call__(self, call: Call) -> Reply:
        call = replace(call, repeat=call.repeat + _REPEATS_OF_A_CALL * self._desk.repeat)
        reply = self._desk.known.get(call.key)
        if reply is None:
            try:
                reply = await self._backend.answer(call)
            except CallError as error:
                error.stage = call.role
                self.unanswered.append(
                    CallRecord(call.role, call.key, "", error.kind, Usage(), {}, attempts=error.attempts)
                )
                raise
            self._desk.on_reply(call, reply)
        self.calls.append(reply.record(call.role, call.key))
        return reply


@dataclass(slots=True)
class Builds:
    """Memories that questions over one history share: each is built once, by whoever comes first.

    Histories that begin alike share the calls over their common beginning too: the same call is asked once.
    """

    setup: Setup
    backend: Backend
    desk: Desk
    _memories: dict[str, asyncio.Task[Memory]] = field(default_factory=dict)
    _replies: dict[str, asyncio.Task[Reply]] = field(default_factory=dict)

    async def memory(self, history: History) -> Memory:
        """The memory of a history; every question waits for the same build and shares its failure."""
        if history.id not in self._memories:
            self._memories[history.id] = asyncio.ensure_future(self._build(history))
        # Shielded: one question that is cancelled must not take the build from the others.
        return await asyncio.shield(self._memories[history.id])

    async def _build(self, history: History) -> Memory:
        ledger = Ledger(self.backend, self.desk)

        async def ask_once(call: Call) -> Reply:
            if call.key not in self._replies:
                self._replies[call.key] = asyncio.ensure_future(ledger(call))
            return await asyncio.shield(self._replies[call.key])

        try:
            return await self.setup.method.remember(history, None, ask_once, self.setup.switches, self.setup.protocol)
        finally:
            self.desk.on_build(history.id, tuple(ledger.calls))


async def run_item(task: Task, setup: Setup, ledger: Ledger, judge_ledger: Ledger, builds: Builds) -> Record:
    """Build the view, answer, score. A fault of this item becomes its `failure`; nothing is raised."""
    record = Record(task.query, task.gold, task.history.id)
    try:
        if setup.method.from_gold:
            memory = setup.method.from_gold(task.history, task.gold)
        elif setup.shares_memory:
            memory = await builds.memory(task.history)
        else:
            memory = await setup.method.remember(task.history, task.query, ledger, setup.switches, setup.protocol)
        record = replace(record, trace=await view_of(memory, task.history, task.query, setup, ledger))
        assert record.trace is not None
        reply = await ledger(answer_role.build(task.query, record.trace.view.entries, setup.protocol))
        answer = answer_role.parse(reply)
        record = replace(record, answer=answer)
        record = replace(
            record,
            scores=await score(setup.metrics, task.query, task.gold, answer.text, judge_ledger, setup.protocol),
        )
    except CallError as error:
        record = replace(record, failure=Failure(error.kind, error.stage, str(error)))
    except Exception as error:  # one poisoned item must not take the run with it
        stage = "score" if record.answer else "answer" if record.trace else "memory"
        record = replace(record, failure=Failure("internal", stage, f"{type(error).__name__}: {error}"))
    if record.failure and not record.scores:
        record = replace(record, scores=excluded(setup.metrics, task.gold))
    return replace(
        record,
        calls=(*ledger.calls, *judge_ledger.calls),
        unanswered=(*ledger.unanswered, *judge_ledger.unanswered),
    )


async def view_of(memory: Memory, history: History, query: Query, setup: Setup, ledger: Ledger) -> Trace:
    """Algorithm 1 from the memory on: the path that every method shares. Raises CallError."""
    if not memory.entries and setup.method.empty == "lexical":
        entries = lexical_fallback(history, query, setup.protocol.fallback_lines)
        memory = replace(
            memory, entries=entries, stats={**memory.stats, "fallback": "lexical", "cause": _cause(memory)}
        )
    intent = history_intent(query)
    pool = eligible(memory.entries, history_intent=intent, rescue=setup.switches.rescue)
    ranked = setup.method.rank(pool, query)
    if setup.method.selector:
        candidates = collect(ranked, setup.protocol.collect_tokens)
        selection = await select(query, candidates, ledger, setup.protocol)
    else:
        candidates, selection = ranked, Selection(ranked, fallback=False, unusable=0)
    return Trace(
        memory=memory,
        history_intent=intent,
        eligible=tuple(entry.id for entry in pool),
        candidates=tuple(entry.id for entry in candidates),
        selected=tuple(entry.id for entry in selection.entries),
        selector_fallback=selection.fallback,
        selector_unusable=selection.unusable,
        view=pack(selection.entries, setup.protocol.budget if setup.method.budgeted else None),
    )


def _cause(memory: Memory) -> str:
    """Why a memory is empty: nothing could be read, the reply was cut off, or it held nothing."""
    if memory.stats.get("truncated"):
        return "truncated"
    return "parse" if set(memory.stats.get("parse", {})) == {"none"} else "empty"
