"""Reading a store: search by meaning, words, freshness and importance, and the history of a slot.

A row's relevance is `(1 - WORDS) * (1 + cosine) / 2 + WORDS * share`, where `share` is how much of the query's words
it holds (`Index.shares`). Its score is the weighted mean of relevance, recency and importance, each 0 to 1 and none
stretched to the range of the candidates: apart from how common a word is among the user's rows, no row changes the
score of another.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from rdforget.store.decay import recency
from rdforget.store.identity import slot_key
from rdforget.store.index import Index, snapshot
from rdforget.store.records import Category, Hit, Policy, Row, StoreError
from rdforget.store.rows import COLUMNS, row_of
from rdforget.store.shelf import CATEGORIES, OPEN, Columns, top
from rdforget.store.times import micros
from rdforget.store.vectors import Vectors

WORDS = 1 / 3
"""Texts hardly ever have cosines below 0, so that `(1 + cosine) / 2` spreads over a half: this evens the two parts."""
_HOUR = 3_600_000_000
_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reader:
    """What reads need besides the question."""

    db: sqlite3.Connection
    index: Index
    vectors: Vectors
    policy: Policy

    def search(
        self,
        user: str,
        query: str,
        now: datetime,
        *,
        limit: int | None = None,
        historical: bool = False,
        as_of: datetime | None = None,
        categories: Sequence[Category] = (),
        touch: bool = True,
    ) -> list[Hit]:
        """The user's rows of the highest score, highest first, ties in order of their writing.

        Open rows only; `historical` takes closed and cold ones too, `as_of` those that were true at a time, as far
        as the store knows now. A cold row is found by its words alone. `touch` writes that the rows returned were
        accessed now. Raises StoreError.
        """
        limit = self.policy.top if limit is None else limit
        if limit < 1:
            raise StoreError(f"a search for the best {limit} rows finds none: ask for 1 or more")
        if not query.strip():
            raise StoreError("a search needs words to look for: the query is blank")
        kinds = [_place(category) for category in categories]
        at = None if as_of is None else micros(as_of)
        vector = self.vectors.embed([query])[0]  # before the snapshot, as it may ask a server
        with snapshot(self.db):
            shelf = self.index.shelf(self.db, user)
            if shelf is None:
                return []
            columns = shelf.columns
            asked = _asked(columns, historical, at, kinds)
            held = self.index.shares(self.db, user, query)
            shares = np.array([held.get(seq, 0.0) for seq in columns["seq"].tolist()])
            relevance = (1 - WORDS) * (1 + shelf.cosines(vector)) / 2 + WORDS * shares
            fresh = _recencies(columns, asked, micros(now), self.policy.decay)
            scores = _scores(self.policy, columns, relevance, fresh)
            best = top(scores, asked, limit)
            hits = [
                Hit(
                    self._row(int(columns["seq"][place])),
                    float(scores[place]),
                    float(relevance[place]),
                    float(fresh[place]),
                    float(columns["importance"][place]),
                )
                for place in best
            ]
            seqs = [int(columns["seq"][place]) for place in best]
        if touch:
            self._touch(user, hits, seqs, now)
        return hits

    def history(self, user: str, *, slot: str | None = None, id: str | None = None) -> list[Row]:
        """The versions of a slot, or of the slot of a row, in event order; a row without a slot is its own history.

        Empty for a slot or an id that the user does not have. Raises StoreError for a malformed slot.
        """
        if (slot is None) == (id is None):
            raise StoreError("a history is that of a slot or of a row's id: give one of the two")
        order = "ORDER BY valid_from, seq"
        if slot is None:
            found = self.db.execute("SELECT slot FROM rows WHERE user = ? AND id = ?", (user, id)).fetchone()
            if not found or found[0] is None:
                return self._rows("user = ? AND id = ?", user, id)
            return self._rows(f"user = ? AND slot = ? {order}", user, found[0])
        if (key := slot_key(slot)) is None:
            raise StoreError(f"{slot!r} is no slot: write subject|relation|scope")
        return self._rows(f"user = ? AND slot = ? {order}", user, key)

    def _touch(self, user: str, hits: Sequence[Hit], seqs: Sequence[int], now: datetime) -> None:
        """Write the access of rows that were not accessed within the period, where they are still there."""
        period = self.policy.touch_period
        due = [seq for hit, seq in zip(hits, seqs, strict=True) if now - hit.row.last_accessed >= period]
        if not due:
            return
        with self.index.writing(self.db, user, enter=False):
            for seq in due:
                self.db.execute(
                    "UPDATE rows SET last_accessed = max(last_accessed, ?) WHERE user = ? AND seq = ?",
                    (micros(now), user, seq),
                )
            self.index.changed(self.db, user, due)

    def _row(self, seq: int) -> Row:
        return self._rows("seq = ?", seq)[0]

    def _rows(self, where: str, *values: object) -> list[Row]:
        return [row_of(found) for found in self.db.execute(f"SELECT {COLUMNS} FROM rows WHERE {where}", values)]


def _place(category: Category) -> int:
    try:
        return CATEGORIES.index(Category(category))
    except ValueError:
        raise StoreError(f"there is no category {category!r}: take some of {', '.join(Category)}") from None


def _asked(columns: Columns, historical: bool, at: int | None, kinds: Sequence[int]) -> NDArray[np.intp]:
    """The places of the rows that a search is about, before any is ranked."""
    asked = np.ones(len(columns), bool)
    if at is not None:
        asked = (columns["valid_from"] <= at) & (at < columns["valid_to"])
    elif not historical:
        asked = columns["status"] == OPEN
    if kinds:
        asked = asked & np.isin(columns["category"], kinds)
    return np.flatnonzero(asked)


def _recencies(columns: Columns, places: NDArray[np.intp], now: int, decay: float) -> _Floats:
    """The recency of the rows at some places, 0 elsewhere; 1 for an access in the future."""
    fresh = np.zeros(len(columns))
    hours = (now - columns["last_accessed"][places]) / _HOUR
    fresh[places] = [recency(each, decay) for each in hours.tolist()]
    return fresh


def _scores(policy: Policy, columns: Columns, relevance: _Floats, fresh: _Floats) -> _Floats:
    """The weighted mean of the three terms, with the recency weight of each row's category."""
    weights = policy.weights
    by_category = [policy.recency_weights.get(category, weights.recency) for category in CATEGORIES]
    if min(weights.relevance, weights.importance, *by_category) < 0 or not all(
        weights.relevance + weights.importance + weight for weight in by_category
    ):
        raise StoreError("the weights of a score must be 0 or more, and not all 0 for any category: mend the policy")
    of_recency = np.array(by_category, float)[columns["category"]]
    total = weights.relevance + weights.importance + of_recency
    weighed = weights.relevance * relevance + weights.importance * columns["importance"] + of_recency * fresh
    return np.asarray(weighed / total, float)
