"""Answers from a view: chains, the past, changes, and no order but the statuses."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.reader.answering import UNAVAILABLE, answer
from rdforget.records import Entry, Query, Status

WORLD = (
    "The author of The Tide is Cy Vik.",
    "Cy Vik is married to Di Aas.",
    "Di Aas is a citizen of Sudia.",
    "Cy Vik is a citizen of Nordia.",
    "The capital of Sudia is Lima.",
    "The capital of Nordia is Oslo.",
    "Di Aas works for Vik Motors.",
    "Vik Motors was founded by Bo Lind.",
    "The headquarters of Vik Motors is located in the city of Port Vik.",
    "The chief executive officer of Vik Motors is Eva Moe.",
    "Bo Lind plays the position of left wing.",
    "left wing is associated with the sport of skiball.",
    "skiball was created in the country of Sudia.",
    "The official language of Sudia is Sudic.",
    "Cy Vik is affiliated with the religion of Vikism.",
    "Vikism was founded in the city of Bern.",
    "Walter Vik's child is Walter Vik Jr..",
    "Bo Lind died in the city of Rome.",
    "Port Vik was founded by Ola Dahl.",
    "The mascot of Vik Motors is a bear.",
)


def entries(*texts: str, status: Status = Status.ACTIVE, first: int = 1) -> list[Entry]:
    return [Entry(f"m{at}", text, status) for at, text in enumerate(texts, first)]


def ask(question: str, view: list[Entry]) -> str:
    return answer(Query("q", "s", question), view)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who wrote The Tide?", "Cy Vik"),
        ("Who is the author of 'The Tide'?", "Cy Vik"),
        ("To whom is the author of The Tide married?", "Di Aas"),
        ("Which country is the author of The Tide's spouse a citizen of?", "Sudia"),
        ("What is the capital of the country of citizenship of the spouse of the author of The Tide?", "Lima"),
        ("What is the capital of the country where the writer of The Tide holds citizenship?", "Oslo"),
        ("Which city is the company that employs Di Aas headquartered in?", "Port Vik"),
        ("Who heads the company Di Aas works for as CEO?", "Eva Moe"),
        ("Where did the founder of Vik Motors breathe his last?", "Rome"),
        ("From which country does the sport that Bo Lind is associated with come from?", "Sudia"),
        ("What is the official language of the country where the sport played by Bo Lind originated?", "Sudic"),
        ("Where did the faith that Cy Vik follows come into existence?", "Bern"),
        ("Who is the child of Walter Vik?", "Walter Vik Jr."),
        ("Which individual founded the place where Vik Motors has its head office?", "Ola Dahl"),
        ("What is the mascot of the employer of Di Aas?", "a bear"),
        ("Who works for Vik Motors?", "Di Aas"),
        ("Who is the founder of Atlantis?", UNAVAILABLE),
        ("What is the currency of Sudia?", UNAVAILABLE),
        ("", UNAVAILABLE),
    ],
)
def test_chains(question: str, said: str) -> None:
    assert ask(question, entries(*WORLD)) == said


def test_an_empty_view_has_no_answer() -> None:
    assert ask("Who wrote The Tide?", []) == UNAVAILABLE


@given(st.permutations(WORLD))
def test_the_order_of_the_view_does_not_matter(texts: list[str]) -> None:
    question = "What is the capital of the country of citizenship of the spouse of the author of The Tide?"
    assert ask(question, entries(*texts)) == "Lima"


PLACES = ("Oslo", "Vik", "Bern", "Rome", "Lima")


@given(st.permutations(PLACES), st.permutations(range(1, 6)))
def test_among_active_values_neither_order_nor_ids_nor_serials_choose(places: list[str], serials: list[int]) -> None:
    view = entries(*(f"Ada lives in {place}." for place in places))
    chosen = ask("Where does Ada live?", view)
    assert chosen in PLACES
    assert chosen == ask("Where does Ada live?", entries(*(f"Ada lives in {place}." for place in PLACES)))
    numbered = [replace(entry, text=f"{n}. {entry.text}") for entry, n in zip(view, serials, strict=True)]
    assert ask("Where does Ada live?", numbered) == chosen


def test_the_choice_among_active_values_depends_on_the_question() -> None:
    view = entries(*(f"Ada lives in {place}." for place in PLACES))
    assert len({ask(f"Where does Ada live{'?' * n}", view) for n in range(1, 20)}) > 1


def test_only_texts_ids_and_statuses_count() -> None:
    view = entries("Ada lives in Oslo.", "Ada lives in Vik.")
    told = [
        replace(entry, slot="ada|seat|", when="2024", evidence="99. Ada lives in Rome.", meta={"x": 1})
        for entry in view
    ]
    assert ask("Where does Ada live?", told) == ask("Where does Ada live?", view)


PAST = [
    *entries("Ada works for Vik Motors.", "Vik Motors is based in Oslo.", "Zed Motors is based in Bern."),
    *entries("Ada is employed by Zed Motors.", status=Status.SUPERSEDED, first=4),
]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who does Ada work for?", "Vik Motors"),
        ("Who did Ada work for before the current employer?", "Zed Motors"),
        ("Where did Ada previously work?", "Zed Motors"),
        ("Which company did Ada use to work for, in the past?", "Zed Motors"),
        ("How did the employer of Ada change over time?", "Zed Motors, then Vik Motors"),
        ("In which city is the employer of Ada based?", "Oslo"),
        ("In which city was the previous employer of Ada based?", "Bern"),
    ],
)
def test_past_and_present(question: str, said: str) -> None:
    assert ask(question, PAST) == said


def test_a_superseded_value_is_no_present_value() -> None:
    assert ask("Who does Ada work for?", PAST[3:]) == UNAVAILABLE
    assert ask("Who did Ada previously work for?", PAST[3:]) == "Zed Motors"


def test_a_question_about_the_origin_is_not_about_the_past() -> None:
    view = [
        *entries("skiball was created in the country of Sudia."),
        *entries("skiball was created in the country of Nordia.", status=Status.SUPERSEDED, first=2),
    ]
    assert ask("From which country does skiball originally come?", view) == "Sudia"


def test_a_deprecated_value_stands_in_where_no_active_one_is() -> None:
    old = entries("Ada lives in Bern.", status=Status.DEPRECATED, first=2)
    assert ask("Where does Ada live?", old) == "Bern"
    assert ask("Where does Ada live?", [*entries("Ada lives in Oslo."), *old]) == "Oslo"


def test_what_somebody_said_of_themselves() -> None:
    view = entries("Ada: I moved to Oslo last week.", "user: My favourite colour is blue.")
    assert ask("Where does Ada live?", view) == "Oslo"
    assert ask("What is my favourite colour?", view) == "blue"


@given(st.text(), st.lists(st.tuples(st.text(), st.sampled_from(Status))))
def test_any_question_over_any_view_is_answered(question: str, view: list[tuple[str, Status]]) -> None:
    assert isinstance(ask(question, [Entry(f"m{at}", text, status) for at, (text, status) in enumerate(view)]), str)
