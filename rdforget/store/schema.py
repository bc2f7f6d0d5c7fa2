"""The file of a store: its tables, their versions, and connections to it.

A schema version is a list of statements that bring a file from the version before to it. Files of every earlier
version are brought up when they are opened; files of a later one are refused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rdforget.store.records import StoreError

FILE = "memory.sqlite"
BUSY_SECONDS = 60.0
_MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # `version` is drawn anew from `counters` at every write for the user, so that no cache of another process
        # can take an erased and re-made user for the old one.
        "CREATE TABLE users (id TEXT PRIMARY KEY, key INTEGER NOT NULL UNIQUE, version INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
        "INSERT INTO counters VALUES ('user_key', 0), ('version', 0)",
        "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        # Times are whole microseconds since 1970 in UTC.
        """CREATE TABLE rows (
            seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, user TEXT NOT NULL REFERENCES users (id),
            text TEXT NOT NULL, hash BLOB NOT NULL, slot TEXT,
            category TEXT NOT NULL CHECK (category IN ('semantic', 'episodic', 'procedural')),
            status TEXT NOT NULL CHECK (status IN ('ACTIVE', 'SUPERSEDED', 'DEPRECATED')),
            valid_from INTEGER NOT NULL, valid_to INTEGER, recorded_at INTEGER NOT NULL, closed_at INTEGER,
            superseded_by TEXT, last_accessed INTEGER NOT NULL, importance REAL NOT NULL, source TEXT,
            metadata TEXT NOT NULL, CHECK (valid_to IS NULL OR valid_to >= valid_from)
        )""",
        "CREATE UNIQUE INDEX open_text ON rows (user, hash) WHERE status = 'ACTIVE'",
        "CREATE UNIQUE INDEX open_slot ON rows (user, slot) WHERE status = 'ACTIVE' AND slot IS NOT NULL",
        "CREATE INDEX slots ON rows (user, slot, valid_from)",
        "CREATE INDEX open_episodes ON rows (last_accessed) WHERE status = 'ACTIVE' AND category = 'episodic'",
        # Later event times at which the text of a row of a slot was stated again: a late row between splits it there.
        """CREATE TABLE restated (
            seq INTEGER NOT NULL REFERENCES rows (seq) ON DELETE CASCADE, at INTEGER NOT NULL, PRIMARY KEY (seq, at)
        ) WITHOUT ROWID""",
        "CREATE TABLE vectors (seq INTEGER PRIMARY KEY REFERENCES rows (seq) ON DELETE CASCADE, vector BLOB NOT NULL)",
        # Words are kept with the user's key in front, so that a search cannot even meet another user's.
        "CREATE VIRTUAL TABLE terms USING fts5(words, content='', tokenize=\"unicode61 remove_diacritics 0\")",
        """CREATE TABLE chats (
            user TEXT NOT NULL REFERENCES users (id), id TEXT NOT NULL, recorded_at INTEGER NOT NULL,
            turns TEXT NOT NULL, PRIMARY KEY (user, id)
        )""",
        """CREATE TABLE withheld (
            user TEXT NOT NULL REFERENCES users (id), kind TEXT NOT NULL, rule TEXT NOT NULL, at INTEGER NOT NULL
        )""",
        "CREATE INDEX withheld_of ON withheld (user)",
        """CREATE TABLE decisions (
            user TEXT NOT NULL REFERENCES users (id), outcome TEXT NOT NULL, reason TEXT NOT NULL, n INTEGER NOT NULL,
            PRIMARY KEY (user, outcome, reason)
        )""",
        # Proof of an erasure: no text, no vector, no plain id. Each is chained to the one before by its hash.
        """CREATE TABLE erasures (
            number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL,
            state TEXT NOT NULL, content TEXT NOT NULL, chain TEXT NOT NULL
        )""",
    ),
)
VERSION = len(_MIGRATIONS)


def connect(folder: Path, *, create: bool = True) -> sqlite3.Connection:
    """A connection to the store in `folder`, its file made or brought to this version first. Raises StoreError."""
    path = folder / FILE
    if not create and not path.is_file():
        raise StoreError(f"there is no store in {folder}: {FILE} is missing")
    try:
        if create:
            folder.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(path, isolation_level=None, timeout=BUSY_SECONDS)
        try:
            db.execute("PRAGMA foreign_keys=ON")
            db.execute("PRAGMA secure_delete=ON")
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=FULL")
            _migrate(db, folder)
        except BaseException:
            db.close()
            raise
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{path} cannot be opened as a memory store: {error}") from error
    return db


@contextmanager
def writing(db: sqlite3.Connection) -> Iterator[None]:
    """A transaction that is a write from its beginning: all or nothing, and never refused half-way."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _migrate(db: sqlite3.Connection, folder: Path) -> None:
    def version() -> int:
        return int(db.execute("PRAGMA user_version").fetchone()[0])

    if version() == VERSION:
        return
    with writing(db):  # another process may have done it meanwhile, so the version is asked again inside
        if (found := version()) > VERSION:
            raise StoreError(
                f"the store in {folder} has schema version {found}, this rdforget knows {VERSION}: update it"
            )
        if not found and db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
            raise StoreError(f"{folder / FILE} is another program's database: give the store a folder of its own")
        for statements in _MIGRATIONS[found:]:
            for statement in statements:
                db.execute(statement)
        db.execute(f"PRAGMA user_version={VERSION}")
