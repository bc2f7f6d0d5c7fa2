"""The paper's Tables 1, 2 and 3 made of a sweep. No model is asked.

A mean over suites weights them equally and stands only where all are there. Its interval, and that of a difference of
means, follows from the suites' own as independent estimates (Zou and Donner 2008).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import hypot
from statistics import fmean
from typing import Any

from rdforget.records import Protocol
from rdforget.scoring.metrics import JUDGED
from runners.latex import Box, Sheet
from runners.paper_reference import ABLATED_MODEL, Table, reference
from runners.stats import Interval, Paired, Scored, interval_of, paired_of
from runners.sweeps import Measured, Sweep, alike

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
        if not all(alike(a[0], b[0]) for a, b in zip(self.suites, other.suites, strict=True)):
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
