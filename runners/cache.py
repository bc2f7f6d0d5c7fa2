"""The cache of replies: what any run was told for a request, by all that shapes the reply.

One SQLite file that several processes may use at once. Whoever is about to ask claims the request first, so that
nobody else pays for it meanwhile. Kept are no prompts, only their hash in the key of the call.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from rdforget.calls.base import Reply
from rdforget.records import Attempts
from runners.errors import Exit, UserError
from runners.holders import has_ended, new_holder

VERSION = 1
LAPSE = 60.0
"""Seconds after which a claim that is not renewed is free, where nothing is known of its process."""
_BUSY = 60.0  # seconds that a write waits for those of other processes, each of which takes a millisecond
_APPLICATION = 0x7264_6663  # "rdfc": marks the file as ours
_SCHEMA = f"""
CREATE TABLE replies (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, call TEXT NOT NULL, role TEXT NOT NULL, reply TEXT NOT NULL, owner TEXT
);
CREATE INDEX owned ON replies (owner) WHERE owner IS NOT NULL;
CREATE TABLE claims (key TEXT PRIMARY KEY, holder TEXT NOT NULL, deadline REAL NOT NULL);
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {VERSION};
"""
_REPLY: TypeAdapter[Reply] = TypeAdapter(Reply)


@dataclass(frozen=True, slots=True)
class Entry:
    """A reply with what it is the reply to."""

    model: Mapping[str, Any]
    """As `identity` gives it."""
    call: str
    """`Call.key`: messages, schema, cap, sampling and repeat index."""
    role: str
    reply: Reply
    owner: str | None = None
    """Whose data the request held, where it is a person's; `forget` goes by it."""

    @property
    def key(self) -> str:
        return key_of(self.model, self.call)


def identity(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What of a model's semantic settings shapes a reply: not how we call it, nor which variable has its key."""
    return {name: value for name, value in settings.items() if name not in ("name", "key_env")}


def key_of(model: Mapping[str, Any], call: str) -> str:
    """sha256 of a request's parts, independent of the order of their fields."""
    return hashlib.sha256(json.dumps([model, call], sort_keys=True).encode()).hexdigest()


def whole(reply: Reply) -> bool:
    """Whether a reply may stand for another time: not one that is empty, withheld or cut off."""
    return reply.finish_reason == "stop" and bool(reply.text.strip())


class ReplyCache:
    """The file, opened by one process. UserError where it cannot be used."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        """`clock` tells the time that deadlines are in; tests replace it."""
        self.path = path
        self._clock = clock
        self._holder = new_holder()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{path.parent} cannot hold a cache ({error.strerror}): give another --cache") from error
        with self._usable():
            self._db = sqlite3.connect(path, timeout=_BUSY, isolation_level=None)
            self._open()

    def find(self, key: str) -> Reply | None:
        with self._usable():
            row = self._db.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        # Whatever requests it took were another's.
        return replace(_REPLY.validate_json(row[0]), source="cache", attempts=Attempts(sent=0)) if row else None

    def claim(self, key: str, *, anew: bool = False) -> bool:
        """Whether the caller may ask now; False where somebody else is asking, or there is a reply by now, unless it is
        asked for anew.
        """
        now = self._clock()
        with self._writing():
            if not anew and self._db.execute("SELECT 1 FROM replies WHERE key = ?", (key,)).fetchone():
                return False
            claimed = self._db.execute("SELECT holder, deadline FROM claims WHERE key = ?", (key,)).fetchone()
            if claimed and claimed[1] > now and not has_ended(claimed[0]):
                return False
            self._db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", (key, self._holder, now + LAPSE))
        return True

    def renew(self) -> None:
        """Put off the deadline of everything that this process has claimed."""
        with self._writing():
            self._db.execute("UPDATE claims SET deadline = ? WHERE holder = ?", (self._clock() + LAPSE, self._holder))

    def release(self, key: str) -> None:
        """Give up a claim without a reply."""
        with self._writing():
            self._db.execute("DELETE FROM claims WHERE key = ? AND holder = ?", (key, self._holder))

    def keep(self, entry: Entry) -> None:
        """Store a reply that was paid for, in the place of one that was asked for anew, and give up the claim to it."""
        with self._writing():
            self._db.execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?)", _row(entry))
            self._db.execute("DELETE FROM claims WHERE key = ?", (entry.key,))

    def add(self, entries: Iterable[Entry]) -> int:
        """Take in replies of elsewhere, all or none; those that are known stay. Returns how many are new."""
        with self._writing():
            before = self._db.total_changes
            self._db.executemany("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?, ?)", map(_row, entries))
            return self._db.total_changes - before

    def entries(self) -> Iterator[Entry]:
        """Everything, ordered by key."""
        with self._usable():
            rows = self._db.execute("SELECT model, call, role, reply, owner FROM replies ORDER BY key")
            for model, call, role, reply, owner in rows:
                yield Entry(json.loads(model), call, role, _REPLY.validate_json(reply), owner)

    def forget(self, owner: str) -> int:
        """Erase the replies of an owner, so that the file's pages do not hold them any more; returns how many."""
        with self._writing():
            erased = self._db.execute("DELETE FROM replies WHERE owner = ?", (owner,)).rowcount
        self._checkpoint()
        return erased

    def clear(self) -> int:
        """Erase every reply and give the room back; returns how many. Claims stay: somebody may be asking."""
        with self._writing():
            erased = self._db.execute("DELETE FROM replies").rowcount
        with self._usable():
            self._db.execute("VACUUM")
        self._checkpoint()
        return erased

    def counts(self) -> list[tuple[str, str, int]]:
        """Replies by model and role."""
        with self._usable():
            rows = self._db.execute("SELECT model, role, count(*) FROM replies GROUP BY model, role ORDER BY 1, 2")
            return [(str(json.loads(model).get("model", "")), role, count) for model, role, count in rows]

    def claimed(self) -> int:
        """Requests that somebody is waiting for."""
        with self._usable():
            rows = self._db.execute("SELECT holder, deadline FROM claims").fetchall()
        return sum(deadline > self._clock() and not has_ended(holder) for holder, deadline in rows)

    def close(self) -> None:
        """Give up all claims and let go of the file."""
        try:
            with self._writing():
                self._db.execute("DELETE FROM claims WHERE holder = ?", (self._holder,))
        finally:
            self._db.close()

    def _open(self) -> None:
        self._patiently("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.execute("PRAGMA secure_delete=ON")
        with self._writing():
            [(version,)] = self._db.execute("PRAGMA user_version")
            [(application,)] = self._db.execute("PRAGMA application_id")
            if application == _APPLICATION and version > VERSION:
                raise UserError(
                    f"the cache {self.path} has version {version} and this rdf reads {VERSION}: update rdf, "
                    "or give another --cache"
                )
            if application != _APPLICATION:
                if self._db.execute("SELECT 1 FROM sqlite_master").fetchone():
                    raise UserError(f"{self.path} is another kind of database, not a cache: give another --cache")
                for statement in _SCHEMA.strip().split(";\n"):
                    self._db.execute(statement)

    def _patiently(self, statement: str) -> None:
        """Two processes that make the same file at once are told `locked` without being made to wait."""
        until = time.monotonic() + _BUSY
        while True:
            try:
                self._db.execute(statement)
                return
            except sqlite3.OperationalError as error:
                if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def _checkpoint(self) -> None:
        """Take the log into the file, so that no page of it holds what was erased."""
        with self._usable():
            [(busy, _, _)] = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if busy:
            raise UserError(f"the cache {self.path} is being read: erase again when the other process is done")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One short transaction, that waits for its turn."""
        with self._usable():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._db.in_transaction:  # a full disk has ended it already
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, ValueError) as error:
            told = f"the cache {self.path} cannot be used ({error}): move it away, give another --cache, or --no-cache"
            raise UserError(told, Exit.ABORTED) from error


def _row(entry: Entry) -> tuple[str, str, str, str, str, str | None]:
    reply = json.dumps(_REPLY.dump_python(replace(entry.reply, source="asked"), mode="json"), sort_keys=True)
    return entry.key, json.dumps(entry.model, sort_keys=True), entry.call, entry.role, reply, entry.owner
