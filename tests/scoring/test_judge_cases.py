"""The answers that a judge is checked with: one of each kind a question, and each surely of its kind."""

from __future__ import annotations

from collections import Counter

import pytest

from rdforget.reader.grading import is_right
from rdforget.records import Gold, Query
from rdforget.scoring.judge_cases import WORDINGS, Case, Kind, cases, shape_of
from rdforget.scoring.rule import strict_rule

GOLDS = {
    "number": ["12", "25 minutes", "7:30 am"],
    "date": ["8 May 2023", "2021", "June 2020"],
    "polar": ["Yes.", "no"],
    "other": ["Orla", "Metz", "the music shop on Main Street"],
}


def question(n: int, gold: Gold) -> tuple[Query, Gold]:
    return Query(f"q{n}", "test", f"Which one is number {n}?"), gold


QUESTIONS = [question(n, Gold((text,))) for n, text in enumerate(text for texts in GOLDS.values() for text in texts)]
ABSTENTIONS = [question(100 + n, Gold(abstention=True)) for n in range(4)]


@pytest.mark.parametrize(("shape", "text"), [(shape, text) for shape, texts in GOLDS.items() for text in texts])
def test_the_shape_of_a_reference(shape: str, text: str) -> None:
    assert shape_of(text) == shape


def test_each_question_gets_one_answer_of_each_kind() -> None:
    found = list(cases(QUESTIONS))
    assert Counter(case.kind for case in found) == {kind: len(QUESTIONS) for kind in Kind}
    assert list(cases(QUESTIONS)) == found


def test_abstentions_are_right_to_refuse() -> None:
    found = list(cases([*QUESTIONS, *ABSTENTIONS]))
    own = [case for case in found if case.gold.abstention]
    assert {case.kind for case in own} == {Kind.RIGHT, Kind.SPECIFIC, Kind.HEDGED, Kind.INJECTED}
    assert all("$" not in case.answer for case in found)
    assert all(case.answer.strip() for case in found)


def test_wrong_answers_do_not_hold_the_reference_and_right_ones_do() -> None:
    for case in cases(QUESTIONS):
        holds = any(strict_rule(case.answer, text) for text in case.gold.answers)
        assert holds is (case.kind in (Kind.RIGHT, Kind.HEDGED)), case
        assert case.correct is (case.kind is Kind.RIGHT)
        assert case.kind is not Kind.SPECIFIC or not is_right(case.answer, case.gold)


def test_another_value_has_the_shape_of_the_reference() -> None:
    [case] = [c for c in cases(QUESTIONS[:2]) if c.kind is Kind.SPECIFIC and c.query.id == "q0"]
    assert "25 minutes" in case.answer
    [case] = [c for c in cases(QUESTIONS[:1]) if c.kind is Kind.SPECIFIC]
    assert "431" in case.answer
    polar = [c.answer for c in cases([question(0, Gold(("No",)))]) if c.kind is Kind.SPECIFIC]
    assert polar == ["Yes"]


def test_a_wording_that_would_be_right_is_not_used() -> None:
    """A refusal that holds the reference word by word."""
    found: list[Case] = list(cases([question(n, Gold(("I do not know",))) for n in range(6)]))
    assert {case.wording for case in found if case.kind is Kind.REFUSED} == {"missing", "cannot"}


def test_questions_without_a_reference_are_left_out() -> None:
    assert list(cases([question(0, Gold(option="a")), question(1, Gold(rubric=("names Metz",)))])) == []


def test_every_wording_is_used_in_turn() -> None:
    golds = [text for texts in GOLDS.values() for text in texts for _ in range(6)]
    used = {
        (case.kind, case.wording, case.gold.abstention)
        for case in cases([question(n, Gold((text,))) for n, text in enumerate(golds)] + ABSTENTIONS)
    }
    assert used == {(one.kind, one.name, one.abstention) for one in WORDINGS}
