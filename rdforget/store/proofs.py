"""Proof that something was erased: records that name nobody, each chained to the one before by its hash."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

PENDING = "pending"


@dataclass(frozen=True, slots=True)
class Proof:
    """A record as it was written."""

    id: str
    chain: str
    """Whoever keeps it elsewhere can tell later whether records up to this one were changed or taken away."""


def keyed(key: bytes | None, user: str) -> str | None:
    """HMAC-SHA256 of a user id; None without a key, since a plain hash of an id can be guessed."""
    return hmac.new(key, user.encode(), hashlib.sha256).hexdigest() if key else None


def append(db: sqlite3.Connection, at: int, state: str, content: Mapping[str, Any]) -> Proof:
    """Write a record inside a transaction; `at` in microseconds, `content` without text, vector or plain id."""
    id = secrets.token_hex(8)
    text = json.dumps({"id": id, "at": at, "state": state, **content}, sort_keys=True)
    last = db.execute("SELECT chain FROM erasures ORDER BY number DESC LIMIT 1").fetchone()
    chain = _chain(last[0] if last else "", text)
    db.execute(
        "INSERT INTO erasures (id, at, state, content, chain) VALUES (?, ?, ?, ?, ?)", (id, at, state, text, chain)
    )
    return Proof(id, chain)


def unfinished(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """The contents of pending records that no later one completes, in their order."""
    contents = [json.loads(text) for (text,) in db.execute("SELECT content FROM erasures ORDER BY number")]
    completed = {content.get("completes") for content in contents}
    return [content for content in contents if content["state"] == PENDING and content["id"] not in completed]


def breaks(db: sqlite3.Connection) -> Iterator[str]:
    """What is wrong with the chain, a sentence each."""
    before, number = "", 0
    for number, id, at, state, content, chain in db.execute(
        "SELECT number, id, at, state, content, chain FROM erasures ORDER BY number"
    ):
        if chain != _chain(before, content):
            yield f"proof of erasure {number} was changed, or one before it was changed or taken away"
        elif not _agrees(content, id, at, state):
            yield f"proof of erasure {number} says something else than its content"
        before = chain
    written = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'erasures'").fetchone()
    if written and written[0] != number:
        yield f"proofs of erasure {number + 1} to {written[0]} were taken away"


def _agrees(content: str, id: str, at: int, state: str) -> bool:
    try:
        said = json.loads(content)
        return (said["id"], said["at"], said["state"]) == (id, at, state)
    except (ValueError, KeyError, TypeError):
        return False


def _chain(before: str, content: str) -> str:
    return hashlib.sha256(f"{before}\n{content}".encode()).hexdigest()
