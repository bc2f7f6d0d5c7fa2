"""Mentions, kinds asked for, and questions about the past."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.reader.facts import Fact, Graph, build_graph
from rdforget.reader.grammar import read
from rdforget.reader.question import analyse


def graph_of(*texts: str) -> Graph:
    return build_graph(Fact(statement) for text in texts for statement in read(text))


GRAPH = graph_of(
    "Bo Lind wrote The Tide.",
    "Lady Vik's Fan was written by Bo Lind.",
    "The capital of United Nordia Republic is Oslo.",
    "position is associated with the sport of skiball.",
    "The Tide was founded by Café Vik.",
)


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("Who is the spouse of the author of The Tide?", ["tide"]),
        ('Who wrote "The Tide"?', ["tide"]),
        ("who wrote the tide?", ["tide"]),
        ("Where was Bo Lind's mother born?", ["bo lind"]),
        ("Who wrote Lady Vik’s Fan?", ["lady vik s fan"]),
        ("Who wrote 'Lady Vik's Fan'?", ["lady vik s fan"]),
        ("What is the capital of United Nordia?", ["united nordia republic"]),
        ("Where was Lind born?", ["bo lind"]),
        ("Who owns CAFE\u0301 VIK?", ["café vik"]),
        ("Who owns Zed?", []),
    ],
)
def test_names_are_found(text: str, nodes: list[str]) -> None:
    assert [mention.node for mention in analyse(text, GRAPH).mentions] == nodes


def test_an_ordinary_word_that_is_also_a_name_is_a_doubtful_mention() -> None:
    (mention,) = analyse("Which position?", GRAPH).mentions
    assert not mention.sure


def test_i_means_the_speakers() -> None:
    assert [mention.node for mention in analyse("Where do I live?", GRAPH, ("ada",)).mentions] == ["ada"]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Who founded it?", {"person"}),
        ("By whom was it founded?", {"person"}),
        ("Where was it founded?", {"place"}),
        ("In which city was it founded?", {"city"}),
        ("On what continent is it?", {"continent"}),
        ("What is the capital of it?", set()),
        ("What is the name of the city?", set()),
    ],
)
def test_kind_asked_for(text: str, kinds: set[str]) -> None:
    assert analyse(text, GRAPH).asked == kinds


@pytest.mark.parametrize(
    ("text", "past"),
    [
        ("Where did Ada previously work?", True),
        ("Who was the former coach?", True),
        ("Where did she use to live before the current city?", True),
        ("Who was the mayor at first?", True),
        ("Where did Ada originally live?", True),
        ("Where did skiball originally come from?", False),
        ("Where was it originally made?", False),
        ("In which language was it originally written?", False),
        ("Which country does she come from originally?", False),
        ("Where does Ada work?", False),
    ],
)
def test_questions_about_the_past(text: str, past: bool) -> None:
    assert analyse(text, GRAPH).past is past


@pytest.mark.parametrize(
    ("text", "evolution"),
    [
        ("How did the employer of Ada change over time?", True),
        ("How has the mayor changed over the years?", True),
        ("List all the employers that Ada ever had in order.", True),
        ("How did Ada die?", False),
        ("Where does Ada work?", False),
    ],
)
def test_questions_about_a_change(text: str, evolution: bool) -> None:
    assert analyse(text, GRAPH).evolution is evolution


@given(st.text())
def test_any_question_can_be_read(text: str) -> None:
    for mention in analyse(text, GRAPH).mentions:
        assert mention.node in GRAPH.names
