"""What is exported comes back as it was, and nothing else comes in."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from rdforget.store import Candidate, Category, Decision, MemoryStore, Outcome, StoreError
from tests.store.clocks import SetClock

HOME = "ines|lives in|"
Open = Callable[..., MemoryStore]


@pytest.fixture
def lines(open_store: Open, clock: SetClock) -> list[dict[str, Any]]:
    """Of max one open row; of ines three versions of a slot, one of them late and one said twice, and a cold row."""
    store = open_store("source")
    store.add("max", "Max plays chess", metadata={"from": ["ü", 1, None]}, source="c1", importance=0.25)
    store.add("ines", "Ines saw a heron.", category=Category.EPISODIC)
    clock.forward(days=91)
    store.expire()
    store.add("ines", "Ines lives in Lyon.", slot=HOME)
    clock.forward(days=9)
    store.add("ines", "Ines lives in Lyon.", slot=HOME)
    clock.forward(days=9)
    store.add("ines", "Ines lives in Paris.", slot=HOME)
    store.add("ines", "Ines lives in Nice.", slot=HOME, valid_from=clock() - timedelta(days=30))
    return list(store.export())


def test_lines_are_json_by_user_in_the_order_of_writing(lines: list[dict[str, Any]], open_store: Open) -> None:
    assert [line["text"] for line in lines] == [
        "Ines saw a heron.",
        "Ines lives in Lyon.",
        "Ines lives in Paris.",
        "Ines lives in Nice.",
        "Max plays chess",
    ]
    assert json.loads(json.dumps(lines)) == lines
    assert lines[-1] == {
        "id": "0000000000000001",
        "user": "max",
        "text": "Max plays chess",
        "slot": None,
        "category": "semantic",
        "status": "ACTIVE",
        "valid_from": "2024-01-01T00:00:00+00:00",
        "valid_to": None,
        "recorded_at": "2024-01-01T00:00:00+00:00",
        "closed_at": None,
        "superseded_by": None,
        "last_accessed": "2024-01-01T00:00:00+00:00",
        "importance": 0.25,
        "source": "c1",
        "metadata": {"from": ["ü", 1, None]},
        "restated": [],
    }
    assert {tuple(line) for line in lines} == {tuple(lines[-1])}
    assert [line["user"] for line in open_store("source").export("max")] == ["max"]
    assert list(open_store("source").export("ma_")) == []


def test_import_restores_everything(lines: list[dict[str, Any]], open_store: Open) -> None:
    store = open_store("target")
    decisions = store.import_rows(None, json.loads(json.dumps(lines)))
    assert [d.outcome for d in decisions] == [Outcome.ADDED] * 5
    assert list(store.export()) == lines
    assert store.verify() == []
    source = open_store("source")
    for user, query in (("ines", "Where does Ines live?"), ("ines", "heron"), ("max", "chess")):
        found, expected = (
            [(hit.row, hit.score) for hit in each.search(user, query, historical=True, top=9, touch=False)]
            for each in (store, source)
        )
        assert found == expected
    assert [d.outcome for d in store.import_rows(None, lines)] == [Outcome.DUPLICATE] * 5
    assert list(store.export()) == lines


def test_import_into_a_store_that_goes_on(lines: list[dict[str, Any]], open_store: Open, clock: SetClock) -> None:
    store = open_store("target")
    store.add("ines", "Ines likes tea")
    store.search("ines", "Ines")
    assert len(store.import_rows("ines", lines[:4])) == 4
    assert [hit.row.text for hit in store.search("ines", "Where does Ines live? Paris?", top=1)] == [
        "Ines lives in Paris."
    ]
    # A text said again between its start and its end splits around a late one, there as here.
    late = clock() - timedelta(days=15)
    texts = []
    for each in (store, open_store("source")):
        each.add("ines", "Ines lives in Rome.", slot=HOME, valid_from=late)
        texts.append([(row.text, row.valid_from) for row in each.history("ines", slot=HOME)])
    assert texts[0] == texts[1]
    assert [text.split()[-1] for text, _ in texts[0]] == ["Nice.", "Lyon.", "Rome.", "Lyon.", "Paris."]


def test_a_row_read_since_is_still_the_same(lines: list[dict[str, Any]], open_store: Open, clock: SetClock) -> None:
    store = open_store("source")
    clock.forward(days=1)
    store.search("max", "chess")
    assert store.import_rows("max", lines[-1:]) == [Decision(Outcome.DUPLICATE, lines[-1]["id"], reason="same text")]


def test_a_text_that_is_open_already_is_a_duplicate_and_takes_over_the_links(
    lines: list[dict[str, Any]], open_store: Open
) -> None:
    store = open_store("target")
    paris = store.add("ines", "Ines lives in Paris.")
    decisions = store.import_rows(None, lines)
    assert decisions[2] == Decision(Outcome.DUPLICATE, paris.id, reason="same text")
    lyon = store.history("ines", id=lines[1]["id"])[1]
    assert (lyon.text, lyon.superseded_by) == ("Ines lives in Lyon.", paris.id)
    assert store.verify() == []


@pytest.mark.parametrize("key", ["text", "slot", "source", "metadata"])
def test_what_is_refused_now_does_not_come_in(key: str, lines: list[dict[str, Any]], open_store: Open) -> None:
    secret = "api key sk-proj-4f9QhT7bXc2LmN8vRw1ZyK3dPe6sUa0G"
    store = open_store("target")
    values = {"slot": f"ines|{secret.lower()}|", "metadata": {"a": [{secret: 1}]}}
    changed = {key: values.get(key, secret), "status": "ACTIVE", "superseded_by": None}
    decisions = store.import_rows(None, [*lines[:2], lines[2] | changed, *lines[3:]])
    assert decisions[2] == Decision(Outcome.REFUSED, reason="credential")
    assert store.stats("ines").withheld == {"credential": 1}
    assert store.history("ines", id=lines[1]["id"])[1].superseded_by is None
    assert store.verify() == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"valid_to": "2000-01-01T00:00:00Z"}, "end 2000-01-01T00:00:00.* before its start 2024"),
        ({"valid_from": "2024-01-01 00:00"}, "no zone"),
        ({"valid_from": None}, "valid_from must be a time"),
        ({"recorded_at": 3}, "recorded_at must be a time"),
        ({"status": "OPEN"}, "no status 'OPEN'"),
        ({"status": "SUPERSEDED", "closed_at": None}, "needs closed_at"),
        ({"status": "SUPERSEDED", "valid_to": None}, "needs valid_to"),
        ({"status": "ACTIVE"}, "an ACTIVE row has none"),
        ({"category": "fact"}, "no category"),
        ({"slot": "Ines|Lives in"}, "slot"),
        ({"superseded_by": "f" * 16}, "no row of that user"),
        ({"superseded_by": "0000000000000001"}, "no row of that user"),
        ({"text": "  "}, "blank"),
        ({"text": 3}, "string"),
        ({"user": "*"}, "no user id"),
        ({"user": 3}, "must be a string"),
        ({"id": ""}, "no id"),
        ({"id": None}, "no id"),
        ({"restated": None}, "restated"),
        ({"restated": [1]}, "restated must be a time"),
        ({"importance": None}, "importance"),
        ({"metadata": None}, "metadata"),
        ({"more": 1}, "the keys id, user"),
        ({"valid_to": "2030-01-01T00:00:00Z"}, "valid at the same time"),
        ({"status": "DEPRECATED", "valid_to": None}, "valid at the same time"),
        ({"id": "0000000000000004"}, "taken by another row"),
    ],
)
def test_a_line_that_is_wrong_is_named_and_nothing_comes_in(
    change: dict[str, Any], said: str, lines: list[dict[str, Any]], open_store: Open
) -> None:
    store = open_store("target")
    assert lines[1]["status"] == "SUPERSEDED"
    other = lines[2] | {"id": "0000000000000004"}
    twice = [lines[2] | {"id": "9" * 16}] if change == {"id": other["id"]} else []
    with pytest.raises(StoreError, match=f"^line [1-9]: .*{said}"):
        store.import_rows(None, [lines[0], lines[1] | change, *lines[2:], *twice])
    assert list(store.export()) == []
    assert store.stats().decisions == {}


def test_a_line_of_another_user_is_refused(lines: list[dict[str, Any]], open_store: Open) -> None:
    with pytest.raises(StoreError, match=r"^line 5: .*another user than 'ines'"):
        open_store("target").import_rows("ines", lines)


def test_a_slot_keeps_one_open_row(lines: list[dict[str, Any]], open_store: Open) -> None:
    store = open_store("target")
    store.add("ines", "Ines lives in Oslo.", slot=HOME)
    with pytest.raises(StoreError, match=r"^line 3: the slot .* has another open row"):
        store.import_rows(None, lines)


def test_an_export_shows_one_moment(open_store: Open) -> None:
    store = open_store()
    store.add_many("ines", [Candidate("Ines likes tea"), Candidate("Ines plays chess")])
    export = store.export()
    first = next(export)
    store.add("ines", "Ines lives in Lyon.")
    store.erase_rows("ines", [first["id"]])
    assert [line["text"] for line in export] == ["Ines plays chess"]
    assert [line["text"] for line in store.export()] == ["Ines plays chess", "Ines lives in Lyon."]
