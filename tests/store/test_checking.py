"""Verification: a sound store has no problems, and every kind of damage has a sentence."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rdforget.store import Category, MemoryStore
from rdforget.store.checking import problems
from rdforget.store.index import terms_of
from rdforget.store.schema import FILE, VERSION, connect
from tests.store.clocks import SetClock

HOME = "ines|lives in|"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a store that has a bit of everything, with rows of the ids 1 to 6."""
    clock = SetClock()
    ids = (row(number) for number in itertools.count(1))
    with MemoryStore(tmp_path_factory.mktemp("sound"), clock=clock, ids=ids.__next__) as store:
        store.add("ines", "Lives in Lyon.", slot=HOME)
        store.add("ines", "Lives in Paris.", slot=HOME)
        store.add("ines", "Lives in Paris.", slot=HOME)
        store.add("ines", "Lived in Rome.", slot=HOME, valid_from=datetime(2020, 1, 1, tzinfo=UTC))
        store.add("ines", "Went to the fair.", category=Category.EPISODIC)
        store.add("ines", "猫が好き", metadata={"mood": "good"})
        clock.forward(days=100)
        store.expire()
        store.add("tom", "Likes tea.")
        store.add("tom", "my password is hunter2-hunter2")
        store.add("gone", "Likes tea.")
        store.erase("gone")
    return (store.folder / FILE).read_bytes()


@pytest.fixture
def folder(sound: bytes, tmp_path: Path) -> Path:
    """A folder with that file, which nobody has open."""
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / FILE).write_bytes(sound)
    return tmp_path / "store"


def row(number: int) -> str:
    return f"{number:016x}"


def damaged(folder: Path, *statements: str) -> list[str]:
    """The problems after statements of somebody who does not care about references."""
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as db:
        for statement in statements:
            assert db.execute(statement).rowcount
    return problems(folder)


def test_a_sound_store_has_no_problems(folder: Path) -> None:
    before = (folder / FILE).read_bytes()
    assert problems(folder) == []
    assert (folder / FILE).read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == [FILE]


def test_a_new_store_has_no_problems(store: MemoryStore) -> None:
    assert store.verify() == []


SEQ = "(SELECT seq FROM rows WHERE id = '{}')"


@pytest.mark.parametrize(
    ("statements", "sentence"),
    [
        ([f"DELETE FROM vectors WHERE seq = {SEQ.format(row(1))}"], f"row {row(1)} has no vector"),
        (["DELETE FROM vectors WHERE seq = 1"], f"row {row(1)} has no vector"),
        (["UPDATE vectors SET vector = x'00' WHERE seq = 2"], f"row {row(2)} has a vector of 1 bytes instead of 1024"),
        (["INSERT INTO vectors SELECT 77, vector FROM vectors LIMIT 1"], "1 of vectors belong to none of rows"),
        (["INSERT INTO vectors SELECT 4, vector FROM vectors LIMIT 1"], f"row {row(4)} is cold and still has a vector"),
        (["DELETE FROM users WHERE id = 'tom'"], "belong to none of users"),
        (["UPDATE counters SET value = 1 WHERE name = 'user_key'"], "the counter user_key is behind"),
        (["DELETE FROM counters WHERE name = 'version'"], "the counter version is behind"),
        (["UPDATE rows SET text = 'Lives in Nice.' WHERE seq = 2"], f"row {row(2)} has other words in the index"),
        (["UPDATE rows SET text = 'Lives in Nice.' WHERE seq = 2"], f"row {row(2)} has a key that is not its text's"),
        (["UPDATE rows SET text = ' ' WHERE seq = 2"], f"row {row(2)} has a text that the store does not take"),
        (["UPDATE rows SET metadata = '[1]' WHERE seq = 2"], f"row {row(2)} has metadata that are no object"),
        (["UPDATE rows SET metadata = '{' WHERE seq = 2"], f"row {row(2)} has metadata that are no object"),
        (["INSERT INTO chats VALUES ('ines', 'c1', 0, '{}')"], "chat 'c1' has turns that are no list"),
        (["UPDATE rows SET closed_at = 1 WHERE seq = 2"], f"row {row(2)} is open and says when"),
        (["UPDATE rows SET valid_to = NULL WHERE seq = 1"], f"row {row(1)} is superseded and does not say"),
        (
            ["UPDATE rows SET valid_to = NULL WHERE seq = 1"],
            f"row {row(1)} is valid beyond the beginning of row {row(2)}",
        ),
        (["UPDATE rows SET valid_to = valid_to + 9 WHERE seq = 1"], f"row {row(1)} is valid beyond the beginning"),
        (["UPDATE rows SET superseded_by = 'none' WHERE seq = 1"], "superseded by a row none that does not exist"),
        (["UPDATE rows SET superseded_by = id WHERE seq = 1"], f"row {row(1)} is superseded by itself"),
        (
            ["UPDATE rows SET superseded_by = (SELECT id FROM rows WHERE user = 'tom') WHERE seq = 1"],
            "of another user",
        ),
        (
            ["DROP INDEX open_slot", "UPDATE rows SET slot = 'ines|lives in|' WHERE seq IN (5)"],
            "2 rows are open in the slot",
        ),
        (
            ["DROP INDEX open_text", "UPDATE rows SET hash = (SELECT hash FROM rows WHERE seq = 5) WHERE seq = 2"],
            "2 rows are open with the text",
        ),
        (["UPDATE erasures SET content = replace(content, 'user', 'rows')"], "proof of erasure 1 was changed"),
    ],
)
def test_what_does_not_belong_together_is_told(statements: list[str], sentence: str, folder: Path) -> None:
    found = damaged(folder, *statements)
    assert any(sentence in line for line in found), found
    assert all(line.startswith(f"{folder / FILE}: ") for line in found)


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("INSERT INTO terms (rowid, words) VALUES (99, 'u1xstray')", "the index has words of a row 99"),
        ("INSERT INTO terms (rowid, words) VALUES (2, 'u1xstray')", f"row {row(2)} has other words in the index"),
        (
            f"INSERT INTO terms (terms, rowid, words) VALUES ('delete', 2, '{terms_of(1, 'Lives in Paris.')}')",
            f"row {row(2)} is not in the index of words",
        ),
    ],
)
def test_words_that_are_not_the_rows_are_told(statement: str, sentence: str, folder: Path) -> None:
    with closing(connect(folder)) as db:
        db.execute(statement)
    assert any(sentence in line for line in problems(folder)), problems(folder)


def test_many_sentences_of_a_kind_are_cut_short(store: MemoryStore) -> None:
    for number in range(30):
        store.add("ines", f"Number {number}", force=True)
    store.close()
    found = damaged(store.folder, "DELETE FROM vectors")
    assert len(found) == 21
    assert found[-1].endswith("and 10 more of this kind")


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:10_000])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def another_kind(path: Path) -> None:
    path.write_bytes(b"%PDF-1.7 not a database at all\n" * 300)


def taken_away(path: Path) -> None:
    path.unlink()


def of_a_later_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version={VERSION + 1}")


def another_programs(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE cookies (value)")


def made_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def without_a_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE settings")


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (cut_short, "malformed|damaged"),
        (emptied, "is empty"),
        (another_kind, "not a database"),
        (taken_away, "there is no store"),
        (of_a_later_version, f"has schema version {VERSION + 1}"),
        (another_programs, "another program's database"),
        (made_a_folder, "there is no store"),
        (without_a_table, "no such table: settings"),
    ],
)
def test_a_file_that_is_no_store_is_a_sentence(harm: Callable[[Path], None], words: str, folder: Path) -> None:
    harm(folder / FILE)
    [sentence, *_] = problems(folder)
    assert "\n" not in sentence
    assert any(word in sentence for word in words.split("|")), sentence


def test_a_zeroed_page_is_a_sentence_whichever_it_is(folder: Path, tmp_path: Path) -> None:
    data = (folder / FILE).read_bytes()
    pages = [page for page in range(len(data) // 4096) if any(data[page * 4096 : (page + 1) * 4096])]
    assert len(pages) > 15
    for page in pages:
        copy = tmp_path / f"copy{page}"
        copy.mkdir()
        (copy / FILE).write_bytes(data[: page * 4096] + bytes(4096) + data[(page + 1) * 4096 :])
        found = problems(copy)
        assert found, f"page {page} of zeros is not noticed"
        assert all("\n" not in line for line in found)
        shutil.rmtree(copy)


def test_random_damage_is_never_a_traceback(folder: Path, tmp_path: Path) -> None:
    data = (folder / FILE).read_bytes()
    for at in range(100, len(data), 1_499):
        copy = tmp_path / f"copy{at}"
        copy.mkdir()
        (copy / FILE).write_bytes(data[:at] + bytes(byte ^ 0x55 for byte in data[at : at + 40]) + data[at + 40 :])
        assert all("\n" not in line for line in problems(copy))
        shutil.rmtree(copy)
