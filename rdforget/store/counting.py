"""What a store holds and has decided, in numbers."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rdforget.store.records import Category, Outcome
from rdforget.store.schema import FILE


@dataclass(frozen=True, slots=True)
class Rows:
    """Numbers of rows by status."""

    open: int = 0
    closed: int = 0
    cold: int = 0


@dataclass(frozen=True, slots=True)
class Stats:
    """Numbers of one user, or of all; `file_bytes` are those of the whole store either way."""

    rows: Mapping[Category, Rows]
    decisions: Mapping[tuple[Outcome, str], int]
    """By outcome and reason."""
    withheld: Mapping[str, int]
    """By kind."""
    text_bytes: int
    vector_bytes: int
    file_bytes: int


def stats(db: sqlite3.Connection, folder: Path, user: str | None) -> Stats:
    """Count; nothing is written by that."""
    where, values = ("", ()) if user is None else ("WHERE user = ?", (user,))
    rows = dict.fromkeys(Category, Rows())
    sql = f"""SELECT category, sum(status = 'ACTIVE'), sum(status = 'SUPERSEDED'), sum(status = 'DEPRECATED')
        FROM rows {where} GROUP BY category"""
    for category, *counts in db.execute(sql, values):
        rows[Category(category)] = Rows(*counts)
    decisions = db.execute(
        f"SELECT outcome, reason, sum(n) FROM decisions {where} GROUP BY outcome, reason ORDER BY 1, 2", values
    )
    withheld = db.execute(f"SELECT kind, count(*) FROM withheld {where} GROUP BY kind ORDER BY kind", values)
    sizes = db.execute(
        f"""SELECT coalesce(sum(length(CAST(text AS BLOB))), 0), coalesce(sum(length(vector)), 0)
        FROM rows LEFT JOIN vectors USING (seq) {where}""",
        values,
    ).fetchone()
    return Stats(
        rows=rows,
        decisions={(Outcome(outcome), reason): n for outcome, reason, n in decisions},
        withheld=dict(withheld),
        text_bytes=sizes[0],
        vector_bytes=sizes[1],
        file_bytes=sum(path.stat().st_size for path in folder.glob(f"{FILE}*")),
    )
