"""From records to the cells of a table, and tables as text, Markdown and CSV."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from tabulate import tabulate

from rdforget.records import AnswerOutcome, Record, Trace, Verdict
from rdforget.scoring.metrics import JUDGED, names_of
from runners import latex


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
    low: float | None
    """In percent over all questions that the metric applies to: a missing evaluation counts as wrong."""
    high: float | None
    """The same, with a missing evaluation counted as right."""
    n_completed: int
    n_failed: int
    n_excluded: int
    """Questions that the metric does not apply to."""
    n_missing: int
    """Questions not asked yet: 0 in a run that has ended."""
    n_total: int
    """Questions selected: completed + failed + excluded + missing."""
    repeat: int
    uses_gold: bool
    """The method is shown evidence labels: a ceiling, not a contender."""
    self_judged: bool
    """A language model gave the verdicts on its own answers."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run did besides scoring; means are per question."""

    view_tokens: float
    packed: float
    rescues: int
    fallbacks: int
    selector_fallbacks: int
    empty_answers: int
    judge_failures: int
    disagreements: int
    """Questions where the headline rule and the strict value differ."""
    no_explicit_option: int
    """Options credited to a reply that names none explicitly, such as by the article "a"."""
    failures: dict[str, int]
    """By stage and kind, with the verdicts that could not be had."""

    @property
    def failed(self) -> str:
        """Failures in words, the most frequent first: `answer: timeout 3, judge: parse 1`."""
        return ", ".join(f"{what} {count}" for what, count in sorted(self.failures.items(), key=lambda one: -one[1]))


def self_judged(settings: Mapping[str, Any]) -> bool:
    """Whether a language model judges its own answers; `settings` as in the manifest."""
    own = settings["judge"] in (None, settings["model"])
    return own and bool(JUDGED & set(settings["metrics"])) and "model" in settings["model"]


def cells_of(records: Iterable[Record], settings: Mapping[str, Any], model: str) -> list[Cell]:
    """A cell for every metric that the run computed, the headline first; `settings` as in the manifest."""
    given = [record.scores for record in records]  # nothing else of a record is held: a run may have many
    # Declared metrics first: the headline must not depend on which questions failed.
    seen = list(dict.fromkeys(score.metric for scores in given for score in scores))
    declared = names_of(settings["metrics"])
    metrics = [name for name in declared if name in seen or name == declared[0]]
    metrics += [name for name in seen if name not in declared]
    cells = []
    for metric in metrics:
        scores = [score for all_scores in given for score in all_scores if score.metric == metric]
        values = [score.value for score in scores if score.value is not None]
        excluded = sum(score.verdict is Verdict.EXCLUDED for score in scores)
        base, _, judge = metric.partition("[")
        # A later judge was not asked about questions that had no answer yet: those are missing, not failed.
        asked = len(scores) if judge else len(given)
        failed = asked - excluded - len(values)
        applies = settings["items"] - excluded
        cells.append(
            Cell(
                suite=settings["suite"],
                method=settings["method"],
                switches=sorted(settings["switches"]),
                model=model,
                budget=settings["protocol"]["budget"],
                metric=metric,
                value=_percent(sum(values), len(values)),
                low=_percent(sum(values), applies),
                high=_percent(sum(values) + applies - len(values), applies),
                n_completed=len(values),
                n_failed=failed,
                n_excluded=excluded,
                n_missing=settings["items"] - asked,
                n_total=settings["items"],
                repeat=settings["repeat"],
                uses_gold=settings.get("uses_gold", False),
                self_judged=base in JUDGED
                and (judge.rstrip("]").partition("#")[0] == model if judge else self_judged(settings)),
            )
        )
    return cells


def summary_of(records: Iterable[Record]) -> Summary:
    """Counts that explain a score."""
    counts: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    for record in records:
        failures.update(_failures(record))
        counts.update(_traced(record.trace) if record.trace else {})
        values = {score.metric: score.value for score in record.scores}
        counts["disagreements"] += values.get("rule_strict") is not None and values["rule"] != values["rule_strict"]
        counts["empty_answers"] += record.answer is not None and record.answer.outcome is not AnswerOutcome.ANSWERED
        counts["judge_failures"] += sum(score.verdict is Verdict.INVALID for score in record.scores)
        counts["no_explicit_option"] += sum(score.detail == "no_explicit_option" for score in record.scores)
    traces = max(counts["traces"], 1)
    return Summary(
        view_tokens=round(counts["view_tokens"] / traces, 1),
        packed=round(counts["packed"] / traces, 1),
        rescues=counts["rescues"],
        fallbacks=counts["fallbacks"],
        selector_fallbacks=counts["selector_fallbacks"],
        empty_answers=counts["empty_answers"],
        judge_failures=counts["judge_failures"],
        disagreements=counts["disagreements"],
        no_explicit_option=counts["no_explicit_option"],
        failures=dict(failures),
    )


def _traced(trace: Trace) -> dict[str, int]:
    return {
        "traces": 1,
        "view_tokens": trace.view.tokens,
        "packed": len(trace.view.packed),
        "rescues": trace.rescues,
        "fallbacks": "fallback" in trace.memory.stats,
        "selector_fallbacks": trace.selector_fallback,
    }


def _failures(record: Record) -> Iterator[str]:
    if record.failure:
        yield f"{record.failure.stage}: {record.failure.kind}"
    for score in record.scores:
        if score.verdict is Verdict.INVALID:
            yield f"{score.metric.partition('[')[0]}: {score.detail.partition(':')[0] or 'unknown'}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run in a table: its metrics, the headline first, and what explains them."""

    cells: list[Cell]
    summary: Summary
    invalid: bool = False
    """So many questions have no score that the values say nothing."""


def rows_of(outcomes: Sequence[Outcome]) -> list[dict[str, str]]:
    """A row a run. Metrics are in percent over completed evaluations, `n/a` where nothing completed.

    Bounds and counts are those of the headline: a missing evaluation counted as wrong, and as right. Where a
    model judges itself in one of the rows, a column says in which.
    """
    metrics = list(dict.fromkeys(cell.metric for outcome in outcomes for cell in outcome.cells))
    judged = any(cell.self_judged for outcome in outcomes for cell in outcome.cells)
    unfinished = any(outcome.cells[0].n_missing for outcome in outcomes)
    invalid = any(outcome.invalid for outcome in outcomes)
    failing = any(outcome.summary.failures for outcome in outcomes)
    rows = []
    for outcome in outcomes:
        head, values = outcome.cells[0], {cell.metric: cell.value for cell in outcome.cells}
        rows.append(
            {
                "suite": head.suite,
                "method": head.method + (" (uses gold)" if head.uses_gold else ""),
                "switches": " ".join(head.switches) or "full",
                "model": head.model,
                "B": str(head.budget),
                **{metric: _shown(values.get(metric)) for metric in metrics},
                **(
                    {"judged by": "itself" if any(c.self_judged for c in outcome.cells) else "another"}
                    if judged
                    else {}
                ),
                **({"status": "INVALID" if outcome.invalid else "valid"} if invalid else {}),
                "bounds": _shown(head.low) + (f" to {_shown(head.high)}" if head.high != head.low else ""),
                "selected": str(head.n_total),
                "completed": str(head.n_completed),
                "failed": str(head.n_failed),
                "excluded": str(head.n_excluded),
                **({"missing": str(head.n_missing)} if unfinished else {}),
                "view tokens": f"{outcome.summary.view_tokens:.1f}",
                "packed": f"{outcome.summary.packed:.1f}",
                "rescues": str(outcome.summary.rescues),
                "fallbacks": str(outcome.summary.fallbacks),
                **({"failures": outcome.summary.failed} if failing else {}),
            }
        )
    return rows


def write_tables(folder: Path, outcomes: Sequence[Outcome], name: str = "table") -> None:
    """`<name>.md`, a row a run, and `<name>.csv`, a row a metric, in a run or sweep folder."""
    rows = [{latex.cell(name): latex.cell(value) for name, value in row.items()} for row in rows_of(outcomes)]
    markdown = tabulate(rows, headers="keys", tablefmt="github", disable_numparse=True)
    (folder / f"{name}.md").write_text(markdown + "\n", "utf-8")
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([column.name for column in fields(Cell)])
        for cell in (cell for outcome in outcomes for cell in outcome.cells):
            writer.writerow([" ".join(v) if isinstance(v, list) else v for v in asdict(cell).values()])


def _percent(part: float, whole: int) -> float | None:
    return round(100 * part / whole, 2) if whole else None


def _shown(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.2f}"
