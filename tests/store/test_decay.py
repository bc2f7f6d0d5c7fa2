"""Decay goes by the time since the last access, never by age."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from rdforget.records import Status
from rdforget.store import Category, MemoryStore, Policy
from rdforget.store.decay import hours_since, recency
from tests.store.clocks import SetClock

NOW = datetime(2024, 6, 1, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("hours", "fresh"),
    [(1, 0.995), (24, 0.8867), (168, 0.4308), (240, 0.3003), (720, 0.0271), (0, 1), (-5, 1)],
)
def test_recency(hours: float, fresh: float) -> None:
    assert recency(hours, 0.995) == pytest.approx(fresh, abs=5e-5)
    assert recency(hours_since(NOW - timedelta(hours=hours), NOW), 0.995) == pytest.approx(fresh, abs=5e-5)


@pytest.mark.parametrize(
    ("category", "ago", "expired"),
    [
        (Category.EPISODIC, 10 * DAY, False),
        (Category.EPISODIC, 95 * DAY, True),
        (Category.EPISODIC, 90 * DAY, False),
        (Category.EPISODIC, 90 * DAY + timedelta(microseconds=1), True),
        (Category.EPISODIC, -10 * DAY, False),
        (Category.SEMANTIC, 400 * DAY, False),
        (Category.PROCEDURAL, 400 * DAY, False),
    ],
)
def test_only_episodes_expire_and_strictly_after_the_time(
    category: Category, ago: timedelta, expired: bool, store: MemoryStore, clock: SetClock
) -> None:
    clock.now = NOW - ago
    added = store.add("ines", "Ines saw a heron.", category=category)
    clock.now = NOW
    assert store.expire(dry_run=True).ids == ((added.id,) if expired else ())
    assert [row.status for row in store.rows("ines")] == [Status.ACTIVE]
    assert store.expire().rows == expired
    assert store.expire().rows == 0
    [row] = store.rows("ines", open_only=False)
    assert (row.status, row.closed_at) == ((Status.DEPRECATED, NOW) if expired else (Status.ACTIVE, None))
    assert (row.last_accessed, row.valid_to) == (NOW - ago, None)


def test_use_and_not_age_keeps_a_row(store: MemoryStore, clock: SetClock) -> None:
    clock.now = NOW - 200 * DAY
    used = store.add("ines", "Ines saw a heron at the lake.", category=Category.EPISODIC)
    clock.now = NOW - 95 * DAY
    unused = store.add("ines", "Max missed the train.", category=Category.EPISODIC)
    clock.now = NOW - 10 * DAY
    assert [hit.row.id for hit in store.search("ines", "heron", top=1)] == [used.id]
    clock.now = NOW
    # What is no reading: a list, numbers, an export, a text that is there already, and the pass itself.
    list(store.rows("ines")), store.stats("ines"), list(store.export("ines"))
    store.add("ines", "Max missed the train.")
    assert store.expire(dry_run=True).ids == (unused.id,)
    assert store.expire().ids == (unused.id,)


def test_a_cold_row_is_hidden_and_still_found_among_history(
    open_store: Callable[..., MemoryStore], clock: SetClock
) -> None:
    store = open_store()
    cold = store.add("ines", "Ines saw a heron.", category=Category.EPISODIC)
    store.search("ines", "heron")  # its vector is held now
    clock.forward(days=91)
    store.expire()
    for session in (store, open_store()):
        assert session.search("ines", "heron", touch=False) == []
        [hit] = session.search("ines", "heron", historical=True, touch=False)
        assert hit.row.id == cold.id
        assert session.stats("ines").vector_bytes == 0


def test_a_pass_stays_with_its_user(store: MemoryStore, clock: SetClock) -> None:
    users = ["ann", "anna", "a%", "a_n"]
    for user in users:
        store.add(user, "Saw a heron.", category=Category.EPISODIC)
    clock.forward(days=91)
    assert store.expire(user="a%").rows == 1
    assert [len(list(store.rows(user))) for user in users] == [1, 1, 0, 1]
    assert store.expire().rows == 3


def test_many_rows_expire_in_several_transactions(
    store: MemoryStore, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rdforget.store.decay._BATCH", 4)
    for number in range(10):
        store.add("ines", f"Ines saw heron number {number}.", category=Category.EPISODIC)
    clock.forward(days=91)
    assert len(set(store.expire().ids)) == 10


def test_the_policy_sets_the_time(open_store: Callable[..., MemoryStore], clock: SetClock) -> None:
    store = open_store(policy=Policy(expire_days=0.5))
    store.add("ines", "Ines saw a heron.", category=Category.EPISODIC)
    clock.forward(hours=12)
    assert store.expire().rows == 0
    clock.forward(hours=1)
    assert store.expire().rows == 1
    never = open_store("other", policy=Policy(expire_days=float("inf")))
    never.add("ines", "Ines saw a heron.", category=Category.EPISODIC)
    clock.forward(days=9999)
    assert never.expire().rows == 0
