"""A memory store as commands open it: where it is, which key its proofs have, and what its errors say.

The key that makes proofs of erasure name a user is never kept in the store: whoever has only the store cannot tell
whose proofs they are.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from platformdirs import user_config_path, user_data_path

from rdforget.store import MemoryStore, Policy, StoreError
from rdforget.store.checking import problems
from rdforget.store.erasing import Erasure
from rdforget.store.schema import FILE
from rdforget.store.vectors import make_vectors
from runners.cache import ReplyCache
from runners.errors import Exit, UserError

KEY_VARIABLE = "RDF_ERASURE_KEY"
REPLIES = "replies.sqlite"
"""Replies of language models about chats, inside the store's folder, so that erasing finds them without being told."""
HALF_A_CHARACTER = "an id or a text holds half of a character, which no store can hold: give it in whole ones"
_KEY_BYTES = 32
_LEAST_KEY_BYTES = 16


def default_folder() -> Path:
    return user_data_path("rdforget") / "memory"


@contextmanager
def opened(
    folder: Path | None,
    *,
    create: bool = False,
    vectors: str | None = None,
    policy: Policy = Policy(),  # noqa: B008  # frozen
    key: Callable[[Path], bytes] | None = None,
) -> Iterator[MemoryStore]:
    """The store in a folder, None being the default one; `key` is asked for the key of its proofs.

    UserError where there is none, or its file cannot be used.
    """
    folder = folder or default_folder()
    if not create and not (folder / FILE).is_file():
        raise UserError(f"there is no memory store in {folder}: `rdf memory add` begins one, --store names another")
    if not create and not (folder / FILE).stat().st_size:  # SQLite would take it for a new store
        raise UserError(f"{folder / FILE} is empty: put a copy in its place, or delete it to begin anew")
    try:
        if create:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder} cannot hold a memory store ({error.strerror}): give another --store") from error
    provider = make_vectors(vectors) if vectors else None
    proof_key = key(folder) if key else None
    try:
        with MemoryStore(folder, create=create, vectors=provider, policy=policy, proof_key=proof_key) as store:
            yield store
    except sqlite3.Error as error:
        told = f"the store in {folder} cannot be used ({error}): `rdf memory verify` says what is wrong"
        raise UserError(told, Exit.ABORTED) from error
    except UnicodeEncodeError as error:
        raise UserError(HALF_A_CHARACTER) from error


def proof_key(folder: Path, path: Path | None) -> bytes:
    """The key of a store's proofs: that of a file, else of RDF_ERASURE_KEY, else of a file in the user's configuration.

    A file that is missing is made, for its owner alone. UserError for what is no key, and for a file in the store.
    """
    given = os.environ.get(KEY_VARIABLE)
    if path is None and given:
        return _key(given, KEY_VARIABLE)
    path = path or user_config_path("rdforget") / "erasure.key"
    if path.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"{path} lies in the store, and its key must not: give another --key-file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(made, "w", encoding="ascii") as file:
                file.write(secrets.token_hex(_KEY_BYTES) + "\n")
        return _key(path.read_text("utf-8", errors="replace"), str(path))
    except OSError as error:
        raise UserError(f"{path} cannot hold the key of proofs ({error.strerror}): give another --key-file") from error


def _key(text: str, where: str) -> bytes:
    try:
        key = bytes.fromhex(text.strip())
    except ValueError:
        key = b""
    if len(key) < _LEAST_KEY_BYTES:
        raise UserError(f"{where} holds no key: it must be {_LEAST_KEY_BYTES} bytes or more in hexadecimal")
    return key


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be erased: all of a user, or some rows."""

    user: str
    ids: tuple[str, ...] = ()
    """Of rows; none means all that there is of the user."""
    also: tuple[Path, ...] = ()
    """Further files and folders to search."""
    caches: tuple[Path, ...] = ()
    """Caches of replies besides the store's own."""


@dataclass(frozen=True, slots=True)
class Erased:
    """What became of a request to erase."""

    erasure: Erasure
    waiting: tuple[str, ...] = ()
    """A sentence for each cache that could not be cleaned."""


def erase(store: MemoryStore, request: Request) -> Erased:
    """Erase from the store and from the caches of replies. Raises StoreError and UserError."""
    for path in request.caches:
        if not path.is_file():
            raise UserError(f"there is no cache {path}: give the file that was given to `rdf memory chat --cache`")
    own = store.folder / REPLIES
    waiting: list[str] = []
    forgetters = [partial(_forget, path, waiting) for path in (*([own] if own.is_file() else []), *request.caches)]
    if request.ids:
        erasure = store.erase_rows(request.user, request.ids, also=request.also, forgetters=forgetters)
    else:
        erasure = store.erase(request.user, also=request.also, forgetters=forgetters)
    return Erased(erasure, tuple(waiting))


def _forget(path: Path, waiting: list[str], user: str) -> int:
    """Drop a user's replies from a cache; one that cannot be cleaned now must not keep the store from its proof."""
    try:
        with closing(ReplyCache(path)) as cache:
            return cache.forget(user)
    except UserError as error:
        waiting.append(str(error))
        return 0


def found_problems(folder: Path | None) -> list[str]:
    """What is wrong with a store, a sentence each. UserError where there is none."""
    folder = folder or default_folder()
    if not (folder / FILE).exists():
        raise UserError(f"there is no memory store in {folder}: --store names another folder")
    try:
        with opened(folder) as store:
            return store.verify()
    except (StoreError, UserError) as error:  # so damaged that it does not open
        return problems(folder) or [str(error)]


def texts(store: MemoryStore, user: str, ids: Sequence[str | None]) -> list[str]:
    """The texts of rows by id; empty where there is none."""
    found = {row.id: row.text for id in ids if id for row in store.history(user, id=id)}
    return [found.get(id, "") if id else "" for id in ids]
