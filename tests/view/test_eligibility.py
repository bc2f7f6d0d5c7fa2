"""Eligibility (Sec. 3.4, eq. 5) and the intent h(q)."""

from __future__ import annotations

import itertools

import pytest

from rdforget.records import Status
from rdforget.view.eligibility import eligible, history_intent
from tests.builders import entry, query

A, S, D = (
    entry("a"),
    entry("s", status=Status.SUPERSEDED, superseded_by="a"),
    entry("d", status=Status.DEPRECATED),
)


@pytest.mark.parametrize(
    ("rescue", "intent", "names"),
    [(False, False, "a"), (False, True, "a"), (True, False, "da"), (True, True, "sda")],
)
def test_eq_5_in_all_combinations_of_rescue_and_intent(rescue: bool, intent: bool, names: str) -> None:
    for count in range(4):
        for pool in itertools.permutations([A, S, D], count):
            found = eligible(pool, history_intent=intent, rescue=rescue)
            assert found == tuple(e for e in pool if e.id in names)  # nothing else, and in order


@pytest.mark.parametrize(
    ("text", "task_type", "intent"),
    [
        ("Where did Ines work previously?", "", True),
        ("Where did Ines live before Metz?", "", True),
        ("How has her diet changed over time?", "", True),
        ("Which club did he FORMERLY play for?", "", True),
        ("Who is the author of Beforehand?", "", False),
        ("Which city is the capital of Historia?", "", False),
        ("Where does Ines work?", "", False),
        ("Where does Ines work?", "temporal_reasoning", True),
        ("Where does Ines work?", "contradiction_resolution", True),
        ("Where does Ines work?", "track_full_preference_evolution", True),
        ("Where does Ines work?", "2 temporal", False),
    ],
)
def test_intent_comes_from_words_or_from_the_task_type(text: str, task_type: str, intent: bool) -> None:
    assert history_intent(query(text, task_type)) is intent
