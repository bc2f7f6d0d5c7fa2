"""The keys that lines of users' files may have, and a sentence for every line that does not keep to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rdforget.dates import parse_date
from rdforget.plugins import nearest
from rdforget.suites.jsonl import Line

LETTERS = "abcd"


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value has to be."""

    name: str
    fits: Callable[[Any], bool]
    fix: str
    """How to write one."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a line."""

    name: str
    kind: Kind
    meaning: str
    required: bool = False


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_text, value))


ID = Kind("id", lambda value: _text(value) and value.isprintable() and value == value.strip(), 'write it as "q1"')
TEXT = Kind("text", _text, 'write it as "..." with something in it')
TEXTS = Kind("list of texts", _texts, 'write it as ["...", "..."] with something in each')
FLAG = Kind("true or false", lambda value: isinstance(value, bool), "write it without quotes")
LETTER = Kind("letter from a to d", lambda value: value in tuple(LETTERS), 'write it as "a"')
DATE = Kind(
    "date",
    lambda value: isinstance(value, str) and parse_date(value) is not None,
    "write it as 2024-03-15 or 2024-03-15 10:00",
)


def complaints(line: Line, keys: Sequence[Key]) -> Iterator[str]:
    """What in a line is not as its keys have it, a sentence each."""
    known = [key.name for key in keys]
    for name in line.row:
        if name not in known:
            yield f"{line.where}: {nearest('key', name, known)}"
    for key in keys:
        if key.name not in line.row:
            if key.required:
                yield f"{line.where} has no {key.name}: give {key.meaning}"
        elif not key.kind.fits(line.row[key.name]):
            yield f"{line.where}: {key.name} {_shown(line.row[key.name])} is no {key.kind.name}: {key.kind.fix}"


def listed(keys: Sequence[Key]) -> str:
    """The keys in words, a line each."""
    rows = [("required" if key.required else "", key) for key in keys]
    return "\n".join(f"  {key.name:<11}{need:<10}{key.kind.name}: {key.meaning}" for need, key in rows)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:36]} ..."
