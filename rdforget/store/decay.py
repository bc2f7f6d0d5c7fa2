"""Decay: how fresh a row is, and which episodes nobody has read for too long.

Both go by the hours since a row was last returned to somebody, never by its age.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from rdforget.records import Status
from rdforget.store.schema import writing
from rdforget.store.times import micros

_HOUR = timedelta(hours=1)
_DAY = 86_400_000_000
_BATCH = 5_000
"""Rows that one transaction closes: others can write in between."""


@dataclass(frozen=True, slots=True)
class Expired:
    """What a pass closed, or would close."""

    ids: tuple[str, ...]

    @property
    def rows(self) -> int:
        return len(self.ids)


def hours_since(last_accessed: datetime, now: datetime) -> float:
    """Hours since the last access; 0 where that lies in the future."""
    return max((now - last_accessed) / _HOUR, 0.0)


def recency(hours: float, decay: float) -> float:
    """`decay` to the power of the hours since last access, 0 to 1."""
    return float(decay ** max(hours, 0.0))


def expire(db: sqlite3.Connection, now: datetime, days: float, *, user: str | None, dry_run: bool) -> Expired:
    """Put open episodes that were not accessed for strictly more than `days` into cold storage, of a user or of all.

    They are closed and lose their vectors; their words stay, so that a historical search finds them. Each batch is
    a transaction of its own, so a pass that was cut off is gone on with by the next.
    """
    end = micros(now) - days * _DAY  # exact: both are whole and below 2**53
    mine = "" if user is None else "AND user = ?"
    values = (end,) if user is None else (end, user)
    found = f"""SELECT seq, id FROM rows INDEXED BY open_episodes
        WHERE status = 'ACTIVE' AND category = 'episodic' AND last_accessed < ? {mine} ORDER BY last_accessed"""
    if dry_run:
        return Expired(tuple(id for _, id in db.execute(found, values)))
    ids: list[str] = []
    # Found outside the transaction and asked once more inside: the lock is then held for the writing alone.
    while batch := db.execute(f"{found} LIMIT {_BATCH}", values).fetchall():
        with writing(db):
            ids += _close(db, [seq for seq, _ in batch], end, now)
    return Expired(tuple(ids))


def _close(db: sqlite3.Connection, seqs: list[int], end: float, now: datetime) -> list[str]:
    closed = db.execute(
        """UPDATE rows SET status = ?, closed_at = ?
        WHERE seq IN (SELECT value FROM json_each(?)) AND status = 'ACTIVE' AND last_accessed < ?
        RETURNING id, user, seq""",
        (Status.DEPRECATED, micros(now), json.dumps(seqs), end),
    ).fetchall()
    gone = json.dumps([seq for _, _, seq in closed])
    db.execute("DELETE FROM vectors WHERE seq IN (SELECT value FROM json_each(?))", (gone,))
    # One new version for all of them: it must be new to each, and need not differ between them.
    db.execute("UPDATE counters SET value = value + 1 WHERE name = 'version'")
    db.execute(
        """UPDATE users SET version = (SELECT value FROM counters WHERE name = 'version')
        WHERE id IN (SELECT value FROM json_each(?))""",
        (json.dumps([*{user for _, user, _ in closed}]),),
    )
    return [id for id, _, _ in closed]
