"""Intervals and tests against other computations of the same law."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdforget.records import Failure, Gold, Record, Score, Verdict
from rdforget.suites.registry import load_suite
from runners.stats import Scored, cluster_of, holm, interval, interval_of, paired, paired_of, scored
from tests.builders import query

Z = 1.959963984540054


def alone(n: int) -> list[str]:
    return [f"c{number}" for number in range(n)]


def wilson(right: float, n: int) -> tuple[float, float]:
    p = right / n
    middle, spread = p + Z * Z / (2 * n), Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    return 100 * (middle - spread) / (1 + Z * Z / n), 100 * (middle + spread) / (1 + Z * Z / n)


def drawn_by_hand(values: Sequence[float], clusters: Sequence[str], draws: int = 4_000) -> tuple[float, float]:
    """The percentile interval of a cluster bootstrap, one conversation after the other."""
    groups = defaultdict(list)
    for value, cluster in zip(values, clusters, strict=True):
        groups[cluster].append(value)
    rng, conversations = Random(11), list(groups.values())
    means = sorted(
        fmean(value for group in rng.choices(conversations, k=len(conversations)) for value in group)
        for _ in range(draws)
    )
    return 100 * means[round(0.025 * draws)], 100 * means[round(0.975 * draws) - 1]


def two_methods(seed: int, conversations: int, grades: Sequence[float]) -> tuple[list[float], list[float], list[str]]:
    """Scores of 3 to 12 questions a conversation, where some conversations are easy for the second method."""
    rng = Random(seed)
    a, b, clusters = [], [], []
    for conversation in range(conversations):
        easy = rng.random()
        for _ in range(rng.randint(3, 12)):
            a.append(rng.choice(grades))
            b.append(max(grades) if rng.random() < easy else rng.choice(grades))
            clusters.append(f"chat:{conversation}")
    return a, b, clusters


@pytest.mark.parametrize(("right", "n"), [(0, 1), (1, 1), (0, 10), (8, 10), (80, 90), (100, 100), (86, 100)])
@pytest.mark.parametrize("one_conversation", [True, False])
def test_binary_scores_have_wilsons_interval(right: int, n: int, one_conversation: bool) -> None:
    found = interval([1.0] * right + [0.0] * (n - right), ["one"] * n if one_conversation else alone(n))
    assert found
    assert (found.n, found.units, found.by) == (n, n, "wilson")
    assert found.value == pytest.approx(100 * right / n)
    assert (found.low, found.high) == pytest.approx(wilson(right, n), abs=1e-5)


@pytest.mark.parametrize(("right", "n", "error"), [(79, 86, 2.9), (73, 78, 2.8), (74, 100, 4.4), (50, 100, 5.0)])
def test_half_an_interval_is_about_two_standard_errors(right: int, n: int, error: float) -> None:
    """The sampling errors of the paper's Full, in points, and the largest there is at n = 100."""
    found = interval([1.0] * right + [0.0] * (n - right), alone(n))
    assert found
    assert (found.high - found.low) / 2 == pytest.approx(Z * error, rel=0.1)


@pytest.mark.parametrize("grades", [(0.0, 1.0), (0.0, 0.5, 1.0)])
@pytest.mark.parametrize("conversations", [1, 8, 20])
def test_bootstrap_agrees_with_one_written_by_hand(grades: tuple[float, ...], conversations: int) -> None:
    a, b, clusters = two_methods(conversations, conversations, grades)
    units = clusters if conversations > 1 else alone(len(clusters))
    result = paired(a, b, clusters)
    assert result
    assert (result.n, result.units) == (len(a), len(set(units)))
    assert result.difference == pytest.approx(100 * (fmean(a) - fmean(b)), abs=1e-5)
    expected = drawn_by_hand([x - y for x, y in zip(a, b, strict=True)], units)
    assert (result.low, result.high) == pytest.approx(expected, abs=3)
    own = interval(b, clusters)
    assert own
    if own.by == "bootstrap":
        assert (own.low, own.high) == pytest.approx(drawn_by_hand(b, units), abs=3)
    else:
        assert (grades, conversations) == ((0.0, 1.0), 1)


def test_questions_of_one_conversation_are_not_independent() -> None:
    values = [float(conversation % 2) for conversation in range(10) for _ in range(20)]
    clusters = [f"beam:{conversation}" for conversation in range(10) for _ in range(20)]
    together, apart = interval(values, clusters), interval(values, alone(200))
    assert together
    assert apart
    assert (together.units, apart.units) == (10, 200)
    assert together.high - together.low > 3 * (apart.high - apart.low)


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (5, 1), (1, 5), (3, 3), (15, 5), (44, 1), (150, 86)])
def test_mcnemar_is_exact(wins: int, losses: int) -> None:
    from statsmodels.stats.contingency_tables import mcnemar  # type: ignore[import-untyped]

    a, b = [1.0] * wins + [0.0] * losses + [1.0, 0.0] * 7, [0.0] * wins + [1.0] * losses + [1.0, 0.0] * 7
    result = paired(a, b, alone(len(a)))
    assert result
    assert (result.test, result.wins, result.losses, result.ties) == ("mcnemar", wins, losses, 14)
    assert result.p == pytest.approx(float(mcnemar([[7, wins], [losses, 7]], exact=True).pvalue))
    n, fewer = wins + losses, min(wins, losses)
    assert result.p == pytest.approx(min(1.0, 2 * sum(math.comb(n, k) for k in range(fewer + 1)) / 2**n))


@pytest.mark.parametrize("conversations", [2, 6, 9])
def test_sign_flips_are_all_tried_where_there_are_few(conversations: int) -> None:
    a, b, clusters = two_methods(conversations, conversations, (0.0, 0.5, 1.0))
    result = paired(a, b, clusters)
    assert result
    assert result.test == "sign-flip"
    sums: defaultdict[str, float] = defaultdict(float)
    for x, y, cluster in zip(a, b, clusters, strict=True):
        sums[cluster] += x - y
    flips = [
        sum(s * sign for s, sign in zip(sums.values(), signs, strict=True))
        for signs in itertools.product((1, -1), repeat=len(sums))
    ]
    far = abs(sum(sums.values())) - 1e-9
    assert result.p == pytest.approx(fmean(abs(flip) >= far for flip in flips))


def test_sign_flips_of_many_questions_agree_with_the_normal_law() -> None:
    a, b, _ = two_methods(3, 20, (0.0, 0.25, 0.5, 1.0))
    result = paired(a, b, alone(len(a)))
    assert result
    differences = [x - y for x, y in zip(a, b, strict=True)]
    z = abs(sum(differences)) / math.sqrt(sum(d * d for d in differences))
    assert result.p == pytest.approx(math.erfc(z / math.sqrt(2)), abs=0.02)


def test_nothing_to_compare() -> None:
    assert interval([], []) is None
    assert paired([], [], []) is None
    assert interval_of({}) is None
    assert paired_of({"q1": Scored(1.0, "c")}, {"q2": Scored(1.0, "c")}) is None
    assert holm([]) == []
    with pytest.raises(ValueError, match="clusters"):
        interval([1.0, 0.0], ["c"])


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        ([1.0], [0.0], "tie"),  # one question decides nothing
        ([0.5], [0.0], "tie"),
        ([1.0] * 3, [0.0] * 3, "tie"),
        ([1.0] * 40, [0.0] * 40, "better"),
        ([0.0] * 40, [1.0] * 40, "worse"),
        ([1.0] * 40, [1.0] * 40, "tie"),
        ([0.5] * 40, [0.5] * 40, "tie"),
        ([0.5] * 400, [0.25] * 400, "better"),
    ],
)
def test_where_nothing_varies_an_interval_still_has_a_width(a: list[float], b: list[float], verdict: str) -> None:
    result = paired(a, b, alone(len(a)))
    assert result
    assert (result.by, result.verdict) == ("wilson", verdict)
    assert -100 <= result.low <= result.difference <= result.high <= 100
    assert result.low < result.high
    assert 0 < result.p <= 1
    own = interval(a, alone(len(a)))
    assert own
    assert 0 <= own.low <= own.value <= own.high <= 100
    assert own.low < own.high


def test_conversations_that_all_agree_count_as_one_trial_each() -> None:
    found = interval([1.0] * 30, [f"beam:{number % 3}" for number in range(30)])
    assert found
    assert found.units == 3
    assert found.low == pytest.approx(wilson(3, 3)[0], abs=1e-5)


GRADES = st.sampled_from([0.0, 0.25, 0.5, 1.0])
PAIRS = st.lists(st.tuples(GRADES, GRADES, st.sampled_from("abcdef")), min_size=1, max_size=40)


@given(PAIRS)
def test_laws_of_pairs(pairs: list[tuple[float, float, str]]) -> None:
    a, b, clusters = ([pair[place] for pair in pairs] for place in range(3))
    there, back = paired(a, b, clusters), paired(b, a, clusters)  # type: ignore[arg-type]
    assert there
    assert back
    assert (there.difference, there.wins, there.losses) == (-back.difference, back.losses, back.wins)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=1e-5)
    assert there.p == pytest.approx(back.p)
    assert {there.verdict, back.verdict} in ({"tie"}, {"better", "worse"})
    assert there.wins + there.losses + there.ties == there.n == len(pairs)
    assert there.low <= there.difference <= there.high
    assert all(math.isfinite(value) for value in asdict(there).values() if isinstance(value, int | float))
    assert paired(a, b, clusters) == there  # type: ignore[arg-type]


@given(st.lists(st.tuples(GRADES, st.sampled_from("abcdef")), min_size=1, max_size=40))
def test_laws_of_intervals(scores: list[tuple[float, str]]) -> None:
    found = interval([value for value, _ in scores], [cluster for _, cluster in scores])
    assert found
    assert 0 <= found.low <= found.value <= found.high <= 100


@given(st.lists(st.floats(0, 1), max_size=12))
@settings(max_examples=20)  # statsmodels collects garbage at every call
def test_holm_steps_down(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    floor = 0.0
    for step, place in enumerate(order):
        floor = max(floor, min(1.0, (len(order) - step) * p_values[place]))
        assert adjusted[place] == pytest.approx(floor)
        assert adjusted[place] >= p_values[place]


@pytest.mark.parametrize(
    ("history", "cluster"),
    [
        ("amb-text:449f10a1:12", "amb-text:449f10a1"),
        ("personamem:3cc19ddf3696:149", "personamem:3cc19ddf3696"),
        ("personamem:112233445566:149", "personamem:112233445566"),
        ("beam:3", "beam:3"),
        ("beam:truncated:3", "beam:truncated:3"),
        ("lme-ku:01493427", "lme-ku:01493427"),
        ("mab-fc:mh_6k:12345678", "mab-fc:mh_6k:12345678"),
        ("synthetic-chat:123456789012", "synthetic-chat:123456789012"),
        ("", ""),
    ],
)
def test_a_history_names_its_conversation(history: str, cluster: str) -> None:
    assert cluster_of(history) == cluster


@pytest.mark.parametrize(
    ("suite", "conversations"), [("amb-text", 1), ("lme-ku", 78), ("mab-fc", 1), ("beam", 5), ("personamem", None)]
)
def test_conversations_of_real_data(data_dir: Path, suite: str, conversations: int | None) -> None:
    longest: dict[str, tuple[str, ...]] = {}
    starts: defaultdict[str, set[str]] = defaultdict(set)
    for task in load_suite(suite, data_dir).tasks():
        cluster, texts = cluster_of(task.history.id), tuple(seen.text for seen in task.history.observations)
        other = longest.setdefault(cluster, texts)
        short, long = sorted((other, texts), key=len)
        assert long[: len(short)] == short
        longest[cluster] = long
        starts[cluster].add(task.history.id)
    if conversations:
        assert len(longest) == conversations
    else:
        assert len(longest) < sum(map(len, starts.values()))


def test_only_completed_evaluations_count() -> None:
    base = Record(query("?"), Gold(("x",)), "personamem:3cc19ddf3696:149")
    records = [
        replace(base, query=replace(base.query, id="right"), scores=(Score("judge", 1.0, Verdict.CORRECT),)),
        replace(base, query=replace(base.query, id="down"), scores=(Score("judge", None, Verdict.INVALID),)),
        replace(base, query=replace(base.query, id="other"), scores=(Score("judge", None, Verdict.EXCLUDED),)),
        replace(base, query=replace(base.query, id="failed"), failure=Failure("timeout", "answer", "no reply")),
        replace(base, query=replace(base.query, id="rule"), scores=(Score("rule", 1.0, Verdict.CORRECT),)),
    ]
    assert scored(records, "judge") == {"right": Scored(1.0, "personamem:3cc19ddf3696")}
