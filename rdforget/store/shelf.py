"""The rows of one user in memory: a matrix of unit vectors, and beside it what a search weighs and filters by."""

from __future__ import annotations

import sqlite3
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdforget.records import Status
from rdforget.store.records import Category, StoreError

Columns = NDArray[np.void]
COLUMNS = np.dtype(
    [
        ("seq", "i8"),
        ("status", "i1"),  # place in STATUSES
        ("category", "i1"),  # place in CATEGORIES
        ("valid_from", "i8"),  # microseconds UTC, as in the file
        ("valid_to", "i8"),  # NEVER for NULL
        ("last_accessed", "i8"),
        ("importance", "f8"),
    ]
)
STATUSES = (Status.ACTIVE, Status.SUPERSEDED, Status.DEPRECATED)
CATEGORIES = tuple(Category)
OPEN, COLD = STATUSES.index(Status.ACTIVE), STATUSES.index(Status.DEPRECATED)
NEVER = np.iinfo(np.int64).max
DIGITS = 6
"""Decimals of a cosine: as many as are the same however a product of float32 is summed, so that ties are ties."""


def _place(column: str, names: tuple[str, ...]) -> str:
    cases = (f"WHEN '{name}' THEN {place}" for place, name in enumerate(names))
    return f"CASE {column} {' '.join(cases)} END"


_SELECT = f"""SELECT seq, {_place("status", STATUSES)}, {_place("category", CATEGORIES)}, valid_from,
    coalesce(valid_to, {NEVER}), last_accessed, importance FROM rows WHERE user = ?"""


class Shelf:
    """Rows in order of `seq`, cold ones with a vector of zeros, and the version of their user that they belong to."""

    def __init__(self, dim: int) -> None:
        self.version = 0
        self._rows = 0
        self._columns: Columns = np.empty(0, COLUMNS)
        self._vectors: NDArray[np.float32] = np.empty((0, dim), np.float32)

    @property
    def columns(self) -> Columns:
        return self._columns[: self._rows]

    @property
    def last(self) -> int:
        """The highest `seq`, 0 without rows."""
        return int(self.columns["seq"][-1]) if self._rows else 0

    @property
    def nbytes(self) -> int:
        return self._columns.nbytes + self._vectors.nbytes

    def cosines(self, vector: NDArray[np.float32]) -> NDArray[np.float64]:
        """The cosine of each row with a unit vector, to DIGITS decimals."""
        # Not `@`: its threads wait for each other, which on a busy machine makes it ten times slower than one.
        products = np.asarray(np.vecdot(self._vectors[: self._rows], vector), np.float64)
        return np.round(products, DIGITS)

    def nearest(self, vector: NDArray[np.float32], k: int, *, open_only: bool, above: float) -> list[tuple[int, float]]:
        """The `k` rows of the highest cosine as (seq, cosine), nearest first, ties in order of `seq`."""
        cosines = self.cosines(vector)
        asked = cosines > above
        if open_only:
            asked &= self.columns["status"] == OPEN
        best = top(cosines, np.flatnonzero(asked), k)
        return list(zip(self.columns["seq"][best].tolist(), cosines[best].tolist(), strict=True))

    def keep(self, columns: Columns) -> None:
        """Take the columns of the rows that are here already, and drop the rows that `columns` lacks."""
        kept = np.flatnonzero(np.isin(self.columns["seq"], columns["seq"]))
        if len(kept) < self._rows:
            self._vectors = self._vectors[kept]
            self._columns = self._columns[kept]
            self._rows = len(kept)
        self.put(columns[np.isin(columns["seq"], self.columns["seq"])])

    def put(self, columns: Columns) -> None:
        """Take the columns of rows that are here anew; what went cold has no vector any more."""
        places = np.searchsorted(self.columns["seq"], columns["seq"])
        self.columns[places] = columns
        self._vectors[places[columns["status"] == COLD]] = 0

    def extend(self, columns: Columns, vectors: NDArray[np.float32]) -> None:
        """Append rows of higher `seq`. Room grows by half, so that adding one costs no copy of all."""
        rows = self._rows + len(columns)
        if rows > len(self._columns):
            room = rows if not self._rows else max(rows, self._rows * 3 // 2)
            self._columns = _moved(self.columns, room)
            self._vectors = _moved(self._vectors[: self._rows], room)
        self._columns[self._rows : rows] = columns
        self._vectors[self._rows : rows] = vectors
        self._rows = rows


def top(scores: NDArray[np.float64], places: NDArray[np.intp], k: int) -> NDArray[np.intp]:
    """Of ascending places in `scores` the `k` with the highest, highest first, ties in order of place."""
    chosen = scores[places]
    if 0 < k < len(places):
        least = np.partition(chosen, len(chosen) - k)[len(chosen) - k]
        places = places[chosen >= least]
        chosen = scores[places]
    return places[np.argsort(-chosen, kind="stable")[:k]]


def columns_of(db: sqlite3.Connection, user: str) -> Columns:
    """The columns of all rows of a user."""
    # `+seq`: with a plain one SQLite may walk the whole table in its order.
    return np.array(db.execute(f"{_SELECT} ORDER BY +seq", (user,)).fetchall(), COLUMNS)


def columns_at(db: sqlite3.Connection, user: str, seq: int) -> Columns:
    """The columns of one row of a user, or of none."""
    return np.array(db.execute(f"{_SELECT} AND seq = ?", (user, seq)).fetchall(), COLUMNS)


def vectors_after(db: sqlite3.Connection, user: str, seq: int, dim: int) -> NDArray[np.float32]:
    """The vectors of a user's rows above a `seq`, zeros for a row without. Raises StoreError for a damaged one."""
    found = db.execute(
        """SELECT vector FROM rows LEFT JOIN vectors USING (seq) WHERE user = ? AND +rows.seq > ?
        ORDER BY +rows.seq""",
        (user, seq),
    ).fetchall()
    if any(blob is not None and len(blob) != dim * 4 for (blob,) in found):
        raise StoreError(f"the store holds vectors of another length than {dim} numbers: it is damaged")
    nothing = bytes(dim * 4)
    joined = b"".join(nothing if blob is None else blob for (blob,) in found)
    return np.frombuffer(joined, "<f4").reshape(-1, dim)


def _moved(rows: NDArray[Any], room: int) -> NDArray[Any]:
    """A copy with room for more rows."""
    moved = np.empty((room, *rows.shape[1:]), rows.dtype)
    moved[: len(rows)] = rows
    return moved
