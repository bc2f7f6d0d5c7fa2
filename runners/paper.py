"""A sweep read from its journals, and the paper's Tables 1, 2 and 3 made of it. No model is asked.

A mean over suites weights them equally and stands only where all are there. Its interval, and that of a difference of
means, follows from the suites' own as independent estimates (Zou and Donner 2008).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import hypot
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import TypeAdapter

from rdforget.plugins import nearest
from rdforget.records import CallRecord, Protocol, Record, Usage
from rdforget.scoring.metrics import JUDGED
from runners import manifest
from runners.compare import unlike_data, unlike_judges
from runners.config import SweepConfig, model_configs
from runners.errors import UserError
from runners.journal import FILE as JOURNAL
from runners.journal import read_builds, read_records
from runners.latex import Box, Sheet
from runners.paper_reference import ABLATED_MODEL, Table, reference
from runners.runs import sweep_specs
from runners.stats import Interval, Paired, Scored, holm, interval_of, paired_of, scored
from runners.tables import Cell, Summary, cells_of, summary_of

MAIN = {"amb-text": "AMB-Text", "lme-ku": "LME-KU", "mab-fc": "MAB-FC"}
INTENT = {"beam": "BEAM", "personamem": "PersonaMem"}
ABLATIONS = {
    "Full": [],
    "-FORGET": ["no-forget"],
    "-QC": ["no-qc"],
    "-SLOT": ["no-slot"],
    "-RESCUE": ["no-rescue"],
    "-CLOSURE": ["no-closure"],
}
METHODS = {"RD": "rd-forget", "ACE": "ace", "RB": "reasoningbank"}
TITLES = {"RD": "RD-Forget", "ACE": "ACE", "RB": "ReasoningBank"}


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
        if (base := bases.get(_setting(run))) and base is not run and _alike(run, base)
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


def _alike(a: Measured, b: Measured) -> bool:
    return not unlike_data(a.settings, b.settings) and not unlike_judges(a.settings, b.settings, a.cell.metric)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Percent or points with a 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def mean(cls, parts: Sequence[Interval | Paired]) -> Estimate:
        """The mean of independent estimates."""
        values = [part.value if isinstance(part, Interval) else part.difference for part in parts]
        below = hypot(*(value - part.low for value, part in zip(values, parts, strict=True))) / len(parts)
        above = hypot(*(part.high - value for value, part in zip(values, parts, strict=True))) / len(parts)
        mean = fmean(values)
        return cls(mean, mean - below, mean + above)


@dataclass(frozen=True)
class Value:
    """What a cell of the paper's tables is made of: the runs of one suite, or of each suite of a mean."""

    suites: Sequence[Sequence[Measured]]
    """For every suite its repeats."""

    @cached_property
    def parts(self) -> list[dict[str, Scored]]:
        """For every suite the score of each question, averaged over repeats."""
        parts = []
        for repeats in self.suites:
            scores: defaultdict[str, list[Scored]] = defaultdict(list)
            for run in repeats:
                for item, score in run.evaluations.items():
                    scores[item].append(score)
            parts.append({i: Scored(fmean(s.value for s in many), many[0].cluster) for i, many in scores.items()})
        return parts

    @cached_property
    def estimate(self) -> Estimate | None:
        """None where a suite has no completed evaluation."""
        found = [interval for part in self.parts if (interval := interval_of(part))]
        return Estimate.mean(found) if len(found) == len(self.suites) else None

    def count(self, field: str) -> int:
        """A count of `Cell`, summed over the runs."""
        return sum(int(getattr(run.cell, field)) for repeats in self.suites for run in repeats)

    def less(self, other: Value) -> Estimate | None:
        """The difference on the questions that both completed; None where the runs must not be compared."""
        if not all(_alike(a[0], b[0]) for a, b in zip(self.suites, other.suites, strict=True)):
            return None
        found = [result for a, b in zip(self.parts, other.parts, strict=True) if (result := paired_of(a, b))]
        return Estimate.mean(found) if len(found) == len(self.suites) else None


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table of the paper: for readers, and a row a cell for programs."""

    sheet: Sheet
    cells: Sequence[dict[str, Any]]


def paper_tables(sweep: Sweep) -> list[PaperTable]:
    """Tables 1, 2 and 3, those that the sweep has a cell of; with several budgets, at the paper's."""
    budgets = {run.cell.budget for run in sweep.runs}
    budget = budgets.pop() if len(budgets) == 1 else Protocol().budget
    whole: dict[str, _Row] = {row: (TITLES[row], method, []) for row, method in METHODS.items()}
    ablations = {row: (row, METHODS["RD"], off) for row, off in ABLATIONS.items()}
    layouts = (
        _Layout(1, "Main comparison", MAIN, whole),
        _Layout(2, "Ablations of RD-Forget", MAIN, ablations),
        _Layout(3, "Query-intent evaluation", INTENT, whole),
    )
    runs = {
        layout: [run for run in sweep.runs if run.cell.budget == budget and layout.row_of(run)] for layout in layouts
    }
    rows = {layout.number: {layout.row_of(run) for run in runs[layout]} for layout in layouts}
    # The full method alone is a row of both tables, and in the paper two batches of it: it goes where it has company.
    if rows[2] == {"Full"}:
        rows[2] = set()
    elif rows[1] == {"RD"}:
        rows[1] = set()
    return [layout.table(runs[layout], budget, sweep.absent) for layout in layouts if rows[layout.number]]


_Row = tuple[str, str, list[str]]
"""Title, method, switches."""


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    number: Table
    title: str
    suites: Mapping[str, str]
    rows: Mapping[str, _Row]
    """By the paper's names of them."""

    @property
    def columns(self) -> list[str]:
        return [*self.suites.values(), *([] if self.number == 3 else ["mean"])]

    def row_of(self, run: Measured) -> str | None:
        """The row that a run is a cell of."""
        own = (run.cell.method, run.cell.switches)
        rows = (row for row, (_, method, off) in self.rows.items() if own == (method, off))
        return next(rows, None) if run.cell.suite in self.suites else None

    def table(self, runs: Sequence[Measured], budget: int, absent: Sequence[str]) -> PaperTable:
        labels = list(dict.fromkeys(run.label for run in runs))
        foreign = [label for label in labels if label not in reference().models(self.number)]
        titles = {row: title for row, (title, _, _) in self.rows.items()}
        if self.number != 2:
            titles["gain"] = "gain over the better baseline"
        cells: list[dict[str, Any]] = []
        rows = []
        for label in labels:
            grid = self._grid([run for run in runs if run.label == label])
            for row, title in titles.items():
                line = [self._cell(label, row, column, grid) for column in self.columns]
                cells += line
                boxes = [Box.of(label if row == next(iter(titles)) else ""), Box.of(title), *map(_box, line)]
                if foreign:
                    boxes.append(self._orientation(row) if label in foreign else Box.of(""))
                rows.append(boxes)
        head = ["model", "ablation" if self.number == 2 else "method", *self.columns]
        if foreign:
            head.append(f"the paper's {ABLATED_MODEL} (another model)")
        notes = [*self._notes(runs, foreign, cells), *(f"not begun: {run}" for run in absent)]
        title = f"Table {self.number}. {self.title}, B = {budget:,}"
        return PaperTable(Sheet(f"table{self.number}", title, head, rows, notes), cells)

    def _grid(self, runs: Sequence[Measured]) -> dict[tuple[str, str], Value]:
        """What one model has by row and column; a mean where all suites are there."""
        grid: dict[tuple[str, str], Value] = {}
        for row in self.rows:
            suites: defaultdict[str, list[Measured]] = defaultdict(list)
            for run in runs:
                if self.row_of(run) == row:
                    suites[self.suites[run.cell.suite]].append(run)
            grid |= {(row, column): Value([repeats]) for column, repeats in suites.items()}
            if suites.keys() == set(self.suites.values()):
                grid[row, "mean"] = Value(list(suites.values()))
        return {place: value for place, value in grid.items() if value.estimate}

    def _cell(self, label: str, row: str, column: str, grid: Mapping[tuple[str, str], Value]) -> dict[str, Any]:
        """One cell for programs; `paper` and `difference` only where the paper has the model."""
        others = {name: value for name in self.rows if (value := grid.get((name, column)))}
        value, mark, estimate = others.get(row), "", None
        if row == "gain":
            better = max((v for name, v in others.items() if name != "RD"), key=_height, default=None)
            if "RD" in others and better:
                value, estimate = others["RD"], others["RD"].less(better)
                mark = "tie" if estimate and estimate.low <= 0 <= estimate.high else ""
        elif value:
            estimate, mark = value.estimate, _mark(value, list(others.values()))
        stated = reference().cell(self.number, label, row, column)
        known = stated.value if stated else None
        return {
            "table": self.number,
            "model": label,
            "row": row,
            "column": column,
            "value": round(estimate.value, 2) if estimate else None,
            "low": round(estimate.low, 2) if estimate else None,
            "high": round(estimate.high, 2) if estimate else None,
            "completed": value.count("n_completed") if value and row != "gain" else None,
            "selected": value.count("n_total") if value and row != "gain" else None,
            "mark": mark,
            "paper": known,
            "paper_status": stated.status if stated else None,
            "paper_text": stated.text if stated else None,
            "difference": round(round(estimate.value, 2) - known, 2) if estimate and known is not None else None,
        }

    def _orientation(self, row: str) -> Box:
        """A row of the paper's Luna, for models that the paper does not have."""
        stated = {column: reference().cell(self.number, ABLATED_MODEL, row, column) for column in self.columns}
        return Box(tuple(f"{column} {one.text}" for column, one in stated.items() if one))

    def _notes(self, runs: Sequence[Measured], foreign: Sequence[str], cells: Sequence[Mapping[str, Any]]) -> list[str]:
        notes = [
            "A cell: percent over completed evaluations, its 95 % interval, completed of selected questions, then what "
            "the paper has and the difference to it in points.",
            "best: the highest of its model and column; tied, tie: its paired difference to the highest is not told "
            "from 0 (the 95 % interval covers it).",
        ]
        if self.number != 2:
            notes.append("The gain's interval does not know that the better baseline was picked after the fact.")
        if self.number != 3:
            notes.append("mean: suites weigh equally; it is missing where a suite is.")
        if foreign:
            notes.append(
                f"{', '.join(foreign)}: no model of this table of the paper, so that no difference is taken; the last "
                f"column has the paper's {ABLATED_MODEL} for orientation only."
            )
        if any(cell["paper_status"] in ("derived", "unique") or foreign for cell in cells):
            notes.append(
                "derived: arithmetic on numbers of the paper's text; unique: the only count of questions that fits "
                "them; not stated: the text does not fix it."
            )
        for suite, column in self.suites.items():
            of_suite = [run for run in runs if run.cell.suite == suite]
            whole = reference().questions(column)
            if other := sorted({run.cell.n_total for run in of_suite} - {whole}):
                notes.append(f"{column}: {', '.join(map(str, other))} questions here, {whole} in the paper.")
            if any(run.cell.repeat for run in of_suite):
                notes.append(f"{column}: a question's score is its mean over repeats.")
            notes += dict.fromkeys(f"{column}: {note}" for run in of_suite for note in run.notes)
        judged = {self.suites[run.cell.suite]: run for run in runs if run.cell.metric in JUDGED}
        if judged:
            judges = {run.settings["judge"] and str(run.settings["judge"].get("model")) for run in judged.values()}
            told = " and ".join(sorted(judge or "the model that answered" for judge in judges))
            notes.append(f"Verdicts on {', '.join(judged)} are given by {told}.")
        return notes


def _height(value: Value) -> float:
    return value.estimate.value if value.estimate else 0.0


def _mark(value: Value, column: Sequence[Value]) -> str:
    """Whether a value is the best of its column, and whether that is told from the others."""
    if len(column) == 1:
        return ""
    best = max(column, key=_height)
    tied = [one for one in column if one is not best and _covers_zero(best.less(one))]
    if _height(value) == _height(best):
        return "best, tied" if tied else "best"
    return "tie" if value in tied else ""


def _covers_zero(difference: Estimate | None) -> bool:
    return difference is not None and difference.low <= 0 <= difference.high


def _box(cell: Mapping[str, Any]) -> Box:
    lines = []
    gain = cell["row"] == "gain"
    if cell["value"] is None:
        lines.append("missing")
    else:
        number = f"{cell['value']:{'+' if gain else ''}.2f}"
        lines += [f"{number} {cell['mark']}".strip(), f"{cell['low']:.2f} to {cell['high']:.2f}"]
    if cell["selected"] is not None:
        lines.append(f"{cell['completed']} of {cell['selected']}")
    if cell["paper"] is not None:
        moved = f", {cell['difference']:+.2f}" if cell["difference"] is not None else ""
        lines.append(f"paper {cell['paper_text']}{moved}")
    elif cell["paper_text"]:
        lines += f"paper {cell['paper_text']}".split(", ")
    return Box(tuple(lines), strong=cell["mark"].startswith("best"))
