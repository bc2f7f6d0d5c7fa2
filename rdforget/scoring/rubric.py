"""The rubric score (Sec. 4.1, BEAM): every criterion graded 0, 0.5 or 1, and their mean.

BEAM's own scorer casts each grade to an integer, so that half credit is lost; here a grade stays what it is.
"""

from __future__ import annotations

from statistics import fmean

from rdforget.calls import rubric as role
from rdforget.calls.base import Caller
from rdforget.records import Gold, Protocol, Query, Score, Verdict
from rdforget.scoring.judge import ask


async def score(query: Query, gold: Gold, answer: str, caller: Caller, protocol: Protocol) -> Score:
    """The metric `rubric`: the mean grade, 0 to 1, with the grades in `detail` (`0.5 0.5 1`).

    Criteria are asked for one after the other. The first without a grade leaves the question without a value, and
    the rest unasked: `detail` is then `kind: message (criterion 2 of 3)`. A question without a rubric is excluded.
    Raises CallError only for a refused key.
    """
    grades: list[float] = []
    for number, criterion in enumerate(gold.rubric, start=1):
        grade, cause = await ask(role.build(query, criterion, answer, protocol), role.parse, None, caller)
        if grade is None:
            return Score("rubric", None, Verdict.INVALID, f"{cause} (criterion {number} of {len(gold.rubric)})")
        grades.append(grade)
    return of_grades(grades)


def of_grades(grades: list[float]) -> Score:
    """The score of a question whose criteria have these grades."""
    if not grades:
        return Score("rubric", None, Verdict.EXCLUDED)
    mean = fmean(grades)
    verdict = {1.0: Verdict.CORRECT, 0.0: Verdict.WRONG}.get(mean, Verdict.PARTIAL)
    return Score("rubric", mean, verdict, " ".join(f"{grade:g}" for grade in grades))
