"""The simulation against the numbers of the store's source text, and against closed forms and samples."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdforget.store.records import StoreError
from rdforget.store.simulation import (
    Load,
    Queries,
    Rows,
    Spread,
    course,
    half_for,
    mean_life,
    merge_for,
    open_days,
    sample,
    sampled,
)

TEXT = Load()
NO_DECAY = Load(episodic=0.0)
YEARS = Load(months=2, month_days=365)


def end(load: Load) -> Rows:
    return course(load)[-1]


@pytest.mark.parametrize(
    ("load", "name", "value"),
    [
        (TEXT, "seen", 4_320),
        (YEARS, "seen", 4_380),
        (TEXT, "open", 1_544.4),
        (TEXT, "lasting", 1_425.6),
        (TEXT, "hot", 118.8),
        (TEXT, "cold", 831.6),
        (TEXT, "closed", 648),
        (replace(TEXT, updates=1.0), "closed", 1_944),
        (TEXT, "disk", 3_024),
        (replace(TEXT, updates=0.0), "disk", 2_376),
        (replace(TEXT, merge=0.0), "open", 2_808),
        (replace(TEXT, merge=0.929), "closed", 1_337.76),
        (replace(TEXT, merge=1.0), "open", 0),
    ],
)
def test_rows_of_the_text(load: Load, name: str, value: float) -> None:
    assert getattr(end(load), name) == pytest.approx(value, rel=1e-9)


def test_what_the_text_says_of_them() -> None:
    rows = end(TEXT)
    assert round(rows.open) == 1_544
    assert f"{1 - rows.open / rows.seen:.0%}" == "64%"
    assert f"{1 - end(replace(TEXT, updates=0.0)).disk / rows.seen:.0%}" == "45%"
    users = 1_000_000
    for row_bytes, unit, append, kept in ((3_320, 1e12, 14.34, 5.13), (3_565, 2**40, 14.01, 5.01)):
        assert round(rows.seen * users * row_bytes / unit, 2) == append
        assert round(rows.open * users * row_bytes / unit, 2) == kept
    assert 200 * users * 3_320 == 664e9


@pytest.mark.parametrize(("monthly", "total"), [((59, 40), 1_536), ((60, 39), 1_557)])
def test_months_are_not_rounded(monthly: tuple[int, int], total: int) -> None:
    """99 rows a month are 59.4 lasting and 39.6 episodic ones; rounded in either way they miss the text's total."""
    lasting, episodic = monthly
    assert 24 * lasting + 3 * episodic == total
    months = course(TEXT)[::30]
    assert months[1].lasting == pytest.approx(59.4)
    assert months[1].hot == pytest.approx(39.6)
    assert all(abs(months[-1].open - other) > 5 for other in (1_536, 1_557))


@pytest.mark.parametrize(("load", "percent"), [(TEXT, 92.88), (YEARS, 92.97), (NO_DECAY, 95.37)])
def test_merge_rate_of_a_heavy_user(load: Load, percent: float) -> None:
    merge = merge_for(load, 200)
    assert round(100 * merge, 2) == percent
    assert end(replace(load, merge=merge)).open == pytest.approx(200)
    with pytest.raises(StoreError, match="without merging there are"):
        merge_for(load, 5_000)


def test_a_rising_merge_rate_ends_above_its_average() -> None:
    half = half_for(TEXT, 200)
    rows = end(replace(TEXT, half=half))
    assert half == pytest.approx(8.81, abs=0.01)
    assert rows.open == pytest.approx(200)
    assert (round(100 * rows.merged, 1), round(100 * rows.merge, 1)) == (92.6, 95.8)
    rates = [day.merge for day in course(replace(NO_DECAY, half=half))]
    assert rates == sorted(rates)
    assert rates[0] == 0


LIVES = {0: 90, 1 / 365: 102, 1 / 90: 155, 1 / 60: 209, 1 / 30: 573}
STORES = {0: 1_543, 1 / 365: 1_559, 1 / 90: 1_628, 1 / 60: 1_699, 1 / 30: 1_999, 1 / 14: 2_345}


@pytest.mark.parametrize(("reads", "days"), LIVES.items())
def test_mean_life_of_a_row_that_is_read(reads: float, days: int) -> None:
    assert round(mean_life(reads, 90)) == days


def test_a_row_that_is_read_all_the_time_lives_for_ever() -> None:
    assert mean_life(100, 90) == math.inf
    assert end(replace(TEXT, reads=100)).open == pytest.approx(2_376)


@pytest.mark.parametrize(("reads", "rows"), STORES.items())
def test_open_rows_by_reads(reads: float, rows: int) -> None:
    """The text's are sampled: no more than 2 from the expectation, which is nearer than their error."""
    assert end(replace(TEXT, reads=reads)).open == pytest.approx(rows, abs=2)


@pytest.mark.parametrize("reads", STORES)
def test_samples_agree_with_the_expectation(reads: float) -> None:
    load = replace(TEXT, reads=reads)
    found = sampled(load, Queries(), 12)
    assert found.open == pytest.approx(end(load).open, abs=4 * found.open_error)
    # Until the night a row can still be read, which lengthens the window by half a day at most.
    longer = end(replace(load, expire_days=90.5)).hot - end(load).hot
    assert abs(found.hot - end(load).hot) < 4 * found.hot_error + longer


TABLE = {
    (0, Spread.EVEN): (1_554, 122),
    (2, Spread.EVEN): (1_586, 149),
    (6, Spread.EVEN): (1_655, 221),
    (20, Spread.EVEN): (2_102, 678),
    (60, Spread.EVEN): (2_349, 949),
    (2, Spread.HEAVY): (1_603, 145),
    (6, Spread.HEAVY): (1_593, 177),
    (20, Spread.HEAVY): (1_721, 288),
    (60, Spread.HEAVY): (1_947, 485),
}


@pytest.mark.parametrize(("case", "expected"), TABLE.items(), ids=str)
def test_reads_by_query(case: tuple[int, Spread], expected: tuple[int, int]) -> None:
    """The text's are means of five unknown seeds, so that the difference has the error of two such means."""
    found = sampled(TEXT, Queries(*case), 10)
    for mean, error, other in zip((found.open, found.hot), (found.open_error, found.hot_error), expected, strict=True):
        of_five = error * math.sqrt(10 / 5)
        assert abs(mean - other) < 3.5 * math.hypot(error, of_five)


@given(st.floats(0, 0.3), st.floats(60, 400), st.integers(1, 36))
@settings(deadline=None, max_examples=60)
def test_open_days_have_a_closed_form(reads: float, window: float, months: int) -> None:
    """Laplace: S(s) = (1 - e^-(r+s)w) / (s + r e^-(r+s)w), expanded in powers of e^-sw and integrated once more."""
    load = Load(reads=reads, expire_days=window, months=months)
    unread, total = math.exp(-reads * window), 0.0
    for k in range(math.ceil(load.days / window)):
        ahead, behind = (max(load.days - at * window, 0.0) ** (k + 1) for at in (k, k + 1))
        total += (-reads * unread) ** k * (ahead - unread * behind) / math.factorial(k + 1)
    assert open_days(load)[-1] == pytest.approx(total, rel=1e-5)


loads = st.builds(
    Load,
    sessions=st.floats(0, 5),
    candidates=st.floats(0, 5),
    merge=st.floats(0, 1),
    half=st.none() | st.floats(0.1, 1_000),
    updates=st.floats(0, 1),
    episodic=st.floats(0, 1),
    expire_days=st.floats(1, 200),
    reads=st.floats(0, 1),
    months=st.integers(1, 6),
)


@given(loads)
@settings(deadline=None, max_examples=60)
def test_no_row_is_lost(load: Load) -> None:
    for rows in course(load):
        assert min(rows.lasting, rows.hot, rows.closed, rows.cold) >= -1e-6
        assert rows.open + rows.cold <= rows.seen + 1e-6
    rows = end(load)
    assert rows.closed == pytest.approx(rows.merged * rows.seen * load.updates, abs=1e-6)


@given(loads, st.sampled_from(Spread), st.integers(0, 3), st.integers(0, 9))
@settings(deadline=None, max_examples=30)
def test_a_sample_is_one_of_its_seed(load: Load, spread: Spread, queries: int, seed: int) -> None:
    one, two = (sample(load, np.random.default_rng(seed), Queries(queries, spread)) for _ in range(2))
    assert one == two
    assert one.open + one.cold <= one.seen + 1


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"merge": 1.2}, "merge is 1.2"),
        ({"episodic": math.nan}, "episodic is nan"),
        ({"updates": -0.1}, "updates is -0.1"),
        ({"reads": -1.0}, "reads is -1.0"),
        ({"sessions": math.inf}, "sessions is inf"),
        ({"expire_days": 0.0}, "expire_days is 0.0"),
        ({"months": 0}, "months is 0"),
        ({"half": 0.0}, "half is 0.0"),
    ],
)
def test_a_load_that_cannot_be(settings: dict[str, float], named: str) -> None:
    with pytest.raises(StoreError, match=named):
        Load(**settings)  # type: ignore[arg-type]
