"""From records to the cells of a table, and tables as text, Markdown and CSV."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import fmean
from typing import Any

from tabulate import tabulate

from rdforget.records import AnswerOutcome, Record


@dataclass(frozen=True, slots=True)
class Cell:
    """One metric of one run. `value` is in percent over completed evaluations, as the paper has it."""

    suite: str
    method: str
    switches: list[str]
    model: str
    budget: int
    metric: str
    value: float | None
    value_all: float
    """In percent over all selected questions: a missing evaluation counts as wrong."""
    n_completed: int
    n_total: int
    n_failed: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run did besides scoring; means are per question."""

    view_tokens: float
    packed: float
    rescues: int
    fallbacks: int
    selector_fallbacks: int
    empty_answers: int
    disagreements: int
    """Questions where the headline rule and the strict value differ."""
    failures: dict[str, int]


def cells_of(records: Sequence[Record], settings: Mapping[str, Any], model: str) -> list[Cell]:
    """A cell for every metric that the run computed, the headline first; `settings` as in the manifest."""
    metrics = list(dict.fromkeys(score.metric for record in records for score in record.scores))
    cells = []
    for metric in metrics or settings["metrics"]:
        values = [s.value for r in records for s in r.scores if s.metric == metric and s.value is not None]
        cells.append(
            Cell(
                suite=settings["suite"],
                method=settings["method"],
                switches=sorted(settings["switches"]),
                model=model,
                budget=settings["protocol"]["budget"],
                metric=metric,
                value=round(100 * fmean(values), 2) if values else None,
                value_all=round(100 * sum(values) / len(records), 2) if records else 0.0,
                n_completed=len(values),
                n_total=len(records),
                n_failed=len(records) - len(values),
            )
        )
    return cells


def summary_of(records: Sequence[Record]) -> Summary:
    """Counts that explain a score."""
    traces = [record.trace for record in records if record.trace]
    scores = [{score.metric: score.value for score in record.scores} for record in records]
    return Summary(
        view_tokens=round(fmean(t.view.tokens for t in traces), 1) if traces else 0.0,
        packed=round(fmean(len(t.view.packed) for t in traces), 1) if traces else 0.0,
        rescues=sum(t.rescues for t in traces),
        fallbacks=sum("fallback" in t.memory.stats for t in traces),
        selector_fallbacks=sum(t.selector_fallback for t in traces),
        empty_answers=sum(r.answer is not None and r.answer.outcome is not AnswerOutcome.ANSWERED for r in records),
        disagreements=sum(
            values.get("rule_strict") is not None and values["rule"] != values["rule_strict"] for values in scores
        ),
        failures=dict(Counter(f"{r.failure.stage}: {r.failure.kind}" for r in records if r.failure)),
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run in a table: its metrics, the headline first, and what explains them."""

    cells: list[Cell]
    summary: Summary


def rows_of(outcomes: Sequence[Outcome]) -> list[dict[str, str]]:
    """A row a run. Metrics are in percent over completed evaluations, `n/a` where nothing completed;
    `all` is the headline with a missing evaluation counted as wrong."""
    metrics = list(dict.fromkeys(cell.metric for outcome in outcomes for cell in outcome.cells))
    rows = []
    for outcome in outcomes:
        head, values = outcome.cells[0], {cell.metric: cell.value for cell in outcome.cells}
        rows.append(
            {
                "suite": head.suite,
                "method": head.method,
                "switches": " ".join(head.switches) or "full",
                "model": head.model,
                "B": str(head.budget),
                **{metric: _percent(values.get(metric)) for metric in metrics},
                "all": _percent(head.value_all),
                "completed": f"{head.n_completed}/{head.n_total}",
                "failed": str(head.n_failed),
                "view tokens": f"{outcome.summary.view_tokens:.1f}",
                "packed": f"{outcome.summary.packed:.1f}",
                "rescues": str(outcome.summary.rescues),
                "fallbacks": str(outcome.summary.fallbacks),
            }
        )
    return rows


def write_tables(folder: Path, outcomes: Sequence[Outcome]) -> None:
    """`table.md`, a row a run, and `table.csv`, a row a metric, in a run or sweep folder."""
    markdown = tabulate(rows_of(outcomes), headers="keys", tablefmt="github", disable_numparse=True)
    (folder / "table.md").write_text(markdown + "\n", "utf-8")
    with (folder / "table.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([column.name for column in fields(Cell)])
        for cell in (cell for outcome in outcomes for cell in outcome.cells):
            writer.writerow([" ".join(v) if isinstance(v, list) else v for v in asdict(cell).values()])


def _percent(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.2f}"
