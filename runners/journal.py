"""The journal of a run: replies and records in SQLite, written as they come.

A reply is on disk before anything is made of it, a record before it counts. Memories that several questions
share are stored once, by content. A killed process loses nothing; a machine that loses its power may lose the last
moments, as waiting for the disk would hold up every reply by 4 ms.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import sqlite3
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from pydantic import TypeAdapter

from rdforget.calls.base import Call, Reply
from rdforget.records import CallRecord, Record, Score, Verdict
from runners.errors import UserError

FILE = "journal.sqlite"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS rejudge_replies (
    id INTEGER PRIMARY KEY, judge TEXT NOT NULL, key TEXT NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS builds (history TEXT PRIMARY KEY, calls TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rejudged (
    ordinal INTEGER NOT NULL, judge TEXT NOT NULL, prompts TEXT NOT NULL, scores TEXT NOT NULL, calls TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS memories (sha256 TEXT PRIMARY KEY, content TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS records (
    ordinal INTEGER NOT NULL, attempt INTEGER NOT NULL, item TEXT NOT NULL, content TEXT NOT NULL,
    seconds REAL NOT NULL, PRIMARY KEY (ordinal, attempt)
);
"""
_RECORD: TypeAdapter[Record] = TypeAdapter(Record)
_REPLY: TypeAdapter[Reply] = TypeAdapter(Reply)
_SCORES: TypeAdapter[tuple[Score, ...]] = TypeAdapter(tuple[Score, ...])
_CALLS: TypeAdapter[tuple[CallRecord, ...]] = TypeAdapter(tuple[CallRecord, ...])


class Journal:
    """Append-only store of one run folder."""

    def __init__(self, folder: Path) -> None:
        self._db = sqlite3.connect(folder / FILE, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")  # whole, or not at all

    def add_reply(self, call: Call, reply: Reply) -> None:
        """Keep what a model said, before it is parsed."""
        self._db.execute(
            "INSERT INTO replies (key, role, content) VALUES (?, ?, ?)",
            (call.key, call.role, _dump(_REPLY.dump_python(reply, mode="json"))),
        )

    def add_rejudge_reply(self, judge: str, call: Call, reply: Reply) -> None:
        """Keep what another judge said, apart: the run's own calls may have the same keys."""
        self._db.execute(
            "INSERT INTO rejudge_replies (judge, key, role, content) VALUES (?, ?, ?, ?)",
            (judge, call.key, call.role, _dump(_REPLY.dump_python(reply, mode="json"))),
        )

    def add_build(self, history: str, calls: tuple[CallRecord, ...]) -> None:
        """Keep the calls that a memory shared by several questions took; no record counts them."""
        self._db.execute(
            "INSERT OR REPLACE INTO builds VALUES (?, ?)", (history, _dump(_CALLS.dump_python(calls, mode="json")))
        )

    def add_record(self, ordinal: int, record: Record, seconds: float) -> None:
        """Keep the outcome of the question at position `ordinal`; `seconds` is how long it took.

        A question asked again after a failure is a further attempt; the last one counts.
        """
        content = _RECORD.dump_python(record, mode="json")
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            if content["trace"]:
                memory = _dump(content["trace"]["memory"])
                sha256 = hashlib.sha256(memory.encode()).hexdigest()
                self._db.execute("INSERT OR IGNORE INTO memories VALUES (?, ?)", (sha256, memory))
                content["trace"]["memory"] = sha256
            self._db.execute(
                "INSERT INTO records SELECT ?, 1 + count(*), ?, ?, ? FROM records WHERE ordinal = ?",
                (ordinal, record.query.id, _dump(content), seconds, ordinal),
            )

    def add_rejudged(
        self, ordinal: int, judge: str, prompts: str, scores: tuple[Score, ...], calls: tuple[CallRecord, ...]
    ) -> None:
        """Keep what another judge gave the answer at position `ordinal`; earlier scores stay."""
        self._db.execute(
            "INSERT INTO rejudged VALUES (?, ?, ?, ?, ?)",
            (
                ordinal,
                judge,
                prompts,
                _dump(_SCORES.dump_python(scores, mode="json")),
                _dump(_CALLS.dump_python(calls, mode="json")),
            ),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        # A finished run is one file to copy, and reading it leaves nothing beside it.
        with suppress(sqlite3.OperationalError):  # somebody else is reading it
            self._db.execute("PRAGMA journal_mode=DELETE")
        self._db.close()


def read_records(folder: Path) -> Iterator[Record]:
    """The records of a run folder in the order of the suite, with the scores of judges that came later."""
    return (record for _, record in read_numbered(folder))


def read_numbered(folder: Path) -> Iterator[tuple[int, Record]]:
    """The records with their positions in the suite, with the scores of judges that came later; of several attempts
    and of several verdicts of one judge the last."""
    with _reading(folder) as db:
        # Questions that share a memory stand together, and where none is shared all of them would fill the process.
        @lru_cache(maxsize=4)
        def memory(sha256: str) -> Any:
            [(text,)] = db.execute("SELECT content FROM memories WHERE sha256 = ?", (sha256,))
            return json.loads(text)

        later: defaultdict[int, dict[str, Any]] = defaultdict(dict)
        for ordinal, judge, scores in db.execute("SELECT ordinal, judge, scores FROM rejudged ORDER BY rowid"):
            later[ordinal][judge] = json.loads(scores)
        # SQLite takes a bare column from the row that has the maximum.
        last = "SELECT ordinal, content, max(attempt) FROM records GROUP BY ordinal ORDER BY ordinal"
        for ordinal, text, _ in db.execute(last):
            content = json.loads(text)
            content["scores"] += itertools.chain.from_iterable(later[ordinal].values())
            if content["trace"]:
                content["trace"]["memory"] = memory(content["trace"]["memory"])
            yield ordinal, _RECORD.validate_python(content)


def read_outcomes(folder: Path) -> dict[int, Record]:
    """The records by their positions without gold, trace and calls: all that going on with a run needs, and fast."""
    parts = ", ".join(f"json_extract(content, '$.{name}')" for name in ("query", "scores", "failure"))
    outcomes = {}
    with _reading(folder) as db:
        last = f"SELECT ordinal, {parts}, max(attempt) FROM records GROUP BY ordinal ORDER BY ordinal"
        for ordinal, query, scores, failure, _ in db.execute(last):
            record = {"query": json.loads(query), "gold": {}, "scores": json.loads(scores)}
            record["failure"] = json.loads(failure) if failure else None
            outcomes[ordinal] = _RECORD.validate_python(record)
    return outcomes


def read_calls_of(folder: Path, ordinals: Iterable[int]) -> Iterator[CallRecord]:
    """The calls of questions, of several attempts those of the last."""
    last = "SELECT json_extract(content, '$.calls') FROM records WHERE ordinal = ? ORDER BY attempt DESC LIMIT 1"
    with _reading(folder) as db:
        for ordinal in ordinals:
            for (calls,) in db.execute(last, (ordinal,)):
                yield from _CALLS.validate_json(calls)


class Replies(Mapping[str, Reply]):
    """Replies by the key of their call, each read when it is wanted."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def __getitem__(self, key: str) -> Reply:
        return _REPLY.validate_json(self._texts[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


def read_replies(folder: Path, *, judge: str | None = None, but: Container[str] = ()) -> Replies:
    """The replies that were kept, or those of a later judge; of several to a call the last.

    Keys in `but` are left out.
    """
    later = "SELECT key, content FROM rejudge_replies WHERE judge = ? ORDER BY id"
    query, values = (later, (judge,)) if judge is not None else ("SELECT key, content FROM replies ORDER BY id", ())
    with _reading(folder) as db:
        return Replies({key: text for key, text in db.execute(query, values) if key not in but})


def read_unread(folder: Path, judge: str) -> set[str]:
    """The keys of a later judge's calls that led to no verdict."""
    last = "SELECT max(rowid) FROM rejudged WHERE judge = ? GROUP BY ordinal"
    with _reading(folder) as db:
        return {
            call.key
            for scores, calls in db.execute(f"SELECT scores, calls FROM rejudged WHERE rowid IN ({last})", (judge,))
            if any(score.verdict is Verdict.INVALID for score in _SCORES.validate_json(scores))
            for call in _CALLS.validate_json(calls)
        }


def read_roles(folder: Path) -> Iterator[tuple[str, str, Reply]]:
    """Role and key of every call with its reply, in the order in which they came; of several replies the last."""
    last = "SELECT role, key, content FROM replies WHERE id IN (SELECT max(id) FROM replies GROUP BY key) ORDER BY id"
    with _reading(folder) as db:
        for role, key, text in db.execute(last):
            yield role, key, _REPLY.validate_json(text)


def read_calls(folder: Path) -> tuple[list[tuple[str, Reply]], list[CallRecord]]:
    """What all sessions of a run asked: role and reply of the calls that were answered, and those that were not."""
    with _reading(folder) as db:
        replies = db.execute("SELECT role, content FROM replies ORDER BY id")
        answered = [(role, _REPLY.validate_json(text)) for role, text in replies]
        records = (json.loads(text) for (text,) in db.execute("SELECT content FROM records"))
        return answered, [one for record in records for one in _CALLS.validate_python(record.get("unanswered", ()))]


def read_rejudge_calls(folder: Path, judge: str) -> list[tuple[str, Reply]]:
    """Role and reply of what a later judge was asked, in every session."""
    rows = "SELECT role, content FROM rejudge_replies WHERE judge = ? ORDER BY id"
    with _reading(folder) as db:
        return [(role, _REPLY.validate_json(text)) for role, text in db.execute(rows, (judge,))]


def read_builds(folder: Path) -> dict[str, tuple[CallRecord, ...]]:
    """The calls of shared memories by the id of their history."""
    with _reading(folder) as db:
        rows = db.execute("SELECT history, calls FROM builds ORDER BY rowid")
        return {history: _CALLS.validate_json(calls) for history, calls in rows}


@contextmanager
def _reading(folder: Path) -> Iterator[sqlite3.Connection]:
    """The journal of a run, to read; UserError where there is none, or none that can be read."""
    address = (folder / FILE).resolve().as_uri()
    # A log that a killed process left beside it is taken in, which needs a folder that can be written.
    mode = "mode=rw" if os.access(folder, os.W_OK) else "immutable=1"
    db = sqlite3.connect(f"{address}?{mode}", uri=True)
    try:
        yield db
    except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{folder / FILE} is not the journal of a run: {' '.join(str(error).split())[:200]}") from error
    finally:
        db.close()


def _dump(content: Any) -> str:
    return json.dumps(content, sort_keys=True)
