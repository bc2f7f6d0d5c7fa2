"""The lines of an archive, searched for what they state: thousands of questions look through the same thousands."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import accumulate

from rdforget.records import Gold, History, Observation
from rdforget.scoring.rule import whole_words

_KEPT = 128
"""Histories that stay ready to be searched; the questions of one stand together in most suites."""


def stating(history: History, gold: Gold) -> list[Observation]:
    """The observations whose line holds one of the acceptable answers as whole tokens."""
    return _ready(_Same(history)).stating(gold)


def by_ref(history: History) -> Mapping[str, Observation]:
    """The observations by what they are called."""
    return _ready(_Same(history)).by_ref


def quoted_by(history: History, evidence: str) -> list[Observation]:
    """The observations that the evidence of an entry is, or is a part of, with or without who speaks."""
    return _ready(_Same(history)).quoted_by(evidence)


class _Joined:
    """Texts as one string, as one search in it takes a thousandth of the time of a search in each."""

    def __init__(self, texts: Iterable[str]) -> None:
        words = [whole_words(text) for text in texts]
        self._text = "\n".join(words)
        self._starts = list(accumulate((len(text) + 1 for text in words), initial=0))

    def holding(self, text: str) -> set[int]:
        """Places of the texts that hold another as whole tokens."""
        wanted, found, at = whole_words(text), set[int](), 0
        if not wanted.strip():
            return found
        while (at := self._text.find(wanted, at)) >= 0:
            place = bisect_right(self._starts, at) - 1
            found.add(place)
            at = self._starts[place + 1]
        return found


class _Lines:
    """One history, ready to be searched."""

    def __init__(self, history: History) -> None:
        self._observations = history.observations
        self.by_ref = {seen.ref: seen for seen in history.observations}
        self._lines = _Joined(seen.line for seen in history.observations)
        by_speaker: dict[str | None, list[int]] = {}
        for at, seen in enumerate(history.observations):
            by_speaker.setdefault(seen.speaker, []).append(at)
        self._said = {
            speaker: (places, _Joined(self._observations[at].text for at in places))
            for speaker, places in by_speaker.items()
        }
        self._quoted: dict[str, list[Observation]] = {}

    def stating(self, gold: Gold) -> list[Observation]:
        return self._at(set[int]().union(*map(self._lines.holding, gold.answers)))

    def quoted_by(self, evidence: str) -> list[Observation]:
        if evidence not in self._quoted:
            found = {
                places[at]
                for speaker, (places, joined) in self._said.items()
                for at in joined.holding(evidence.removeprefix(f"{speaker}: "))
            }
            self._quoted[evidence] = self._at(found)
        return self._quoted[evidence]

    def _at(self, places: Iterable[int]) -> list[Observation]:
        return [self._observations[at] for at in sorted(places)]


class _Same:
    """A history as a key that is that object and no equal one: to hash all its lines takes longer than to search."""

    def __init__(self, history: History) -> None:
        self.history = history

    def __hash__(self) -> int:
        return id(self.history)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.history is self.history


@lru_cache(maxsize=_KEPT)
def _ready(of: _Same) -> _Lines:
    return _Lines(of.history)
