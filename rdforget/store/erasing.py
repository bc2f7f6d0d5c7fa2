"""Erasing: one transaction, then a scrub of the file, then a search of the files for what was erased.

An erasure is done when the file is scrubbed and a search of the bytes has found nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import Any

from rdforget.store import proofs
from rdforget.store.identity import valid_user
from rdforget.store.index import renew, terms_of, user_key
from rdforget.store.proofs import Proof
from rdforget.store.records import StoreError
from rdforget.store.scanning import Scan, ScanError, scan
from rdforget.store.schema import FILE, writing
from rdforget.store.scrubbing import empty_log, has_words, rewritten, scrubbed
from rdforget.store.times import Clock, micros
from rdforget.store.traces import Traces, leftovers, of_chats, of_rows

BEYOND = (
    "It does not reach backups and copies of the folder, exports, what was sent to providers of models and vectors, "
    "the host's own logs, the memory of running processes, compressed or encrypted files, strings shorter than 6 bytes "
    "outside the tables, or the blocks that the disk keeps below the file."
)
_OF_USER = ("chats", "withheld", "decisions")
_BATCH = 500
"""Values of one statement."""


class State(StrEnum):
    """How far an erasure came."""

    DONE = "done"
    """Erased and scrubbed, and the files that were searched hold nothing of it."""
    PENDING = proofs.PENDING
    """Erased for every reader to come, but somebody still reads an earlier state: bytes are left in the files."""
    LEFT = "left"
    """Erased and scrubbed, but files named in `leftovers` hold something of it, or those in `unread` may."""
    NOTHING = "nothing"
    """There was nothing to erase."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """What became of a request to erase."""

    state: State
    counts: Mapping[str, int]
    """Rows erased by table; `replies`: what caches dropped."""
    commit_ms: float
    """Milliseconds until nobody could find it any more, waiting for other writers included."""
    files: int = 0
    """Files searched afterwards."""
    bytes: int = 0
    leftovers: Mapping[str, int] = field(default_factory=dict)
    """By file, how many strings of it were found that no living row holds."""
    unread: tuple[str, ...] = ()
    """Files that could not be searched."""
    id: str | None = None
    """Of the proof in `erasures`; None where nothing was erased."""
    chain: str | None = None
    """Hash of the proof, to be kept elsewhere."""
    beyond: str = BEYOND


def erase(
    db: sqlite3.Connection,
    folder: Path,
    user: str,
    *,
    clock: Clock,
    key: bytes | None = None,
    also: Sequence[Path] = (),
    forgetters: Sequence[Callable[[str], int]] = (),
) -> Erasure:
    """Erase all that a store has of a user, and search its files and those under `also` for it.

    `key` makes the keyed hash of the id in the proof; `forgetters` drop what caches hold of the user and return how
    much that was. Erasing again is safe, and finishes what a crash cut off. Raises StoreError.
    """
    user = valid_user(user)
    _check_folders(also)
    began = perf_counter()
    with writing(db):
        traces, counts, index_key = _delete_user(db, user)
        content = {"of": "user", "user": proofs.keyed(key, user), "index_key": index_key, "counts": counts}
        proof = _begun(db, clock, content)
    commit_ms = 1000 * (perf_counter() - began)
    proof = _forgotten(db, user, forgetters, content, proof, clock)
    return _finished(db, folder, also, traces, content, proof, commit_ms, clock)


def erase_rows(
    db: sqlite3.Connection,
    folder: Path,
    user: str,
    ids: Sequence[str],
    *,
    clock: Clock,
    key: bytes | None = None,
    also: Sequence[Path] = (),
    forgetters: Sequence[Callable[[str], int]] = (),
) -> Erasure:
    """Erase rows of a user by id, and all that caches hold of the user; ids that are not theirs are passed over.

    Rows that one of them had replaced keep their end and lose the link: nothing opens again. The chats that they were
    taken from stay; `delete_chat` deletes those. Raises StoreError.
    """
    user = valid_user(user)
    _check_folders(also)
    began = perf_counter()
    with writing(db):
        traces, counts = _delete_rows(db, user, ids)
        content = {"of": "rows", "user": proofs.keyed(key, user), "index_key": None, "counts": counts}
        proof = _begun(db, clock, content)
    commit_ms = 1000 * (perf_counter() - began)
    proof = _forgotten(db, user, forgetters, content, proof, clock)
    return _finished(db, folder, also, traces, content, proof, commit_ms, clock)


def delete_chat(db: sqlite3.Connection, user: str, chat: str) -> bool:
    """Delete a chat and keep the memories taken from it; False if there is none. Raises StoreError."""
    user = valid_user(user)
    with writing(db):
        deleted = db.execute("DELETE FROM chats WHERE user = ? AND id = ?", (user, chat)).rowcount
    if deleted:
        empty_log(db)
    return bool(deleted)


def finish_pending(db: sqlite3.Connection, *, clock: Clock) -> int:
    """Scrub for erasures that had to wait, or that a crash cut off; returns how many are done by it.

    What they erased is no longer known, so the file is not searched but written anew from its living rows.
    """
    waiting = proofs.unfinished(db)
    if not waiting or not (rewritten(db) and scrubbed(db)):
        return 0
    done = [content for content in waiting if content["index_key"] is None or not has_words(db, content["index_key"])]
    with writing(db):
        still = {content["id"] for content in proofs.unfinished(db)}  # another process may have been quicker
        for content in done:
            if content["id"] in still:
                said = {name: content[name] for name in ("of", "user", "index_key", "counts")}
                proofs.append(db, micros(clock()), State.DONE, {**said, "completes": content["id"], "search": None})
    return len(done)


def _check_folders(folders: Sequence[Path]) -> None:
    for folder in folders:
        if not folder.exists():
            raise StoreError(f"{folder} cannot be searched: there is no such file or folder")


def _delete_user(db: sqlite3.Connection, user: str) -> tuple[Traces, dict[str, int], int | None]:
    if not db.execute("SELECT 1 FROM users WHERE id = ?", (user,)).fetchone():
        return Traces(user=user), {}, None
    key = user_key(db, user)
    ids = [id for (id,) in db.execute("SELECT id FROM rows WHERE user = ?", (user,))]
    of_the_rows, counts = _delete_rows(db, user, ids)
    chats = db.execute("SELECT id, turns FROM chats WHERE user = ?", (user,)).fetchall()
    for table in _OF_USER:
        counts[table] = db.execute(f"DELETE FROM {table} WHERE user = ?", (user,)).rowcount
    counts["users"] = db.execute("DELETE FROM users WHERE id = ?", (user,)).rowcount
    return Traces(key, user) | of_the_rows | of_chats(chats), counts, key


def _delete_rows(db: sqlite3.Connection, user: str, ids: Sequence[str]) -> tuple[Traces, dict[str, int]]:
    counts = dict.fromkeys(("rows", "vectors", "terms", "restated"), 0)
    if not db.execute("SELECT 1 FROM users WHERE id = ?", (user,)).fetchone():
        return Traces(), counts
    key = user_key(db, user)
    traces = Traces(key)
    for at in range(0, len(ids), _BATCH):
        some = json.dumps(ids[at : at + _BATCH])
        found = db.execute(
            """SELECT seq, rows.id, text, slot, source, metadata, hash, vector FROM rows LEFT JOIN vectors USING (seq)
            WHERE user = ? AND rows.id IN (SELECT value FROM json_each(?))""",
            (user, some),
        ).fetchall()
        traces |= of_rows(record[2:] for record in found)
        seqs = [(seq,) for seq, *_ in found]
        db.executemany(
            "INSERT INTO terms (terms, rowid, words) VALUES ('delete', ?, ?)",
            [(seq, terms_of(key, text)) for seq, _, text, *_ in found],
        )
        counts["terms"] += len(found)
        for table in ("vectors", "restated", "rows"):
            counts[table] += db.executemany(f"DELETE FROM {table} WHERE seq = ?", seqs).rowcount
        gone = json.dumps([id for _, id, *_ in found])
        db.execute(
            """UPDATE rows SET superseded_by = NULL
            WHERE user = ? AND superseded_by IN (SELECT value FROM json_each(?))""",
            (user, gone),
        )
    if counts["rows"]:
        renew(db, user)
    return traces, counts


def _begun(db: sqlite3.Connection, clock: Clock, content: Mapping[str, Any]) -> Proof | None:
    """The proof of what the transaction erases: pending, until it is known to be more."""
    erased = any(content["counts"].values())
    return proofs.append(db, micros(clock()), State.PENDING, {**content, "completes": None}) if erased else None


def _append(db: sqlite3.Connection, clock: Clock, state: State, content: Mapping[str, Any]) -> Proof:
    with writing(db):
        return proofs.append(db, micros(clock()), state, content)


def _forgotten(
    db: sqlite3.Connection,
    user: str,
    forgetters: Sequence[Callable[[str], int]],
    content: dict[str, Any],
    proof: Proof | None,
    clock: Clock,
) -> Proof | None:
    """The proof, once the caches have dropped what they hold of the user; there is one where only they held any."""
    if forgetters:
        content["counts"]["replies"] = sum(forget(user) for forget in forgetters)
        proof = proof or (_append(db, clock, State.PENDING, content) if content["counts"]["replies"] else None)
    return proof


def _finished(
    db: sqlite3.Connection,
    folder: Path,
    also: Sequence[Path],
    traces: Traces,
    content: Mapping[str, Any],
    proof: Proof | None,
    commit_ms: float,
    clock: Clock,
) -> Erasure:
    """Scrub, search, and write down how that went."""
    # An id that is too short to be searched for cannot be found in a page's unused part either.
    renewed = proof is None or not traces.is_short or rewritten(db)
    clean = proof is None or (renewed and scrubbed(db))
    found = Scan()
    left: dict[str, int] = {}
    try:
        found, left = _searched(db, folder, also, traces)
        if clean and str(folder / FILE) in left:
            clean = rewritten(db) and scrubbed(db)
            found, left = _searched(db, folder, also, traces)
    except ScanError:
        clean = False
    if traces.key is not None and content["of"] == "user":
        clean = clean and not has_words(db, traces.key)
    state = State.PENDING if not clean else State.LEFT if left or found.unread else State.DONE
    if proof is None:
        state = State.LEFT if left else State.NOTHING
    elif state is not State.PENDING:
        search = {"files": found.files, "bytes": found.bytes, "unread": len(found.unread), "with_leftovers": len(left)}
        proof = _append(db, clock, state, {**content, "completes": proof.id, "search": search})
        finish_pending(db, clock=clock)
    return Erasure(
        state,
        content["counts"],
        commit_ms,
        found.files,
        found.bytes,
        left,
        found.unread,
        proof.id if proof else None,
        proof.chain if proof else None,
    )


def _searched(
    db: sqlite3.Connection, folder: Path, also: Sequence[Path], traces: Traces
) -> tuple[Scan, dict[str, int]]:
    """What the files hold of it still. Raises ScanError."""
    whole = Scan()
    left: dict[str, int] = {}
    for folders, sought in (([folder], traces.in_store()), (also, traces.elsewhere())):
        if folders and sought:
            found = scan(folders, sought)
            left |= leftovers(db, found, sought)
            whole = Scan(whole.files + found.files, whole.bytes + found.bytes, unread=whole.unread + found.unread)
    return whole, left
