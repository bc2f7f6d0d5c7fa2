"""Kinds of values that questions ask for, and the values that sentences hold."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.reader.clause import clause
from rdforget.reader.dated import point_in_time
from rdforget.reader.extract import values
from rdforget.reader.need import Kind, need_of
from rdforget.records import Query

SPEAKERS = ("ada", "bo")


def said(question: str, sentence: str, when: str | None = None) -> list[str]:
    return [value.text for value in values(need_of(Query("q", "s", question), SPEAKERS), sentence, when, SPEAKERS)]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many boats do I own?", Kind.COUNT),
        ("How long have I been sailing?", Kind.DURATION),
        ("How many hours did I sail?", Kind.DURATION),
        ("How often do I sail?", Kind.FREQUENCY),
        ("How much did I pay for the boat?", Kind.MONEY),
        ("How much does it weigh?", Kind.QUANTITY),
        ("What is my highest score in darts?", Kind.QUANTITY),
        ("What time do I get up?", Kind.CLOCK),
        ("What day of the week do I sail?", Kind.WEEKDAY),
        ("When did Ada sail?", Kind.DATE),
        ("Where does Ada live?", Kind.PLACE),
        ("Which company does Ada work at?", Kind.PLACE),
        ("Who sailed with Ada?", Kind.PERSON),
        ("Did Ada sail?", Kind.YES_NO),
        ("What does Ada like?", Kind.OTHER),
    ],
)
def test_kinds(question: str, kind: Kind) -> None:
    assert need_of(Query("q", "s", question), SPEAKERS).kind is kind


@pytest.mark.parametrize(
    ("question", "by", "terms", "named"),
    [
        ("What did Ada see in Oslo?", "ada", ("see", "oslo"), {"oslo"}),
        ("What did Ada tell Bo?", None, (), set()),
        ("Which boat did I buy?", "user", ("boat", "buy"), set()),
        ("Which boat did you suggest?", "assistant", ("boat", "suggest"), set()),
        ("How often do I see Dr. Holm?", "user", ("see", "dr", "holm"), {"dr", "holm"}),
    ],
)
def test_who_and_what_is_asked_about(question: str, by: str | None, terms: tuple[str, ...], named: set[str]) -> None:
    need = need_of(Query("q", "s", question), (*SPEAKERS, "user", "assistant"))
    assert (need.by, need.terms, set(need.named)) == (by, terms, named)


@pytest.mark.parametrize(
    ("question", "sentence", "found"),
    [
        ("How many boats do I own?", "On 7/22 I bought four red boats.", ["four red boats"]),
        ("How many boats do I own?", "My list of boats holds 25 now.", ["25"]),
        ("How many boats do I own?", "I paid $30 at 6:00, 20% off.", []),
        ("How many boats do I own?", "That one is 3 months old.", []),
        ("How long have I sailed?", "I have sailed for about 9 months.", ["about 9 months"]),
        ("How long have I sailed?", "It took 10-12 hours.", ["10-12 hours"]),
        ("How long have I sailed?", "I bought it two weeks ago.", []),
        ("How often do I sail?", "I sail three times a week.", ["three times a week"]),
        ("How often do I sail?", "I sail every other Friday.", ["every other Friday"]),
        ("How much did I pay?", "It cost $1,200.50 in all.", ["$1,200.50"]),
        ("What time do I get up?", "I get up at 6:30 am.", ["6:30 am"]),
        ("What day of the week do I sail?", "I sail on Fridays.", ["Fridays"]),
        ("What is my record in the league?", "We are at 5-2 so far.", ["5-2"]),
        ("What is my best score?", "I got 132 points.", ["132 points"]),
        ("Where does Ada live?", "I moved to the old town of Oslo last week.", ["to the old town of Oslo"]),
        ("Where are my shoes?", "I keep the shoes under my bed in the morning.", ["under my bed"]),
        ("Who sailed with Ada?", "Thanks, Bo! I sailed with Cy Vik on Monday.", ["Cy Vik"]),
    ],
)
def test_values(question: str, sentence: str, found: list[str]) -> None:
    assert said(question, sentence) == found


@pytest.mark.parametrize(
    ("sentence", "point"),
    [
        ("I went yesterday.", "8 June 2023"),
        ("I go tomorrow.", "10 June 2023"),
        ("I went last week.", "the week before 9 June 2023"),
        ("I went last Tues.", "the Tuesday before 9 June 2023"),
        ("I go next month.", "July 2023"),
        ("I went this month.", "June 2023"),
        ("I went last year.", "2022"),
        ("I went three days ago.", "6 June 2023"),
        ("I went two weeks ago.", "two weeks before 9 June 2023"),
        ("I went six months ago.", "December 2022"),
        ("I went on May 7th.", "May 7th"),
        ("I went on 7 May 2022.", "7 May 2022"),
        ("The deadline of April 5, 2024 holds.", "April 5, 2024"),
        ("I went in 2019.", "2019"),
        ("I went in July.", "July"),
        ("I went.", None),
    ],
)
def test_points_in_time(sentence: str, point: str | None) -> None:
    assert point_in_time(sentence, datetime(2023, 6, 9)) == point  # noqa: DTZ001  # sources have no zone


def test_without_a_date_of_its_own_a_sentence_has_the_date_of_its_session() -> None:
    assert said("When did Ada sail?", "I sailed!", "2023-06-09") == ["9 June 2023"]
    assert said("When did Ada sail?", "I sailed!") == []


@pytest.mark.parametrize("day", [datetime(1, 1, 1), datetime(9999, 12, 31)])  # noqa: DTZ001
def test_a_date_outside_of_the_calendar_is_none(day: datetime) -> None:
    assert point_in_time("9999 days ago and tomorrow", day) in (None, "2 January 0001", "2 January 1")


@pytest.mark.parametrize(
    ("question", "sentence", "part"),
    [
        ("What did Ada find?", "Yes! I found a rainbow on the road.", "I found a rainbow on the road"),
        ("What kind of lens do I use?", "I take all my pictures with my new 50mm prime lens.", "50mm prime lens"),
        (
            "What did Ada paint?",
            "It was a long and rainy day at home, so I painted a green boat for my niece, which made her smile.",
            "I painted a green boat for my niece",
        ),
    ],
)
def test_clauses(question: str, sentence: str, part: str) -> None:
    assert clause(need_of(Query("q", "s", question), SPEAKERS), sentence) == part


QUESTIONS = st.sampled_from(
    [
        "How many a?",
        "How long?",
        "How often?",
        "How much money?",
        "What time?",
        "When?",
        "Where?",
        "Who?",
        "What kind of a?",
    ]
)


@given(QUESTIONS, st.text())
def test_any_sentence_can_be_searched(question: str, sentence: str) -> None:
    said(question, sentence, "2023-06-09")
    clause(need_of(Query("q", "s", question), SPEAKERS), sentence)


@given(st.text())
def test_any_text_is_a_question(text: str) -> None:
    need_of(Query("q", "s", text), SPEAKERS)
