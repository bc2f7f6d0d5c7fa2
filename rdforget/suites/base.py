"""The contract of a suite loader, and finding its files."""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rdforget.errors import MendableError
from rdforget.records import Protocol, Task

_DIGITS = re.compile(r"(\d+)")


class DataError(MendableError):
    """Data that is missing or broken, in one sentence that names the file, the row and the fix."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file or revision that the tasks come from."""

    name: str
    sha256: str
    """Of the content as stored; for generated suites, of the parameters."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A loaded suite. `tasks()` yields them anew each time, ids by content position, history by history."""

    name: str
    tasks: Callable[[], Iterator[Task]]
    sources: tuple[Source, ...]
    size: int | None = None
    """Number of tasks, where it is known without loading every history."""
    expected: int | None = None
    """Number of questions in the paper, where it names one."""
    notes: tuple[str, ...] = ()
    """What is partial about the data here, in sentences."""
    metrics: tuple[str, ...] = ("rule",)
    """What is computed, the headline first, where configs/suites.yaml does not say."""
    protocol: Protocol = field(default_factory=Protocol)
    """The constants of a run, where configs/suites.yaml does not say."""


def find_file(data_dir: Path, folder: str, *names: str) -> Path | None:
    """The first of `names` in `data_dir/folder` or in `data_dir`."""
    for root in (data_dir / folder, data_dir):
        for name in names:
            if (path := root / name).is_file():
                return path
    return None


def find_parts(data_dir: Path, folder: str, name: str) -> tuple[Path, ...]:
    """The official file `name`, gzip-compressed or not, or else its parts in order of their tags.

    A part carries a tag before its extension (`questions_32k.part1.csv`); the whole file wins over parts.
    Empty where neither is in `data_dir/folder` or in `data_dir`.
    """
    if whole := find_file(data_dir, folder, name, f"{name}.gz"):
        return (whole,)
    stem, _, extension = name.rpartition(".")
    for root in (data_dir / folder, data_dir):
        parts = [*root.glob(f"{stem}.*.{extension}"), *root.glob(f"{stem}.*.{extension}.gz")]
        if parts:
            return tuple(
                sorted(parts, key=lambda path: [int(n) if n.isdigit() else n for n in _DIGITS.split(path.name)])
            )
    return ()


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_text(path: Path) -> str:
    """UTF-8 text of a file, gzip-compressed or not, with or without a byte-order mark."""
    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read ({error}): fetch the file anew") from error
