"""Replies of every shape: what is read, what is dropped, and that nothing raises."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.calls import answer, curate, select
from rdforget.calls.base import Reply
from rdforget.calls.parsing import extract, strip_reasoning
from rdforget.records import AnswerOutcome

WHOLE = '{"active": [{"text": "A is B", "subject": "A", "relation": "r", "scope": ""}], "replaced": []}'


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (WHOLE, "whole"),
        (f"```json\n{WHOLE}\n```", "fenced"),
        (f"Here it is:\n```\n{WHOLE}\n```\nDone.", "fenced"),
        (f"Sure! {WHOLE} I hope this helps {{}}", "embedded"),
        (f'{{"note": 1}} then {WHOLE}', "embedded"),
        (f"<think>{{braces}} in thought</think>{WHOLE}", "whole"),
        (f"thought without a beginning</think>{WHOLE}", "whole"),
        ('{"active": [{"text": "A is B"}, {"text": "B is', "salvaged"),
        ("no JSON at all", "none"),
        ("", "none"),
        ("<think>never ends " + WHOLE, "none"),
        ("[1, 2]", "none"),
    ],
)
def test_the_parser_takes_the_first_rung_that_holds(text: str, status: str) -> None:
    found = curate.parse(text)
    assert (found.status, len(found.active)) == (status, 0 if status == "none" else 1)


def test_a_cut_off_list_keeps_its_complete_items_and_drops_the_half_written_one() -> None:
    found = curate.parse(
        '{"active":[{"fact":"Ines works at Orla","slot":"ines|employer|current"},'
        '{"fact":"Orla is in Metz","slot":"orla|city|hq"},{"fact":"Ines lik'
    )
    assert [(item.text, item.slot) for item in found.active] == [
        ("Ines works at Orla", "ines|employer|current"),
        ("Orla is in Metz", "orla|city|hq"),
    ]


def test_items_are_validated_one_by_one() -> None:
    raw = [{"text": "kept"}, {"text": " "}, {"text": 7}, "no", None, {"subject": "x"}, {"statement": "too"}]
    found = curate.parse(json.dumps({"active": raw, "replaced": {}}))
    assert [item.text for item in found.active] == ["kept", "too"]
    assert found.dropped == 6  # five items and one list that is none


@pytest.mark.parametrize(
    ("fields", "slot"),
    [
        (("Ines", "employer", "current"), "Ines|employer|current"),
        (("a|b", "r", ""), "a/b|r|"),
        (("", "r", "s"), ""),
        (("a", "", "s"), ""),
    ],
)
def test_slots_are_joined_by_code(fields: tuple[str, str, str], slot: str) -> None:
    assert curate.join_slot(*fields) == slot


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>a</think>b", "b"),
        ("<think>a <think>b</think> c</think>d", "d"),
        ("a</think>b", "b"),
        ("b<think>a", "b"),
        ("<THINKING>a</THINKING>b", "b"),
        ("<think>it says <think> here</think>b", "b"),
        ("a <think>x</think> b <think>y</think> c", "a  b  c"),
        ("<think>" * 200_000 + "b", ""),
        ("<think>" * 200_000 + "</think>b", "b"),
        ("plain", "plain"),
    ],
)
def test_reasoning_is_never_part_of_a_reply(text: str, left: str) -> None:
    assert strip_reasoning(text) == left


@pytest.mark.parametrize(
    ("text", "finish", "answered", "outcome"),
    [
        ('{"answer": "Metz"}', "stop", "Metz", AnswerOutcome.ANSWERED),
        ('{"answer": 1300}', "stop", "1300", AnswerOutcome.ANSWERED),
        ("Metz.", "stop", "Metz.", AnswerOutcome.ANSWERED),
        ('```json\n{"answer": "Metz"}\n```', "stop", "Metz", AnswerOutcome.ANSWERED),
        ('{"answer": "It is \\"Me', "length", 'It is "Me', AnswerOutcome.ANSWERED),
        ('{"answer": ""}', "stop", "", AnswerOutcome.EMPTY),
        ("", "stop", "", AnswerOutcome.EMPTY),
        ("", "length", "", AnswerOutcome.EMPTY_LENGTH),
        ("<think>Ines moved, so", "length", "", AnswerOutcome.EMPTY_LENGTH),
    ],
)
def test_answers(text: str, finish: str, answered: str, outcome: AnswerOutcome) -> None:
    found = answer.parse(Reply(text, finish))
    assert (found.text, found.outcome) == (answered, outcome)


json_text = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["active", "ids", "answer", "text"]), inner, max_size=4)
    ),
    max_leaves=12,
).map(json.dumps)


@given(
    st.one_of(
        st.text(max_size=200),
        json_text,
        json_text.flatmap(lambda text: st.integers(0, len(text)).map(lambda cut: text[:cut])),
    )
)
def test_no_reply_raises(text: str) -> None:
    curate.parse(text)
    select.parse(text)
    answer.parse(Reply(text))


@pytest.mark.parametrize("text", ["{" * 100_000, "[" * 100_000, '{"a":' * 50_000, '{"active": [' + "[" * 100_000])
def test_a_hostile_reply_is_read_in_bounded_time(text: str) -> None:
    assert extract(text, "active").status == "none"
