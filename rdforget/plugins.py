"""Registries: names built in, and names that other packages bring by an entry-point group."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from rdforget.errors import MendableError

T = TypeVar("T")
_LISTED = 12  # names in a message


class UnknownNameError(MendableError):
    """A name that is not there, in one sentence with the nearest one that is."""


def nearest(kind: str, name: str, names: Iterable[str]) -> str:
    """`there is no method 'rd-forgt': did you mean 'rd-forget'?`"""
    names = list(names)
    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    rest = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    hint = f"did you mean {close[0]!r}?" if close else f"there is {', '.join(names[:_LISTED])}{rest}"
    return f"there is no {kind} {name!r}: {hint}"


@dataclass(frozen=True, slots=True)
class Registry(Generic[T]):
    """Lookup by name; `group` is the entry-point group whose objects have the same type."""

    kind: str
    group: str
    built_in: Mapping[str, T]

    def names(self) -> list[str]:
        """Built-in names, then those of other packages."""
        foreign = sorted(point.name for point in entry_points(group=self.group))
        return [*self.built_in, *(name for name in foreign if name not in self.built_in)]

    def get(self, name: str) -> T:
        """The object of that name; UnknownNameError names the nearest."""
        if name in self.built_in:
            return self.built_in[name]
        for point in entry_points(group=self.group, name=name):
            found: T = point.load()
            return found
        raise UnknownNameError(nearest(self.kind, name, self.names()))
