"""Deleted text that is still in the file, and how it is got out.

SQLite keeps it in four places: freed pages and cells, which `secure_delete` overwrites; segments of the word index,
which `optimize` writes anew; the log beside the file, which a checkpoint empties unless somebody still reads an earlier
state; and the unused part of index pages that were split while the text was there, which `secure_delete` does not reach
(seen with 3.40.1 for a user of 2,000 rows). Only a file written anew is without those.
"""

from __future__ import annotations

import sqlite3

from rdforget.store.traces import vocabulary

CHECKPOINT_MS = 100
"""How long the scrub waits for readers of an earlier state; others cannot write meanwhile."""


def scrubbed(db: sqlite3.Connection) -> bool:
    """Whether deleted words and the log are gone from the files."""
    db.execute("INSERT INTO terms (terms) VALUES ('optimize')")
    return empty_log(db)


def empty_log(db: sqlite3.Connection) -> bool:
    """Whether the log could be taken into the file and emptied: not while somebody reads an earlier state."""
    (patience,) = db.execute("PRAGMA busy_timeout").fetchone()
    db.execute(f"PRAGMA busy_timeout={CHECKPOINT_MS}")
    try:
        (busy, *_) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError:  # the reader is this very connection
        return False
    finally:
        db.execute(f"PRAGMA busy_timeout={patience}")
    return not busy


def rewritten(db: sqlite3.Connection) -> bool:
    """Whether the file could be written anew from what it holds."""
    try:
        db.execute("VACUUM")
    except sqlite3.OperationalError:  # this connection is reading, or the disk is full
        return False
    return True


def has_words(db: sqlite3.Connection, key: int) -> bool:
    """Whether the index holds a word of the user of that key."""
    sql = f"SELECT 1 FROM {vocabulary(db, 'row')} WHERE term >= ? AND term < ? LIMIT 1"
    return any(db.execute(sql, (f"u{key}{mark}", f"u{key}{chr(ord(mark) + 1)}")).fetchone() for mark in "hx")
