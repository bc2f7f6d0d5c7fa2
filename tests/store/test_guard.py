"""When two texts that embed alike are one: only where nothing that matters can differ."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.store.guard import agree

SAME = [
    ("Ines likes tea", "Ines likes tea."),
    ("Ines likes tea", "ines likes TEA"),
    ("Ines likes tea", "Ines really likes her tea"),
    ("Ines lives in Oslo.", "Ines currently lives in Oslo"),
    ("The flat costs $1,250", "The flat costs $1250"),
    ("The flat costs $5 a day", "The flat costs 5 dollars a day"),
    ("The walk is 3.0 km", "The walk is 3 km long"),
    ("Ines has three cats", "Ines has 3 cats"),
    ("Ines was born on 3 May 2024", "Ines was born May 3rd, 2024"),
    ("Ines was born on 2024-05-03", "Ines was born on 3 May 2024"),
    ("Ines doesn't like tea", "Ines does not like tea"),
    ("Her favourite colour is blue", "Her favorite color is blue"),
    ("Ines organises walks", "Ines organizes a walk"),
    ("Zoë sings", "Zoe\u0308 sings"),
    ("猫が好き", "猫が好き。"),
    ("", ""),
]
DIFFERENT = [
    # numbers, units and what is counted
    ("Ines has 3 cats", "Ines has 4 cats"),
    ("Ines has three cats", "Ines has four cats"),
    ("Ines has 3 cats", "Ines has 3 dogs"),
    ("Ines has cats", "Ines has 3 cats"),
    ("The flat costs $5", "The flat costs €5"),
    ("The flat costs $1,250", "The flat costs $1,520"),
    ("The walk is 1.5 km", "The walk is 15 km"),
    ("It was 5 degrees", "It was -5 degrees"),
    ("open from 3 to 5", "open from 5 to 3"),
    ("in room B12", "in room B13"),
    ("the train leaves at 10:30", "the train leaves at 10:45"),
    ("Ines came first", "Ines came second"),
    ("id 123456789012345678901234567890123", "id 123456789012345678901234567890124"),
    # dates
    ("Ines arrives on 3 May", "Ines arrives on 4 May"),
    ("Ines arrives on 3 May 2024", "Ines arrives on 3 May 2025"),
    ("Ines arrives on 3 May", "Ines arrives on 3 June"),
    ("Ines moved in May 2023", "Ines moved in May 2024"),
    ("Ines moved last week", "Ines moves next week"),
    ("gym on Monday", "gym on Tuesday"),
    ("vacaciones en mayo", "vacaciones en junio"),
    # names
    ("Ines likes tea", "Max likes tea"),
    ("Ines works for Orla", "Ines works for Finch"),
    ("Ann owes Bob money", "Bob owes Ann money"),
    ("Ines flew from Oslo to Vik", "Ines flew from Vik to Oslo"),
    ("猫が好き", "犬が好き"),
    ("يحب القهوة", "يحب الشاي"),
    ("🎉", "🎂"),
    # negation
    ("Ines likes tea", "Ines does not like tea"),
    ("Ines smokes", "Ines no longer smokes"),
    ("Ines smokes", "Ines stopped smoking"),
    ("Ines can swim", "Ines can't swim"),
    ("Ines likes tea, not coffee", "Ines likes coffee, not tea"),
    ("Ines is happy", "Ines is unhappy"),
    ("Ich mag Tee", "Ich mag keinen Tee"),
    ("J'aime le thé", "Je n'aime pas le thé"),
    ("Quiero té", "No quiero té"),
    ("Она курит", "Она не курит"),
    # values, order and time of verbs
    ("Ines is an employer", "Ines is an employee"),
    ("Ines has a big house", "Ines has a big horse"),
    ("Ines studies the universe", "Ines studies the university"),
    ("The favourite tea of the house is green", "The favourite tea of the house is black"),
    ("Ines prefers tea over coffee", "Ines prefers coffee over tea"),
    ("Ines flew to the coast", "Ines flew from the coast"),
    ("Ines is a nurse", "Ines was a nurse"),
    ("Ines lives in Oslo", "Ines lived in Oslo"),
    ("left hand", "right hand"),
]
ADDRESSES = (
    "Ines lives at 12 Rue Mercier, third floor, in Lyon",
    "Ines lives at 14 Rue Mercier, third floor, in Lyon",
    "Ines lives at 12 Rue Mercier, third floor, in Paris",
)
PIECES = st.lists(
    st.sampled_from(
        (
            *("Ines", "likes", "tea", "not", "never", "3", "4", "$5", "€5", "May", "2024-05-03", "3 May", "the"),
            *("happy", "unhappy", "colour", "color", "n't", "don't", "猫", "🎉", "lived", "lives"),
        )
    )
).map(" ".join)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_texts_that_agree(one: str, other: str) -> None:
    assert agree(one, other)
    assert agree(other, one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_texts_that_do_not(one: str, other: str) -> None:
    assert not agree(one, other)
    assert not agree(other, one)


@pytest.mark.parametrize(("one", "other"), [*combinations(ADDRESSES, 2)])
def test_addresses_that_differ_by_a_number_or_a_place(one: str, other: str) -> None:
    assert not agree(one, other)


@given(st.text() | PIECES)
def test_a_text_agrees_with_itself(text: str) -> None:
    assert agree(text, text)


@given(PIECES, PIECES)
def test_the_order_of_the_two_makes_no_difference(one: str, other: str) -> None:
    assert agree(one, other) is agree(other, one)


@given(st.text(), st.text())
def test_so_with_any_characters(one: str, other: str) -> None:
    assert agree(one, other) is agree(other, one)
