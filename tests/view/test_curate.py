"""Chunks of a source, and putting their items together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.calls.curate import Curation, Item
from rdforget.calls.render import source_lines
from rdforget.records import Observation
from rdforget.tokens import count_tokens
from rdforget.view.chunk import chunks
from rdforget.view.curate import by_order, combine, lexical_fallback
from tests.builders import history, item, query

observations = st.lists(
    st.builds(
        Observation,
        ref=st.just("r"),
        text=st.text("ab. \n", max_size=60).filter(str.strip),
        session=st.sampled_from(["Session 1", "Session 2"]),
        speaker=st.sampled_from([None, "Ines"]),
    ),
    max_size=12,
).map(tuple)


def tokens(chunk: tuple[Observation, ...]) -> int:
    return sum(count_tokens(line + "\n") for line in source_lines(chunk))


def letters(pieces: tuple[Observation, ...]) -> str:
    return "".join("".join(piece.text.split()) for piece in pieces)


@given(observations, st.integers(20, 80))
def test_chunks_keep_every_word_in_order_and_hold_the_target(seen: tuple[Observation, ...], target: int) -> None:
    found = chunks(seen, target)
    assert letters(tuple(piece for chunk in found for piece in chunk)) == letters(seen)
    assert all(chunk for chunk in found)
    assert all(tokens(chunk) <= target for chunk in found)


@given(observations)
def test_without_a_target_there_is_one_chunk(seen: tuple[Observation, ...]) -> None:
    assert chunks(seen, None) == (seen,)


def test_an_observation_is_cut_only_when_it_alone_is_too_long() -> None:
    short = [Observation(f"#{n}", "One two three. Four five six.") for n in range(6)]
    assert {piece for chunk in chunks(tuple(short), 24) for piece in chunk} == set(short)
    long = Observation("#9", "One two three. " * 20)
    pieces = [piece for chunk in chunks((long,), 24) for piece in chunk]
    assert len(pieces) > 2
    assert all(piece.text.endswith(".") for piece in pieces[:-1])
    assert {piece.ref for piece in pieces} == {"#9"}


CHUNKS = [
    Curation((item("Ines works at Finch", "ines|employer|"), item("Ines likes tea", "ines|likes|")), (), "whole"),
    Curation((item("Ines works at Orla", "INES | employer"),), (item("Ines was idle", "ines|employer|"),), "whole"),
    Curation((item("Ines likes tea", "ines|likes|"), item("Orla is big")), (), "whole"),
]


def texts(items: tuple[Item, ...]) -> list[str]:
    return [one.text for one in items]


def test_keep_concatenates_chunks_in_order() -> None:
    active, replaced = combine(CHUNKS, "keep")
    assert texts(active) == [
        "Ines works at Finch",
        "Ines likes tea",
        "Ines works at Orla",
        "Ines likes tea",
        "Orla is big",
    ]
    assert texts(replaced) == ["Ines was idle"]


def test_demote_replaces_what_a_later_chunk_gives_another_value() -> None:
    active, replaced = combine(CHUNKS, "demote")
    assert texts(active) == ["Ines likes tea", "Ines works at Orla", "Ines likes tea", "Orla is big"]
    assert texts(replaced) == ["Ines was idle", "Ines works at Finch"]


def test_demote_leaves_a_value_that_a_later_chunk_confirms_beside_another() -> None:
    first = Curation((item("A1", "a|r|"),), (), "whole")
    second = Curation((item("A1", "a|r|"), item("A3", "a|r|")), (), "whole")
    active, replaced = combine([first, second], "demote")
    assert (texts(active), replaced) == (["A1", "A1", "A3"], ())


@pytest.mark.parametrize(
    ("count", "asked", "first", "found"),
    [(3, "Where is Orla?", "12. Orla is in Metz.", 2), (1, "nothing shared", "11. Finch is in Nancy.", 1)],
)
def test_fallback_lines_are_ranked_and_blank_ones_left_out(count: int, asked: str, first: str, found: int) -> None:
    source = history("11. Finch is in Nancy.", "12. Orla is in Metz.", " ")
    entries = lexical_fallback(source, query(asked), count)
    assert (entries[0].text, len(entries)) == (first, found)


def test_by_order_the_last_value_of_a_slot_holds_and_what_says_the_same_with_it() -> None:
    active = (
        item("Ines works at Finch", "Ines|employer|"),
        item("Ines works at Orla", "Ines|employer|"),
        item("Metz is old", ""),
        item("Ines works at Finch", "ines | employer |"),
        item("Orla is in Metz", "Orla|city|"),
    )
    kept, replaced = by_order(active, (item("before", "Ines|employer|"),))
    assert [one.text for one in kept] == [
        "Ines works at Finch",
        "Metz is old",
        "Ines works at Finch",
        "Orla is in Metz",
    ]
    assert [one.text for one in replaced] == ["before", "Ines works at Orla"]
