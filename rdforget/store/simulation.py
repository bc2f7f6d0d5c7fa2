"""How many rows a store holds after months of use: the arithmetic in expectation, and a Monte Carlo of it.

A day brings candidates. Some merge into rows that are open: duplicates write nothing, updates close a row and write
another. The rest are new rows; the episodic ones go cold when nobody has read them for `expire_days`. Closed and cold
rows stay on the disk. Nothing is rounded here, so that rounding is done once, by whoever shows a number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from rdforget.store.records import StoreError

_STEPS = 1_000
"""Grid points of an expiry window; survival is within 1e-6 of its closed form."""


@dataclass(frozen=True, slots=True)
class Load:
    """What one user's days bring, and what is kept of it. The defaults are the store's source text's."""

    sessions: float = 2.0
    """A day."""
    candidates: float = 3.0
    """A session."""
    merge: float = 0.45
    """Share of the candidates that merge; where `half` is given it is not used."""
    half: float | None = None
    """Open rows at which half of the candidates merge: the rate then rises as n / (n + half) with the open rows n."""
    updates: float = 1 / 3
    """Share of the merges that close a row and write another. The text gives none."""
    episodic: float = 0.4
    """Share of the new rows; with the text's other numbers the only one, to 1 %, that gives its 1,544."""
    expire_days: float = 90.0
    reads: float = 0.0
    """A day and row, at random times; each is an access."""
    months: int = 24
    month_days: int = 30

    def __post_init__(self) -> None:
        for name in ("merge", "updates", "episodic"):
            if not 0 <= getattr(self, name) <= 1:
                raise StoreError(f"{name} is {getattr(self, name)}: give a share from 0 to 1")
        for name in ("sessions", "candidates", "reads"):
            if not 0 <= getattr(self, name) < math.inf:
                raise StoreError(f"{name} is {getattr(self, name)}: give a number that is not negative")
        for name in ("expire_days", "months", "month_days"):
            if not 1 <= getattr(self, name) < math.inf:
                raise StoreError(f"{name} is {getattr(self, name)}: give 1 or more")
        if self.half is not None and not 0 < self.half < math.inf:
            raise StoreError(f"half is {self.half}: give the open rows at which half of the candidates merge")

    @property
    def days(self) -> int:
        return self.months * self.month_days

    @property
    def a_day(self) -> float:
        """Candidates a day."""
        return self.sessions * self.candidates


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one user at the end of a day."""

    seen: float = 0.0
    """Candidates so far: what an append-only store holds."""
    lasting: float = 0.0
    """Open rows that never expire, semantic and procedural."""
    hot: float = 0.0
    """Open episodic rows."""
    closed: float = 0.0
    cold: float = 0.0
    merge: float = 0.0
    """Merge rate of that day."""

    @property
    def open(self) -> float:
        return self.lasting + self.hot

    @property
    def disk(self) -> float:
        """Rows that take space: open, closed and cold ones."""
        return self.open + self.closed + self.cold

    @property
    def merged(self) -> float:
        """Share of all candidates so far that merged."""
        return 1 - (self.lasting + self.hot + self.cold) / self.seen if self.seen else 0.0


def mean_life(reads: float, expire_days: float) -> float:
    """Days until a row that is read `reads` times a day has had `expire_days` without a read."""
    try:
        return math.expm1(reads * expire_days) / reads if reads else expire_days
    except OverflowError:
        return math.inf


def open_days(load: Load) -> np.ndarray:
    """Expected days for which an episodic row has been open by the age of 0, 1, ..., `load.days` days.

    Survival S falls at age W by p = e^(-rW), and from then on as S'(a) = -r p S(a - W): what goes cold at a was last
    read at a - W, when it was open.
    """
    window, rate = load.expire_days, load.reads
    step, unread = window / _STEPS, math.exp(-rate * window)
    survival, start, total = np.ones(_STEPS + 1), 1 - unread, 0.0
    found = []
    for _ in range(math.ceil(load.days / window)):
        spent = np.concatenate(([0.0], np.cumsum((survival[1:] + survival[:-1]) / 2) * step))
        found.append(total + spent)
        total += spent[-1]
        survival = start - rate * unread * spent
        start = survival[-1]
    ages = np.concatenate([at * window + np.linspace(0, window, _STEPS + 1) for at in range(len(found))])
    return np.interp(np.arange(load.days + 1), ages, np.concatenate(found))


def course(load: Load) -> list[Rows]:
    """Expected rows at the end of each day, the empty store first. A rising merge rate is that of the day's morning."""
    staying = np.diff(open_days(load))  # of the rows made evenly over a day, the share that is open after so many days
    made = np.zeros(load.days)
    rows = [Rows(merge=load.merge if load.half is None else 0.0)]
    for day in range(load.days):
        last = rows[-1]
        merge = load.merge if load.half is None else last.open / (last.open + load.half)
        new = load.a_day * (1 - merge)
        made[day] = new * load.episodic
        hot = float(made[: day + 1] @ staying[day::-1])
        rows.append(
            Rows(
                last.seen + load.a_day,
                last.lasting + new * (1 - load.episodic),
                hot,
                last.closed + load.a_day * merge * load.updates,
                last.cold + last.hot + float(made[day]) - hot,
                merge,
            )
        )
    return rows


def merge_for(load: Load, rows: float) -> float:
    """The fixed merge rate that leaves so many open rows at the end; StoreError where none does."""
    most = course(replace(load, merge=0.0, half=None))[-1].open
    if not 0 <= rows <= most:
        raise StoreError(f"no merge rate leaves {rows:,.0f} open rows: without merging there are {most:,.1f}")
    return 1 - rows / most if most else 0.0


def half_for(load: Load, rows: float) -> float:
    """The `half` with which a rising merge rate leaves so many open rows at the end; StoreError where none does."""
    merge_for(load, rows)
    low, high = 1e-9, 1.0
    while course(replace(load, half=high))[-1].open < rows and high < 1e9:
        high *= 4
    for _ in range(50):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if course(replace(load, half=middle))[-1].open < rows else (low, middle)
    return high


class Spread(StrEnum):
    """Which open rows the queries return."""

    EVEN = "even"
    """Each as likely as any other."""
    HEAVY = "heavy-tailed"
    """Each in proportion to a weight of its own, drawn from a Pareto distribution of shape 1 when it is made."""


@dataclass(frozen=True, slots=True)
class Queries:
    """A budget of reads: every query touches the rows that it returns."""

    a_day: int = 0
    spread: Spread = Spread.EVEN
    top: int = 3


def sample(load: Load, rng: np.random.Generator, queries: Queries = Queries()) -> Rows:
    """The rows of one user at the end, at random: candidates at even times, reads at any, expiry every night.

    A row that runs out in the course of a day can still be read until the night, unlike in `course`.
    """
    born = np.arange(math.floor(load.a_day * load.days + 1e-9)) / (load.a_day or 1)
    episodic = rng.random(len(born)) < load.episodic
    luck, update = rng.random(len(born)), rng.random(len(born)) < load.updates
    weights = rng.pareto(1.0, len(born)) + 1 if queries.spread is Spread.HEAVY else np.ones(len(born))
    accessed = born.copy()
    is_new, is_open = np.zeros(len(born), bool), np.zeros(len(born), bool)
    mornings = np.searchsorted(born, np.arange(load.days + 1))
    merge = load.merge
    for day in range(load.days):
        today = slice(mornings[day], mornings[day + 1])
        if load.half is not None:
            count = int(is_open.sum())
            merge = count / (count + load.half)
        is_new[today] = is_open[today] = luck[today] >= merge
        rows = np.flatnonzero(is_open)
        if load.reads and len(rows):
            before_night = rng.exponential(1 / load.reads, len(rows))  # the last read of the day, if there was one
            read = rows[before_night < 1]
            accessed[read] = np.maximum(accessed[read], day + 1 - before_night[before_night < 1])
        if queries.a_day and len(rows) >= queries.top:
            found = rows[_returned(weights[rows], queries, rng)]
            times = day + np.sort(rng.random(queries.a_day))
            np.maximum.at(accessed, found, np.repeat(times[:, None], queries.top, axis=1))
        is_open &= ~episodic | (day + 1 - accessed <= load.expire_days)
    return Rows(
        load.a_day * load.days,
        int((is_open & ~episodic).sum()),
        int((is_open & episodic).sum()),
        int((~is_new & update).sum()),
        int((is_new & ~is_open).sum()),
        merge,
    )


def _returned(weights: np.ndarray, queries: Queries, rng: np.random.Generator) -> np.ndarray:
    """For each query of a day, which rows it returns: different ones, by weight."""
    upto = np.cumsum(weights)
    found = np.empty((queries.a_day, queries.top), int)
    todo = np.arange(queries.a_day)
    while len(todo):
        found[todo] = np.searchsorted(upto, rng.random((len(todo), queries.top)) * upto[-1], side="right")
        ordered = np.sort(found[todo], axis=1)
        todo = todo[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
    return found


@dataclass(frozen=True, slots=True)
class Sampled:
    """Means over several samples, with their standard errors: not numbers where there is one sample."""

    open: float
    open_error: float
    hot: float
    hot_error: float


def sampled(load: Load, queries: Queries, seeds: int) -> Sampled:
    """The means over the seeds 0, 1, ..."""
    found = [sample(load, np.random.default_rng(seed), queries) for seed in range(seeds)]
    values = np.array([(rows.open, rows.hot) for rows in found], float)
    errors = values.std(axis=0, ddof=1) / math.sqrt(seeds) if seeds > 1 else np.full(2, np.nan)
    means = values.mean(axis=0)
    return Sampled(float(means[0]), float(errors[0]), float(means[1]), float(errors[1]))
