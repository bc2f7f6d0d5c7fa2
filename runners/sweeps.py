"""A sweep read from its journals: what each run measured, and how the runs compare. No model is asked."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from rdforget.plugins import nearest
from rdforget.records import CallRecord, Record, Usage
from runners import manifest
from runners.compare import unlike_data, unlike_judges
from runners.config import SweepConfig, model_configs
from runners.errors import UserError
from runners.journal import FILE as JOURNAL
from runners.journal import read_builds, read_records
from runners.runs import sweep_specs
from runners.stats import Paired, Scored, holm, paired_of, scored
from runners.tables import Cell, Summary, cells_of, summary_of


@dataclass(frozen=True, slots=True)
class Stage:
    """Calls of one role, a question."""

    calls: float
    tokens: Mapping[str, float]
    """By the fields of `Usage`; all 0 from a backend that counts none."""
    shared: bool
    """Some of them built a memory that several questions share: spread over all questions asked."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of a sweep, without its records."""

    id: str
    settings: Mapping[str, Any]
    notes: Sequence[str]
    cell: Cell
    """The headline metric."""
    label: str
    """The model by its name in tables."""
    summary: Summary
    evaluations: Mapping[str, Scored]
    stages: Mapping[str, Stage]
    unread: Mapping[str, int]
    """Replies with nothing usable in them, by stage; those for a shared memory once."""

    @property
    def name(self) -> str:
        """The method and what is switched off; a ceiling that uses gold is marked."""
        return " ".join((self.cell.method, *self.cell.switches)) + (" (uses gold)" if self.cell.uses_gold else "")


@dataclass(frozen=True, slots=True)
class Sweep:
    folder: Path
    manifest: Mapping[str, Any]
    runs: Sequence[Measured]
    absent: Sequence[str]
    """Runs that the sweep lists and that have not begun."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A run less the one that it is held against, on the questions that both completed."""

    run: Measured
    paired: Paired
    p: float
    """Adjusted by Holm over all comparisons of the sweep."""

    @property
    def verdict(self) -> str:
        """As `Paired.verdict`; `unsettled` where the adjusted test does not confirm the interval."""
        return self.paired.verdict if self.paired.verdict == "tie" or self.p <= 0.05 else "unsettled"


def find_sweep(name: str, root: Path) -> Path:
    """The folder of a sweep: by path, by id, by a beginning that only one id has, or the newest of that name."""
    if any(Path(name).glob(f"*/{JOURNAL}")):
        return Path(name)
    sweeps = {path.parent.parent.name: path.parent.parent for path in sorted(root.glob(f"**/*/*/{JOURNAL}"))}
    sweeps = {sweep: path for sweep, path in sweeps.items() if (path / manifest.FILE).is_file()}
    matches = [path for sweep, path in sorted(sweeps.items()) if sweep.split("-", 2)[2:] == [name]][-1:]
    matches = matches or [path for sweep, path in sweeps.items() if sweep.startswith(name)]
    if name in sweeps or len(matches) == 1:
        return sweeps.get(name) or matches[0]
    if matches:
        raise UserError(f"sweep {name!r} could be any of {', '.join(path.name for path in matches)}: give more of it")
    raise UserError(nearest("sweep", name, sweeps) if sweeps else f"there is no sweep {name!r}: {root} holds none")


def read_sweep(folder: Path) -> Sweep:
    """Every run of a sweep folder. UserError where a manifest cannot be read."""
    try:
        own = manifest.read(folder)
        specs = sweep_specs(TypeAdapter(tuple[SweepConfig, ...]).validate_python(own["sweep"]))
        runs = {path.parent.name: _measured(path.parent) for path in sorted(folder.glob(f"*/{JOURNAL}"))}
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{folder} is not a whole sweep folder: {' '.join(str(error).split())}") from error
    begun = {name.partition("-")[0] for name in runs}
    absent = [
        " ".join((spec.suite, spec.method, *spec.switches, spec.model))
        for number, spec in enumerate(specs, start=1)
        if f"{number:03d}" not in begun
    ]
    return Sweep(folder, own, list(runs.values()), absent)


def against(runs: Sequence[Measured], method: str) -> list[Compared]:
    """Each run less the whole `method` on the same data with the same model, judge, budget and repeat."""
    bases = {_setting(run): run for run in runs if run.cell.method == method and not run.cell.switches}
    pairs = [
        (run, result)
        for run in runs
        if (base := bases.get(_setting(run))) and base is not run and alike(run, base)
        if (result := paired_of(run.evaluations, base.evaluations))
    ]
    adjusted = holm([result.p for _, result in pairs])
    return [Compared(run, result, p) for (run, result), p in zip(pairs, adjusted, strict=True)]


def stages_of(records: Sequence[Record], builds: Mapping[str, tuple[CallRecord, ...]]) -> dict[str, Stage]:
    """Calls and tokens a question by role, in the order of first use; shared builds are spread over the questions."""
    # By key: a build that was begun anew after an interruption counts each of its calls once.
    shared = list({call.key: call for calls in builds.values() for call in calls}.values())
    calls: defaultdict[str, list[CallRecord]] = defaultdict(list)
    for call in (*shared, *(call for record in records for call in record.calls)):
        calls[call.role].append(call)
    spread = {call.role for call in shared}
    found = {}
    for role, asked in calls.items():
        total = sum((call.usage for call in asked), Usage())
        tokens = {name: getattr(total, name) / len(records) for name in Usage.__slots__}
        found[role] = Stage(len(asked) / len(records), tokens, role in spread)
    return found


def unread_of(records: Sequence[Record], builds: Mapping[str, Any], summary: Summary) -> dict[str, int]:
    """Replies with nothing usable in them, by stage: no parse, no known id, no verdict."""
    memories = {r.history if r.history in builds else r.query.id: r.trace.memory for r in records if r.trace}
    counts = Counter({"select": summary.selector_fallbacks, "judge": summary.judge_failures})
    counts["memory"] = sum(memory.stats.get("parse", {}).get("none", 0) for memory in memories.values())
    return dict(+counts)


def _measured(folder: Path) -> Measured:
    own = manifest.read(folder)
    model, records, builds = own["spec"]["model"], list(read_records(folder)), read_builds(folder)
    cell, summary = cells_of(records, own["settings"], model)[0], summary_of(records)
    return Measured(
        id=folder.name,
        settings=own["settings"],
        notes=own.get("suite_notes", []),
        cell=cell,
        label=model_configs()[model].label if model in model_configs() else model,
        summary=summary,
        evaluations=scored(records, cell.metric),
        stages=stages_of(records, builds) if records else {},
        unread=unread_of(records, builds, summary),
    )


def _setting(run: Measured) -> tuple[Any, ...]:
    return run.cell.suite, run.cell.model, run.cell.budget, run.cell.repeat


def alike(a: Measured, b: Measured) -> bool:
    """Whether two runs may be compared: the same questions, scored in the same way."""
    return not unlike_data(a.settings, b.settings) and not unlike_judges(a.settings, b.settings, a.cell.metric)
