"""One user's rows are not another's, in every path and for ids that look alike (B45)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdforget.store import Category, MemoryStore, Outcome, StoreError
from rdforget.store.erasing import State
from rdforget.store.identity import valid_user
from tests.store.clocks import SetClock

IDS = (
    *("ann", "anna", "a%", "a_n", "%", "_", "a", "ANN", "Ann", "an*", "user:ann", "ann|", "ann x", "0", "1", "-1"),
    *("'ann'", "a'n", 'a"n', "ann'; DELETE FROM rows; --", "a\\n", "a/n", "../ann", "null", "None", "true"),
    "\u0430nn",  # Cyrillic
    "an\u0148",
    unicodedata.normalize("NFD", "an\u0148"),
    "\uff41nn",  # full width
    "an\u200bn",
    "アン",
    "🙂",
    "a" * 500,
)


@pytest.fixture
def store(open_store: Callable[..., MemoryStore]) -> MemoryStore:
    """A store in which each id has the same three facts, one of them replaced, and a word of its own."""
    store = open_store()
    for number, user in enumerate(IDS):
        store.add(user, "Lives in Lyon by the river.", slot="me|lives in|")
        store.add(user, "Lives in Paris by the river.", slot="me|lives in|")
        store.add(user, f"Likes tea of kind{number}.", source="c1")
        store.add(user, "Went to the fair by the river.", category=Category.EPISODIC)
    return store


def everything(store: MemoryStore, user: str) -> tuple[Any, ...]:
    return (
        list(store.export(user)),
        store.stats(user).rows,
        store.stats(user).decisions,
        [row.text for row in store.history(user, slot="me|lives in|")],
    )


def test_reads_meet_their_own_users_rows_only(store: MemoryStore) -> None:
    for number, user in enumerate(IDS):
        assert [row.user for row in store.rows(user, open_only=False)] == [user] * 4
        hits = store.search(user, "Who likes tea by the river?", top=10, historical=True, touch=False)
        assert {hit.row.user for hit in hits} == {user}
        assert len(hits) == 4
        word = store.search(user, f"kind{number}", top=1, touch=False)
        assert word[0].row.text == f"Likes tea of kind{number}."
        other = store.search(user, f"kind{(number + 1) % len(IDS)}", top=10, touch=False)
        assert {hit.row.user for hit in other} <= {user}
        assert len(store.history(user, slot="me|lives in|")) == 2
        assert {line["user"] for line in store.export(user)} == {user}


def test_each_id_is_erased_alone(store: MemoryStore) -> None:
    """All of them, one after another, since any may be taken for any."""
    left = list(IDS)
    for user in ("a%", "%", "_", "a_n", "ann", "ann'; DELETE FROM rows; --", "\u0430nn", "a"):
        left.remove(user)
        before = {other: everything(store, other) for other in left}
        erasure = store.erase(user)
        assert (erasure.state, erasure.counts["rows"]) == (State.DONE, 4), user
        assert list(store.rows(user, open_only=False)) == []
        assert {other: everything(store, other) for other in left} == before, user
    assert store.verify() == []


def test_rows_of_another_user_are_not_erased_by_their_ids(store: MemoryStore) -> None:
    of = {user: [row.id for row in store.rows(user, open_only=False)] for user in IDS}
    for user, other in (("ann", "anna"), ("a%", "ann"), ("\u0430nn", "ann"), ("nobody", "ann")):
        assert store.erase_rows(user, of[other]).state is State.NOTHING
        assert store.history(user, id=of[other][0]) == []
    assert {user: [row.id for row in store.rows(user, open_only=False)] for user in IDS} == of


def test_a_chat_of_another_user_of_the_same_id_stays(store: MemoryStore) -> None:
    assert not store.delete_chat("ann", "c1")
    assert not store.delete_chat("a%", "%")


def test_decay_touches_and_duplicates_stay_with_their_user(store: MemoryStore, clock: SetClock) -> None:
    clock.forward(days=50)
    assert len(store.search("ann", "the fair by the river", categories=(Category.EPISODIC,))) == 1
    clock.forward(days=50)
    assert store.expire(user="ann").rows == 0
    assert store.expire(user="a%").rows == 1
    assert store.expire(user="anna").rows == 1
    assert store.expire().rows == len(IDS) - 3
    assert store.add("new", "Lives in Paris by the river.").outcome is Outcome.ADDED
    assert store.add("ann", "Lives in Paris by the river.").outcome is Outcome.DUPLICATE


def test_nearer_rows_of_another_user_take_no_place(store: MemoryStore) -> None:
    """The input of B45: `anna` has ten rows nearer to the query than the three of `ann`."""
    for number in range(10):
        store.add("anna", f"Where ann swims: lake {number}", force=True)
    store.add("ann", "Swims at the lake.")
    hits = store.search("ann", "Where ann swims: lake 3", top=3)
    assert [hit.row.user for hit in hits] == ["ann"] * 3
    assert hits[0].row.text == "Swims at the lake."


@pytest.mark.parametrize("user", ["", " ", "\t\n", "*", " * ", None, b"ann", 1, "a\0b", "a\nb", "a\x7f", "\ud83d"])
def test_what_is_no_id_is_refused_and_never_all(user: Any, open_store: Callable[..., MemoryStore]) -> None:
    store = open_store()
    store.add("ann", "Likes tea.")
    before = list(store.export())
    for act in (
        lambda: store.erase(user),
        lambda: store.erase_rows(user, [before[0]["id"]]),
        lambda: store.delete_chat(user, "c1"),
        lambda: store.search(user, "tea"),
        lambda: list(store.rows(user)),
        lambda: store.add(user, "Likes tea."),
    ):
        with pytest.raises(StoreError):
            act()
    assert list(store.export()) == before


def test_outer_white_space_is_no_other_user(store: MemoryStore) -> None:
    assert store.add(" ann ", "Lives in Paris by the river.").outcome is Outcome.DUPLICATE
    assert store.erase("\tann\n").counts["rows"] == 4


ids = st.text(min_size=1, max_size=6).filter(lambda user: _is_id(user) and user == user.strip())


def _is_id(user: str) -> bool:
    try:
        return bool(valid_user(user))
    except StoreError:
        return False


@settings(max_examples=8)
@given(st.lists(ids, min_size=2, max_size=3, unique=True))
def test_any_two_ids_are_two_users(tmp_path_factory: pytest.TempPathFactory, users: list[str]) -> None:
    now = datetime(2024, 1, 1, tzinfo=UTC)
    with MemoryStore(Path(tmp_path_factory.mktemp("store")), clock=lambda: now) as store:
        for user in users:
            store.add(user, "Likes tea.")
        for user, other in permutations(users, 2):
            assert [hit.row.user for hit in store.search(user, "tea", top=9)] == [user]
            assert len(list(store.rows(other))) == 1
        assert store.erase(users[0]).state is State.DONE
        assert [len(list(store.rows(user))) for user in users] == [0, *[1] * (len(users) - 1)]
