"""Statuses and links (Sec. 3.3, eq. 4)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.calls.curate import Item
from rdforget.records import Status, Switches
from rdforget.view.materialize import materialize, normalise_slot
from tests.builders import item


@pytest.mark.parametrize(
    ("text", "when", "shown"),
    [
        ("Ines ran a race", "8 May, 2023", "Ines ran a race (8 May, 2023)"),
        ("Ines ran a race on 8 May, 2023", "8 May, 2023", "Ines ran a race on 8 May, 2023"),
        ("Orla is in Metz", "#12", "Orla is in Metz"),
        ("Orla is in Metz", "12", "Orla is in Metz"),
        ("Orla is in Metz", "recently", "Orla is in Metz"),
        ("Orla is\n in Metz", None, "Orla is in Metz"),
    ],
)
def test_a_date_is_part_of_the_text_and_a_list_number_is_not(text: str, when: str | None, shown: str) -> None:
    [entry] = materialize([Item(text, "", when)], [])
    assert entry.text == shown


ACTIVE = [item("Ines works at Orla", "ines|employer|current"), item("Orla is in Metz", "orla|city|hq")]
OLDER = [
    item("Ines works at Finch", "INES|Employer|Current  "),
    item("Ines lives in Nancy", "ines|city|home"),
]

slots = st.sampled_from(["a|r|", "A | r |", "b|r|", "b|s|x", "", "a", "|r|", " | | "])
items = st.lists(st.builds(item, st.sampled_from("uvwxyz"), slots), max_size=8)


@pytest.mark.parametrize(
    ("raw", "slot"),
    [
        ("Ines|Employer|Current  ", "ines|employer|current"),
        (" a  b | c |d", "a b|c|d"),
        ("a|b", "a|b|"),
        ("a|b|", "a|b|"),
        ("", None),
        ("a", None),
        ("||", None),
        ("|b|c", None),
        ("a| |c", None),
        ("Zoe\u0308|b|", "zoë|b|"),
    ],
)
def test_slots_are_compared_by_what_they_name(raw: str, slot: str | None) -> None:
    assert normalise_slot(raw) == slot


def test_a_replaced_value_links_to_the_active_one_of_its_slot_and_no_other() -> None:
    m1, m2, m3 = materialize(ACTIVE, OLDER)
    assert [m1.status, m2.status, m3.status] == [Status.ACTIVE, Status.ACTIVE, Status.SUPERSEDED]
    assert (m3.text, m3.superseded_by) == ("Ines works at Finch", "m1")  # the Nancy row is left out


def test_of_two_active_entries_in_a_slot_the_last_is_the_target() -> None:
    entries = materialize([item("first", "a|r|"), item("second", "a|r|")], [item("old", "a|r|")])
    assert [entry.status for entry in entries] == [Status.ACTIVE, Status.ACTIVE, Status.SUPERSEDED]
    assert entries[-1].superseded_by == "m2"


def test_without_forgetting_the_older_value_stays_active_and_unmatched_ones_stay_out() -> None:
    entries = materialize(ACTIVE, OLDER, Switches.without("no-forget"))
    assert [(e.text, e.status, e.superseded_by) for e in entries[2:]] == [("Ines works at Finch", Status.ACTIVE, None)]


def test_without_slots_every_older_item_is_an_active_entry_of_its_own() -> None:
    entries = materialize(ACTIVE, OLDER, Switches.without("no-slot"))
    assert len(entries) == 4
    assert {(e.status, e.slot, e.superseded_by) for e in entries} == {(Status.ACTIVE, None, None)}


@given(items, items)
def test_eq_4_holds_for_any_items(active: list[Item], replaced: list[Item]) -> None:
    entries = materialize(active, replaced)
    by_id = {entry.id: entry for entry in entries}
    assert [entry.id for entry in entries] == [f"m{n}" for n in range(1, len(entries) + 1)]
    for entry in entries:
        if entry.status is Status.ACTIVE:
            assert entry.superseded_by is None
            continue
        target = by_id[entry.superseded_by or ""]
        assert target.status is Status.ACTIVE
        assert target.slot == entry.slot
        assert entry.slot is not None
        last = [i for i in active if normalise_slot(i.slot) == entry.slot][-1]
        assert target.text == last.text
    statuses = [entry.status for entry in entries]
    assert statuses == sorted(statuses)  # ACTIVE before SUPERSEDED
    slotted = {normalise_slot(i.slot) for i in active} - {None}
    kept = {(i.text, normalise_slot(i.slot)) for i in replaced if normalise_slot(i.slot) in slotted}
    assert {(e.text, e.slot) for e in entries if e.status is Status.SUPERSEDED} == kept
