"""The write path: what is added, skipped, replaced, late or refused, all or nothing."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdforget.records import Status
from rdforget.store import (
    Candidate,
    Category,
    Decision,
    MemoryStore,
    Outcome,
    Policy,
    Row,
    StoreError,
    checking,
    identity,
    writing,
)
from rdforget.store.index import Index
from tests.store.clocks import SetClock

HOME = "ines|lives in|"
START = datetime(2024, 1, 1, tzinfo=UTC)


def day(number: int) -> datetime:
    return START + timedelta(days=number)


class Alike:
    """A provider for which all texts are nearly one."""

    name = "alike"
    dim = 4
    near_duplicate = 0.95

    def embed(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        return np.tile(np.array([[1, 0, 0, 0]], np.float32), (len(texts), 1))


def chain(store: MemoryStore, slot: str = HOME) -> list[tuple[str, int, int | None, Status]]:
    """Texts of a slot in event order, the days of their validity, and their status; links are checked on the way."""
    rows = store.history("ines", slot=slot)
    for row, later in itertools.pairwise(rows):
        assert (row.valid_to, row.superseded_by) == (later.valid_from, later.id)
        assert row.closed_at is not None
    assert [row.superseded_by for row in rows[-1:]] == [None] * len(rows[-1:])
    return [
        (row.text, (row.valid_from - START).days, row.valid_to and (row.valid_to - START).days, row.status)
        for row in rows
    ]


# Same text (B39, B41)


def test_the_same_text_twice_is_one_row(store: MemoryStore, clock: SetClock) -> None:
    first = store.add("u1", "Ines likes oat milk")
    clock.forward(days=1)
    again = store.add("u1", "  ines  LIKES oat milk ")
    other = store.add("u2", "Ines likes oat milk")
    assert again == Decision(Outcome.DUPLICATE, first.id, reason="same text")
    assert other.outcome is Outcome.ADDED
    [row] = store.rows("u1", open_only=False)
    assert (row.id, row.recorded_at, row.valid_from, row.text) == (first.id, START, START, "Ines likes oat milk")
    assert [row.id for row in store.rows("u2", open_only=False)] == [other.id]
    assert store.stats("u1").decisions == {(Outcome.ADDED, ""): 1, (Outcome.DUPLICATE, "same text"): 1}


@pytest.mark.parametrize("close", ["supersede", "expire"])
def test_a_text_whose_row_is_closed_opens_a_new_one(close: str, store: MemoryStore, clock: SetClock) -> None:
    episode = Category.EPISODIC
    first = store.add("ines", "Ines lives in Lyon.", slot=HOME, category=episode)
    clock.forward(days=91)
    if close == "supersede":
        store.add("ines", "Ines lives in Paris.", slot=HOME)
        clock.forward(days=1)
    else:
        store.expire()
    again = store.add("ines", "Ines lives in Lyon.", slot=HOME, category=episode)
    assert again.outcome is (Outcome.SUPERSEDED if close == "supersede" else Outcome.ADDED)
    assert again.id != first.id
    assert [row.id for row in store.rows("ines")] == [again.id]
    assert chain(store)[-1][0] == chain(store)[0][0] == "Ines lives in Lyon."


@pytest.mark.parametrize(
    ("one", "two", "rows"),
    [
        ("猫が好き", "犬を飼っている", 2),
        ("Zo\u00eb", "Zoe\u0308", 1),
        ("  Likes  Tea ", "likes tea", 1),
        ("🎉", "🎂", 2),
        ("Straße", "STRASSE", 1),
        ("Ines is 30", "Ines is 31", 2),
    ],
)
def test_texts_are_compared_in_any_script(one: str, two: str, rows: int, store: MemoryStore) -> None:
    decisions = store.add_many("ines", [Candidate(one), Candidate(two)])
    assert [row.text for row in store.rows("ines")] == [one, two][:rows]
    if rows == 1:
        assert decisions[1].reason == "same text"


def test_a_new_normaliser_makes_the_keys_anew(
    open_store: Callable[..., MemoryStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store()
    kept, _ = store.add_many(
        "ines", [Candidate("Tea, please"), Candidate("tea please", slot="ines|drinks|")], force=True
    )
    store.close()

    def without_commas(text: str) -> bytes:
        return text.lower().replace(",", "").encode()

    monkeypatch.setattr(identity, "NORMALISER", 2)
    for module in (identity, writing, checking):
        monkeypatch.setattr(module, "text_key", without_commas)
    store = open_store()
    assert [row.id for row in store.rows("ines")] == [kept.id]
    assert [row.status for row in store.rows("ines", open_only=False)] == [Status.ACTIVE, Status.DEPRECATED]
    assert store.add("ines", "TEA PLEASE").id == kept.id
    assert store.verify() == []


# Near duplicates


def test_a_near_duplicate_is_skipped_where_it_says_the_same(open_store: Callable[..., MemoryStore]) -> None:
    store = open_store(vectors=Alike())
    first = store.add("ines", "Ines likes green tea")
    assert store.add("ines", "Ines likes her green tea") == Decision(
        Outcome.DUPLICATE, first.id, reason="near duplicate"
    )
    assert store.add("ines", "Ines likes her green tea", force=True).outcome is Outcome.ADDED
    assert store.add("max", "Ines likes that green tea").outcome is Outcome.ADDED
    assert store.add("ines", "Ines does not like green tea").outcome is Outcome.ADDED
    assert store.add("ines", "Ines likes 2 green teas").outcome is Outcome.ADDED


def test_a_literal_policy_goes_by_the_cosine_alone(open_store: Callable[..., MemoryStore]) -> None:
    store = open_store(vectors=Alike(), policy=Policy(literal=True))
    store.add("ines", "Ines likes green tea")
    assert store.add("ines", "Ines does not like 2 teas").reason == "near duplicate"
    store = open_store("other", vectors=Alike(), policy=Policy(literal=True, near_duplicate=1.0))
    store.add("ines", "Ines likes green tea")
    assert store.add("ines", "Ines does not like 2 teas").outcome is Outcome.ADDED


@pytest.mark.parametrize("literal", [False, True])
def test_a_move_is_no_near_duplicate(literal: bool, open_store: Callable[..., MemoryStore]) -> None:
    store = open_store(vectors=Alike(), policy=Policy(literal=literal))
    texts = ["Ines lives in Lyon.", "Ines lives in Nice.", "Ines lives in Paris."]
    outcomes = [store.add("ines", text, slot=HOME, valid_from=day(n)).outcome for n, text in enumerate(texts)]
    assert outcomes == [Outcome.ADDED, Outcome.SUPERSEDED, Outcome.SUPERSEDED]
    assert [row.text for row in store.rows("ines")] == ["Ines lives in Paris."]
    assert store.add("ines", "Max lives in Paris.", slot="max|lives in|").outcome is Outcome.ADDED


# Slots


def test_supersession_closes_and_links(store: MemoryStore, clock: SetClock) -> None:
    old = store.add("ines", "Ines lives in Lyon.", slot=" Ines | Lives in ", importance=0.9)
    clock.forward(days=3)
    new = store.add("ines", "Ines lives in Paris.", slot=HOME, source="c1", metadata={"b": [1, "é"], "a": None})
    assert new == Decision(Outcome.SUPERSEDED, new.id, old.id)
    [row] = store.rows("ines")
    assert row == Row(
        id=new.id or "",
        user="ines",
        text="Ines lives in Paris.",
        slot=HOME,
        category=Category.SEMANTIC,
        status=Status.ACTIVE,
        valid_from=day(3),
        valid_to=None,
        recorded_at=day(3),
        closed_at=None,
        superseded_by=None,
        last_accessed=day(3),
        importance=0.5,
        source="c1",
        metadata={"b": [1, "é"], "a": None},
    )
    assert chain(store) == [
        ("Ines lives in Lyon.", 0, 3, Status.SUPERSEDED),
        ("Ines lives in Paris.", 3, None, Status.ACTIVE),
    ]


@pytest.mark.parametrize("slot", [None, "", "ines", "|lives in|", "ines|"])
def test_a_malformed_slot_replaces_nothing(slot: str | None, store: MemoryStore) -> None:
    store.add_many("ines", [Candidate("Ines likes tea", slot), Candidate("Max plays chess", slot)])
    assert [row.slot for row in store.rows("ines")] == [None, None]


def test_of_equal_event_times_the_later_arrival_wins(store: MemoryStore) -> None:
    for text in ("Lyon", "Nice", "Paris"):
        store.add("ines", text, slot=HOME, valid_from=day(1))
    store.add("ines", "Rome", slot=HOME, valid_from=day(0))
    assert chain(store) == [
        ("Rome", 0, 1, Status.SUPERSEDED),
        ("Lyon", 1, 1, Status.SUPERSEDED),
        ("Nice", 1, 1, Status.SUPERSEDED),
        ("Paris", 1, None, Status.ACTIVE),
    ]


def test_a_late_row_names_what_had_replaced_it(store: MemoryStore) -> None:
    first = store.add("ines", "Lyon", slot=HOME, valid_from=day(1))
    last = store.add("ines", "Paris", slot=HOME, valid_from=day(9))
    late = store.add("ines", "Nice", slot=HOME, valid_from=day(5))
    assert late == Decision(Outcome.LATE, late.id, last.id)
    earliest = store.add("ines", "Rome", slot=HOME, valid_from=day(0))
    assert earliest.other == first.id
    assert [text for text, *_ in chain(store)] == ["Rome", "Lyon", "Nice", "Paris"]


def test_a_late_row_before_a_cold_one_is_history(store: MemoryStore, clock: SetClock) -> None:
    clock.now = day(10)
    cold = store.add("ines", "Lyon", slot=HOME, category=Category.EPISODIC)
    clock.now = day(200)
    store.expire()
    late = store.add("ines", "Rome", slot=HOME, valid_from=day(5))
    assert late == Decision(Outcome.LATE, late.id, cold.id)
    after = store.add("ines", "Paris", slot=HOME)
    assert after == Decision(Outcome.ADDED, after.id)
    assert chain(store) == [
        ("Rome", 5, 10, Status.SUPERSEDED),
        ("Lyon", 10, 200, Status.DEPRECATED),
        ("Paris", 200, None, Status.ACTIVE),
    ]
    assert store.verify() == []


@pytest.mark.parametrize("slot", [None, "ines|home|"])
def test_a_text_that_is_open_elsewhere_still_ends_what_it_replaces(slot: str | None, store: MemoryStore) -> None:
    paris = store.add("ines", "Ines lives in Paris.", slot=slot, valid_from=day(0))
    lyon = store.add("ines", "Ines lives in Lyon.", slot=HOME, valid_from=day(2))
    assert store.add("ines", "Ines lives in Paris.", slot=HOME, valid_from=day(1)).other is None
    moved = store.add("ines", "Ines lives in Paris.", slot=HOME, valid_from=day(5))
    assert moved == Decision(Outcome.DUPLICATE, paris.id, lyon.id, "same text")
    assert [row.id for row in store.rows("ines")] == [paris.id]
    assert store.add("ines", "Ines lives in Rome.", slot=HOME, valid_from=day(9)).outcome is Outcome.ADDED
    assert [(row.text[14:], row.valid_to) for row in store.history("ines", slot=HOME)] == [
        ("Lyon.", day(5)),
        ("Rome.", None),
    ]
    assert store.verify() == []


def test_an_earlier_start_of_a_text_without_slot_is_taken_over(store: MemoryStore) -> None:
    store.add("ines", "Ines likes tea", valid_from=day(5))
    assert store.add("ines", "Ines likes tea", valid_from=day(2)).reason == "same text"
    store.add("ines", "Ines likes tea", valid_from=day(8))
    [row] = store.rows("ines", open_only=False)
    assert row.valid_from == day(2)


def versions(facts: Sequence[tuple[int, str]]) -> list[tuple[str, int, int | None, Status]]:
    """What a slot's history must be: facts by time, each run of one text as one version."""
    runs = [(text, min(time for time, _ in run)) for text, run in _runs(sorted(facts))]
    ends: list[int | None] = [start for _, start in runs[1:]]
    return [
        (text, start, end, Status.SUPERSEDED if end is not None else Status.ACTIVE)
        for (text, start), end in zip(runs, [*ends, None], strict=True)
    ]


def _runs(facts: Sequence[tuple[int, str]]) -> list[tuple[str, list[tuple[int, str]]]]:
    return [(text, list(run)) for text, run in itertools.groupby(facts, key=lambda fact: fact[1])]


@settings(max_examples=60)
@given(
    times=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30)), unique=True, min_size=1, max_size=12),
    texts=st.data(),
)
def test_the_order_of_arrival_does_not_matter(times: list[tuple[str, int]], texts: st.DataObject) -> None:
    # Texts repeat within a slot, and differ between slots: one text open in another slot is a duplicate.
    facts = [(slot, time, f"{slot} is {texts.draw(st.sampled_from('xyz'))}") for slot, time in times]
    cuts = sorted(texts.draw(st.sets(st.integers(0, len(facts)), max_size=3)))
    with TemporaryDirectory() as folder, MemoryStore(Path(folder), clock=lambda: day(1000)) as store:
        for start, end in itertools.pairwise([0, *cuts, len(facts)]):
            batch = [Candidate(text, f"{slot}|is", valid_from=day(time)) for slot, time, text in facts[start:end]]
            store.add_many("ines", batch)
        for slot in {slot for slot, *_ in facts}:
            of_slot = [(time, text) for name, time, text in facts if name == slot]
            assert chain(store, f"{slot}|is") == versions(of_slot)
        assert len(list(store.rows("ines"))) == len({slot for slot, *_ in facts})
        assert store.verify() == []


# Refusals and faults


def test_a_refused_candidate_leaves_its_kind_and_nothing_else(store: MemoryStore, tmp_path: Path) -> None:
    secret = (
        "sk-" + "proj-4f9QhT7bXc2LmN8v" + "Rw1ZyK3dPe6sUa0G"
    )  # in pieces: scanners of this repository need not stop here
    decisions = store.add_many(
        "ines",
        [
            Candidate(f"The api key is {secret}"),
            Candidate("Ines likes tea"),
            Candidate("Ines likes oat milk", metadata={"note": [f"api key {secret}"]}),
            Candidate("Ines has a key", slot=f"ines|api key|{secret}"),
        ],
    )
    assert [d.outcome for d in decisions] == [Outcome.REFUSED, Outcome.ADDED, Outcome.REFUSED, Outcome.REFUSED]
    assert decisions[0] == Decision(Outcome.REFUSED, reason="credential")
    assert store.stats("ines").withheld == {"credential": 3}
    assert [row.text for row in store.rows("ines", open_only=False)] == ["Ines likes tea"]
    for path in (tmp_path / "store").iterdir():
        assert secret.encode().lower() not in path.read_bytes().lower()


@pytest.mark.parametrize(
    "wrong",
    [
        Candidate("   "),
        Candidate("half \ud800 a pair"),
        Candidate(None),  # type: ignore[arg-type]
        Candidate("tea", category="fact"),  # type: ignore[arg-type]
        Candidate("tea", importance=1.5),
        Candidate("tea", importance=float("nan")),
        Candidate("tea", importance="high"),  # type: ignore[arg-type]
        Candidate("tea", metadata={"when": START}),
        Candidate("tea", metadata={"x": float("inf")}),
        Candidate("tea", metadata={"x": "\ud800"}),
        Candidate("tea", metadata=["x"]),  # type: ignore[arg-type]
        Candidate("tea", metadata=[("a", 1)]),  # type: ignore[arg-type]
        Candidate("tea", source="\ud800"),
        Candidate("tea", source=3),  # type: ignore[arg-type]
        Candidate("tea", valid_from=datetime(2024, 1, 1)),  # noqa: DTZ001
    ],
)
def test_one_malformed_candidate_stops_the_batch_before_anything_is_written(
    wrong: Candidate, store: MemoryStore
) -> None:
    with pytest.raises(StoreError):
        store.add_many("ines", [Candidate("Ines likes coffee"), wrong])
    assert list(store.export()) == []
    assert store.stats().decisions == {}


class Fault(Exception):
    pass


def fault(*args: object, **named: object) -> None:
    raise Fault


@pytest.mark.parametrize("held", [False, True])
def test_a_fault_between_row_and_vector_leaves_neither(
    held: bool, open_store: Callable[..., MemoryStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store()
    store.add("ines", "Ines likes tea")
    if held:
        store.search("ines", "tea", touch=False)
    with monkeypatch.context() as patch:
        patch.setattr(Index, "add", fault)
        with pytest.raises(Fault):
            store.add("ines", "Ines plays chess", slot="ines|plays|")
    again = open_store()
    assert again.verify() == []
    for session in (store, again):
        assert [row.text for row in session.rows("ines", open_only=False)] == ["Ines likes tea"]
        assert [hit.row.text for hit in session.search("ines", "chess", touch=False)] == ["Ines likes tea"]
    assert again.add("ines", "Ines plays chess", slot="ines|plays|").outcome is Outcome.ADDED
    assert len(store.search("ines", "chess", touch=False)) == 2


def test_a_fault_between_close_and_open_leaves_the_old_row_open(
    open_store: Callable[..., MemoryStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store()
    old = store.add("ines", "Ines lives in Lyon.", slot=HOME, valid_from=day(0))
    with monkeypatch.context() as patch:
        patch.setattr(writing, "insert", fault)
        with pytest.raises(Fault):
            store.add("ines", "Ines lives in Paris.", slot=HOME, valid_from=day(2))
    again = open_store()
    for session in (store, again):
        assert chain(session) == [("Ines lives in Lyon.", 0, None, Status.ACTIVE)]
    assert again.add("ines", "Ines lives in Paris.", slot=HOME, valid_from=day(2)).other == old.id
    assert (
        chain(store)
        == chain(again)
        == [
            ("Ines lives in Lyon.", 0, 2, Status.SUPERSEDED),
            ("Ines lives in Paris.", 2, None, Status.ACTIVE),
        ]
    )


def test_the_file_itself_holds_one_open_row_a_text_and_a_slot(store: MemoryStore, tmp_path: Path) -> None:
    store.add("ines", "Ines lives in Lyon.", slot=HOME)
    db = sqlite3.connect(tmp_path / "store" / "memory.sqlite")
    for changed in ("'other', user, text, hash, NULL", "'other', user, text, x'00', slot"):
        with pytest.raises(sqlite3.IntegrityError):
            db.execute(
                f"""INSERT INTO rows (id, user, text, hash, slot, category, status, valid_from, recorded_at,
                last_accessed, importance, metadata) SELECT {changed}, category, status, valid_from, recorded_at,
                last_accessed, importance, metadata FROM rows"""
            )
    db.close()
