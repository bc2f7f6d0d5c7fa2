"""Prompts: placeholders, order, and what must never be in them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rdforget.calls import answer, curate, select
from rdforget.calls.base import PROMPTS, Message, PromptError, load_prompt
from rdforget.records import Protocol, Query, Switches
from tests.builders import entry, history

QUERY = Query("q", "test", "Where does Ines work?", "temporal", "2024-03-15", ("(a) Orla", "(b) Finch"))
HISTORY = history("1. Ines works at Orla.", "2. Orla is in Metz.")


@pytest.mark.parametrize("values", [{}, {"text": "a"}, {"text": "a", "details": "b", "more": "c"}])
def test_a_missing_or_extra_placeholder_is_an_error(values: dict[str, str]) -> None:
    with pytest.raises(PromptError, match="curate"):
        load_prompt("curate").fill("question", **values)


def test_an_unknown_section_is_an_error() -> None:
    with pytest.raises(PromptError, match="no section"):
        load_prompt("curate").fill("nothing")


def test_text_with_dollars_and_braces_goes_into_a_prompt_as_it_is() -> None:
    odd = replace(QUERY, text="What costs $5 {now} $name?")
    call = answer.build(odd, (entry("m1", "It costs ${x} $$"),), Protocol())
    assert "What costs $5 {now} $name?" in call.messages[1].content
    assert "It costs ${x} $$" in call.messages[1].content


def build(switches: Switches, query: Query | None = QUERY) -> tuple[Message, ...]:
    return curate.build(HISTORY.observations, HISTORY.note, query, switches, Protocol()).messages


def test_the_question_comes_after_the_history_so_that_questions_share_a_prefix() -> None:
    one = build(Switches())
    two = build(Switches(), replace(QUERY, text="Which city is Orla in?"))
    assert one[0] == two[0]
    at = one[1].content.index("Question:")
    assert one[1].content[:at] == two[1].content[:at]
    assert one[1].content.index("2. Orla is in Metz.") < at


def test_each_switch_changes_the_curation_prompt_as_the_paper_says() -> None:
    full, no_slot = build(Switches())[0].content, build(Switches.without("no-slot"))[0].content
    assert "slot" in full
    assert "slot" not in no_slot
    assert '"subject"' not in no_slot
    direct = build(Switches.without("no-closure"))[0].content
    assert "Follow connections" in full
    assert "Follow connections" not in direct
    general = build(Switches.without("no-qc"), query=None)
    assert "Ines work?" not in general[1].content
    assert curate.build((), "", None, Switches.without("no-qc"), Protocol()).max_output_tokens == 8_192


def test_the_selector_shows_dates_types_and_options_but_no_slot_or_evidence() -> None:
    shown = entry("m1", "Ines works at Orla", slot="ines|employer|", evidence="EVIDENCE", when="WHEN")
    text = select.build(QUERY, (shown,), Protocol()).messages[1].content
    for part in ("2024-03-15", "temporal", "(b) Finch", "[m1] ACTIVE: Ines works at Orla"):
        assert part in text
    for part in ("EVIDENCE", "WHEN", "employer"):
        assert part not in text


def test_an_empty_view_is_said_in_words() -> None:
    assert "(no memory entry)" in answer.build(QUERY, (), Protocol()).messages[1].content


def test_the_key_covers_everything_that_a_model_is_told() -> None:
    call = answer.build(QUERY, (), Protocol())
    others = [
        replace(call, messages=(Message("user", "x"),)),
        replace(call, max_output_tokens=4_096),
        replace(call, sampling={"temperature": 0.7}),
        replace(call, sampling={}),
        replace(call, schema=None),
        replace(call, repeat=1),
    ]
    assert len({call.key, *(other.key for other in others)}) == 7
    assert replace(call, sampling={"b": 1, "a": 2}).key == replace(call, sampling={"a": 2, "b": 1}).key


def test_prompt_files_have_no_leftover_marks() -> None:
    for path in PROMPTS.glob("*.txt"):
        assert "TODO" not in path.read_text("utf-8")
        assert load_prompt(path.stem).sections
