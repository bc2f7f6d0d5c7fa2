"""What an erased user's data looks like in files, and which of it is a living row's.

The rule: a find counts as a living one where it stands inside a string that the store still holds, with the same
bytes around it. So `user1` inside a living `user10` is no leftover and `user1` by itself is one; a phrase that a living
row holds whole cannot be told from that row's, and is none.
"""

from __future__ import annotations

import json
import re
import sqlite3
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rdforget.store.index import term
from rdforget.store.scanning import CONTEXT, SHORTEST, Scan, Sieve
from rdforget.store.schema import FILE
from rdforget.store.wording import search_words

PIECE = 24
"""Bytes of a string sought by themselves: a row's text is spread over pages, and part of it may be overwritten."""
_ELSEWHERE = 100
"""The same for files that are not the store's, where more of the strings around are nobody's."""
_TELLING = 12
"""Bytes from which a string of letters alone is sought in such files; `Lisbon` there may be anybody's."""
_BLOCK = 4 * 2**20
"""Bytes of the store's values that are searched at once."""
_VECTOR = 128
_DENSE = 32
"""Bytes other than 0 from which a piece of a vector is its own."""
_SPREADS = 1000
"""Bytes from which SQLite may move part of a string to another page, so that one side of a piece is not its own."""

_SAME_IN_JSON = re.compile(r"[ !#-\[\]-~]*")

Around = tuple[bytes | None, bytes | None]
"""What stands before and after a string inside another; None where anything may."""


class _Found(NamedTuple):
    path: str
    string: bytes
    before: bytes
    after: bytes
    n: int


@dataclass(frozen=True, slots=True)
class Traces:
    """Strings and vectors of a user, collected before they are deleted and kept in memory alone."""

    key: int | None = None
    """The user's number in the index."""
    user: str | None = None
    """The id, where the user goes as a whole."""
    strings: frozenset[str] = frozenset()
    blobs: frozenset[bytes] = frozenset()

    def __or__(self, other: Traces) -> Traces:
        return replace(self, strings=self.strings | other.strings, blobs=self.blobs | other.blobs)

    @property
    def is_short(self) -> bool:
        """Whether the id is too short to be told from chance in a file that is not text."""
        return self.user is not None and len(self.user.encode()) < SHORTEST

    def in_store(self) -> list[bytes]:
        """What is sought in the store's own files."""
        pieces = _pieces([*self._ids(), *self.strings], PIECE)
        if self.key is not None:
            terms = {term(self.key, word).encode() for string in self.strings for word in search_words(string)}
            pieces |= {term for term in terms if len(term) >= SHORTEST}
        for blob in self.blobs:
            pieces |= {
                piece for piece in cut(blob, _VECTOR) if len(piece) - piece.count(0) >= min(_DENSE, len(blob) // 2)
            }
        return sorted(pieces)

    def elsewhere(self) -> list[bytes]:
        """What is sought in files of other folders."""
        telling = [s for s in self.strings if len(s.encode()) >= _TELLING or not s.replace(" ", "").isalpha()]
        return sorted(_pieces([*self._ids(), *telling], _ELSEWHERE))

    def _ids(self) -> list[str]:
        return [self.user] if self.user else []


def of_rows(records: Iterable[tuple[str, str | None, str | None, str, bytes, bytes | None]]) -> Traces:
    """The traces of rows as (text, slot, source, metadata, hash, vector)."""
    strings: set[str] = set()
    blobs: set[bytes] = set()
    for text, slot, source, metadata, hash, vector in records:
        strings |= {text, slot or "", source or "", *strings_of(json.loads(metadata))}
        blobs |= {hash, vector or b""}
    return Traces(strings=_speaking(strings), blobs=frozenset(blobs - {b""}))


def of_chats(records: Iterable[tuple[str, str]]) -> Traces:
    """The traces of chats as (id, turns)."""
    strings = {string for id, turns in records for string in (id, *strings_of(json.loads(turns)))}
    return Traces(strings=_speaking(strings))


def strings_of(value: Any) -> Iterator[str]:
    """All strings in a value of JSON, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from strings_of(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from strings_of(inner)


def spellings(string: str) -> set[bytes]:
    """A string as files may hold it: plain, inside JSON of either kind, and in the UTF-16 of another system's logs."""
    return {
        string.encode(),
        json.dumps(string)[1:-1].encode(),
        json.dumps(string, ensure_ascii=False)[1:-1].encode(),
        string.encode("utf-16-le"),
    }


def cut(data: bytes, size: int) -> list[bytes]:
    """Pieces of a size that cover all of it; shorter data as it is."""
    if len(data) <= size:
        return [data]
    return [data[min(at, len(data) - size) :][:size] for at in range(0, len(data), size)]


def _pieces(strings: Iterable[str], size: int) -> set[bytes]:
    return {piece for string in strings for spelled in spellings(string) for piece in cut(spelled, size)}


def leftovers(db: sqlite3.Connection, scan: Scan, sought: Sequence[bytes]) -> dict[str, int]:
    """By file, how many finds are no living row's."""
    finds = [
        _Found(path, sought[number], before, after, n)
        for path, of_file in scan.finds.items()
        for (number, before, after), n in of_file.items()
    ]
    strings = {find.string for find in finds}
    living = _surroundings(_forms(db, strings), strings)
    finds = [find for find in finds if not _lives(find, living.get(find.string))]
    # The index stores a word without what it shares with the word before it.
    words = {find.string for find in finds if _is_own(find.path) and find.string.isalnum()}
    indexed: dict[bytes, set[Around]] = {
        string: {(None, after) for _, after in around} for string, around in _surroundings(_terms(db), words).items()
    }
    left: Counter[str] = Counter()
    for find in finds:
        if not (_is_own(find.path) and _lives(find, indexed.get(find.string))):
            left[find.path] += find.n
    return dict(left)


def _is_own(path: str) -> bool:
    return Path(path).name.startswith(FILE)


def _lives(find: _Found, living: Container[Around] | None) -> bool:
    if living is None:
        return False
    befores = [b"", None, *(find.before[-size:] for size in range(1, len(find.before) + 1))]
    afters = [b"", None, *(find.after[:size] for size in range(1, len(find.after) + 1))]
    return any((before, after) in living for before in befores for after in afters)


def _surroundings(values: Iterable[bytes], strings: Collection[bytes]) -> dict[bytes, set[Around]]:
    """For each string, what stands around it wherever one of the values holds it."""
    around: defaultdict[bytes, set[Around]] = defaultdict(set)
    if not strings:
        return around
    numbered = sorted(strings)
    sieve = Sieve(numbered)
    for block in _blocks(values):
        ends = list(accumulate(len(value) + 1 for value in block))
        for number, place in sieve.starts(b"\n".join(block)):
            string = numbered[number]
            at = bisect_right(ends, place)
            value, start = block[at], place - (ends[at] - len(block[at]) - 1)
            if value.startswith(string, start):
                around[string] |= set(_sides(value, start, start + len(string)))
    return around


def _blocks(values: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Values by the block; those with a 0 apart, since short strings are sought in text only."""
    blocks: dict[bool, list[bytes]] = {False: [], True: []}
    sizes = {False: 0, True: 0}
    for value in values:
        binary = b"\0" in value
        blocks[binary].append(value)
        sizes[binary] += len(value)
        if sizes[binary] > _BLOCK:
            yield blocks[binary]
            blocks[binary], sizes[binary] = [], 0
    yield from (block for block in blocks.values() if block)


def _sides(held: bytes, start: int, stop: int) -> Iterator[Around]:
    before, after = held[max(start - CONTEXT, 0) : start], held[stop : stop + CONTEXT]
    yield before, after
    if len(held) >= _SPREADS:
        if before:
            yield before, None
        if after:
            yield None, after


def _forms(db: sqlite3.Connection, strings: Collection[bytes]) -> Iterator[bytes]:
    """Every string and blob of the tables in the spellings that matter to the strings sought."""
    if not strings:
        return
    wide = any(b"\0" in string for string in strings)
    binary = wide or not all(map(_is_text, strings))
    for value in _values(db, binary):
        if isinstance(value, bytes):
            yield value
        elif wide or not _SAME_IN_JSON.fullmatch(value):
            yield from spellings(value)
        else:
            yield value.encode()


def _is_text(string: bytes) -> bool:
    try:
        return bool(string.decode())
    except UnicodeDecodeError:
        return False


def _values(db: sqlite3.Connection, binary: bool) -> Iterator[str | bytes]:
    """Every string of the tables, strings inside JSON by themselves too, and with `binary` every blob."""
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    tables = [name for name in names if not name.startswith(("terms", "sqlite_"))]
    for table in ("sqlite_schema", *tables):
        for record in db.execute(f'SELECT * FROM "{table}"') if binary or table != "vectors" else ():
            for value in record:
                if isinstance(value, str) or (binary and isinstance(value, bytes)):
                    yield value
                if isinstance(value, str) and value[:1] in ("{", "["):
                    yield from _inner(value)


def _inner(text: str) -> Iterator[str]:
    try:
        yield from strings_of(json.loads(text))
    except ValueError:  # a text that only looks like JSON
        return


def _terms(db: sqlite3.Connection) -> Iterator[bytes]:
    for (word,) in db.execute(f"SELECT term FROM {vocabulary(db, 'row')}"):
        yield word.encode()


def vocabulary(db: sqlite3.Connection, kind: Literal["row", "instance"]) -> str:
    """The name of a table of the words in `terms` (column `term`), with `instance` where each stands (`doc`)."""
    name = f"temp.words_by_{kind}"
    db.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING fts5vocab(main, terms, {kind})")
    return name


def _speaking(strings: Iterable[str]) -> frozenset[str]:
    """Without those that are too short to be told from chance."""
    return frozenset(string for string in strings if len(string.encode()) >= SHORTEST)
