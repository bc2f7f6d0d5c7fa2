"""How sure a value is, and whether two methods differ: intervals, paired tests, and Holm over a table.

Scores go in from 0 to 1, percent and points come out. What is resampled is the *unit*: questions over one conversation
stand or fall together, so the conversation is drawn, not the question. Where all questions are over one conversation
(AMB-Text, MAB-FC) there is nothing else to draw than questions, and an interval speaks of further questions over that
conversation only.

Everything is deterministic: resampling is seeded. SciPy and statsmodels are imported when a figure is asked for, since
they take longer to import than a small run takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rdforget.records import Record

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float64]]

RESAMPLES = 10_000
SEED = 20_260_910
_TAILS = (0.025, 0.975)
_PREFIX = re.compile(r"(.*:[0-9a-f]{8,}):\d+")


Bounds = Literal["wilson", "bootstrap"]
"""Where an interval comes from."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A completed evaluation: its value from 0 to 1, and the conversation that it is about."""

    value: float
    cluster: str


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean score in percent with its 95 % interval; `low <= value <= high`."""

    value: float
    low: float
    high: float
    n: int
    """Questions."""
    units: int
    """What was taken as independent: conversations where there are several, else questions."""
    by: Bounds


@dataclass(frozen=True, slots=True)
class Paired:
    """A method less another one on the same questions, in points, with the 95 % interval of the difference."""

    difference: float
    low: float
    high: float
    by: Bounds
    p: float
    """Two-sided, of no difference; not yet adjusted for other comparisons (`holm`)."""
    test: Literal["mcnemar", "sign-flip"]
    wins: int
    """Questions where the first method scores higher."""
    losses: int
    ties: int
    n: int
    units: int
    """What was taken as independent: conversations where there are several, else questions."""

    @property
    def verdict(self) -> Literal["better", "worse", "tie"]:
        """What the first method is; a tie where the interval of the difference covers 0."""
        if self.low <= 0 <= self.high:
            return "tie"
        return "better" if self.difference > 0 else "worse"


def cluster_of(history_id: str) -> str:
    """The conversation that a history is taken from.

    Histories that are prefixes of one conversation are named by a digest of it and the place where they end
    (`amb-text:449f10a1:12`, `personamem:3cc19ddf3696:149`): the conversation is the id without that place. Every other
    history is a conversation of its own (`beam:3`, `lme-ku:01493427`, `mab-fc:mh_6k:c84c703d`).
    """
    prefix = _PREFIX.fullmatch(history_id)
    return prefix[1] if prefix else history_id


def scored(records: Iterable[Record], metric: str) -> dict[str, Scored]:
    """The completed evaluations of a metric by question id; failed and excluded ones are left out."""
    return {
        record.query.id: Scored(score.value, cluster_of(record.history))
        for record in records
        for score in record.scores
        if score.metric == metric and score.value is not None
    }


def interval(values: Sequence[float], clusters: Sequence[str]) -> Interval | None:
    """Mean and 95 % interval of one method's scores; `clusters[i]` is the conversation of `values[i]`.

    Wilson's interval where scores are 0 or 1 and questions are the units, else a percentile bootstrap over units.
    Where all units score the same there is nothing to resample, and Wilson bounds it too. None without values.
    """
    import numpy as np

    if not values:
        return None
    array = np.asarray(values, dtype=np.float64)
    sums, sizes = _units(array, clusters)
    mean = float(array.mean())
    by: Bounds = "wilson"
    if _binary(array) and len(sums) == len(array):
        low, high = wilson(int(array.sum()), len(array))
    else:
        low, high, by = _bounds(mean, sums, sizes, least=0.0)
    return Interval(_points(mean), _points(low), _points(high), len(array), len(sums), by)


def paired(a: Sequence[float], b: Sequence[float], clusters: Sequence[str]) -> Paired | None:
    """`a` less `b`, question by question: `a[i]` and `b[i]` score the same question, over conversation `clusters[i]`.

    The interval is a percentile bootstrap of the difference over units. The test is McNemar's exact one where all
    scores are 0 or 1; it counts questions, so over several questions a conversation its p is too small, and the
    interval is the one to trust. For graded scores the signs of the units' differences are flipped, all ways where
    there are at most `RESAMPLES` of them. None without questions.
    """
    import numpy as np

    if not a:
        return None
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    differences = first - second
    sums, sizes = _units(differences, clusters)
    mean = float(differences.mean())
    low, high, by = _bounds(mean, sums, sizes, least=-1.0)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    binary = _binary(first) and _binary(second)
    return Paired(
        difference=_points(mean),
        low=_points(low),
        high=_points(high),
        by=by,
        p=_mcnemar(wins, losses) if binary else _sign_flip(sums),
        test="mcnemar" if binary else "sign-flip",
        wins=wins,
        losses=losses,
        ties=len(differences) - wins - losses,
        n=len(differences),
        units=len(sums),
    )


def interval_of(evaluations: Mapping[str, Scored]) -> Interval | None:
    """`interval` of what `scored` found."""
    return interval([e.value for e in evaluations.values()], [e.cluster for e in evaluations.values()])


def paired_of(a: Mapping[str, Scored], b: Mapping[str, Scored]) -> Paired | None:
    """`paired` on the questions that both have; None where there is no such question."""
    common = [item for item in a if item in b]
    return paired([a[i].value for i in common], [b[i].value for i in common], [a[i].cluster for i in common])


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values of one table, in their order, adjusted so that the chance of any false difference is bounded."""
    from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

    return [float(p) for p in multipletests(p_values, method="holm")[1]] if p_values else []


def _units(values: Floats, clusters: Sequence[str]) -> tuple[Floats, Floats]:
    """Sum and number of questions of each unit, in order of first appearance."""
    import numpy as np

    if len(clusters) != len(values):
        raise ValueError(f"{len(values)} values, but {len(clusters)} clusters")
    numbers: dict[str, int] = {}
    places = [numbers.setdefault(cluster, len(numbers)) for cluster in clusters]
    if len(numbers) == 1:
        return values, np.ones_like(values)
    sums = np.bincount(places, weights=values).astype(np.float64)
    return sums, np.bincount(places).astype(np.float64)


def _bounds(mean: float, sums: Floats, sizes: Floats, least: float) -> tuple[float, float, Bounds]:
    """Percentile interval of the mean a question when units are drawn with replacement, on a scale from `least` to 1.

    Where every unit has the same mean that would be certainty, even of a single question. There the share of units
    unlike those seen is taken to be Wilson's bound for none in so many, and such units may have any value of the
    scale; for independent scores of 0 or 1 this is Wilson's interval.
    """
    import numpy as np

    if np.ptp(sums / sizes) < 1e-12:
        unlike = wilson(0, len(sums))[1]
        return mean - unlike * (mean - least), mean + unlike * (1 - mean), "wilson"
    # Units that are alike are drawn together: the same law, and a few columns instead of one a unit. Their order is
    # that of appearance and not of size, so that a difference the other way round has the mirrored interval.
    kinds, firsts, counts = np.unique(np.stack([sums, sizes]), axis=1, return_index=True, return_counts=True)
    order = np.argsort(firsts)
    drawn = np.random.default_rng(SEED).multinomial(len(sums), counts[order] / len(sums), size=RESAMPLES)
    kind_sums, kind_sizes = kinds[:, order]
    low, high = np.quantile((drawn @ kind_sums) / (drawn @ kind_sizes), _TAILS)
    return float(low), float(high), "bootstrap"


def wilson(count: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of independent things, 0 to 1."""
    from statsmodels.stats.proportion import proportion_confint  # type: ignore[import-untyped]

    low, high = proportion_confint(count, of, alpha=0.05, method="wilson")
    return float(low), float(high)


def _mcnemar(wins: int, losses: int) -> float:
    from statsmodels.stats.contingency_tables import mcnemar  # type: ignore[import-untyped]

    return float(mcnemar([[0, wins], [losses, 0]], exact=True).pvalue)


def _sign_flip(sums: Floats) -> float:
    """p of the units' summed differences, when either sign of each is as likely."""
    import numpy as np
    from scipy.stats import permutation_test

    if len(sums) == 1:
        return 1.0  # either sign is as far from 0

    def total(ours: Floats, theirs: Floats, axis: int) -> Floats:
        result: Floats = (ours - theirs).sum(axis=axis)
        return result

    tested = permutation_test(
        (sums, np.zeros_like(sums)),
        total,
        permutation_type="samples",
        n_resamples=RESAMPLES,
        batch=max(1, 1_000_000 // len(sums)),
        rng=np.random.default_rng(SEED),
    )
    return float(tested.pvalue)


def _binary(values: Floats) -> bool:
    return bool(((values == 0) | (values == 1)).all())


def _points(share: float) -> float:
    """Percent, without the last digits that depend on the order of a sum; never -0."""
    return round(100 * share, 6) + 0.0
