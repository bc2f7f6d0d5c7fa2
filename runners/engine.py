"""The run engine: tasks in, records out, with bounded concurrency; each record is on disk before it counts."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import time
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from rdforget.calls.base import SAMPLING, Reply, prompts_digest
from rdforget.item import Builds, Desk, Ledger, Setup, run_item
from rdforget.methods.base import Method
from rdforget.methods.registry import BUILDERS
from rdforget.models.base import Backend
from rdforget.models.fitting import fitted
from rdforget.models.parameters import ModelConfig
from rdforget.models.rules import Rules
from rdforget.plugins import nearest
from rdforget.records import Record, Switches, Task
from rdforget.scoring.metrics import JUDGED, SCORERS
from rdforget.suites.base import Suite, file_sha256
from rdforget.suites.registry import load_suite
from rdforget.view.eligibility import CUES
from runners import manifest
from runners.backends import make_backend, model_config, semantic
from runners.config import (
    IMPORTED,
    SWITCH_NAMES,
    MethodConfig,
    RulesConfig,
    SuiteConfig,
    method_configs,
    model_configs,
    suite_configs,
)
from runners.errors import Exit, UserError
from runners.halt import Halt
from runners.interrupt import interruptible
from runners.journal import Journal, read_calls_of, read_outcomes, read_replies
from runners.means import Means, way_to
from runners.pool import in_parallel
from runners.schedule import Spread
from runners.tables import self_judged

SCORER_VERSION = 1
"""Raised when a scorer changes what it returns, so that runs before and after are not compared unseen."""

_AHEAD = 16
"""Tasks that are looked ahead, a worker."""


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What is measured, by the names that a user gives."""

    suite: str
    method: str = "rd-forget"
    model: str = "rules"
    switches: tuple[str, ...] = ()
    budget: int | None = None
    limit: int | None = None
    judge: str | None = None
    api_base: str | None = None
    repeat: int = 0
    chunk_tokens: int | None = None
    """Source tokens of a chunk instead of the suite's; methods with a target of their own keep it."""


class Watcher(Protocol):
    """Who looks on while a run goes."""

    def begin(self, label: str, total: int, done: Collection[Record] = ()) -> None:
        """`done` are questions of an earlier session."""
        ...

    def started(self) -> None: ...

    def finished(self, record: Record) -> None: ...

    def tell(self, message: str) -> None:
        """Something that is to be known at once."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """A prepared run: nothing asked yet, nothing written."""

    spec: RunSpec
    suite: Suite
    total: int
    """Questions selected."""
    setup: Setup
    settings: Mapping[str, Any]
    """Semantic settings: what goes into the fingerprint."""
    backend: Backend
    config: RulesConfig | ModelConfig
    judge: Backend
    """The model's own backend where no judge is named."""
    judge_config: RulesConfig | ModelConfig


def make_method(name: str) -> Method:
    """A method of configs/methods.yaml, or one that another package brings, with its default options."""
    if name.startswith(IMPORTED):
        raise UserError(f"{name} made its answers elsewhere: `rdf import` takes them in, and nothing can be run anew")
    configs = method_configs()
    if name not in configs and name not in BUILDERS.names():
        raise UserError(nearest("method", name, [*configs, *BUILDERS.names()]))
    config = configs.get(name) or MethodConfig(builder=name)
    return BUILDERS.get(config.builder).build(name, config.options)


def prepare(
    spec: RunSpec,
    data_dir: Path | None,
    suite: Suite | None = None,
    *,
    ask: bool = True,
    timeout: float | None = None,
) -> Run:
    """Check everything that can be wrong before work begins, and load the suite unless it is given.

    A run that is only planned (`ask` False) needs no key.
    """
    for switch in spec.switches:
        if switch not in SWITCH_NAMES:
            raise UserError(nearest("ablation", switch, SWITCH_NAMES))
    method = make_method(spec.method)
    suite = suite or load_suite(spec.suite, data_dir)
    if idle := sorted(set(spec.switches) - method.switches):
        raise UserError(f"method {spec.method} has no part that {idle[0]} could turn off")
    if {"no-closure", "no-qc"} <= set(spec.switches):
        raise UserError("no-closure has nothing to turn off where no-qc hides the question: leave one of them out")
    default = SuiteConfig(metrics=suite.metrics, protocol=suite.protocol)
    scored_by = suite_configs().get(spec.suite.partition(":")[0], default)
    for metric in scored_by.metrics:
        SCORERS.get(metric)
    metrics = scored_by.metrics + (("judge",) if spec.judge and not JUDGED & set(scored_by.metrics) else ())
    protocol = replace(
        scored_by.protocol,
        budget=spec.budget or scored_by.protocol.budget,
        chunk_tokens=spec.chunk_tokens or scored_by.protocol.chunk_tokens,
    )
    size = suite.size if suite.size is not None else sum(1 for _ in suite.tasks())
    total = min(size, spec.limit or size)
    # The base URL is that of the model under test; a named judge has its own, and its key goes nowhere else.
    judge_base = None if spec.judge in model_configs() else spec.api_base
    config = model_config(spec.model, spec.api_base)
    judge_config = model_config(spec.judge, judge_base) if spec.judge else config
    if isinstance(config, ModelConfig):
        protocol = fitted(protocol, config, judge_config if isinstance(judge_config, ModelConfig) else None)
    setup = Setup(method, Switches.without(*spec.switches), protocol, metrics)
    settings = {
        "suite": suite.name,
        "sources": {source.name: source.sha256 for source in suite.sources},
        "items": total,
        "method": spec.method,
        "method_options": dict(method_configs()[spec.method].options) if spec.method in method_configs() else {},
        "uses_gold": method.from_gold is not None,
        "switches": list(setup.switches.names),
        "protocol": asdict(protocol),
        "model": semantic(config),
        "judge": semantic(judge_config) if spec.judge else None,
        "metrics": list(metrics),
        "prompts": prompts_digest(),
        "judge_prompts": prompts_digest(*sorted(JUDGED)),
        "history_cues": file_sha256(CUES),
        "sampling": dict(SAMPLING),
        "scorer": SCORER_VERSION,
        "repeat": spec.repeat,
    }
    if not ask:
        return Run(spec, suite, total, setup, settings, Rules(), config, Rules(), judge_config)
    backend = make_backend(spec.model, spec.api_base, timeout)
    judge = make_backend(spec.judge, judge_base, timeout) if spec.judge else backend
    return Run(spec, suite, total, setup, settings, backend, config, judge, judge_config)


def begin(run: Run, folder: Path, workers: int) -> None:
    """Write the manifest of a run that starts in a new folder."""
    manifest.write(
        folder,
        {
            "id": folder.name,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "spec": asdict(run.spec),
            "settings": run.settings,
            "fingerprint": manifest.fingerprint(run.settings),
            "suite_notes": list(run.suite.notes),
            "expected": run.suite.expected,
            "self_judged": self_judged(run.settings),
            "workers": workers,
            "environment": manifest.environment(),
        },
    )


def execute(run: Run, folder: Path, *, workers: int, watcher: Watcher, means: Means | None = None) -> None:
    """Run every task that `folder` has no completed record of.

    Raises UserError on a refused key, an interruption or a limit; it names the command that goes on.

    In a folder of an earlier session of the same run, what it was answered is not asked again; questions that
    failed are.
    """
    means = means or Means()
    go_on = f"go on with: {means.again(folder)}"
    journal = Journal(folder)
    try:
        asyncio.run(_run_all(run, Before.of(folder), journal, workers, watcher, means))
    except (sqlite3.Error, OSError) as error:
        message = f"{folder} cannot be written to ({error}): make room, then {go_on}"
        raise UserError(message, Exit.ABORTED) from error
    except UserError as error:
        raise UserError(f"{error}; {go_on}", error.code) from error
    except KeyboardInterrupt:
        message = f"interrupted; what was answered so far is kept in {folder}; {go_on}"
        raise UserError(message, Exit.INTERRUPTED) from None
    finally:
        journal.close()


@dataclass(frozen=True, slots=True)
class Before:
    """What earlier sessions of a run left."""

    completed: Mapping[int, Record]
    """As `read_outcomes` gives them."""
    replies: Mapping[str, Reply]
    unread: frozenset[str]
    """Keys of the calls whose verdict failed."""

    @classmethod
    def of(cls, folder: Path) -> Before:
        """Completed records, and the replies that may stand: those of a verdict that failed are asked for anew."""
        outcomes = read_outcomes(folder)
        failed = [ordinal for ordinal, record in outcomes.items() if not record.completed]
        unread = {call.key for call in read_calls_of(folder, failed) if call.role in JUDGED}
        completed = {ordinal: record for ordinal, record in outcomes.items() if record.completed}
        return cls(completed, read_replies(folder, but=unread), frozenset(unread))


async def _run_all(run: Run, before: Before, journal: Journal, workers: int, watcher: Watcher, means: Means) -> None:
    label = f"{run.spec.suite} {run.spec.method} {run.spec.model}"
    watcher.begin(label, run.total, list(before.completed.values()))
    halt = Halt()
    desk = Desk(journal.add_reply, journal.add_build, before.replies, run.spec.repeat)
    model = way_to(run.backend, run.config, desk, means, halt, before.unread)
    judge = model
    if run.judge is not run.backend:
        judge = way_to(run.judge, run.judge_config, desk, means, halt, before.unread)
    builds = Builds(run.setup, model.backend, model.desk)
    # Tasks are pulled as workers become free, so that few histories are held.
    tasks = enumerate(itertools.islice(run.suite.tasks(), run.total))
    todo = (piece for piece in tasks if piece[0] not in before.completed)
    order = Spread(itertools.takewhile(lambda _: not halt.reason, todo), window=_AHEAD * workers)

    async def work(piece: tuple[int, Task]) -> None:
        if halt.reason:
            return
        ordinal, task = piece
        watcher.started()
        began = time.perf_counter()
        ledger = Ledger(model.backend, model.desk)
        order.begun(task.history.id, ledger)
        record = await run_item(task, run.setup, ledger, Ledger(judge.backend, judge.desk), builds)
        order.ended(task.history.id)
        if halt.reason and not record.completed:  # not a failure: it is still to be asked
            return
        journal.add_record(ordinal, record, time.perf_counter() - began)
        watcher.finished(record)

    try:
        with interruptible(halt, watcher.tell):
            await in_parallel(order, work, workers)
    finally:
        await model.backend.close()
        if judge is not model:
            await judge.backend.close()
    if halt.reason:
        raise halt.reason
