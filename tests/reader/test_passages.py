"""Conversations as passages, and their texts read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.reader.passages import Weights, is_talk, passage_of, passages
from rdforget.records import Observation


def turn(text: str, speaker: str | None = "Ada", session: str = "1", when: str | None = None) -> Observation:
    return Observation("t", text, session, when, speaker)


def test_a_short_turn_is_one_passage_and_a_long_one_several() -> None:
    short = passages([turn("I moved to Oslo. I like it.")])
    assert [p.text for p in short] == ["Ada: I moved to Oslo. I like it."]
    assert short[0].said == ("I moved to Oslo.", "I like it.")
    long = passages([turn(" ".join(f"This is sentence number {at} of a long turn." for at in range(30)))])
    assert len(long) > 1
    assert all(p.text.startswith("Ada: This is") and p.text.count(" ") < 70 for p in long)


def test_a_reply_of_a_person_carries_the_question() -> None:
    found = passages([turn('Nice. Where do you "live" now?', "Bo"), turn("In Oslo."), turn("A city. Which one?")])
    assert found[1].text == "Ada, asked \"Where do you 'live' now?\": In Oslo."
    assert found[1].said == ("In Oslo.",)
    assert "live" in found[1].terms
    assert found[2].text == "Ada: A city. Which one?"


def test_neither_another_session_nor_an_assistant_replies() -> None:
    asks = turn("Where do you live?", "user")
    assert [p.text for p in passages([asks, turn("Hi.", session="2")])][1] == "Ada: Hi."
    assert [p.text for p in passages([asks, turn("In a computer.", "assistant")])][1] == "assistant: In a computer."


def test_code_is_left_out() -> None:
    assert [p.text for p in passages([turn("Look:\n```js\nlet x = 1\n```\nIt fails.")])] == ["Ada: Look: It fails."]


@pytest.mark.parametrize(
    ("text", "speaker", "said", "when"),
    [
        ("Ada: I moved. (2023/05/30 (Tue) 21:56)", "ada", ("I moved.",), "2023/05/30 (Tue) 21:56"),
        ("Ada: I moved. (8 May 2023)", "ada", ("I moved.",), "8 May 2023"),
        ("Ada: I moved. (to Oslo)", "ada", ("I moved. (to Oslo)",), None),
        ('Ada, asked "Why: or?": Because.', "ada", ("Because.",), None),
        ("The Tide was written by Bo.", "", ("The Tide was written by Bo.",), None),
        ("", "", (), None),
    ],
)
def test_an_entry_is_read_back(text: str, speaker: str, said: tuple[str, ...], when: str | None) -> None:
    found = passage_of(text)
    assert (found.speaker, found.said, found.when) == (speaker, said, when)


@given(st.text())
def test_any_text_is_a_passage(text: str) -> None:
    passage_of(text)
    passages([turn(text), turn(text, "assistant"), turn(text, None)])


def test_a_talk_is_where_most_passages_name_their_speaker() -> None:
    assert is_talk([passage_of("Ada: Hello."), passage_of("user: Hi."), passage_of("A list")])
    assert not is_talk([passage_of("Ada: Hello."), passage_of("A list")])
    assert not is_talk([])


def test_rare_words_weigh_more() -> None:
    weights = Weights([passage_of("Ada: boats sail"), passage_of("Ada: boats sink"), passage_of("Ada: boats")])
    assert weights["sink"] > weights["boat"]
    assert weights.coverage(("sink", "boat"), frozenset({"sink"})) > 0.5
    assert weights.coverage((), frozenset()) == 0.0
