"""Frames of the statement grammar. Names are made up."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.reader.grammar import entity_key, read
from rdforget.reader.sentences import sentences, serial

FRAMES = [
    ("Ada Holm is married to Bo Lind.", "ada holm", "spouse", "Bo Lind"),
    ("The spouse of Ada Holm is Bo Lind.", "ada holm", "spouse", "Bo Lind"),
    ("Ada Holm's husband is Bo Lind.", "ada holm", "spouse", "Bo Lind"),
    ("Bo Lind is the husband of Ada Holm.", "ada holm", "spouse", "Bo Lind"),
    ("Oslo is the capital of Nordia.", "nordia", "capital", "Oslo"),
    ("The capital of Nordia is Oslo.", "nordia", "capital", "Oslo"),
    ("The author of The Tide is Bo Lind.", "tide", "author", "Bo Lind"),
    ("The Tide was written by Bo Lind.", "tide", "author", "Bo Lind"),
    ("Bo Lind wrote The Tide.", "tide", "author", "Bo Lind"),
    ("The person who wrote The Tide is Bo Lind.", "tide", "author", "Bo Lind"),
    ("The Tide was written in the language of Nordic.", "tide", "work_language", "Nordic"),
    ("The author of What is Art is Bo Lind.", "what is art", "author", "Bo Lind"),
    ("The university where Ada Holm was educated is Vik College.", "ada holm", "education", "Vik College"),
    ("The univeristy where Ada Holm was educated is Vik College.", "ada holm", "education", "Vik College"),
    ("The type of music that Ada Holm plays is folk rock.", "ada holm", "genre", "folk rock"),
    ("The company that produced Zed 5 is Vik Motors.", "zed 5", "manufacturer", "Vik Motors"),
    ("The name of the current head of the Oslo government is Bo Lind.", "oslo", "head_of_government", "Bo Lind"),
    ("The name of the current head of state in Nordia is Bo Lind.", "nordia", "head_of_state", "Bo Lind"),
    ("The Prime Minister of Nordia is Bo Lind.", "nordia", "prime_minister", "Bo Lind"),
    ("The headquarters of Vik Motors is located in the city of Oslo.", "vik motors", "seat", "Oslo"),
    ("Vik Motors is based in Oslo.", "vik motors", "seat", "Oslo"),
    ("Ada Holm now lives in Oslo.", "ada holm", "seat", "Oslo"),
    ("Ada Holm has moved to Port Vik.", "ada holm", "seat", "Port Vik"),
    ("Nordia is located in the continent of Borea.", "nordia", "continent", "Borea"),
    ("Oslo is located in the country of Nordia.", "oslo", "country", "Nordia"),
    ("Vik Tonight originally aired on Fjord TV.", "vik tonight", "broadcaster", "Fjord TV"),
    ("Ada Holm works in the field of chemistry.", "ada holm", "occupation", "chemistry"),
    ("Ada Holm works for Vik Motors.", "ada holm", "employer", "Vik Motors"),
    ("Ada Holm worked in the city of Oslo.", "ada holm", "work_location", "Oslo"),
    ("Ada Holm plays the position of left wing.", "ada holm", "position", "left wing"),
    ("left wing is associated with the sport of skiball.", "left wing", "sport", "skiball"),
    ("The country of origin of skiball is Nordia.", "skiball", "origin", "Nordia"),
    ("The country that Ada Holm is a citizen of is Nordia.", "ada holm", "citizenship", "Nordia"),
    ("Vik Motors was founded by Bo Lind in 1950.", "vik motors", "founder", "Bo Lind"),
    ("As of 2021, the chief executive officer of Vik Motors is Bo Lind.", "vik motors", "chief_executive", "Bo Lind"),
    ("Pedro Vik worked in the city of Oslo, N.D..", "pedro vik", "work_location", "Oslo, N.D."),
    ("Ada Holm is famous for Thus Spoke Ada.", "ada holm", "notable_work", "Thus Spoke Ada"),
    ("Yahuu! Inc. was founded by Bo Lind.", "yahuu inc", "founder", "Bo Lind"),
]


@pytest.mark.parametrize(("text", "subject", "relation", "value"), FRAMES)
@pytest.mark.parametrize("prefix", ["", "17. "])
def test_a_frame_is_read_with_and_without_a_serial(
    prefix: str, text: str, subject: str, relation: str, value: str
) -> None:
    statements = read(prefix + text)
    assert [(s.subject, s.relation, s.object, s.text) for s in statements] == [(subject, relation, value, text)]


@pytest.mark.parametrize(
    ("text", "subject", "relation", "value"),
    [
        ("The mascot of Vik United is a bear.", "vik united", "mascot", "a bear"),
        ("Vik United's mascot is a bear.", "vik united", "mascot", "a bear"),
        ("Bo Lind sponsors Vik United.", "bo lind", "sponsors", "Vik United"),
        ("The origianl broadcaster of Vik Tonight is Fjord TV.", "vik tonight", "origianl broadcaster", "Fjord TV"),
    ],
)
def test_an_unknown_relation_keeps_its_own_words(text: str, subject: str, relation: str, value: str) -> None:
    (statement,) = read(text)
    assert (statement.subject, statement.relation, statement.object) == (subject, relation, value)
    assert not statement.known


def test_nouns_that_do_not_replace_one_another_are_scopes() -> None:
    son, daughter = read("Ada's son is Bo. Ada's daughter is Eva.")
    assert son.relation == daughter.relation == "child"
    assert son.slot != daughter.slot
    (walls,) = read("Ada's favourite colour for walls is red.")
    assert (walls.subject, walls.scope, walls.object) == ("ada", "walls", "red")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I moved to Oslo last week.", "Oslo"),
        ("We've relocated to Oslo.", "Oslo"),
        ("I'm based in Oslo now.", "Oslo"),
        ("My home city is Oslo.", "Oslo"),
    ],
)
def test_what_a_speaker_says_of_themselves_can_be_read_again_from_its_text(text: str, value: str) -> None:
    (statement,) = read(text, speaker="Ada Holm")
    assert (statement.subject, statement.relation, statement.object) == ("ada holm", "seat", value)
    assert statement.text == f"Ada Holm: {text}"
    assert read(statement.text) == [statement]


def test_a_title_with_a_colon_is_no_speaker() -> None:
    (statement,) = read("Star Vik: Voyage was created by Bo Lind.")
    assert statement.subject == "star vik voyage"


def test_known_names_decide_between_readings() -> None:
    text = "The notable work of Ada Holm is What is Art."
    assert read(text)[0].object == "Art"
    assert read(text, known={"ada holm", "what is art"})[0].object == "What is Art"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Ada lives in Oslo. Bo lives in Vik.", 2),
        ("Harry S. Holm lives in Oslo.", 1),
        ("Hello there! How are you?", 0),
        ("", 0),
        ("12. ", 0),
        ("---", 0),
    ],
)
def test_number_of_statements(text: str, count: int) -> None:
    assert len(read(text)) == count


@pytest.mark.parametrize(
    ("line", "number", "rest"),
    [
        ("12. A b.", 12, "A b."),
        ("0. 1984 was good.", 0, "1984 was good."),
        ("7) x y", 7, "x y"),
        ("A 3. b", None, "A 3. b"),
    ],
)
def test_serials(line: str, number: int | None, rest: str) -> None:
    assert serial(line) == (number, rest)


def test_sentences_keep_initials_and_abbreviations() -> None:
    assert sentences("Harry S. Holm met Dr. Vik. He left.") == ["Harry S. Holm met Dr. Vik.", "He left."]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("The Beatrix", "beatrix"),
        ("  Ada   HOLM ", "ada holm"),
        ('"Ada Holm"', "Ada Holm"),
        ("Caf\u00e9 Vik", "Cafe\u0301 vik"),
        ("Washington, D.C.", "washington d c"),
    ],
)
def test_names_that_are_one(left: str, right: str) -> None:
    assert entity_key(left) == entity_key(right)


@pytest.mark.parametrize(("left", "right"), [("C", "C++"), ("C++", "C#"), ("Café", "Cafe"), ("The Who", "Who")])
def test_names_that_differ(left: str, right: str) -> None:
    assert entity_key(left) != entity_key(right)


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    for statement in read(text):
        assert statement.relation
        assert len(statement.object) <= len(unicodedata.normalize("NFC", text)) + len(text)


@given(st.lists(st.sampled_from(["the", "The", "Ada", "is", "of", "capital", "'s", "wrote", ".", "was", "in", ":"])))
def test_any_order_of_grammar_words_can_be_read(words: list[str]) -> None:
    read(" ".join(words))
