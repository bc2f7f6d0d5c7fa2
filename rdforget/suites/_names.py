"""The words of the made-up world: its relations in English, and names that are unique whatever its size."""
# ruff: noqa: SIM905

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any, NamedTuple

import yaml

_STARTS = (
    "Ad Al An Ar Bel Ber Bra Cal Cor Dal Dra El Er Fal Fen Gal Gor Hal Hes Il Jor Kal Kel Lor Lum "
    "Mar Mor Nar Nev Or Pel Quor Ras Rov Sel Sor Tal Tav Tor Ul Vel Vor Wel Wen Yar Zel"
).split()
_MIDDLES = (
    "a e i o u é an ar ath av em en er eth il in ir ol om on or os ør um ur ven dar min lor bre sta ne vi to ka re lu"
).split()
_ENDS = "da dan dis dor lan len lis ma mar mir na neth ra rik ris sa sen ta tan tor va vin wen yn zo".split()
_PLACES = "bridge burg dale fell ford gate ham haven holm mere mouth port stad stead ton wick".split()
_LANDS = "avia enia istan land mark oria ovia onia".split()
_BUSINESS = "Bank Energy Foods Group Industries Motors Partners Shipping Steel Systems Textiles Works".split()
_TEAMS = "Athletic Falcons Harriers Lions Rangers Rovers Stars United Wanderers Wolves".split()
_TITLES = (
    "The Lantern of {}",
    "A Winter in {}",
    "The Clockmaker of {}",
    "Letters from {}",
    "The Road to {}",
    "Songs of {}",
    "The Orchard at {}",
    "The Glass Bridge of {}",
    "A Garden for {}",
    "The Silence of {}",
)


class Namer:
    """Draws names from `rng`; no two names of one namer are equal, letter case aside."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._used: set[str] = set()

    def name(self, kind: str) -> str:
        """A new name of the kind: a person, city, company, ... Longer words come once the short ones are taken."""
        syllables = self._rng.randrange(2)
        while (name := self._draw(kind, syllables)).lower() in self._used:
            syllables += 1
        self._used.add(name.lower())
        return name

    def _draw(self, kind: str, syllables: int) -> str:
        pick = self._rng.choice
        stem = pick(_STARTS) + "".join(pick(_MIDDLES) for _ in range(syllables))
        word = stem + pick(_ENDS)
        match kind:
            case "person":
                return f"{word} {pick(_STARTS)}{pick(_MIDDLES)}{pick(_ENDS)}"
            case "city":
                return word + pick(_PLACES)
            case "country":
                return stem + pick(_LANDS)
            case "company":
                return f"{word} {pick(_BUSINESS)}"
            case "club":
                return f"{word} {pick(_TEAMS)}"
            case "book":
                return pick(_TITLES).format(word)
            case "sport":
                return f"{word}ball"
            case "religion":
                return f"{word}ism"
            case "language":
                return f"{word}ish"
            case "continent":
                return f"{word}ica"
        raise ValueError(f"there are no names for a {kind}")


class Relation(NamedTuple):
    """A relation and its wording, as `synthetic_fc.yaml` explains them."""

    name: str
    subject: str
    object: str
    facts: Sequence[str]
    noun: Sequence[str]
    ask: Sequence[str]
    before: Sequence[str]
    not_after: Sequence[str]


@cache
def _table() -> Any:
    return yaml.safe_load(files(__package__).joinpath("synthetic_fc.yaml").read_text(encoding="utf-8"))


@cache
def relations() -> tuple[Relation, ...]:
    found = []
    for name, row in _table()["relations"].items():
        subject, object_ = row["types"]
        words = row["facts"], row["noun"], row["ask"], row.get("before", ()), row.get("not_after", ())
        found.append(Relation(name, subject, object_, *words))
    return tuple(found)


@cache
def relations_of() -> dict[str, list[Relation]]:
    """Relations by the type of their subject."""
    found: dict[str, list[Relation]] = {}
    for relation in relations():
        found.setdefault(relation.subject, []).append(relation)
    return found


def evolution_frames() -> Sequence[str]:
    """Questions for all values of `{noun}` in order."""
    frames: list[str] = _table()["evolution"]
    return frames
