"""Agreement of two judges: counts, percent, Cohen's kappa, and where there is none."""

from __future__ import annotations

import pytest

from rdforget.records import Gold, Query, Record, Score, Verdict
from runners.agreement import NONE, agreement, agreements

C, W, P, X, I = Verdict.CORRECT, Verdict.WRONG, Verdict.PARTIAL, Verdict.EXCLUDED, Verdict.INVALID  # noqa: E741
VALUES = {C: 1.0, W: 0.0, P: 0.5}


def records(*pairs: tuple[Verdict | None, Verdict | None], metric: str = "judge") -> list[Record]:
    return [
        Record(
            Query(f"q{n}", "test", "?"),
            Gold(),
            scores=tuple(
                Score(name, VALUES.get(verdict), verdict)
                for name, verdict in zip((metric, f"{metric}[b]"), pair, strict=True)
                if verdict
            ),
        )
        for n, pair in enumerate(pairs)
    ]


def test_counts_and_kappa_of_a_known_table() -> None:
    """Cohen's textbook table: 35 of 50 agree, half of them by chance."""
    made = records(*[(C, C)] * 20, *[(C, W)] * 5, *[(W, C)] * 10, *[(W, W)] * 15)
    found = agreement(made, "judge", "judge[b]")
    assert found.counts["correct"] == {"correct": 20, "wrong": 5, NONE: 0}
    assert found.counts["wrong"] == {"correct": 10, "wrong": 15, NONE: 0}
    assert (found.both, found.agreed, found.percent) == (50, 35, 70.0)
    assert found.kappa == pytest.approx(0.4)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.4 < found.high
    assert found.differing == [f"q{n}" for n in range(20, 35)]


def test_no_verdict_is_counted_apart_and_excluded_questions_not_at_all() -> None:
    found = agreement(records((C, C), (W, W), (C, I), (I, W), (W, None), (X, X), (None, None)), "judge", "judge[b]")
    assert found.counts["correct"][NONE] == found.counts["wrong"][NONE] == found.counts[NONE]["wrong"] == 1
    assert sum(sum(row.values()) for row in found.counts.values()) == 5
    assert (found.both, found.agreed, found.kappa) == (2, 2, 1.0)
    assert (found.low, found.high) == (None, None)


@pytest.mark.parametrize(
    ("pairs", "percent", "kappa"),
    [
        ([(C, C)] * 5, 100.0, None),
        ([(C, C)] * 5 + [(C, W)] * 5, 50.0, 0.0),
        ([(C, W)] * 5, 0.0, 0.0),
        ([(C, W), (W, C)], 0.0, -1.0),
        ([(I, C)], None, None),
        ([], None, None),
    ],
)
def test_judges_that_give_one_verdict_throughout(
    pairs: list[tuple[Verdict, Verdict]], percent: float | None, kappa: float | None
) -> None:
    found = agreement(records(*pairs), "judge", "judge[b]")
    assert (found.percent, found.kappa) == (percent, kappa)


def test_partial_grades_are_a_verdict_of_their_own() -> None:
    found = agreement(records((P, P), (P, W), (C, C), metric="rubric"), "rubric", "rubric[b]")
    assert found.counts["partial"] == {"correct": 0, "partial": 1, "wrong": 1, NONE: 0}
    assert found.agreed == 2


def test_a_judge_is_held_against_every_earlier_metric_of_its_kind() -> None:
    made = [
        Record(
            Query("q", "test", "?"),
            Gold(),
            scores=tuple(Score(name, 1.0, C) for name in ("rule", "judge", "judge[a]", "judge[b]", "rubric[b]")),
        )
    ]
    assert [one.first for one in agreements(made, "b")] == ["judge", "judge[a]"]
