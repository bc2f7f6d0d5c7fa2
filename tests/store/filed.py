"""Rows put straight into a file and its index, past the checks of the write path."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rdforget.records import Status
from rdforget.store.index import CACHE_BYTES, Index, bind, terms_of, user_key
from rdforget.store.records import Category, Row
from rdforget.store.rows import insert
from rdforget.store.schema import connect, writing
from rdforget.store.vectors import Hashing, Vectors

NOW = datetime(2024, 6, 1, tzinfo=UTC)


@dataclass
class Filed:
    """One connection to a file, with an index of its own."""

    db: sqlite3.Connection
    index: Index
    vectors: Vectors = field(default_factory=Hashing)

    def put(self, user: str, *texts: str, **columns: Any) -> list[int]:
        """Rows for texts, in one transaction; their `seq`s."""
        with self.index.writing(self.db, user):
            return [self.enter(user, text, **columns) for text in texts]

    def enter(self, user: str, text: str, **columns: Any) -> int:
        """A row for a text, inside a transaction."""
        number = self.db.execute("SELECT coalesce(max(seq), 0) + 1 FROM rows").fetchone()[0]
        row = Row(**(_DEFAULTS | {"id": f"{number:016x}", "user": user, "text": text} | columns))
        seq = insert(self.db, row, number.to_bytes(8, "big"))
        self.index.add(self.db, user, seq, text, self.vectors.embed([text])[0])
        return seq

    def nearest(self, user: str, text: str, k: int = 100, *, open_only: bool = True) -> list[tuple[int, float]]:
        return self.index.nearest(self.db, user, self.vectors.embed([text])[0], k, open_only=open_only)

    def seqs(self, user: str, text: str, **options: bool) -> set[int]:
        return {seq for seq, _ in self.nearest(user, text, **options)}

    def close_row(self, user: str, seq: int, status: Status = Status.SUPERSEDED) -> None:
        """Inside a transaction."""
        self.db.execute("UPDATE rows SET status = ? WHERE seq = ?", (status, seq))
        self.index.changed(self.db, user, [seq])

    def erase(self, user: str) -> None:
        """All that the index holds of a user, as an erasure does it: past this index."""
        with writing(self.db):
            key = user_key(self.db, user)
            for seq, text in self.db.execute("SELECT seq, text FROM rows WHERE user = ?", (user,)).fetchall():
                self.db.execute(
                    "INSERT INTO terms (terms, rowid, words) VALUES ('delete', ?, ?)", (seq, terms_of(key, text))
                )
            self.db.execute("DELETE FROM rows WHERE user = ?", (user,))
            self.db.execute("DELETE FROM users WHERE id = ?", (user,))


@contextmanager
def filed(folder: Path, *, cache_bytes: int = CACHE_BYTES) -> Iterator[Filed]:
    """A connection to the file of a folder, as another process would have it."""
    vectors = Hashing()
    db = connect(folder)
    try:
        yield Filed(db, Index(bind(db, vectors), cache_bytes=cache_bytes), vectors)
    finally:
        db.close()


_DEFAULTS: dict[str, Any] = {
    "slot": None,
    "category": Category.SEMANTIC,
    "status": Status.ACTIVE,
    "valid_from": NOW,
    "valid_to": None,
    "recorded_at": NOW,
    "closed_at": None,
    "superseded_by": None,
    "last_accessed": NOW,
    "importance": 0.5,
    "source": None,
    "metadata": {},
}
