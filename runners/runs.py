"""A run or a sweep from spec to result on disk, and finding earlier ones."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rdforget.plugins import nearest
from rdforget.suites.base import Suite
from runners import manifest
from runners.config import SweepConfig
from runners.engine import Run, RunSpec, Watcher, execute, new_folder, prepare
from runners.errors import Exit, UserError
from runners.journal import FILE as JOURNAL
from runners.journal import read_records
from runners.tables import Cell, Outcome, cells_of, summary_of, write_tables


@dataclass(frozen=True, slots=True)
class Limits:
    """How a run is run, not what it measures."""

    workers: int = 8
    max_error_rate: float = 0.2
    """Share of failed items above which a result is invalid."""


@dataclass(frozen=True, slots=True)
class Result:
    """A finished run or sweep."""

    folder: Path
    seconds: float
    outcomes: list[Outcome]
    code: Exit
    notes: list[str]

    def payload(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "run_dir": str(self.folder),
            "seconds": round(self.seconds, 3),
            "exit_code": int(self.code),
            "invalid": self.code is Exit.ABORTED,
            "cells": [asdict(cell) for outcome in self.outcomes for cell in outcome.cells],
            "summaries": [asdict(outcome.summary) for outcome in self.outcomes],
            "notes": self.notes,
        }


def run_one(spec: RunSpec, data_dir: Path | None, out: Path, limits: Limits, watcher: Watcher) -> Result:
    """`rdf run`: one cell in one folder under `out`."""
    run = prepare(spec, data_dir)
    folder = new_folder(out, "-".join((spec.suite, spec.method, spec.model)))
    return _execute(run, folder, limits, watcher)


def run_sweep(
    name: str, config: SweepConfig, data_dir: Path | None, out: Path, limits: Limits, watcher: Watcher
) -> Result:
    """`rdf sweep`: every combination, each in a folder of its own; all are checked before the first begins."""
    began = time.monotonic()
    suites: dict[str, Suite] = {}
    runs = []
    for spec in sweep_specs(config):
        run = prepare(spec, data_dir, suites.get(spec.suite))
        suites[spec.suite] = run.suite
        runs.append(run)
    folder = new_folder(out, name)
    manifest.write(
        folder,
        {
            "id": folder.name,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "sweep": config.model_dump(mode="json"),
            "environment": manifest.environment(),
        },
    )
    results = []
    for number, run in enumerate(runs, start=1):
        label = "-".join((run.spec.suite, run.spec.method, run.spec.model, *run.spec.switches))
        results.append(_execute(run, _cell_folder(folder, number, label), limits, watcher))
    outcomes = [outcome for result in results for outcome in result.outcomes]
    write_tables(folder, outcomes)
    return Result(
        folder=folder,
        seconds=time.monotonic() - began,
        outcomes=outcomes,
        code=max((result.code for result in results), default=Exit.DONE),
        notes=list(dict.fromkeys(note for result in results for note in result.notes)),
    )


def sweep_specs(config: SweepConfig) -> Iterator[RunSpec]:
    """The runs of a sweep, suite by suite."""
    for suite, method, model, budget, switches in itertools.product(
        config.suites, config.methods, config.models, config.budgets, config.switches
    ):
        yield RunSpec(suite, method, model, switches, budget, config.limit, config.judge)


def find_run(name: str, root: Path) -> Path:
    """The folder of a run, by path, by id, or by the beginning of an id that only one run has."""
    if (Path(name) / JOURNAL).is_file():
        return Path(name)
    runs = {path.parent.name: path.parent for path in sorted(root.rglob(JOURNAL))}
    matches = [path for run_id, path in runs.items() if run_id.startswith(name)]
    if name in runs or len(matches) == 1:
        return runs.get(name) or matches[0]
    if matches:
        raise UserError(f"run {name!r} could be any of {', '.join(path.name for path in matches)}: give more of it")
    raise UserError(nearest("run", name, runs) if runs else f"there is no run {name!r}: {root} holds none")


def _cell_folder(folder: Path, number: int, label: str) -> Path:
    safe = "".join(char if char.isalnum() or char in "-_." else "-" for char in label)[:80]
    cell = folder / f"{number:02d}-{safe}"
    cell.mkdir()
    return cell


def _execute(run: Run, folder: Path, limits: Limits, watcher: Watcher) -> Result:
    began = time.monotonic()
    execute(run, folder, workers=limits.workers, watcher=watcher)
    records = list(read_records(folder))
    outcome = Outcome(cells_of(records, run.settings, run.spec.model), summary_of(records))
    write_tables(folder, [outcome])
    return Result(
        folder=folder,
        seconds=time.monotonic() - began,
        outcomes=[outcome],
        code=exit_code(outcome.cells, limits.max_error_rate),
        notes=list(run.suite.notes),
    )


def exit_code(cells: Sequence[Cell], max_error_rate: float) -> Exit:
    """3 where an item has no score; 4 where too many have none, or where nothing was selected at all."""
    asked = [(cell.n_failed, cell.n_total - cell.n_excluded) for cell in cells if cell.n_total > cell.n_excluded]
    worst = max((failed / total for failed, total in asked), default=1.0)
    if worst > max_error_rate or worst == 1.0:
        return Exit.ABORTED
    return Exit.FAILED_ITEMS if worst else Exit.DONE
