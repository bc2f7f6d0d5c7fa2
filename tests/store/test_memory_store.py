"""The store as a whole: users apart, sessions together, and what opening asks for."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rdforget.calls.base import Call, Reply
from rdforget.store import Candidate, Category, Decision, MemoryStore, Outcome, StoreError, writing
from rdforget.store.counting import Rows
from rdforget.store.sessions import Session, Turn
from rdforget.store.vectors import Hashing
from tests.store.clocks import SetClock

Open = Callable[..., MemoryStore]
USERS = ["ann", "anna", "a%", "a_n", "ANN", "o'hara"]


def test_users_do_not_meet(store: MemoryStore, clock: SetClock) -> None:
    for user in USERS:
        for text in ("Likes tea.", "Plays chess.", "Lives in Lyon."):
            assert store.add(user, text, slot=f"me|{text[:5]}|").outcome is Outcome.ADDED
    store.add_many("anna", [Candidate(f"Ann likes tea, cup {number}.") for number in range(10)])
    assert store.add("a%", "Lives in Paris.", slot="me|lives|").outcome is Outcome.SUPERSEDED
    assert [len(list(store.rows(user))) for user in USERS] == [3, 13, 3, 3, 3, 3]
    assert [len(list(store.rows(user, open_only=False))) for user in USERS] == [3, 13, 4, 3, 3, 3]
    assert {hit.row.user for hit in store.search("ann", "Ann likes tea", top=99, touch=False)} == {"ann"}
    assert {line["user"] for line in store.export("a_n")} == {"a_n"}
    [row, *_] = store.rows("anna")
    assert store.history("ann", id=row.id) == []
    assert store.erase_rows("ann", [row.id]).counts["rows"] == 0
    store.erase("a%")
    store.erase("ann")
    assert [len(list(store.rows(user))) for user in USERS] == [0, 13, 0, 3, 3, 3]
    assert store.verify() == []


@pytest.mark.parametrize("user", ["", "  ", "*", None, "a\x00", "a\nb", "\ud800", 3])
@pytest.mark.parametrize(
    "act",
    [
        lambda store, user: store.add(user, "Likes tea."),
        lambda store, user: store.add_many(user, []),
        lambda store, user: store.search(user, "tea"),
        lambda store, user: store.history(user, slot="a|b|"),
        lambda store, user: store.rows(user),
        lambda store, user: store.erase(user),
        lambda store, user: store.erase_rows(user, []),
        lambda store, user: store.delete_chat(user, "c1"),
        lambda store, user: store.expire(user=user or ""),
        lambda store, user: store.export(user or ""),
        lambda store, user: store.import_rows(user or "", []),
        lambda store, user: store.stats(user or ""),
    ],
)
def test_what_is_no_user_is_refused_everywhere(
    act: Callable[[MemoryStore, object], object], user: object, store: MemoryStore
) -> None:
    store.add("ines", "Likes tea.")
    with pytest.raises(StoreError):
        act(store, user)
    assert len(list(store.rows("ines"))) == 1


def test_outer_white_space_is_no_part_of_a_user(store: MemoryStore) -> None:
    store.add(" ines\n", "Likes tea.")
    assert [row.user for row in store.rows("ines")] == ["ines"]


def test_sessions_see_each_other(open_store: Open) -> None:
    one, two = open_store(), open_store()
    one.add("ines", "Ines likes tea")
    assert [hit.row.text for hit in two.search("ines", "tea")] == ["Ines likes tea"]
    assert two.add("ines", "Ines likes tea").outcome is Outcome.DUPLICATE
    one.erase("ines")
    assert two.search("ines", "tea") == []
    assert two.add("ines", "Ines likes tea").outcome is Outcome.ADDED
    assert len(one.search("ines", "tea")) == 1


def test_writers_at_the_same_time_do_not_store_a_text_twice(tmp_path: Path) -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)

    def write(writer: int) -> list[Decision]:
        with MemoryStore(tmp_path) as store:
            return [
                store.add(
                    "ines", f"Ines lives at number {n}.", slot="ines|lives at|", valid_from=start + timedelta(days=n)
                )
                for n in range(writer % 2, 20, 2)
            ]

    with ThreadPoolExecutor(4) as pool:
        decisions = [decision for done in pool.map(write, range(4)) for decision in done]
    with MemoryStore(tmp_path) as store:
        history = store.history("ines", slot="ines|lives at|")
        assert [row.text for row in history] == [f"Ines lives at number {n}." for n in range(20)]
        assert [row.id for row in store.rows("ines")] == [history[-1].id]
        assert store.verify() == []
    assert sum(decision.outcome is Outcome.DUPLICATE for decision in decisions) == 20


SECRET = (
    "sk-" + "proj-4f9QhT7bXc2LmN8v" + "Rw1ZyK3dPe6sUa0G"
)  # in pieces: scanners of this repository need not stop here
CHAT = Session(
    "c1",
    datetime(2023, 12, 24, 9, tzinfo=UTC),
    (Turn("Ines", f"My api key is {SECRET}."), Turn("Ines", "I moved to Paris. I like tea.")),
)


async def found_in_chat(call: Call) -> Reply:
    assert SECRET not in str(call)
    found = [
        {"text": "Ines lives in Paris.", "subject": "Ines", "relation": "lives in", "scope": ""},
        {"text": "Ines likes tea."},
        {"text": f"Ines has the api key {SECRET}."},
    ]
    return Reply(json.dumps({"memories": found}))


async def test_a_chat_leaves_memories_that_stay_when_it_goes(store: MemoryStore, tmp_path: Path) -> None:
    old = store.add("ines", "Ines lives in Lyon.", slot="ines|lives in|", valid_from=CHAT.at - timedelta(days=99))
    withheld, moved, tea, refused = await store.chat("ines", CHAT, found_in_chat)
    assert withheld == refused == Decision(Outcome.REFUSED, reason="credential")
    assert (moved.outcome, moved.other, tea.outcome) == (Outcome.SUPERSEDED, old.id, Outcome.ADDED)
    assert {(row.source, row.valid_from) for row in store.rows("ines")} == {("c1", CHAT.at)}
    assert store.stats("ines").withheld == {"credential": 2}
    assert store.delete_chat("ines", "c1")
    assert not store.delete_chat("ines", "c1")
    assert len(list(store.rows("ines"))) == 2
    assert not any(SECRET.encode() in path.read_bytes() for path in (tmp_path / "store").iterdir())


async def test_a_fault_keeps_neither_chat_nor_memories(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*args: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(writing, "insert", fault)
        with pytest.raises(RuntimeError):
            await store.chat("ines", CHAT, found_in_chat)
    assert not store.delete_chat("ines", "c1")
    assert store.stats("ines").withheld == {}


def test_stats_count(store: MemoryStore, clock: SetClock, tmp_path: Path) -> None:
    store.add("ines", "Saw a heron.", category=Category.EPISODIC)
    clock.forward(days=91)
    store.expire()
    for text in ("é", "Paris", "Paris"):
        store.add("ines", text, slot="ines|lives in|", category=Category.PROCEDURAL)
    store.add("max", "Saw a heron.")
    store.add("max", "My password is hunter2-Blau-77!")
    stats = store.stats("ines")
    assert stats.rows == {
        Category.SEMANTIC: Rows(),
        Category.EPISODIC: Rows(cold=1),
        Category.PROCEDURAL: Rows(open=1, closed=1),
    }
    assert stats.decisions == {
        (Outcome.ADDED, ""): 2,
        (Outcome.DUPLICATE, "same text"): 1,
        (Outcome.SUPERSEDED, ""): 1,
    }
    assert (stats.text_bytes, stats.vector_bytes, stats.withheld) == (12 + 2 + 5, 2 * 4 * Hashing.dim, {})
    every = store.stats()
    assert (every.rows[Category.SEMANTIC], every.withheld) == (Rows(open=1), {"credential": 1})
    assert every.file_bytes == stats.file_bytes == sum(p.stat().st_size for p in (tmp_path / "store").iterdir())


def test_a_store_without_its_file_is_not_made_unless_asked(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store in"):
        MemoryStore(tmp_path / "none", create=False)
    assert not (tmp_path / "none").exists()


def test_a_store_stays_with_its_provider_of_vectors(open_store: Open) -> None:
    class Others(Hashing):
        name = "others"

    store = open_store()
    store.add("ines", "Ines likes tea")
    store.close()
    with pytest.raises(StoreError, match=r"hashing.*others"):
        open_store(vectors=Others())
    assert open_store(vectors=Hashing()).vectors.name == open_store().vectors.name == "hashing"


def test_a_clock_without_a_zone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no zone"):
        MemoryStore(tmp_path, clock=lambda: datetime(2024, 1, 1))  # noqa: DTZ001


def test_a_batch_may_be_any_iterable_and_empty(store: MemoryStore) -> None:
    assert store.add_many("ines", iter(())) == []
    assert store.stats().decisions == {}
    decisions = store.add_many("ines", (Candidate(text) for text in ("Tea", "Tea", "Chess")))
    assert [d.outcome for d in decisions] == [Outcome.ADDED, Outcome.DUPLICATE, Outcome.ADDED]
    assert decisions[1].id == decisions[0].id


def test_times_come_back_in_utc(store: MemoryStore) -> None:
    store.add("ines", "Tea", valid_from=datetime.fromisoformat("2024-03-01T00:30:00+02:00"))
    [row] = store.rows("ines")
    assert row.valid_from == datetime(2024, 2, 29, 22, 30, tzinfo=UTC)
    assert row.valid_from.tzinfo is UTC


def test_importing_the_package_loads_no_numpy() -> None:
    code = "import rdforget.store, sys; assert 'numpy' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
