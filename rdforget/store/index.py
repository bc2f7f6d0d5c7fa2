"""What a store finds its rows by: words in the table `terms`, vectors in the table `vectors`.

Both are kept by user. A word carries its user's key, so that a match cannot meet another user's row. The vectors of
a user are compared by an exact product with all of them, held in this process for the users seen last. Every read
asks the file for the user's version first, so that what another process wrote or erased is seen at once.
"""

from __future__ import annotations

import math
import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from rdforget.store import schema
from rdforget.store.records import StoreError
from rdforget.store.shelf import COLD, Shelf, columns_at, columns_of, vectors_after
from rdforget.store.vectors import Vectors
from rdforget.store.wording import search_words

CACHE_BYTES = 128 * 2**20
COMMON = 1_000
"""A word that more of the user's rows hold says next to nothing, and reading all of them takes time."""


def term(key: int, word: str) -> str:
    """A word as `terms` holds it for the user of that key.

    Other letters than ASCII's are written in hexadecimal: SQLite's tokenizer knows the letters of Unicode 6.1 only,
    and would cut a word at a later one and leave the rest without the key.
    """
    plain = word.isascii() and word.isalnum()
    return f"u{key}x{word}" if plain else f"u{key}h{word.encode('utf-8', 'surrogatepass').hex()}"


def terms_of(key: int, text: str) -> str:
    """What `terms` holds for a text; deleting takes the very same words again."""
    return " ".join(term(key, word) for word in search_words(text))


class Index:
    """The index of one store's file, for one thread and one connection."""

    def __init__(self, dim: int, *, cache_bytes: int = CACHE_BYTES) -> None:
        """`dim` is what `bind` says; `cache_bytes` bounds what is held of all users but the one in use."""
        self.dim = dim
        self._cache_bytes = cache_bytes
        self._shelves: OrderedDict[str, Shelf] = OrderedDict()

    @contextmanager
    def writing(self, db: sqlite3.Connection, user: str, *, enter: bool = True) -> Iterator[None]:
        """A write transaction for one user: all or nothing, here as in the file. `enter` a user that is new.

        The user's version is drawn anew at its start. New rows must be entered by `add` and changed ones told by
        `changed`, as what is held here is taken for current after it. Rows are deleted in a transaction without it.
        """
        try:
            with schema.writing(db):
                shelf = self._current(db, user)
                if enter or _version(db, user) is not None:
                    version = renew(db, user)
                    if shelf is not None:
                        shelf.version = version
                yield
        except BaseException:
            self.forget(user)
            raise

    def add(self, db: sqlite3.Connection, user: str, seq: int, text: str, vector: NDArray[np.float32]) -> None:
        """Enter a row that `rows` holds already, with its unit vector; a cold row is found by its words alone."""
        self._check(vector)
        columns = columns_at(db, user, seq)
        cold = columns["status"][0] == COLD
        db.execute("INSERT INTO terms (rowid, words) VALUES (?, ?)", (seq, terms_of(user_key(db, user), text)))
        if not cold:
            db.execute("INSERT INTO vectors (seq, vector) VALUES (?, ?)", (seq, vector.astype("<f4").tobytes()))
        if (shelf := self._current(db, user)) is not None:
            shelf.extend(columns, (np.zeros_like(vector) if cold else vector)[None])

    def changed(self, db: sqlite3.Connection, user: str, seqs: Iterable[int]) -> None:
        """Take note of rows whose status, validity or last access was written."""
        if (shelf := self._current(db, user)) is not None:
            for seq in seqs:
                shelf.put(columns_at(db, user, seq))

    def nearest(
        self,
        db: sqlite3.Connection,
        user: str,
        vector: NDArray[np.float32],
        k: int,
        *,
        open_only: bool = True,
        above: float = -2.0,
    ) -> list[tuple[int, float]]:
        """The user's `k` rows of the highest cosine as (seq, cosine), nearest first, ties in order of `seq`.

        Cosines must be above `above`, which makes it the faster the fewer are.
        """
        self._check(vector)
        shelf = self.shelf(db, user)
        return [] if shelf is None else shelf.nearest(vector, k, open_only=open_only, above=above)

    def shelf(self, db: sqlite3.Connection, user: str) -> Shelf | None:
        """All rows of a user as the file has them now, to read; None for a user it does not know."""
        if (version := _version(db, user)) is None:
            self.forget(user)
            return None
        shelf = self._shelves.get(user)
        if shelf is None:
            shelf = self._shelves[user] = Shelf(self.dim)
        self._shelves.move_to_end(user)
        if shelf.version != version:
            self._refresh(db, user, shelf)
        return shelf

    def shares(self, db: sqlite3.Connection, user: str, query: str) -> dict[int, float]:
        """By `seq`, how much of a query each row holds that holds any of it: 0 to 1.

        The share of the query's distinct words, each weighing ln(1 + n / m) where m of the user's n rows hold it.
        Words that no row holds, or more than COMMON, are left out.
        """
        shelf = self.shelf(db, user)
        if shelf is None:
            return {}
        key = user_key(db, user)
        shares: dict[int, float] = {}
        whole = 0.0
        for word in sorted(set(search_words(query))):
            holders = db.execute(
                "SELECT rowid FROM terms WHERE terms MATCH ? LIMIT ?", (f'"{term(key, word)}"', COMMON + 1)
            ).fetchall()
            if not 0 < len(holders) <= COMMON:
                continue
            weight = math.log1p(len(shelf.columns) / len(holders))
            whole += weight
            for (seq,) in holders:
                shares[seq] = shares.get(seq, 0.0) + weight
        return {seq: share / whole for seq, share in shares.items()}

    def forget(self, user: str) -> None:
        """Drop what this process holds of a user."""
        self._shelves.pop(user, None)

    def _refresh(self, db: sqlite3.Connection, user: str, shelf: Shelf) -> None:
        """Bring a shelf to what the file has, reading only vectors that it lacks; then drop the longest unused ones."""
        with snapshot(db):
            shelf.version = _version(db, user) or 0
            columns = columns_of(db, user)
            shelf.keep(columns)
            new = columns[columns["seq"] > shelf.last]
            shelf.extend(new, vectors_after(db, user, shelf.last, self.dim))
        while len(self._shelves) > 1 and sum(each.nbytes for each in self._shelves.values()) > self._cache_bytes:
            self._shelves.popitem(last=False)

    def _check(self, vector: NDArray[np.float32]) -> None:
        if vector.shape != (self.dim,):
            raise StoreError(
                f"the store's vectors have {self.dim} numbers, not {vector.size}: open it with its provider"
            )

    def _current(self, db: sqlite3.Connection, user: str) -> Shelf | None:
        """What is held of a user, if it is what the file has."""
        shelf = self._shelves.get(user)
        return shelf if shelf is not None and shelf.version == _version(db, user) else None


@contextmanager
def snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """Several reads of one state of the file; inside a transaction, of that one's."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")


def user_key(db: sqlite3.Connection, user: str) -> int:
    """The number that stands for a user in `terms`."""
    return int(db.execute("SELECT key FROM users WHERE id = ?", (user,)).fetchone()[0])


def bind(db: sqlite3.Connection, vectors: Vectors) -> int:
    """The length of a store's vectors. A store takes the first provider that it is opened with, for good.

    Raises StoreError for another one: cosines of two do not mix.
    """
    if provider(db) is None:
        settings = [("vectors", vectors.name), ("dim", str(vectors.dim))]
        with schema.writing(db):  # of two processes that begin the same store, one is first
            db.executemany("INSERT OR IGNORE INTO settings (name, value) VALUES (?, ?)", settings)
    if (name := provider(db)) != vectors.name:
        raise StoreError(
            f"the store's vectors are {name}'s and do not mix with {vectors.name}'s: open it with {name}, "
            "or import its export into a new store"
        )
    return int(db.execute("SELECT value FROM settings WHERE name = 'dim'").fetchone()[0])


def provider(db: sqlite3.Connection) -> str | None:
    """The name of the provider that a store's vectors are of; None before the first."""
    found = db.execute("SELECT value FROM settings WHERE name = 'vectors'").fetchone()
    return str(found[0]) if found else None


def renew(db: sqlite3.Connection, user: str) -> int:
    """Draw a new version for a user, inside a write transaction; an unknown user is entered. Returns the version."""
    version = _draw(db, "version")
    if not db.execute("UPDATE users SET version = ? WHERE id = ?", (version, user)).rowcount:
        db.execute("INSERT INTO users (id, key, version) VALUES (?, ?, ?)", (user, _draw(db, "user_key"), version))
    return version


def _draw(db: sqlite3.Connection, counter: str) -> int:
    sql = "UPDATE counters SET value = value + 1 WHERE name = ? RETURNING value"
    return int(db.execute(sql, (counter,)).fetchone()[0])


def _version(db: sqlite3.Connection, user: str) -> int | None:
    found = db.execute("SELECT version FROM users WHERE id = ?", (user,)).fetchone()
    return int(found[0]) if found else None
