"""Rows between the file and the program."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from rdforget.records import Status
from rdforget.store.records import Category, Row
from rdforget.store.times import micros, moment

COLUMNS = (
    "id, user, text, slot, category, status, valid_from, valid_to, recorded_at, closed_at, superseded_by, "
    "last_accessed, importance, source, metadata"
)
"""The columns of `rows` that `row_of` takes, in its order."""


def row_of(record: tuple[Any, ...]) -> Row:
    """A row from its COLUMNS."""
    id, user, text, slot, category, status, start, end, recorded, closed, by, accessed, weight, source, meta = record
    return Row(
        id=id,
        user=user,
        text=text,
        slot=slot,
        category=Category(category),
        status=Status(status),
        valid_from=moment(start),
        valid_to=None if end is None else moment(end),
        recorded_at=moment(recorded),
        closed_at=None if closed is None else moment(closed),
        superseded_by=by,
        last_accessed=moment(accessed),
        importance=weight,
        source=source,
        metadata=json.loads(meta),
    )


def insert(db: sqlite3.Connection, row: Row, key: bytes) -> int:
    """Enter a row with the key of its text into `rows`, and nowhere else. Returns its `seq`."""
    values = (
        *(row.id, row.user, row.text, key, row.slot, row.category, row.status),
        *(_micros(time) for time in (row.valid_from, row.valid_to, row.recorded_at, row.closed_at)),
        *(row.superseded_by, micros(row.last_accessed), row.importance, row.source, metadata_json(row.metadata)),
    )
    names = COLUMNS.replace("text,", "text, hash,")
    seq = db.execute(f"INSERT INTO rows ({names}) VALUES ({', '.join('?' * len(values))})", values).lastrowid
    assert seq is not None
    return seq


def rows_of(db: sqlite3.Connection, user: str, *, open_only: bool) -> Iterator[Row]:
    """A user's rows in the order of their writing; those that are gone by their turn are left out."""
    state = "AND status = 'ACTIVE'" if open_only else ""
    # Read one by one: a statement left open half-way would keep an erasure from truncating the log.
    for (seq,) in db.execute(f"SELECT seq FROM rows WHERE user = ? {state} ORDER BY +seq", (user,)).fetchall():
        found = db.execute(f"SELECT {COLUMNS} FROM rows WHERE user = ? AND seq = ? {state}", (user, seq)).fetchone()
        if found:
            yield row_of(found)


def metadata_json(metadata: Mapping[str, Any]) -> str:
    """Metadata as it is stored. Raises TypeError and ValueError for what a file of JSON cannot hold."""
    if not isinstance(metadata, Mapping):
        raise TypeError(type(metadata))
    text = json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False)
    text.encode()
    return text


def _micros(time: datetime | None) -> int | None:
    return None if time is None else micros(time)
