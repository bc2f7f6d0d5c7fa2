"""Files of every schema version that was ever written open, and those of a later one are refused.

The statements here are frozen: they are what a store of that version holds on a disk somewhere. A new migration gets a
new version here beside the old ones; the old text is never edited.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from rdforget.store import Candidate, MemoryStore, Outcome, StoreError
from rdforget.store.checking import problems
from rdforget.store.erasing import State
from rdforget.store.schema import FILE, VERSION, connect

VERSION_1 = """
CREATE TABLE users (id TEXT PRIMARY KEY, key INTEGER NOT NULL UNIQUE, version INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO counters VALUES ('user_key', 0), ('version', 0);
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE rows (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, user TEXT NOT NULL REFERENCES users (id),
    text TEXT NOT NULL, hash BLOB NOT NULL, slot TEXT,
    category TEXT NOT NULL CHECK (category IN ('semantic', 'episodic', 'procedural')),
    status TEXT NOT NULL CHECK (status IN ('ACTIVE', 'SUPERSEDED', 'DEPRECATED')),
    valid_from INTEGER NOT NULL, valid_to INTEGER, recorded_at INTEGER NOT NULL, closed_at INTEGER,
    superseded_by TEXT, last_accessed INTEGER NOT NULL, importance REAL NOT NULL, source TEXT,
    metadata TEXT NOT NULL, CHECK (valid_to IS NULL OR valid_to >= valid_from)
);
CREATE UNIQUE INDEX open_text ON rows (user, hash) WHERE status = 'ACTIVE';
CREATE UNIQUE INDEX open_slot ON rows (user, slot) WHERE status = 'ACTIVE' AND slot IS NOT NULL;
CREATE INDEX slots ON rows (user, slot, valid_from);
CREATE INDEX open_episodes ON rows (last_accessed) WHERE status = 'ACTIVE' AND category = 'episodic';
CREATE TABLE restated (
    seq INTEGER NOT NULL REFERENCES rows (seq) ON DELETE CASCADE, at INTEGER NOT NULL, PRIMARY KEY (seq, at)
) WITHOUT ROWID;
CREATE TABLE vectors (seq INTEGER PRIMARY KEY REFERENCES rows (seq) ON DELETE CASCADE, vector BLOB NOT NULL);
CREATE VIRTUAL TABLE terms USING fts5(words, content='', tokenize="unicode61 remove_diacritics 0");
CREATE TABLE chats (
    user TEXT NOT NULL REFERENCES users (id), id TEXT NOT NULL, recorded_at INTEGER NOT NULL,
    turns TEXT NOT NULL, PRIMARY KEY (user, id)
);
CREATE TABLE withheld (
    user TEXT NOT NULL REFERENCES users (id), kind TEXT NOT NULL, rule TEXT NOT NULL, at INTEGER NOT NULL
);
CREATE INDEX withheld_of ON withheld (user);
CREATE TABLE decisions (
    user TEXT NOT NULL REFERENCES users (id), outcome TEXT NOT NULL, reason TEXT NOT NULL, n INTEGER NOT NULL,
    PRIMARY KEY (user, outcome, reason)
);
CREATE TABLE erasures (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL,
    state TEXT NOT NULL, content TEXT NOT NULL, chain TEXT NOT NULL
);
PRAGMA user_version = 1;
"""
ROWS_1 = """
INSERT INTO settings VALUES ('vectors', 'four'), ('dim', '4'), ('normaliser', '1');
UPDATE counters SET value = 1 WHERE name = 'user_key';
UPDATE counters SET value = 7 WHERE name = 'version';
INSERT INTO users VALUES ('ines', 1, 7);
INSERT INTO rows VALUES
    (1, '000000000000000a', 'ines', 'Lives in Lyon.',
     x'26f53ea7bf57f7e18de7ceb7afbeb614af827502fcb8c5e2c95bad5e986d88c1', 'ines|lives in|', 'semantic', 'SUPERSEDED',
     1704067200000000, 1706745600000000, 1704067200000000, 1706745600000000, '000000000000000b', 1704067200000000, 0.5,
     NULL, '{}'),
    (2, '000000000000000b', 'ines', 'Lives in Paris.',
     x'f092bb594ab591942d05ecf5d5c7e831da0b4f9a9fc55dd1b11f178a44166a1f', 'ines|lives in|', 'semantic', 'ACTIVE',
     1706745600000000, NULL, 1706745600000000, NULL, NULL, 1706745600000000, 0.5, 'c1', '{"mood": "good"}');
INSERT INTO vectors VALUES (1, x'0000803f000000000000000000000000'), (2, x'000000000000803f0000000000000000');
INSERT INTO terms (rowid, words) VALUES (1, 'u1xlives u1xin u1xlyon'), (2, 'u1xlives u1xin u1xparis');
INSERT INTO chats VALUES ('ines', 'c1', 1706745600000000, '[]');
INSERT INTO decisions VALUES ('ines', 'added', '', 1), ('ines', 'superseded', '', 1);
"""
FILES = {1: VERSION_1 + ROWS_1}
NOW = datetime(2024, 6, 1, tzinfo=UTC)


class Four:
    """A provider of four numbers."""

    name = "four"
    dim = 4
    near_duplicate = 0.95

    def embed(self, texts: list[str]) -> np.ndarray:
        return np.eye(4, dtype=np.float32)[[len(text) % 4 for text in texts]]


@pytest.fixture(params=FILES)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder of a store as a version wrote it."""
    with closing(sqlite3.connect(tmp_path / FILE)) as db:
        db.executescript(FILES[request.param])
    return tmp_path


def schema_of(folder: Path) -> list[tuple[str, str]]:
    with closing(connect(folder)) as db:
        return db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").fetchall()


def test_every_version_has_a_file() -> None:
    assert [*FILES] == list(range(1, VERSION + 1))


def test_an_old_file_is_read_written_erased_and_sound(old: Path) -> None:
    assert problems(old) == []
    with MemoryStore(old, clock=lambda: NOW, vectors=Four()) as store:
        assert [row.text for row in store.rows("ines")] == ["Lives in Paris."]
        assert [row.text for row in store.history("ines", slot="ines|lives in|")] == [
            "Lives in Lyon.",
            "Lives in Paris.",
        ]
        assert store.search("ines", "paris")[0].row.metadata == {"mood": "good"}
        assert store.add("ines", "lives in  PARIS.").outcome is Outcome.DUPLICATE
        assert store.add_many("ines", [Candidate("Lives in Rome.", "ines|lives in|")])[0].outcome is Outcome.SUPERSEDED
        assert store.verify() == []
        erasure = store.erase("ines")
        assert (erasure.state, erasure.counts["rows"], erasure.counts["chats"]) == (State.DONE, 3, 1)
        assert store.verify() == []


def test_an_old_file_comes_to_the_tables_of_a_new_one(old: Path, tmp_path: Path) -> None:
    def plain(folder: Path) -> list[tuple[str, str]]:
        return [(name, "".join(sql.split())) for name, sql in schema_of(folder)]

    assert plain(old) == plain(tmp_path / "new")


@pytest.mark.parametrize("version", [VERSION + 1, 1_000])
def test_a_file_of_a_later_version_is_refused_in_a_sentence_and_left_alone(version: int, old: Path) -> None:
    with closing(sqlite3.connect(old / FILE)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    before = schema_names(old)
    with pytest.raises(StoreError, match=rf"has schema version {version}, this rdforget knows {VERSION}: update it"):
        MemoryStore(old, clock=lambda: NOW, vectors=Four())
    [sentence] = problems(old)
    assert "update it" in sentence
    assert schema_names(old) == before


def schema_names(folder: Path) -> list[tuple[str]]:
    with closing(sqlite3.connect(folder / FILE)) as db:
        return db.execute("SELECT name FROM sqlite_schema").fetchall()


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE)) as db:
        db.execute("CREATE TABLE cookies (value)")
    with pytest.raises(StoreError, match="another program's database"):
        MemoryStore(tmp_path)
    assert schema_names(tmp_path) == [("cookies",)]
