"""Role `memorize`: the prompt, and whatever a model may reply."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rdforget.calls import memorize
from rdforget.calls.memorize import MemorizeInputs, Proposed
from rdforget.records import Observation

UNITS = (
    Observation("T1", "I started at Finch on Monday.", when="2024-03-01 10:00", speaker="Ines"),
    Observation("T2", "Good for you!\nReally.", when="2024-03-01 10:00", speaker="assistant"),
)


def reply(*memories: Any) -> str:
    return json.dumps({"memories": memories})


def test_the_prompt_shows_turns_with_their_time_and_what_is_stored() -> None:
    call = memorize.build(MemorizeInputs(UNITS, ("Ines works at Orla.", "Ines likes\ntea.")))
    user = call.messages[1].content
    assert "[T1] (2024-03-01 10:00) Ines: I started at Finch on Monday." in user
    assert "[T2] (2024-03-01 10:00) assistant: Good for you! Really." in user
    assert "- Ines works at Orla.\n- Ines likes tea." in user
    assert "Stored memories:\n(none)" in memorize.build(MemorizeInputs(UNITS, ())).messages[1].content


def test_lists_and_strings_of_the_schema_are_bounded() -> None:
    memories = memorize.SCHEMA["properties"]["memories"]
    assert memories["maxItems"] == memorize.MAX_ITEMS
    fields = memories["items"]["properties"]
    assert all("maxLength" in kind or "enum" in kind for kind in fields.values() if kind["type"] == "string")
    assert set(memories["items"]["required"]) == set(fields)


def test_the_example_of_the_prompt_is_read() -> None:
    system = memorize.build(MemorizeInputs(UNITS, ())).messages[0].content
    found = memorize.parse(system[system.index('{"memories"') :])
    assert [(one.slot, one.when, one.importance) for one in found.memories] == [
        ("Ines|employer|", "2024-02-26", 0.8),
        ("Ines|workplace|Finch", "2024-02-26", 0.5),
    ]


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ({"text": " Ines\nruns. "}, Proposed("Ines runs.")),
        ({"memory": "Ines runs."}, Proposed("Ines runs.")),
        (
            {"text": "a", "subject": "Ines", "relation": "home", "scope": "work|day"},
            Proposed("a", "Ines|home|work/day"),
        ),
        ({"text": "a", "slot": "ines|home|"}, Proposed("a", "ines|home|")),
        ({"text": "a", "subject": "Ines", "relation": ""}, Proposed("a")),
        ({"text": "a", "category": "Episodic"}, Proposed("a", category="episodic")),
        ({"text": "a", "category": "other"}, Proposed("a")),
        ({"text": "a", "category": 3, "when": None}, Proposed("a")),
        ({"text": "a", "when": "3 May 2024"}, Proposed("a", when="3 May 2024")),
        ({"text": "a", "importance": 10}, Proposed("a", importance=1.0)),
        ({"text": "a", "importance": "7"}, Proposed("a", importance=0.7)),
        ({"text": "a", "importance": 99}, Proposed("a", importance=1.0)),
        ({"text": "a", "importance": -1}, Proposed("a", importance=0.1)),
        ({"text": "a", "importance": "high"}, Proposed("a")),
        ({"text": "a", "importance": True}, Proposed("a")),
        ({"text": "a", "importance": float("nan")}, Proposed("a")),
    ],
)
def test_fields_are_read_leniently(raw: dict[str, Any], read: Proposed) -> None:
    assert memorize.parse(reply(raw)).memories == (read,)


def test_items_are_validated_one_by_one() -> None:
    found = memorize.parse(reply({"text": "a"}, {"text": ""}, "b", {"subject": "Ines"}, {"text": "c"}))
    assert [one.text for one in found.memories] == ["a", "c"]
    assert len(found.faults) == 3
    assert not found.defect


@pytest.mark.parametrize("text", ["", "no JSON", '{"memories": 3}', '{"facts": []}', '{"memories": [{"text": ""}]}'])
def test_a_useless_reply_has_a_defect(text: str) -> None:
    found = memorize.parse(text)
    assert found.memories == ()
    assert found.defect


def test_nothing_worth_keeping_is_no_defect() -> None:
    assert not memorize.parse(reply()).defect


def test_a_reply_that_was_cut_off_gives_its_whole_items() -> None:
    whole = reply({"text": "a"}, {"text": "b"})
    assert [one.text for one in memorize.parse(whole[:-6]).memories] == ["a"]
    assert len(memorize.parse(reply(*({"text": str(n)} for n in range(100)))).memories) == memorize.MAX_ITEMS
