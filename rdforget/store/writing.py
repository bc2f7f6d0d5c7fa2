"""The write path: what becomes of a candidate, in one transaction for a batch.

Nothing is written before every candidate of a batch has been checked. What may be stored is compared with the open
rows of its user by text, placed in its slot by event time, and else compared by cosine.

The versions of a slot are the same in whatever order its facts arrive: sorted by event time, with runs of one text
as one row. So a fact may come late and split a row, where the text of that row was stated again afterwards; the table
`restated` keeps those times.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from rdforget.records import Status
from rdforget.store.guard import agree
from rdforget.store.identity import slot_key, text_key
from rdforget.store.index import Index
from rdforget.store.records import Candidate, Category, Decision, Outcome, Policy, Row, StoreError
from rdforget.store.refusal import Refusal, refusal_of
from rdforget.store.rows import COLUMNS, insert, metadata_json, row_of
from rdforget.store.times import aware, micros, moment
from rdforget.store.vectors import Vectors

SAME_TEXT = "same text"
NEAR_DUPLICATE = "near duplicate"
_NEAREST = 100
"""Rows compared at most: the nearest may all disagree about a number."""

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Draft:
    """A candidate that may be stored: the row that it would be, and the key of its text."""

    row: Row
    key: bytes


Batch = Sequence[Refusal | tuple[Draft, Vector]]
"""What may be stored, with its vector, and what may not, in the order of the candidates."""


@dataclass(frozen=True, slots=True)
class Version:
    """A row of the file, as it may have to make room for another."""

    seq: int
    key: bytes
    row: Row


@dataclass(frozen=True, slots=True)
class Writer:
    """What writes need besides the candidates."""

    db: sqlite3.Connection
    index: Index
    vectors: Vectors
    policy: Policy
    ids: Callable[[], str]

    def add(self, user: str, candidates: Sequence[Candidate], now: datetime, *, force: bool) -> list[Decision]:
        """Take candidates in their order, all or none; `force` leaves out the comparison by cosine.

        Raises StoreError for a candidate that is malformed; a refused one is a decision.
        """
        if not candidates:
            return []
        batch = self.prepared(user, candidates, now)
        with self.index.writing(self.db, user):
            return self.write(user, batch, now, force=force)

    def prepared(self, user: str, candidates: Sequence[Candidate], now: datetime) -> Batch:
        """Candidates as far as they can be judged without the file. Raises StoreError for a malformed one."""
        drafts = [draft(user, candidate, now) for candidate in candidates]
        refusals = [refusal_of(candidate) for candidate in candidates]
        texts = [each.row.text for each, refusal in zip(drafts, refusals, strict=True) if not refusal]
        # Before the transaction: embedding may ask a server, and nobody else can write meanwhile.
        vectors = iter(self.vectors.embed(texts) if texts else ())
        return [refusal or (each, next(vectors)) for each, refusal in zip(drafts, refusals, strict=True)]

    def write(self, user: str, batch: Batch, now: datetime, *, force: bool = False) -> list[Decision]:
        """Take what was prepared, inside a write transaction for the user."""
        decisions = [
            self.withhold(user, each, now) if isinstance(each, Refusal) else self._decide(*each, force)
            for each in batch
        ]
        count(self.db, user, decisions)
        return decisions

    def withhold(self, user: str, refusal: Refusal, now: datetime) -> Decision:
        """Write down that something was refused, and nothing of what it was."""
        values = (user, refusal.kind, refusal.rule, micros(now))
        self.db.execute("INSERT INTO withheld (user, kind, rule, at) VALUES (?, ?, ?, ?)", values)
        return Decision(Outcome.REFUSED, reason=refusal.kind)

    def enter(self, row: Row, key: bytes, vector: Vector) -> int:
        """Write a row with its words and its vector, which a cold one has not. Returns its `seq`."""
        seq = insert(self.db, row, key)
        self.index.add(self.db, row.user, seq, row.text, vector)
        return seq

    def _decide(self, new: Draft, vector: Vector, force: bool) -> Decision:
        user, slot, time = new.row.user, new.row.slot, new.row.valid_from
        same = self._version(user, "hash = ? AND status = 'ACTIVE'", new.key)
        if same and (slot is None or same.row.slot != slot):
            return self._said_elsewhere(same, new.row)
        before = after = None
        if slot:
            at = micros(time)
            last = "slot = ? AND valid_from <= ? ORDER BY valid_from DESC, seq DESC LIMIT 1"
            before = self._version(user, last, slot, at)
            after = self._version(user, "slot = ? AND valid_from > ? ORDER BY valid_from, seq LIMIT 1", slot, at)
        replaces = after or (before and before.row.status is Status.ACTIVE)
        if not replaces and not force and (near := self._near(new.row, vector)):
            return Decision(Outcome.DUPLICATE, near, reason=NEAR_DUPLICATE)
        return self._between(before, after, new, vector)

    def _said_elsewhere(self, same: Version, new: Row) -> Decision:
        """Skip a text that is open outside its slot; what it would have replaced there is closed all the same."""
        if same.row.slot is None and new.valid_from < same.row.valid_from:
            self._begin(same, new.valid_from)
        old = self._version(new.user, "slot = ? AND status = 'ACTIVE'", new.slot)
        if old is None or old.row.valid_from > new.valid_from or self._restated(old, new.valid_from):
            return Decision(Outcome.DUPLICATE, same.row.id, reason=SAME_TEXT)
        self._end(old, new.valid_from, same.row.id, new.recorded_at)
        return Decision(Outcome.DUPLICATE, same.row.id, old.row.id, SAME_TEXT)

    def _near(self, new: Row, vector: Vector) -> str | None:
        """The nearest open row that says the same; rows of another slot say something else."""
        least = self.policy.near_duplicate
        least = self.vectors.near_duplicate if least is None else least
        for seq, _ in self.index.nearest(self.db, new.user, vector, _NEAREST, above=least):
            other = self._version(new.user, "seq = ?", seq)
            if other is None or (other.row.slot and new.slot and other.row.slot != new.slot):
                continue
            if self.policy.literal or agree(other.row.text, new.text):
                return other.row.id
        return None

    def _between(self, before: Version | None, after: Version | None, new: Draft, vector: Vector) -> Decision:
        """Enter a version between its neighbours in event order, or note that one of them says it already."""
        row, time = new.row, new.row.valid_from
        taken = before is not None and before.row.valid_from == time
        if before and before.row.valid_to and before.row.valid_to <= time:
            before = None  # something erased lies between: it is not known to hold until now
        again = self._restated(before, time) if before else None
        end = again or (before.row.valid_to if before else None) or (after.row.valid_from if after else None)
        if before and before.key == new.key and (end or before.row.status is not Status.DEPRECATED):
            if not taken:
                self._restate(before, time)
            return Decision(Outcome.DUPLICATE, before.row.id, reason=SAME_TEXT)
        if after and after.key == new.key and end == after.row.valid_from and not taken:
            if before:
                self._end(before, time, after.row.id, row.recorded_at)
            self._restate(after, after.row.valid_from)
            self._begin(after, time)
            return Decision(Outcome.DUPLICATE, after.row.id, reason=SAME_TEXT)

        row = replace(row, id=self.ids())
        if before:
            self._end(before, time, row.id, row.recorded_at)
        if end is None:
            self.enter(row, new.key, vector)
            if before and before.row.status is Status.ACTIVE:
                return Decision(Outcome.SUPERSEDED, row.id, before.row.id)
            return Decision(Outcome.ADDED, row.id)
        rest = replace(before.row, id=self.ids(), valid_from=again) if before and again else None
        later = before.row.superseded_by if before else None
        if rest:
            later = rest.id
        elif after and after.row.valid_from == end:
            later = after.row.id
        late = replace(row, status=Status.SUPERSEDED, valid_to=end, superseded_by=later, closed_at=row.recorded_at)
        self.enter(late, new.key, vector)
        if before and rest:
            self._split(before, rest)
        return Decision(Outcome.LATE, late.id, later)

    def _split(self, version: Version, rest: Row) -> None:
        """Enter what a version said again after a late one came in between."""
        blob = self.db.execute("SELECT vector FROM vectors WHERE seq = ?", (version.seq,)).fetchone()
        vector = np.frombuffer(blob[0], "<f4") if blob else np.zeros(self.index.dim, "<f4")
        seq = self.enter(rest, version.key, vector)
        at = micros(rest.valid_from)
        self.db.execute("UPDATE restated SET seq = ? WHERE seq = ? AND at > ?", (seq, version.seq, at))
        self.db.execute("DELETE FROM restated WHERE seq = ? AND at = ?", (version.seq, at))

    def _end(self, version: Version, time: datetime, by: str, now: datetime) -> None:
        """End a version where another begins; the open one is closed by that."""
        status = Status.DEPRECATED if version.row.status is Status.DEPRECATED else Status.SUPERSEDED
        self.db.execute(
            """UPDATE rows SET status = ?, valid_to = ?, superseded_by = ?, closed_at = coalesce(closed_at, ?)
            WHERE user = ? AND seq = ?""",
            (status, micros(time), by, micros(now), version.row.user, version.seq),
        )
        self.db.execute("DELETE FROM restated WHERE seq = ? AND at = ?", (version.seq, micros(time)))
        self.index.changed(self.db, version.row.user, [version.seq])

    def _begin(self, version: Version, time: datetime) -> None:
        user = version.row.user
        self.db.execute("UPDATE rows SET valid_from = ? WHERE user = ? AND seq = ?", (micros(time), user, version.seq))
        self.index.changed(self.db, user, [version.seq])

    def _restate(self, version: Version, time: datetime) -> None:
        self.db.execute("INSERT OR IGNORE INTO restated (seq, at) VALUES (?, ?)", (version.seq, micros(time)))

    def _restated(self, version: Version, time: datetime) -> datetime | None:
        """When the text of a version was first said again after a time."""
        sql = "SELECT min(at) FROM restated WHERE seq = ? AND at > ?"
        at = self.db.execute(sql, (version.seq, micros(time))).fetchone()[0]
        return None if at is None else moment(at)

    def _version(self, user: str, where: str, *values: object) -> Version | None:
        sql = f"SELECT seq, hash, {COLUMNS} FROM rows WHERE user = ? AND {where}"
        found = self.db.execute(sql, (user, *values)).fetchone()
        return Version(found[0], found[1], row_of(found[2:])) if found else None


def draft(user: str, candidate: Candidate, now: datetime) -> Draft:
    """The row that a candidate would be, still without an id. Raises StoreError for a malformed candidate."""
    row = Row(
        id="",
        user=user,
        text=candidate.text,
        slot=slot_key(candidate.slot),
        category=candidate.category,
        status=Status.ACTIVE,
        valid_from=now if candidate.valid_from is None else aware(candidate.valid_from),
        valid_to=None,
        recorded_at=now,
        closed_at=None,
        superseded_by=None,
        last_accessed=now,
        importance=candidate.importance,
        source=candidate.source,
        metadata=candidate.metadata,
    )
    return checked(row)


def checked(row: Row) -> Draft:
    """A row that the file can hold, with the key of its text. Raises StoreError, which never quotes a text."""
    if not isinstance(row.text, str):
        raise StoreError(f"the text of a memory must be a string, not {type(row.text).__name__}")
    key = text_key(row.text)
    try:
        category = Category(row.category)
    except ValueError:
        raise StoreError(f"there is no category {row.category!r}: take one of {', '.join(Category)}") from None
    weight = row.importance
    if not isinstance(weight, int | float) or not (math.isfinite(weight) and 0 <= weight <= 1):
        raise StoreError(f"the importance {weight!r} is not between 0 and 1")
    try:
        (row.source or "").encode()
        metadata_json(row.metadata)
    except (AttributeError, TypeError, ValueError, RecursionError):
        raise StoreError("source must be a string and metadata an object of JSON: remove what is not") from None
    return Draft(replace(row, category=category, importance=float(weight)), key)


def count(db: sqlite3.Connection, user: str, decisions: Sequence[Decision]) -> None:
    """Add to the counts of outcomes and reasons of a user."""
    for (outcome, reason), n in Counter((d.outcome, d.reason) for d in decisions).items():
        db.execute(
            """INSERT INTO decisions (user, outcome, reason, n) VALUES (?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET n = n + excluded.n""",
            (user, outcome, reason, n),
        )
