"""Whether two judges of the same answers agree: counts, percent and Cohen's kappa."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rdforget.records import Record, Verdict
from rdforget.scoring.metrics import JUDGED
from runners.console import print_table, stdout

_VERDICTS = (Verdict.CORRECT, Verdict.PARTIAL, Verdict.WRONG)
NONE = "none"
"""No verdict could be had, or the judge was not asked."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two judged metrics over the questions that at least one of them applies to."""

    first: str
    second: str
    counts: dict[str, dict[str, int]]
    """Questions by the verdict of the first and then that of the second."""
    both: int
    """Questions with a verdict of both: what follows is over them."""
    agreed: int
    percent: float | None
    kappa: float | None
    """None where chance alone would agree always: both judges gave one and the same verdict throughout."""
    low: float | None
    high: float | None
    """95 % interval of kappa; None where it cannot be had."""
    differing: list[str]
    """Ids of the questions that they judge differently."""


def agreements(records: Sequence[Record], label: str) -> list[Agreement]:
    """Every judged metric of a run against the one that judge `label` gave."""
    seen = dict.fromkeys(score.metric for record in records for score in record.scores)
    judged = [metric for metric in seen if metric.partition("[")[0] in JUDGED]
    return [
        agreement(records, first, second)
        for second in judged
        if second.endswith(f"[{label}]")
        for first in judged
        if first != second and first.partition("[")[0] == second.partition("[")[0]
    ]


def agreement(records: Iterable[Record], first: str, second: str) -> Agreement:
    """How far two metrics give the same verdicts."""
    counts: Counter[tuple[str, str]] = Counter()
    differing = []
    for record in records:
        verdicts = {score.metric: score.verdict for score in record.scores}
        if verdicts.get(first, Verdict.EXCLUDED) is verdicts.get(second, Verdict.EXCLUDED) is Verdict.EXCLUDED:
            continue
        ours, theirs = _told(verdicts.get(first)), _told(verdicts.get(second))
        counts[ours, theirs] += 1
        if NONE not in (ours, theirs) and ours != theirs:
            differing.append(record.query.id)
    used = [str(verdict) for verdict in _VERDICTS if any(str(verdict) in pair for pair in counts)]
    table = [[counts[ours, theirs] for theirs in used] for ours in used]
    both, agreed = sum(map(sum, table)), sum(table[at][at] for at in range(len(used)))
    kappa = _kappa(table) if both else (None, None, None)
    names = [*used, NONE]
    return Agreement(
        first=first,
        second=second,
        counts={ours: {theirs: counts[ours, theirs] for theirs in names} for ours in names},
        both=both,
        agreed=agreed,
        percent=round(100 * agreed / both, 2) if both else None,
        kappa=kappa[0],
        low=kappa[1],
        high=kappa[2],
        differing=differing,
    )


def payload(found: Sequence[Agreement]) -> list[dict[str, Any]]:
    """What `--json` prints."""
    return [asdict(one) for one in found]


def show(found: Sequence[Agreement]) -> None:
    """The counts of each pair, and what they come to."""
    for one in found:
        console = stdout()
        console.print()
        columns = (f"{one.first} \\ {one.second}", *one.counts)
        rows = [(ours, *map(str, row.values())) for ours, row in one.counts.items()]
        print_table(columns, rows, left=columns[:1])
        if one.percent is None:
            console.print("no question has a verdict of both judges")
            continue
        console.print(f"agreement: {one.agreed} of {one.both}, {one.percent:.1f} %; Cohen's kappa {_in_words(one)}")


def _in_words(one: Agreement) -> str:
    if one.kappa is None:
        return "n/a, since both gave one verdict throughout"
    bounds = "" if one.low is None else f", 95 % interval {one.low:.3f} to {one.high:.3f}"
    return f"{one.kappa:.3f}{bounds}"


def _told(verdict: Verdict | None) -> str:
    return str(verdict) if verdict in _VERDICTS else NONE


def _kappa(table: Sequence[Sequence[int]]) -> tuple[float | None, float | None, float | None]:
    """Kappa and its interval, each None where it is not defined."""
    import numpy as np
    from statsmodels.stats.inter_rater import cohens_kappa  # type: ignore[import-untyped]

    with np.errstate(all="ignore"):  # what cannot be divided is told by its not being finite
        found = cohens_kappa(table)
    kappa, low, high = (float(value) for value in (found.kappa, found.kappa_low, found.kappa_upp))
    if not math.isfinite(kappa):
        return None, None, None
    # Without a variance there is no interval: a few questions that agree by chance are no certainty.
    bounded = math.isfinite(low) and math.isfinite(high) and low < high
    return round(kappa, 4), round(low, 4) if bounded else None, round(high, 4) if bounded else None
