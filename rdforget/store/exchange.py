"""Rows in and out of a store, a JSON object a row, with everything but the vectors."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from rdforget.records import Status
from rdforget.store import schema
from rdforget.store.identity import slot_key, valid_user
from rdforget.store.index import renew
from rdforget.store.records import Candidate, Decision, Outcome, Row, StoreError
from rdforget.store.refusal import refusal_of
from rdforget.store.rows import COLUMNS, row_of
from rdforget.store.times import micros, moment, parse_time
from rdforget.store.writing import SAME_TEXT, Draft, Vector, Writer, checked, count

KEYS = (*COLUMNS.split(", "), "restated")
"""Keys of an exported row, in their order. `restated` are later times at which its text was stated again."""
_TIMES = ("valid_from", "valid_to", "recorded_at", "closed_at", "last_accessed")
_STRINGS = ("id", "slot", "source", "superseded_by")
_ENDED = ("valid_to", "closed_at", "superseded_by")


def export(folder: Path, user: str | None) -> Iterator[dict[str, Any]]:
    """The rows of a user, or of all by user, in the order of their writing, as they are at one moment."""
    with closing(schema.connect(folder, create=False)) as db:
        db.execute("PRAGMA temp_store=MEMORY")  # sorting leaves no text in a file
        db.execute("BEGIN")
        users = [user] if user is not None else [id for (id,) in db.execute("SELECT id FROM users ORDER BY id")]
        for each in users:
            # `+seq`: with a plain one SQLite may walk the rows of all users in that order.
            for seq, *record in db.execute(f"SELECT seq, {COLUMNS} FROM rows WHERE user = ? ORDER BY +seq", (each,)):
                again = db.execute("SELECT at FROM restated WHERE seq = ? ORDER BY at", (seq,)).fetchall()
                yield _line(row_of(tuple(record)), [moment(at) for (at,) in again])


def _line(row: Row, restated: list[datetime]) -> dict[str, Any]:
    line: dict[str, Any] = {key: getattr(row, key) for key in KEYS[:-1]}
    for key in _TIMES:
        line[key] = line[key] and line[key].isoformat()
    return line | {
        "category": str(row.category),
        "status": str(row.status),
        "restated": [time.isoformat() for time in restated],
    }


@dataclass(frozen=True, slots=True)
class Line:
    """A line that may be stored: its number, from 1, its row, and when its text was stated again."""

    number: int
    draft: Draft
    restated: tuple[datetime, ...]

    @property
    def row(self) -> Row:
        return self.draft.row


def import_rows(writer: Writer, user: str | None, lines: Iterable[Mapping[str, Any]], now: datetime) -> list[Decision]:
    """Restore exported rows, all or none, with their ids, times and links; `user`: no other user's are taken.

    A row that is there already is a duplicate, whatever its last access. So is an open row whose text is open under
    another id: what it replaced is linked to that one. What the store refuses now is refused here too, and links to
    it are dropped. Raises StoreError, which names the line.
    """
    read = [_read(number, line, user) for number, line in enumerate(lines, start=1)]
    refusals = [refusal_of(_candidate(line.row)) for line in read]
    texts = [line.row.text for line, refusal in zip(read, refusals, strict=True) if not refusal]
    vectors = iter(writer.vectors.embed(texts) if texts else ())
    decisions: list[Decision] = []
    by_user: dict[str, list[Decision]] = {line.row.user: [] for line in read}
    taken: list[Line] = []
    instead: dict[tuple[str, str], str | None] = {}
    with schema.writing(writer.db):
        for each in by_user:
            renew(writer.db, each)
        for line, refusal in zip(read, refusals, strict=True):
            if refusal:
                decision = writer.withhold(line.row.user, refusal, now)
            else:
                with _naming(line.number):
                    decision = _restore(writer, line, next(vectors))
            decisions.append(decision)
            by_user[line.row.user].append(decision)
            if decision.outcome is Outcome.ADDED:
                taken.append(line)
            elif decision.id != line.row.id:
                instead[line.row.user, line.row.id] = decision.id
        _link(writer.db, taken, instead)
        for line in taken:
            with _naming(line.number):
                _check(writer.db, line.row)
        for each, of_user in by_user.items():
            count(writer.db, each, of_user)
    return decisions


def _restore(writer: Writer, line: Line, vector: Vector) -> Decision:
    db, row = writer.db, line.row
    # Ids are those of no other user either: the answer is the same for theirs.
    found = db.execute(f"SELECT {COLUMNS} FROM rows WHERE id = ?", (row.id,)).fetchone()
    if found:
        if replace(row_of(found), last_accessed=row.last_accessed) != row:
            raise StoreError(f"the id {row.id!r} is taken by another row: import into a store without it")
        return Decision(Outcome.DUPLICATE, row.id, reason=SAME_TEXT)
    if row.status is Status.ACTIVE:
        same = db.execute(
            "SELECT id FROM rows WHERE user = ? AND hash = ? AND status = 'ACTIVE'", (row.user, line.draft.key)
        ).fetchone()
        if same:
            return Decision(Outcome.DUPLICATE, same[0], reason=SAME_TEXT)
    try:
        seq = writer.enter(row, line.draft.key, vector)
    except sqlite3.IntegrityError:
        raise StoreError(f"the slot {row.slot!r} has another open row: add the text instead") from None
    db.executemany("INSERT OR IGNORE INTO restated VALUES (?, ?)", [(seq, micros(time)) for time in line.restated])
    return Decision(Outcome.ADDED, row.id)


def _link(db: sqlite3.Connection, taken: list[Line], instead: Mapping[tuple[str, str], str | None]) -> None:
    """Turn links to rows that were not taken to what is there instead of them."""
    for line in taken:
        user, target = line.row.user, line.row.superseded_by
        if target is not None and (user, target) in instead:
            values = (instead[user, target], user, line.row.id)
            db.execute("UPDATE rows SET superseded_by = ? WHERE user = ? AND id = ?", values)


def _check(db: sqlite3.Connection, row: Row) -> None:
    """Raise StoreError if a restored row links to nothing, or is valid while another of its slot is."""
    mine = "FROM rows WHERE user = ?"
    seq, target = db.execute(f"SELECT seq, superseded_by {mine} AND id = ?", (row.user, row.id)).fetchone()
    if target and not db.execute(f"SELECT 1 {mine} AND id = ?", (row.user, target)).fetchone():
        raise StoreError(f"superseded_by is {target!r}, which is no row of that user")
    at = (row.user, row.slot, micros(row.valid_from), seq)
    before = db.execute(
        f"SELECT valid_to {mine} AND slot = ? AND (valid_from, seq) < (?, ?) ORDER BY valid_from DESC, seq DESC", at
    ).fetchone()
    after = db.execute(
        f"SELECT valid_from {mine} AND slot = ? AND (valid_from, seq) > (?, ?) ORDER BY valid_from, seq", at
    ).fetchone()
    ends = None if row.valid_to is None else micros(row.valid_to)
    if (before and (before[0] is None or before[0] > at[2])) or (after and (ends is None or ends > after[0])):
        raise StoreError(f"another row of the slot {row.slot!r} is valid at the same time: add the text instead")


def _read(number: int, line: Mapping[str, Any], user: str | None) -> Line:
    """A line as far as it can be told right without the store. Raises StoreError, which names its number."""
    with _naming(number):
        if not isinstance(line, Mapping) or set(line) != set(KEYS):
            raise StoreError(f"it must be an object with the keys {', '.join(KEYS)}, as export writes it")
        times = {key: None if line[key] is None and key in _ENDED else _time(key, line[key]) for key in _TIMES}
        if not all(line[key] is None or isinstance(line[key], str) for key in _STRINGS):
            raise StoreError(f"{', '.join(_STRINGS)} must be strings")
        if not isinstance(line["restated"], list):
            raise StoreError("restated must be a list of times")
        if not line["id"] or not line["id"].isprintable():
            raise StoreError(f"{line['id']!r} is no id of a row")
        if line["status"] not in tuple(Status):
            raise StoreError(f"there is no status {line['status']!r}: take one of {', '.join(Status)}")
        row = Row(**{key: line[key] for key in KEYS[:-1]} | times | {"user": valid_user(line["user"])})
        draft = checked(replace(row, status=Status(row.status)))
        _check_alone(draft.row, user)
        return Line(number, draft, tuple(_time("restated", time) for time in line["restated"]))


def _check_alone(row: Row, user: str | None) -> None:
    if user is not None and row.user != user:
        raise StoreError(f"it is a row of another user than {user!r}: import it for that one")
    if slot_key(row.slot) != row.slot:
        raise StoreError(f"the slot {row.slot!r} is not subject|relation|scope in lower case, as export writes it")
    if row.valid_to is not None and row.valid_to < row.valid_from:
        raise StoreError(f"its end {row.valid_to.isoformat()} lies before its start {row.valid_from.isoformat()}")
    if row.status is Status.ACTIVE and (row.valid_to or row.closed_at or row.superseded_by):
        raise StoreError(f"an ACTIVE row has none of {', '.join(_ENDED)}")
    if row.status is not Status.ACTIVE and row.closed_at is None:
        raise StoreError(f"a row that is {row.status} needs closed_at")
    if row.status is Status.SUPERSEDED and row.valid_to is None:
        raise StoreError("a row that is SUPERSEDED needs valid_to")


def _time(key: str, value: object) -> datetime:
    if not isinstance(value, str):
        raise StoreError(f"{key} must be a time, such as 2024-03-01T00:30:00+02:00")
    return parse_time(value)


@contextmanager
def _naming(number: int) -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        raise StoreError(f"line {number}: {error}") from None


def _candidate(row: Row) -> Candidate:
    return Candidate(row.text, row.slot, source=row.source, metadata=row.metadata)
