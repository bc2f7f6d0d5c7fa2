"""The judge and rubric scores against scripted replies: a judge that fails gives no value."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.calls.base import Call, Caller, Reply
from rdforget.calls.rubric import RubricInputs
from rdforget.models.base import CallError
from rdforget.records import Gold, Protocol, Query, Score, Verdict
from rdforget.scoring import judge, rubric
from rdforget.scoring.rubric import of_grades

Said = Reply | str | Exception
Scorer = Callable[[Query, Gold, str, Caller, Protocol], Awaitable[Score]]
QUERY = Query("q", "test", "Where is Orla?")
GOLD = Gold(answers=("Metz",), rubric=("names a city", "names Metz", "is short"))


async def scored(scorer: Scorer, *said: Said, gold: Gold = GOLD) -> tuple[Score, list[Call]]:
    """The score when the replies come in this order, and the calls; one call too many fails."""
    asked: list[Call] = []

    async def caller(call: Call) -> Reply:
        reply = said[len(asked)]
        asked.append(call)
        if isinstance(reply, Exception):
            raise reply
        return Reply(reply) if isinstance(reply, str) else reply

    return await scorer(QUERY, gold, "In Metz", caller, Protocol()), asked


RIGHT, FALSE = '{"verdict": "correct"}', '{"verdict": "wrong"}'


@pytest.mark.parametrize(
    ("said", "value", "verdict", "kind"),
    [
        ([RIGHT], 1.0, Verdict.CORRECT, ""),
        ([FALSE], 0.0, Verdict.WRONG, ""),
        (["INCORRECT"], 0.0, Verdict.WRONG, ""),
        (["hm", FALSE], 0.0, Verdict.WRONG, ""),
        (["", RIGHT], 1.0, Verdict.CORRECT, ""),
        (["hm", "CORRECT or INCORRECT?"], None, Verdict.INVALID, "parse"),
        (["", ""], None, Verdict.INVALID, "parse"),
        ([Reply('{"verdict": "cor', "length"), RIGHT], 1.0, Verdict.CORRECT, ""),
        ([Reply("", "length")], None, Verdict.INVALID, "truncated"),
        ([Reply("<think>Metz is", "length")], None, Verdict.INVALID, "truncated"),
        (["hm", Reply(" ", "length")], None, Verdict.INVALID, "truncated"),
        ([CallError("rate_limit", "too many requests")], None, Verdict.INVALID, "rate_limit"),
        (["hm", CallError("timeout", "no reply in 120 s")], None, Verdict.INVALID, "timeout"),
    ],
)
async def test_the_judge_score(said: list[Said], value: float | None, verdict: Verdict, kind: str) -> None:
    score, asked = await scored(judge.score, *said)
    assert (score.metric, score.value, score.verdict) == ("judge", value, verdict)
    assert score.detail.partition(":")[0] == kind
    assert [call.repeat for call in asked] == list(range(len(said)))
    assert len({replace(call, repeat=0).key for call in asked}) == 1


async def test_a_failing_judge_is_not_a_weak_model() -> None:
    replies = ([RIGHT], [RIGHT], [FALSE], [CallError("rate_limit", "429")], ["", ""])
    values = [(await scored(judge.score, *said))[0].value for said in replies]
    completed = [value for value in values if value is not None]
    assert sum(completed) / len(completed) == pytest.approx(0.6667, abs=1e-4)
    assert values.count(None) == 2


@pytest.mark.parametrize("scorer", [judge.score, rubric.score])
async def test_a_refused_key_is_raised(scorer: Scorer) -> None:
    with pytest.raises(CallError, match="key"):
        await scored(scorer, CallError("auth", "the key was refused"))


@pytest.mark.parametrize(
    ("scorer", "gold"),
    [
        (judge.score, Gold(rubric=("names Metz",))),
        (judge.score, Gold(answers=(" ",))),
        (rubric.score, Gold(answers=("Metz",))),
    ],
)
async def test_a_question_without_a_reference_is_excluded_and_costs_no_call(scorer: Scorer, gold: Gold) -> None:
    score, asked = await scored(scorer, gold=gold)
    assert (score.value, score.verdict, asked) == (None, Verdict.EXCLUDED, [])


async def test_an_abstention_is_judged_also_without_a_reference() -> None:
    score, asked = await scored(judge.score, RIGHT, gold=Gold(abstention=True))
    assert (score.value, len(asked)) == (1.0, 1)


@pytest.mark.parametrize(
    ("said", "value", "verdict", "detail"),
    [
        (["0.5", "0.5", "1.0"], 2 / 3, Verdict.PARTIAL, "0.5 0.5 1"),
        (["1", "1", "1"], 1.0, Verdict.CORRECT, "1 1 1"),
        (["0", "0", "0"], 0.0, Verdict.WRONG, "0 0 0"),
        (["0", "0", "0.5"], 1 / 6, Verdict.PARTIAL, "0 0 0.5"),
        (["1", "no", "0", "1"], 2 / 3, Verdict.PARTIAL, "1 0 1"),
        (
            ["1", "no", "2"],
            None,
            Verdict.INVALID,
            "parse: two replies of role rubric cannot be read (criterion 2 of 3)",
        ),
        (["1", "1", CallError("server", "500")], None, Verdict.INVALID, "server: 500 (criterion 3 of 3)"),
        (
            [Reply("", "length")],
            None,
            Verdict.INVALID,
            "truncated: the output cap of 256 tokens left no reply (criterion 1 of 3)",
        ),
    ],
)
async def test_the_rubric_score(said: list[Said], value: float | None, verdict: Verdict, detail: str) -> None:
    replies = [f'{{"grade": {one}}}' if isinstance(one, str) else one for one in said]
    score, _ = await scored(rubric.score, *replies)
    assert score == Score("rubric", value, verdict, detail)


async def test_criteria_are_asked_for_one_by_one_in_their_order() -> None:
    _, asked = await scored(rubric.score, '{"grade": 1}', "hm", '{"grade": 1}', '{"grade": 0}')
    inputs = [(call.inputs.criterion, call.repeat) for call in asked if isinstance(call.inputs, RubricInputs)]
    assert inputs == [("names a city", 0), ("names Metz", 0), ("names Metz", 1), ("is short", 0)]


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=12))
def test_the_value_is_the_mean_whatever_the_order(grades: list[float]) -> None:
    score = of_grades(grades)
    assert score.value == sum(grades) / len(grades)
    assert of_grades(grades[::-1]).value == score.value
    assert (score.verdict is Verdict.CORRECT) == (set(grades) == {1.0})
    assert (score.verdict is Verdict.WRONG) == (set(grades) == {0.0})
    assert [float(grade) for grade in score.detail.split()] == grades
