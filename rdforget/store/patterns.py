"""The rules of refusal are data, in `refusals.toml` beside this module."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

_BREAK = re.compile(r"(?:^|\n)[ ]{4}")
_PART = re.compile(r"%([a-z_]+)%")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with its patterns, of which any will do."""

    name: str
    patterns: tuple[re.Pattern[str], ...]
    marks: tuple[str, ...]
    """Words without one of which no pattern can match; empty where there is no such list."""

    def matches(self, text: str) -> bool:
        return self.may_match(text) and any(pattern.search(text) for pattern in self.patterns)

    def may_match(self, text: str) -> bool:
        return not self.marks or any(mark in text for mark in self.marks)


def rules(section: str) -> tuple[Rule, ...]:
    """The rules of a section, in order."""
    return tuple(
        Rule(name, tuple(map(_compiled, patterns)), marks(name)) for name, patterns in _data()[section].items()
    )


def marks(name: str) -> tuple[str, ...]:
    return tuple(_data()["marks"].get(name, "").split())


def pattern(section: str, name: str) -> re.Pattern[str]:
    return _compiled(_data()[section][name])


def words(name: str) -> frozenset[str]:
    return frozenset(_data()["words"][name].split())


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("refusals.toml").read_text("utf-8"))


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(_whole(pattern))


def _whole(pattern: str) -> str:
    """The pattern in one line, its parts filled in."""
    return _PART.sub(lambda part: _whole(_data()["parts"][part[1]]), _BREAK.sub("", pattern))
