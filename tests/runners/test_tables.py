"""What a table says of a set of records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rdforget.records import Failure, Gold, Record, Score, Verdict
from runners.errors import Exit
from runners.runs import exit_code
from runners.tables import Outcome, cells_of, rows_of, summary_of, write_tables
from tests.builders import query

SETTINGS = {
    "suite": "test",
    "method": "rd-forget",
    "uses_gold": False,
    "switches": [],
    "protocol": {"budget": 2048},
    "metrics": ["judge"],
    "model": {"backend": "rules"},
    "judge": None,
    "items": 1,
    "repeat": 0,
}
BASE = Record(query("?"), Gold(("x",)))
RIGHT = replace(BASE, scores=(Score("judge", 1.0, Verdict.CORRECT),))
WRONG = replace(BASE, scores=(Score("judge", 0.0, Verdict.WRONG),))
NO_VERDICT = replace(BASE, scores=(Score("judge", None, Verdict.INVALID, "rate_limit: 429"),))
EXCLUDED = replace(BASE, scores=(Score("judge", None, Verdict.EXCLUDED),))
FAILED = replace(BASE, failure=Failure("timeout", "answer", "no reply in 120 s"))


@pytest.mark.parametrize(
    ("records", "value", "low", "high", "counts", "code"),
    [
        # A judge that is down is not a weak model.
        ([RIGHT, RIGHT, WRONG, NO_VERDICT, NO_VERDICT], 66.67, 40.0, 80.0, (3, 2, 0, 5), Exit.ABORTED),
        # Errors leave neither side of the fraction unseen.
        ([RIGHT] * 80 + [WRONG] * 10 + [FAILED] * 10, 88.89, 80.0, 90.0, (90, 10, 0, 100), Exit.FAILED_ITEMS),
        ([RIGHT, WRONG, EXCLUDED, EXCLUDED], 50.0, 50.0, 50.0, (2, 0, 2, 4), Exit.DONE),
        ([EXCLUDED], None, None, None, (0, 0, 1, 1), Exit.ABORTED),
        ([FAILED, FAILED], None, 0.0, 100.0, (0, 2, 0, 2), Exit.ABORTED),
        ([], None, None, None, (0, 0, 0, 0), Exit.ABORTED),
    ],
)
def test_values_bounds_and_counts(
    records: list[Record],
    value: float | None,
    low: float | None,
    high: float | None,
    counts: tuple[int, int, int, int],
    code: Exit,
) -> None:
    [cell] = cells_of(records, SETTINGS | {"items": len(records)}, "m")
    assert (cell.value, cell.low, cell.high) == (value, low, high)
    assert (cell.n_completed, cell.n_failed, cell.n_excluded, cell.n_total) == counts
    assert cell.n_completed + cell.n_failed + cell.n_excluded == cell.n_total
    assert exit_code([cell], 0.2) is code


def test_a_row_says_what_is_missing() -> None:
    records = [RIGHT, RIGHT, WRONG, NO_VERDICT, NO_VERDICT]
    [row] = rows_of([Outcome(cells_of(records, SETTINGS | {"items": 5}, "m"), summary_of(records))])
    assert (row["judge"], row["bounds"], row["completed"], row["failed"]) == ("66.67", "40.00 to 80.00", "3", "2")
    [early] = rows_of([Outcome(cells_of(records[:3], SETTINGS | {"items": 5}, "m"), summary_of(records[:3]))])
    assert (early["judge"], early["bounds"], early["missing"]) == ("66.67", "40.00 to 80.00", "2")
    [nothing] = rows_of([Outcome(cells_of([FAILED], SETTINGS, "m"), summary_of([FAILED]))])
    assert nothing["judge"] == "n/a"
    assert summary_of([FAILED]).failures == {"answer: timeout": 1}


def test_the_headline_does_not_depend_on_which_questions_failed() -> None:
    both = {**SETTINGS, "metrics": ["judge", "rule"], "items": 2}
    early = replace(FAILED, scores=(Score("rule", None, Verdict.EXCLUDED),))
    cells = cells_of([early, replace(RIGHT, scores=(*RIGHT.scores, Score("rule", 1.0, Verdict.CORRECT)))], both, "m")
    assert [(cell.metric, cell.n_failed, cell.n_excluded) for cell in cells] == [("judge", 1, 0), ("rule", 0, 1)]


def test_questions_that_a_later_judge_was_not_asked_about_are_missing_and_not_failed() -> None:
    judged = replace(RIGHT, scores=(*RIGHT.scores, Score("judge[m]", 1.0, Verdict.CORRECT)))
    own, later = cells_of([judged, RIGHT], {**SETTINGS, "items": 2, "model": {"model": "x"}}, "m")
    assert (later.metric, later.n_completed, later.n_failed, later.n_missing) == ("judge[m]", 1, 0, 1)
    assert (own.self_judged, later.self_judged) == (True, True)
    assert exit_code([own, later], 0.2) is Exit.DONE


def test_tables_on_disk(tmp_path: Path) -> None:
    write_tables(tmp_path, [Outcome(cells_of([RIGHT], SETTINGS, "m"), summary_of([RIGHT]))])
    assert (tmp_path / "table.csv").read_text("utf-8").splitlines()[1].startswith("test,rd-forget,,m,2048,judge,100.0")
    assert "100.00" in (tmp_path / "table.md").read_text("utf-8")


def test_names_of_others_are_text_in_markdown(tmp_path: Path) -> None:
    model = "x|<script>alert(1)</script> [a](b)"
    write_tables(tmp_path, [Outcome(cells_of([RIGHT], SETTINGS, model), summary_of([RIGHT]))])
    shown = (tmp_path / "table.md").read_text("utf-8")
    assert r"x\|&lt;script&gt;alert(1)&lt;/script&gt; [a]\(b)" in shown
    assert "<script>" not in shown
