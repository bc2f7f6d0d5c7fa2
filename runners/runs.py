"""A run or a sweep from spec to result on disk, and finding earlier ones."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter

from rdforget.models.fitting import told
from rdforget.models.parameters import ModelConfig
from rdforget.plugins import nearest
from rdforget.records import Record
from rdforget.suites.base import Suite
from rdforget.suites.registry import is_folder
from runners import manifest
from runners.config import SweepConfig
from runners.costs import Cost, costs_in, merged, payload, write_costs
from runners.engine import Run, RunSpec, Watcher, begin, execute, prepare
from runners.errors import Exit, UserError
from runners.folders import new_folder, safe_name
from runners.journal import FILE as JOURNAL
from runners.journal import read_records
from runners.means import Limits, Means, count_spent, given
from runners.tables import Cell, Outcome, cells_of, summary_of, write_tables


@dataclass(frozen=True, slots=True)
class Result:
    """A finished run or sweep."""

    folder: Path
    seconds: float
    outcomes: list[Outcome]
    code: Exit
    notes: list[str]
    costs: list[Cost] = field(default_factory=list)
    """Of language models, all sessions together."""

    def payload(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "run_dir": str(self.folder),
            "seconds": round(self.seconds, 3),
            "exit_code": int(self.code),
            "invalid": self.code is Exit.ABORTED,
            "cells": [asdict(cell) for outcome in self.outcomes for cell in outcome.cells],
            "summaries": [asdict(outcome.summary) for outcome in self.outcomes],
            "costs": payload(self.costs),
            "notes": self.notes,
        }


def run_one(spec: RunSpec, data_dir: Path | None, out: Path, limits: Limits, watcher: Watcher) -> Result:
    """`rdf run`: one cell in one folder under `out`."""
    run = prepare(spec, data_dir, timeout=limits.timeout)
    with given(limits, [run]) as means:
        folder = new_folder(out, _label(spec))
        begin(run, folder, limits.workers)
        return _execute(run, folder, limits, watcher, means)


def resume_one(
    folder: Path, changes: Mapping[str, Any], data_dir: Path | None, limits: Limits, watcher: Watcher
) -> Result:
    """`rdf run --resume`: go on in the folder of a run; `changes` are the settings given anew.

    UserError names the fields of what is measured that differ; then nothing is asked or written.
    """
    run = prepare(spec_of(folder, changes), data_dir, timeout=limits.timeout)
    _same(folder, run)
    with given(limits, [run]) as means:
        count_spent(means, run, folder)
        return _execute(run, folder, limits, watcher, means)


def repeat_one(folder: Path, data_dir: Path | None, out: Path, limits: Limits, watcher: Watcher) -> Result:
    """`rdf run --from-manifest`: the same measurement in a new folder; UserError where it is not the same any more."""
    run = prepare(spec_of(folder), data_dir, timeout=limits.timeout)
    _same(folder, run)
    with given(limits, [run]) as means:
        target = new_folder(out, _label(run.spec))
        begin(run, target, limits.workers)
        return _execute(run, target, limits, watcher, means)


def spec_of(folder: Path, changes: Mapping[str, Any] = MappingProxyType({})) -> RunSpec:
    """What a run was asked to measure, with changes."""
    spec: RunSpec = TypeAdapter(RunSpec).validate_python({**manifest.read(folder)["spec"], **changes})
    return spec


def _same(folder: Path, run: Run) -> None:
    if differing := differences(manifest.read(folder)["settings"], run.settings):
        raise UserError(f"{folder.name} measured something else: {'; '.join(differing)}")


def differences(before: Mapping[str, Any], now: Mapping[str, Any], path: str = "") -> list[str]:
    """Fields in which two settings differ, as `model.temperature: 0 then, 1 now`."""
    found = []
    for key in sorted({*before, *now}):
        old, new = before.get(key), now.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            found += differences(old, new, f"{path}{key}.")
        elif json.dumps(old, sort_keys=True) != json.dumps(new, sort_keys=True):
            found.append(f"{path}{key}: {old} then, {new} now")
    return found


def run_sweep(
    name: str, blocks: Sequence[SweepConfig], data_dir: Path | None, out: Path, limits: Limits, watcher: Watcher
) -> Result:
    """`rdf sweep`: every combination, each in a folder of its own; all are checked before the first begins.

    The newest sweep under `out` that measured the same and has not ended is gone on with; otherwise a new folder
    is made. The table is written after every run and says what is missing until the sweep has ended.
    """
    began = time.monotonic()
    runs = prepare_all(blocks, data_dir, timeout=limits.timeout)
    with given(limits, runs) as means:
        folder = _sweep_folder(name, blocks, runs, out)
        cells = [_cell_folder(folder, number, run) for number, run in enumerate(runs)]
        for run, cell in zip(runs, cells, strict=True):
            count_spent(means, run, cell)
        outcomes = [_outcome(run, None) for run in runs]
        codes = [Exit.DONE]
        costs: list[Cost] = []
        for number, (run, cell) in enumerate(zip(runs, cells, strict=True)):
            cell.mkdir(exist_ok=True)
            if not (cell / manifest.FILE).is_file():
                begin(run, cell, limits.workers)
            try:
                result = _execute(run, cell, limits, watcher, means)
            except UserError:
                outcomes[number] = _outcome(run, cell)
                write_tables(folder, outcomes)
                raise
            outcomes[number] = result.outcomes[0]
            codes.append(result.code)
            write_tables(folder, outcomes)
            costs = merged([*costs, *result.costs])
            write_costs(folder, costs)
    if max(codes) is Exit.DONE:
        manifest.write(folder, {**manifest.read(folder), "ended": True})
    return Result(
        folder=folder,
        seconds=time.monotonic() - began,
        outcomes=outcomes,
        code=max(codes),
        notes=list(dict.fromkeys(note for run in runs for note in notes_of(run))),
        costs=costs,
    )


def _sweep_folder(name: str, blocks: Sequence[SweepConfig], runs: Sequence[Run], out: Path) -> Path:
    """The folder of the same sweep that has not ended, or a new one."""
    fingerprint = manifest.fingerprint({"runs": [run.settings for run in runs]})
    if unfinished := _unfinished(out, name, fingerprint):
        return unfinished
    folder = new_folder(out, name)
    manifest.write(
        folder,
        {
            "id": folder.name,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "sweep": [block.model_dump(mode="json") for block in blocks],
            "fingerprint": fingerprint,
            "environment": manifest.environment(),
        },
    )
    return folder


def prepare_all(
    blocks: Sequence[SweepConfig], data_dir: Path | None, *, ask: bool = True, timeout: float | None = None
) -> list[Run]:
    """The runs of a sweep, each suite loaded once."""
    suites: dict[str, Suite] = {}
    runs = []
    for spec in sweep_specs(blocks):
        runs.append(prepare(spec, data_dir, suites.get(spec.suite), ask=ask, timeout=timeout))
        suites[spec.suite] = runs[-1].suite
    return runs


def sweep_specs(blocks: Iterable[SweepConfig]) -> list[RunSpec]:
    """The runs of a sweep, block by block and in it suite by suite; what an earlier block lists is not run again."""
    specs = (
        RunSpec(
            suite, method, model, switches, budget, block.limit, block.judge, block.api_base, repeat, block.chunk_tokens
        )
        for block in blocks
        for suite, method, model, budget, switches, repeat in itertools.product(
            block.suites, block.methods, block.models, block.budgets, block.switches, range(block.repeats)
        )
    )
    return list(dict.fromkeys(specs))


def find_run(name: str, root: Path) -> Path:
    """The folder of a run, by path, by id, or by the beginning of an id that only one run has.

    A run of a sweep has the id `<sweep>/<run>`; where only one sweep has such a run, the second part will do.
    """
    if (Path(name) / JOURNAL).is_file():
        return Path(name)
    runs = [path.parent for path in sorted(root.rglob(JOURNAL))]
    ids = {path: (path.name, f"{path.parent.name}/{path.name}") for path in runs}
    for match in (
        [path for path in runs if name in ids[path]],
        [path for path in runs if any(one.startswith(name) for one in ids[path])],
    ):
        if len(match) == 1:
            return match[0]
        if match:
            names = ", ".join(ids[path][1] for path in match[:6])
            raise UserError(f"run {name!r} could be any of {names}: give more of it")
    known = [path.name for path in runs]
    raise UserError(nearest("run", name, known) if known else f"there is no run {name!r}: {root} holds none")


def _label(spec: RunSpec) -> str:
    suite = Path(spec.suite).resolve().name if is_folder(spec.suite) else spec.suite
    return "-".join((suite, spec.method, spec.model, *spec.switches))


def _cell_folder(folder: Path, number: int, run: Run) -> Path:
    return folder / f"{number + 1:03d}-{safe_name(_label(run.spec))}"


def _unfinished(out: Path, name: str, fingerprint: str) -> Path | None:
    """The newest folder of the same sweep, where that has not ended with a score for every question."""
    for path in sorted(out.glob(f"*-{safe_name(name)}*/{manifest.FILE}"), reverse=True):
        try:
            before = manifest.read(path.parent)
        except (OSError, ValueError):
            continue
        if before.get("fingerprint") == fingerprint:
            return None if before.get("ended") else path.parent
    return None


def _outcome(run: Run, folder: Path | None, limits: Limits | None = None) -> Outcome:
    """What the records of a run's folder come to; of a run that has none yet, without."""

    def records() -> Iterator[Record]:  # read twice, for they are many and long
        return read_records(folder) if folder else iter(())

    cells = cells_of(records(), run.settings, run.spec.model)
    invalid = limits is not None and exit_code(cells, limits.max_error_rate) is Exit.ABORTED
    return Outcome(cells, summary_of(records()), invalid)


def _execute(run: Run, folder: Path, limits: Limits, watcher: Watcher, means: Means) -> Result:
    began = time.monotonic()
    try:
        execute(run, folder, workers=limits.workers, watcher=watcher, means=means)
    finally:
        outcome = _outcome(run, folder, limits)
        write_tables(folder, [outcome])
        costs = costs_in(folder, run)
        write_costs(folder, costs)
    return Result(
        folder=folder,
        seconds=time.monotonic() - began,
        outcomes=[outcome],
        code=exit_code(outcome.cells, limits.max_error_rate),
        notes=notes_of(run),
        costs=costs,
    )


def notes_of(run: Run) -> list[str]:
    """What a user is told of a run beside its numbers."""
    cut = told(run.setup.protocol, run.config) if isinstance(run.config, ModelConfig) else []
    return [*run.suite.notes, *cut]


def exit_code(cells: Sequence[Cell], max_error_rate: float) -> Exit:
    """3 where an item has no score; 4 where too many have none, or where nothing was selected at all."""
    asked = [(cell.n_failed, cell.n_total - cell.n_excluded) for cell in cells if cell.n_total > cell.n_excluded]
    worst = max((failed / total for failed, total in asked), default=1.0)
    if worst > max_error_rate or worst == 1.0:
        return Exit.ABORTED
    return Exit.FAILED_ITEMS if worst else Exit.DONE
