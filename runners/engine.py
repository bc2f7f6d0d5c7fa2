"""The run engine: tasks in, records out, with bounded concurrency; each record is on disk before it counts."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from rdforget.calls.base import SAMPLING, Reply, prompts_digest
from rdforget.item import Builds, Desk, Ledger, Setup, run_item
from rdforget.methods.base import Method
from rdforget.methods.registry import BUILDERS
from rdforget.models.base import Backend, CallError
from rdforget.models.rules import Rules
from rdforget.plugins import nearest
from rdforget.records import Record, Switches, Task
from rdforget.scoring.metrics import JUDGED, SCORERS
from rdforget.suites.base import Suite, file_sha256
from rdforget.suites.registry import load_suite
from rdforget.view.eligibility import CUES
from runners import manifest
from runners.backends import make_backend, model_config, semantic
from runners.config import SWITCH_NAMES, MethodConfig, SuiteConfig, method_configs, model_configs, suite_configs
from runners.errors import Exit, UserError
from runners.journal import Journal, read_numbered, read_replies
from runners.pool import in_parallel
from runners.tables import self_judged

SCORER_VERSION = 1
"""Raised when a scorer changes what it returns, so that runs before and after are not compared unseen."""


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


class Watcher(Protocol):
    """Who looks on while a run goes."""

    def begin(self, label: str, total: int) -> None: ...

    def started(self) -> None: ...

    def finished(self, record: Record) -> None: ...


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
    judge: Backend


def make_method(name: str) -> Method:
    """A method of configs/methods.yaml, or one that another package brings, with its default options."""
    configs = method_configs()
    if name not in configs and name not in BUILDERS.names():
        raise UserError(nearest("method", name, [*configs, *BUILDERS.names()]))
    config = configs.get(name) or MethodConfig(builder=name)
    return BUILDERS.get(config.builder).build(name, config.options)


def prepare(spec: RunSpec, data_dir: Path | None, suite: Suite | None = None, *, ask: bool = True) -> Run:
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
    config = suite_configs().get(spec.suite.partition(":")[0], SuiteConfig(metrics=("rule",)))
    for metric in config.metrics:
        SCORERS.get(metric)
    metrics = config.metrics + (("judge",) if spec.judge and not JUDGED & set(config.metrics) else ())
    protocol = replace(config.protocol, budget=spec.budget or config.protocol.budget)
    setup = Setup(method, Switches.without(*spec.switches), protocol, metrics)
    size = suite.size if suite.size is not None else sum(1 for _ in suite.tasks())
    total = min(size, spec.limit or size)
    # The base URL is that of the model under test; a named judge has its own, and its key goes nowhere else.
    judge_base = None if spec.judge in model_configs() else spec.api_base
    judge_settings = semantic(model_config(spec.judge, judge_base)) if spec.judge else None
    settings = {
        "suite": suite.name,
        "sources": {source.name: source.sha256 for source in suite.sources},
        "items": total,
        "method": spec.method,
        "method_options": dict(method_configs()[spec.method].options) if spec.method in method_configs() else {},
        "uses_gold": method.from_gold is not None,
        "switches": list(setup.switches.names),
        "protocol": asdict(protocol),
        "model": semantic(model_config(spec.model, spec.api_base)),
        "judge": judge_settings,
        "metrics": list(metrics),
        "prompts": prompts_digest(),
        "judge_prompts": prompts_digest(*sorted(JUDGED)),
        "history_cues": file_sha256(CUES),
        "sampling": dict(SAMPLING),
        "scorer": SCORER_VERSION,
        "repeat": spec.repeat,
    }
    if not ask:
        return Run(spec, suite, total, setup, settings, Rules(), Rules())
    backend = make_backend(spec.model, spec.api_base)
    judge = make_backend(spec.judge, judge_base) if spec.judge else backend
    return Run(spec, suite, total, setup, settings, backend, judge)


def safe_name(label: str) -> str:
    """A label as part of a folder's name."""
    return "".join(char if char.isalnum() or char in "-_." else "-" for char in label)[:80]


def new_folder(root: Path, label: str) -> Path:
    """A new folder `<UTC time>-<label>` under `root`; an existing one is never reused."""
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{root} cannot hold run folders ({error.strerror}): give another --out") from error
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    for attempt in itertools.count():
        folder = root / f"{stamp}-{safe_name(label)}{f'-{attempt}' if attempt else ''}"
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise UserError(f"{root} cannot hold run folders ({error.strerror}): give another --out") from error
        return folder
    raise AssertionError("unreachable")


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


def execute(run: Run, folder: Path, *, workers: int, watcher: Watcher) -> None:
    """Run every task that `folder` has no completed record of. Raises UserError on a refused key or interruption.

    In a folder of an earlier session of the same run, what it was answered is not asked again; questions that
    failed are.
    """
    journal = Journal(folder)
    try:
        before = Before.of(folder)
        asyncio.run(_run_all(run, before, journal, workers, watcher))
    except (sqlite3.Error, OSError) as error:
        raise UserError(f"{folder} cannot be written to ({error}): make room and --resume it", Exit.ABORTED) from error
    except KeyboardInterrupt:
        raise UserError(f"interrupted; what was answered so far is kept in {folder}", Exit.INTERRUPTED) from None
    finally:
        journal.close()


@dataclass(frozen=True, slots=True)
class Before:
    """What earlier sessions of a run left."""

    completed: Mapping[int, Record]
    replies: Mapping[str, Reply]

    @classmethod
    def of(cls, folder: Path) -> Before:
        """Completed records, and the replies that may stand: those of a verdict that failed are asked for anew."""
        records = dict(read_numbered(folder, rejudged=False))
        unread = {
            call.key
            for record in records.values()
            if not record.completed
            for call in record.calls
            if call.role in JUDGED
        }
        replies = {key: reply for key, reply in read_replies(folder).items() if key not in unread}
        return cls({at: record for at, record in records.items() if record.completed}, replies)


async def _run_all(run: Run, before: Before, journal: Journal, workers: int, watcher: Watcher) -> None:
    watcher.begin(f"{run.spec.suite} {run.spec.method} {run.spec.model}", run.total)
    for record in before.completed.values():
        watcher.started()
        watcher.finished(record)
    desk = Desk(journal.add_reply, journal.add_build, before.replies, run.spec.repeat)
    builds = Builds(run.setup, run.backend, desk)

    async def work(piece: tuple[int, Task]) -> None:
        ordinal, task = piece
        watcher.started()
        began = time.perf_counter()
        record = await run_item(task, run.setup, Ledger(run.backend, desk), Ledger(run.judge, desk), builds)
        journal.add_record(ordinal, record, time.perf_counter() - began)
        watcher.finished(record)
        if record.failure and record.failure.kind == "auth":  # every other question would be refused too
            raise CallError("auth", record.failure.message)

    try:
        # Tasks are pulled one at a time, so that only histories in work are held.
        tasks = enumerate(itertools.islice(run.suite.tasks(), run.total))
        await in_parallel((piece for piece in tasks if piece[0] not in before.completed), work, workers)
    finally:
        await run.backend.close()
        if run.judge is not run.backend:
            await run.judge.close()
