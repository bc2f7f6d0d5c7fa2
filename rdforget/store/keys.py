"""The keys that texts are compared by, made anew when the normaliser of texts has changed."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from rdforget.store import identity
from rdforget.store.index import renew
from rdforget.store.schema import writing
from rdforget.store.times import micros


def renew_keys(db: sqlite3.Connection, now: datetime) -> None:
    """Make the keys of all texts anew where another version of the normaliser made them.

    Open rows that are the same text by it become one, the first; the others go cold.
    """
    version = str(identity.NORMALISER)
    if db.execute("SELECT 1 FROM settings WHERE name = 'normaliser' AND value = ?", (version,)).fetchone():
        return
    with writing(db):
        db.create_function("text_key", 1, identity.text_key, deterministic=True)
        db.execute("UPDATE rows SET hash = CAST(seq AS BLOB)")  # no key made anew can meet an old one
        db.execute(
            """UPDATE rows SET status = 'DEPRECATED', closed_at = ? WHERE seq IN (SELECT seq FROM (
                SELECT seq, row_number() OVER (PARTITION BY user, text_key(text) ORDER BY seq) AS place
                FROM rows WHERE status = 'ACTIVE') WHERE place > 1)""",
            (micros(now),),
        )
        db.execute("DELETE FROM vectors WHERE seq IN (SELECT seq FROM rows WHERE status = 'DEPRECATED')")
        db.execute("UPDATE rows SET hash = text_key(text)")
        for (user,) in db.execute("SELECT id FROM users").fetchall():
            renew(db, user)
        db.execute("INSERT OR REPLACE INTO settings (name, value) VALUES ('normaliser', ?)", (version,))
