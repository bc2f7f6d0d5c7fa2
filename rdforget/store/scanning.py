"""Which files still hold given strings: a byte search for thousands of them at once.

Files are read by a process of its own. POSIX locks belong to a process: closing a file here would drop the locks that
this process's connections hold on it, and another process could then write over theirs (sqlite.org/howtocorrupt, 2.2).
"""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SHORTEST = 6
"""Bytes; a shorter string turns up by chance, and is sought as a whole word in files of text only."""
CONTEXT = 8
"""Bytes kept of what stands before and after a find."""
_CHUNK = 4 * 2**20
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_ANCHOR = np.uint64(2 ** (8 * SHORTEST) - 1)

Find = tuple[int, bytes, bytes]
"""Number of the string, and what stands before and after it, at most CONTEXT bytes each."""


class ScanError(Exception):
    """Files could not be searched."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What a search of files found."""

    files: int = 0
    bytes: int = 0
    finds: dict[str, Counter[Find]] = field(default_factory=dict)
    """By file; only files with any. A file's name is searched like its content."""
    unread: tuple[str, ...] = ()
    """Files that could not be read."""


def scan(folders: Sequence[Path], strings: Sequence[bytes]) -> Scan:
    """Search all files under folders, or the files themselves, in another process. Raises ScanError."""
    order = pickle.dumps(([str(folder) for folder in folders], list(strings)))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"}
    try:
        # This file alone, as a program: the package around it would take longer to import than the search takes.
        done = subprocess.run([sys.executable, "-P", __file__], input=order, capture_output=True, env=environment)
    except OSError as error:
        raise ScanError(f"no process could be started to read the files: {error}") from error
    if done.returncode:
        raise ScanError(f"the process that reads the files ended with {done.returncode}")
    return Scan(*pickle.loads(done.stdout))


def search(folders: Sequence[str], strings: Sequence[bytes]) -> Scan:
    """Search all files under folders, or the files themselves, in this process."""
    sieve = Sieve(strings)
    files = size = 0
    finds: dict[str, Counter[Find]] = {}
    unread = []
    for folder, path in _files(folders):
        name = os.fsencode(os.path.relpath(path, folder))
        found = Counter(sieve.finds(name, 0, len(name)))
        try:
            size += sieve.read(path, found)
            files += 1
        except FileNotFoundError:  # gone since it was listed
            continue
        except OSError:
            unread.append(path)
        if found:
            finds[path] = found
    return Scan(files, size, finds, tuple(unread))


class Sieve:
    """Many strings, to be found in bytes.

    Six bytes of each string, chosen to be rare among all of them, are looked for at every offset through a table of
    their hashes; only where they are found is the string compared.
    """

    def __init__(self, strings: Sequence[bytes]) -> None:
        self._strings = strings
        self._long = max((len(string) for string in strings), default=0) + CONTEXT
        self._short = [
            (number, re.compile(rb"(?<!\w)" + re.escape(string) + rb"(?!\w)"))
            for number, string in enumerate(strings)
            if 0 < len(string) < SHORTEST
        ]
        places = {number: _windows(string) for number, string in enumerate(strings) if len(string) >= SHORTEST}
        often = Counter(strings[number][at : at + SHORTEST] for number, windows in places.items() for at in windows)
        self._anchors: dict[int, list[tuple[int, int]]] = {}
        for number, windows in places.items():
            string = strings[number]
            at = min(windows, key=lambda at: (often[string[at : at + SHORTEST]], -len({*string[at : at + SHORTEST]})))
            self._anchors.setdefault(int.from_bytes(string[at : at + SHORTEST], "little"), []).append((number, at))
        self._sorted = np.array(sorted(self._anchors), np.uint64)
        # Some 64 places an anchor, so that few are taken; as long as that is little it stays in the processor's cache.
        bits = min(max((64 * len(self._anchors)).bit_length(), 12), 24)
        self._shift = np.uint64(64 - bits)
        self._table = np.zeros(2**bits, np.bool_)
        self._table[self._hashed(self._sorted)] = True

    def read(self, path: str, found: Counter[Find]) -> int:
        """Add a file's finds to `found`; returns its bytes."""
        size = before = 0
        data = b""
        with open(path, "rb") as file:
            while True:
                block = file.read(_CHUNK)
                size += len(block)
                data += block
                # What begins near the end is left to the next round, which has all of it.
                end = len(data) - self._long if block else len(data)
                if end > before:
                    found.update(self.finds(data, before, end))
                    data, before = data[max(end - CONTEXT, 0) :], min(end, CONTEXT)
                if not block:
                    return size

    def finds(self, data: bytes, begin: int, end: int) -> Iterator[Find]:
        """The strings that begin in data[begin:end]."""
        for number, start in self.starts(data):
            if begin <= start < end:
                stop = start + len(self._strings[number])
                yield number, data[max(start - CONTEXT, 0) : start], data[stop : stop + CONTEXT]

    def starts(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Where each string begins, as (its number, place)."""
        if self._short and b"\0" not in data:
            for number, pattern in self._short:
                yield from ((number, match.start()) for match in pattern.finditer(data))
        if not self._anchors:
            return
        padded = data + bytes(8)
        for shift in range(8):
            values = np.frombuffer(padded, "<u8", (len(padded) - shift) // 8, shift) & _ANCHOR
            likely = np.flatnonzero(self._table[self._hashed(values)])
            for at in likely[np.isin(values[likely], self._sorted)]:
                for number, offset in self._anchors[int(values[at])]:
                    start = shift + 8 * int(at) - offset
                    if start >= 0 and data.startswith(self._strings[number], start):
                        yield number, start

    def _hashed(self, values: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return (values * _SPREAD) >> self._shift


def _windows(string: bytes) -> range:
    last = len(string) - SHORTEST
    return range(0, last + 1, 1 + last // 32)


def _files(folders: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each file with the folder that it was found under. Links are not followed: they lead to other folders' files."""
    for folder in folders:
        if os.path.isfile(folder):
            yield os.path.dirname(folder), folder
        for place, _, names in os.walk(folder):
            for name in sorted(names):
                path = os.path.join(place, name)
                if os.path.isfile(path) and not os.path.islink(path):
                    yield folder, path


if __name__ == "__main__":
    result = search(*pickle.load(sys.stdin.buffer))
    sys.stdout.buffer.write(pickle.dumps((result.files, result.bytes, result.finds, result.unread)))
