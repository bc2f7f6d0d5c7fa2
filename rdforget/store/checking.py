"""Whether a store is sound: its file, what belongs together in it, and the proofs of what was erased."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from zlib import crc32

from rdforget.store import proofs
from rdforget.store.identity import text_key
from rdforget.store.index import terms_of
from rdforget.store.records import StoreError
from rdforget.store.schema import FILE, connect
from rdforget.store.times import moment
from rdforget.store.traces import vocabulary

_MOST = 20
"""Sentences of one kind; a damaged file may have millions."""


def problems(folder: Path) -> list[str]:
    """What is wrong with the store in a folder, a sentence each; none for a sound one. Changes nothing."""
    path = folder / FILE
    if path.is_file() and not path.stat().st_size:
        return [f"{path} is empty: put a copy in its place, or delete it to begin anew"]
    try:
        db = connect(folder, create=False)
    except StoreError as error:
        return [str(error)]
    found: list[str] = []
    with closing(db):
        try:
            for check in _CHECKS:
                found += _first(check(db))
                if found and check is _damage:  # what else a damaged file seems to lack follows from that
                    break
        except (sqlite3.Error, UnicodeError) as error:
            found.append(f"it cannot be read to its end: {error}")
    return [f"{path}: {sentence}" for sentence in found]


def _first(sentences: Iterator[str]) -> list[str]:
    every = list(sentences)
    return every if len(every) <= _MOST else [*every[:_MOST], f"and {len(every) - _MOST} more of this kind"]


def _damage(db: sqlite3.Connection) -> Iterator[str]:
    for (line,) in db.execute(f"PRAGMA integrity_check({_MOST})"):
        if line != "ok":
            yield f"the file is damaged ({' '.join(line.split())}): put a copy in its place"
    try:
        db.execute("INSERT INTO terms (terms) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        yield f"the index of words is damaged ({error}): put a copy in its place"


def _references(db: sqlite3.Connection) -> Iterator[str]:
    lost: defaultdict[tuple[str, str], int] = defaultdict(int)
    for table, _, parent, _ in db.execute("PRAGMA foreign_key_check"):
        lost[table, parent] += 1
    for (table, parent), n in lost.items():
        yield f"{n} of {table} belong to none of {parent}"


def _counters(db: sqlite3.Connection) -> Iterator[str]:
    # A number given out twice would let a cache take one user for another.
    for counter, column in (("user_key", "key"), ("version", "version")):
        last = db.execute("SELECT value FROM counters WHERE name = ?", (counter,)).fetchone()
        highest = db.execute(f"SELECT coalesce(max({column}), 0) FROM users").fetchone()[0]
        if last is None or last[0] < highest:
            yield f"the counter {counter} is behind the users' {highest}: put a copy in its place"


def _vectors(db: sqlite3.Connection) -> Iterator[str]:
    dim = db.execute("SELECT value FROM settings WHERE name = 'dim'").fetchone()
    for id, status, size in db.execute("SELECT id, status, length(vector) FROM rows LEFT JOIN vectors USING (seq)"):
        if status == "DEPRECATED":
            if size is not None:
                yield f"row {id} is cold and still has a vector"
        elif size is None:
            yield f"row {id} has no vector: searches cannot find it by likeness"
        elif dim and size != 4 * int(dim[0]):
            yield f"row {id} has a vector of {size} bytes instead of {4 * int(dim[0])}"


def _words(db: sqlite3.Connection) -> Iterator[str]:
    """The words of a row are compared by their number and the sum of their checksums."""
    held: defaultdict[int, int] = defaultdict(int)
    for word, seq in db.execute(f"SELECT term, doc FROM {vocabulary(db, 'instance')}"):
        held[seq] += _sum(word)
    documents = {seq for (seq,) in db.execute("SELECT id FROM terms_docsize")}
    for seq, id, text, key in db.execute("SELECT seq, rows.id, text, key FROM rows JOIN users ON users.id = user"):
        if seq not in documents:
            yield f"row {id} is not in the index of words: searches cannot find it by its words"
        elif held.pop(seq, 0) != sum(map(_sum, terms_of(key, text).split())):
            yield f"row {id} has other words in the index than in its text"
        documents.discard(seq)
    for seq in sorted(documents | {*held}):
        yield f"the index has words of a row {seq} that does not exist"


def _sum(word: str) -> int:
    return (1 << 64) + crc32(word.encode())


def _keys(db: sqlite3.Connection) -> Iterator[str]:
    for id, text, hash, metadata in db.execute("SELECT id, text, hash, metadata FROM rows"):
        try:
            if text_key(text) != hash:
                yield f"row {id} has a key that is not its text's: the same text could be stored twice"
        except StoreError as error:
            yield f"row {id} has a text that the store does not take: {error}"
        if not _is_json(metadata, dict):
            yield f"row {id} has metadata that are no object of JSON"
    for id, turns in db.execute("SELECT id, turns FROM chats"):
        if not _is_json(turns, list):
            yield f"chat {id!r} has turns that are no list of JSON"


def _is_json(text: str, kind: type) -> bool:
    try:
        return isinstance(json.loads(text), kind)
    except ValueError:
        return False


def _statuses(db: sqlite3.Connection) -> Iterator[str]:
    sql = "SELECT id, status, valid_to IS NOT NULL, closed_at IS NOT NULL, superseded_by IS NOT NULL FROM rows"
    for id, status, ended, closed, linked in db.execute(sql):
        if status == "ACTIVE" and (ended or closed or linked):
            yield f"row {id} is open and says when or by what it was closed"
        if status == "SUPERSEDED" and not (ended and closed):
            yield f"row {id} is superseded and does not say since when"


def _slots(db: sqlite3.Connection) -> Iterator[str]:
    # The unique indexes see to this; a file whose indexes were dropped opens all the same.
    for column, what in (("slot", "in the slot"), ("hash", "with the text")):
        sql = f"""SELECT min(id), count(*) FROM rows WHERE status = 'ACTIVE' AND {column} IS NOT NULL
            GROUP BY user, {column} HAVING count(*) > 1"""
        for id, n in db.execute(sql):
            yield f"{n} rows are open {what} of row {id}"
    versions = db.execute(
        """SELECT user, slot, id, valid_from, valid_to FROM rows WHERE slot IS NOT NULL
        ORDER BY user, slot, valid_from, seq"""
    )
    for (user, slot, id, _, end), (next_user, next_slot, next_id, start, _) in pairwise(versions):
        if (user, slot) == (next_user, next_slot) and (end is None or end > start):
            yield f"row {id} is valid beyond the beginning of row {next_id}, the next of its slot"


def _links(db: sqlite3.Connection) -> Iterator[str]:
    """A row may be superseded by none, where what had replaced it was erased, and by no row of another user."""
    links = db.execute(
        """SELECT old.id, old.superseded_by, new.user, old.user FROM rows AS old
        LEFT JOIN rows AS new ON new.id = old.superseded_by WHERE old.superseded_by IS NOT NULL"""
    )
    for id, target, owner, user in links:
        if owner is None:
            yield f"row {id} is superseded by a row {target} that does not exist"
        elif owner != user:
            yield f"row {id} is superseded by row {target} of another user"
        elif id == target:
            yield f"row {id} is superseded by itself"


def _proofs(db: sqlite3.Connection) -> Iterator[str]:
    broken = list(proofs.breaks(db))
    yield from broken
    if broken:
        return
    for content in proofs.unfinished(db):
        since = moment(content["at"]).isoformat(timespec="seconds")
        yield f"erasure {content['id']} of {since} is pending: end what reads the store, and verify again"


_CHECKS: tuple[Callable[[sqlite3.Connection], Iterator[str]], ...] = (
    _damage,
    _references,
    _counters,
    _vectors,
    _words,
    _keys,
    _statuses,
    _slots,
    _links,
    _proofs,
)
