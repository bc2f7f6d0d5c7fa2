"""The index: what is near, what holds a word, whose rows they are, and who else has written meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.records import Status
from rdforget.store import index as index_module
from rdforget.store.index import bind, provider, renew, terms_of, user_key
from rdforget.store.records import StoreError
from rdforget.store.schema import connect, writing
from rdforget.store.shelf import DIGITS
from rdforget.store.vectors import Hashing, Server, make_vectors
from tests.store.filed import Filed, filed

USERS = st.sampled_from(["ann", "anna", "a%", "a_n", "A"])
SOME = st.text(alphabet="abc 猫犬é1", max_size=8)
STATUSES = st.sampled_from(list(Status))


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Filed]:
    with filed(tmp_path) as opened:
        yield opened


@pytest.fixture
def other(tmp_path: Path, one: Filed) -> Iterator[Filed]:
    """Another process with the same file."""
    with filed(tmp_path) as opened:
        yield opened


@contextmanager
def anywhere() -> Iterator[Filed]:
    """A file for one example of a law."""
    with TemporaryDirectory() as folder, filed(Path(folder)) as opened:
        opened.db.execute("PRAGMA synchronous=OFF")
        yield opened


@given(st.lists(st.tuples(USERS, SOME, STATUSES), max_size=12), USERS, SOME, st.integers(1, 5), st.booleans())
def test_nearest_is_what_comparing_with_every_row_of_the_user_gives(
    rows: list[tuple[str, str, Status]], user: str, query: str, k: int, open_only: bool
) -> None:
    vectors = Hashing()
    with anywhere() as one:
        expected = []
        for whose, text, status in rows:
            one.nearest(user, query)  # so that what is held must follow every row
            [seq] = one.put(whose, text, status=status)
            if whose == user and (status is Status.ACTIVE or not open_only):
                row, asked = vectors.embed(["" if status is Status.DEPRECATED else text, query])
                expected.append((round(-float(row.astype(float) @ asked.astype(float)), DIGITS), seq))
        found = one.nearest(user, query, k, open_only=open_only)
        assert [seq for seq, _ in found] == [seq for _, seq in sorted(expected)[:k]]
        assert [cosine for _, cosine in found] == pytest.approx([-c for c, _ in sorted(expected)[:k]], abs=1e-5)
        asked = vectors.embed([query])[0]
        near = one.index.nearest(one.db, user, asked, k, open_only=open_only, above=0.5)
        assert near == [(seq, cosine) for seq, cosine in found if cosine > 0.5]


@given(st.lists(st.tuples(USERS, SOME), max_size=12), USERS, SOME)
def test_rows_of_others_change_nothing(rows: list[tuple[str, str]], user: str, query: str) -> None:
    def asked(mine: bool) -> tuple[list[tuple[str, float]], dict[str, float]]:
        with anywhere() as one:
            ids = {}
            for number, (whose, text) in enumerate(rows):
                if whose == user or not mine:
                    ids[one.put(whose, text)[0]] = str(number)
            shares = one.index.shares(one.db, user, query)
            near = one.nearest(user, query)
            return [(ids[seq], cosine) for seq, cosine in near], {ids[seq]: share for seq, share in shares.items()}

    assert asked(mine=True) == asked(mine=False)


@given(st.lists(st.tuples(USERS, st.text(max_size=12))), st.integers(0, 10))
def test_every_word_is_kept_under_its_user_and_goes_with_the_row(rows: list[tuple[str, str]], gone: int) -> None:
    rows = [(user, text) for user, text in rows if text.encode("utf-8", "replace").decode() == text]
    with anywhere() as one:
        seqs = [(user, one.put(user, text)[0], text) for user, text in rows]
        one.db.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab (main, terms, row)")
        keys = {user_key(one.db, user) for user, _, _ in seqs}
        for (word,) in one.db.execute("SELECT term FROM words").fetchall():
            assert any(word.startswith((f"u{key}x", f"u{key}h")) for key in keys)
        for user, seq, text in seqs:
            words = terms_of(user_key(one.db, user), text)
            one.db.execute("INSERT INTO terms (terms, rowid, words) VALUES ('delete', ?, ?)", (seq, words))
        assert one.db.execute("SELECT count(*) FROM words").fetchone() == (0,)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Ines likes oat milk", "OAT"),
        ("猫が好きです", "猫"),
        ("猫が好きです", "好き"),
        ("我喜欢喝燕麦奶", "燕麦"),
        ("고양이가 좋아요", "고양이"),
        ("ฉันชอบแมว", "แมว"),
        ("Zoe\u0308 lives here", "Zoë"),
        ("foo_bar", "foo_bar"),
        ("𞤀𞤣𞤤𞤢𞤥", "𞤀𞤣𞤤𞤢𞤥"),  # Adlam, which SQLite's tokenizer does not know
        ("rent is $1,250", "250"),
    ],
)
def test_words_are_found_in_any_script(one: Filed, text: str, query: str) -> None:
    [seq] = one.put("ann", text)
    one.put("anna", text)
    assert one.index.shares(one.db, "ann", query) == {seq: 1.0}
    assert one.index.shares(one.db, "bob", query) == {}


@pytest.mark.parametrize("query", ['"', "*", "a* OR", "NOT NEAR(", "words : milk", "u1xmilk", "-", "", "mil"])
def test_a_query_is_words_and_no_expression(one: Filed, query: str) -> None:
    one.put("ann", "oat")
    one.put("anna", "milk")
    assert one.index.shares(one.db, "ann", query) == {}


def test_a_share_weighs_rare_words_more(one: Filed, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = one.put("ann", "the cat", "the dog", "the dog and the cat and the fish")
    shares = one.index.shares(one.db, "ann", "the fish, unicorn?")
    assert shares[third] == 1.0
    assert 0 < shares[first] == shares[second] < 0.5
    monkeypatch.setattr(index_module, "COMMON", 2)
    assert one.index.shares(one.db, "ann", "the fish") == {third: 1.0}
    assert set(one.index.shares(one.db, "ann", "the cat")) == {first, third}


def test_a_row_is_near_within_the_transaction_that_enters_it(one: Filed) -> None:
    with one.index.writing(one.db, "ann"):
        assert one.nearest("ann", "oat milk") == []
        seq = one.enter("ann", "oat milk")
        assert one.nearest("ann", "oat milk") == [(seq, 1.0)]
        assert one.nearest("anna", "oat milk") == []


def test_what_was_rolled_back_is_not_near_though_its_numbers_are_given_again(one: Filed, other: Filed) -> None:
    [kept] = one.put("ann", "oat milk")
    with suppress(ZeroDivisionError), one.index.writing(one.db, "ann"):
        one.close_row("ann", kept)
        lost = one.enter("ann", "soy milk")
        assert one.seqs("ann", "soy milk") == {lost}
        raise ZeroDivisionError
    [again] = other.put("ann", "green tea")
    assert again == lost  # and so is the user's version
    assert one.nearest("ann", "green tea")[0] == (again, 1.0)
    assert one.seqs("ann", "oat milk") == {kept, again}


def test_a_failed_first_write_leaves_no_user(one: Filed) -> None:
    with suppress(ZeroDivisionError), one.index.writing(one.db, "ann"):
        one.enter("ann", "soy milk")
        raise ZeroDivisionError
    assert one.db.execute("SELECT * FROM users").fetchall() == []
    with one.index.writing(one.db, "ann", enter=False):
        pass
    assert one.db.execute("SELECT * FROM users").fetchall() == []


def test_closed_and_cold_rows_are_near_only_when_asked_for(one: Filed, other: Filed) -> None:
    closed, cold, still = one.put("ann", "oat milk", "oat milk tea", "tea")
    assert one.seqs("ann", "milk") == {closed, cold, still}
    with one.index.writing(one.db, "ann"):
        one.close_row("ann", closed)
        one.close_row("ann", cold, Status.DEPRECATED)
        one.db.execute("DELETE FROM vectors WHERE seq = ?", (cold,))
    [frozen] = one.put("ann", "oat milk", status=Status.DEPRECATED)
    for each in (one, other):  # one that saw it open, and one that did not
        assert each.seqs("ann", "milk") == {still}
        assert dict(each.nearest("ann", "oat milk", open_only=False)) == {
            closed: 1.0,
            cold: 0.0,
            frozen: 0.0,
            still: pytest.approx(0.0, abs=0.2),
        }
        assert set(each.index.shares(each.db, "ann", "milk")) == {closed, cold, frozen}


def test_writes_and_erasures_of_another_process_are_seen_at_once(one: Filed, other: Filed) -> None:
    first, second = one.put("ann", "oat milk", "green tea")
    one.put("anna", "oat milk")
    assert other.seqs("ann", "milk") == {first, second}
    with one.index.writing(one.db, "ann"):
        one.close_row("ann", first)
        third = one.enter("ann", "soy milk")
    assert other.seqs("ann", "milk") == {second, third}
    one.erase("ann")
    assert other.nearest("ann", "milk") == []
    assert other.index.shares(other.db, "ann", "milk") == {}
    assert len(other.nearest("anna", "milk")) == 1
    [made_again] = one.put("ann", "black tea")
    assert other.nearest("ann", "black tea") == [(made_again, 1.0)]


def test_a_row_that_another_process_erased_leaves_the_others_as_they_were(one: Filed, other: Filed) -> None:
    first, second, third = one.put("ann", "oat milk", "green tea", "red wine")
    assert other.nearest("ann", "green tea", 1) == [(second, 1.0)]
    with writing(one.db):
        one.db.execute("DELETE FROM rows WHERE seq = ?", (first,))
        renew(one.db, "ann")
    assert other.nearest("ann", "green tea", 1) == [(second, 1.0)]
    assert other.nearest("ann", "red wine", 1) == [(third, 1.0)]
    assert other.seqs("ann", "oat milk") == {second, third}


def test_what_is_held_is_bounded_and_makes_no_difference(tmp_path: Path) -> None:
    with filed(tmp_path, cache_bytes=1) as one:
        users = [f"user{n}" for n in range(5)]
        seqs = {user: one.put(user, "oat milk", user) for user in users}
        for user in users * 2:
            assert one.seqs(user, "oat milk") == set(seqs[user])
            assert list(one.index._shelves) == [user]


def test_room_for_rows_grows_without_a_copy_of_all_at_each(one: Filed) -> None:
    one.put("ann", *(f"text {n}" for n in range(300)))
    shelf = one.index.shelf(one.db, "ann")
    assert shelf is not None
    sizes = set()
    with one.index.writing(one.db, "ann"):
        for n in range(100):
            one.enter("ann", f"another {n}")
            sizes.add(shelf.nbytes)
    assert len(sizes) == 1


def test_a_store_stays_with_the_provider_of_its_vectors(tmp_path: Path) -> None:
    class Other(Hashing):
        name = "other"
        dim = 3

    db = connect(tmp_path)
    assert provider(db) is None
    assert bind(db, Hashing()) == 256
    assert bind(db, Hashing()) == 256
    with pytest.raises(StoreError, match="the store's vectors are hashing's and do not mix with other's"):
        bind(db, Other())
    assert provider(db) == "hashing"
    db.close()


def test_opening_a_store_asks_no_server_for_the_length_of_its_vectors(tmp_path: Path) -> None:
    db = connect(tmp_path)
    settings = [("vectors", "litellm:openai/some-model"), ("dim", "3")]
    db.executemany("INSERT INTO settings (name, value) VALUES (?, ?)", settings)
    assert bind(db, make_vectors("litellm:openai/some-model", Server(api_base="http://127.0.0.1:9"))) == 3
    db.close()


def test_vectors_of_another_length_are_refused(one: Filed, other: Filed) -> None:
    [seq] = one.put("ann", "oat milk")
    short = np.ones(3, np.float32)
    with pytest.raises(StoreError, match="the store's vectors have 256 numbers, not 3"):
        one.index.nearest(one.db, "ann", short, 1)
    with pytest.raises(StoreError, match="have 256 numbers"), one.index.writing(one.db, "ann"):
        one.index.add(one.db, "ann", seq, "oat milk", short)
    one.db.execute("UPDATE vectors SET vector = x'00'")
    with pytest.raises(StoreError, match="it is damaged"):
        other.nearest("ann", "milk")
    assert not other.db.in_transaction


def test_the_rows_of_a_user_are_found_without_walking_the_whole_file(one: Filed) -> None:
    plans: list[str] = []
    seen: list[str] = []
    one.put("ann", "oat milk")
    one.db.set_trace_callback(seen.append)
    one.index.forget("ann")
    one.nearest("ann", "milk")
    one.db.set_trace_callback(None)
    for statement in seen:
        if statement.lstrip().startswith("SELECT"):
            plans += [row[3] for row in one.db.execute(f"EXPLAIN QUERY PLAN {statement}")]
    assert plans
    assert not [plan for plan in plans if plan.startswith("SCAN")]
