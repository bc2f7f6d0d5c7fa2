"""What methods share that build memory from the facts of source chunks: the facts, their times, and which are near."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rdforget.calls import extract as role
from rdforget.calls.base import Caller, Reply
from rdforget.dates import parse_date
from rdforget.records import History, Observation, Protocol
from rdforget.text import one_line, word_set
from rdforget.view.chunk import chunks

CHUNK_TOKENS = 1_500
"""Where neither the method nor the suite says otherwise: the facts of 1,500 tokens fit the curation cap."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact as memory keeps it; `refs` name units of the source, `when` is a date or the serial `#N` of a unit."""

    text: str
    when: str | None = None
    refs: tuple[str, ...] = ()

    @property
    def stated(self) -> str:
        return stated(self.text, self.when)


@dataclass(slots=True)
class Tally:
    """What replies were worth, on its way to `Memory.stats`."""

    counts: Counter[str] = field(default_factory=Counter)
    parse: Counter[str] = field(default_factory=Counter)
    """Replies by the rung of the parser that read them."""

    def reply(self, reply: Reply, status: str, dropped: int = 0) -> None:
        self.parse[status] += 1
        self.counts["truncated"] += reply.finish_reason == "length"
        self.counts["dropped"] += dropped

    @property
    def stats(self) -> dict[str, Any]:
        return {"parse": dict(self.parse), **self.counts}


def stated(text: str, when: str | None) -> str:
    """The text on one line with its time in parentheses, where it has one and does not say it.

    The serials of a numbered list are times too: no status tells the reader which of two values is the later one.
    """
    text = one_line(text)
    return f"{text} ({one_line(when)})" if when and when not in text else text


def time_of(seen: Observation) -> str | None:
    """The date of a unit, or its serial `#N`."""
    return seen.when or (seen.ref if seen.ref.startswith("#") else None)


def clock(observations: Sequence[Observation], step: float) -> dict[str, float]:
    """Source time by ref, in days: the date of the unit, or `step` days after the unit before where it has none.

    Never the time of the machine: the same source has the same times on any day, and so has its beginning.
    """
    days: dict[str, float] = {}
    now = -step
    for seen in observations:
        moment = parse_date(seen.when) if seen.when else None
        now = now + step if moment is None else moment.toordinal() + moment.hour / 24 + moment.minute / 1440
        days[seen.ref] = now
    return days


def chunked(history: History, own: int | None, protocol: Protocol) -> tuple[tuple[Observation, ...], ...]:
    """The chunks of a history: by the method's own target, else the suite's, else `CHUNK_TOKENS`."""
    return chunks(history.observations, own or protocol.chunk_tokens or CHUNK_TOKENS)


async def facts_of(
    chunk: tuple[Observation, ...], note: str, caller: Caller, protocol: Protocol, tally: Tally
) -> tuple[Fact, ...]:
    """The facts that a model finds in a chunk, with checked refs. Raises CallError."""
    reply = await caller(role.build(chunk, note, protocol))
    found = role.parse(reply.text)
    tally.reply(reply, found.status, found.dropped)
    units = {seen.ref: seen for seen in chunk}
    facts = []
    for fact in found.facts:
        refs = tuple(ref for ref in units if ref in fact.refs)
        tally.counts["unknown_refs"] += len(fact.refs) - len(refs)
        when = fact.when or (time_of(units[refs[-1]]) if refs else None)
        facts.append(Fact(one_line(fact.text), when, refs))
    tally.counts["facts"] += len(facts)
    return tuple(facts)


def joined(refs: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*refs, *more)))


class Nearness:
    """Texts by name, and which of them are near: the cosine of their words, rare words weighing more (idf)."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        sets = {name: word_set(text) for name, text in texts.items()}
        count = Counter(word for words in sets.values() for word in words)
        self._order = {name: at for at, name in enumerate(sets)}
        self._vectors: dict[str, dict[str, float]] = {}
        self._postings: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for name, words in sets.items():
            weights = {word: math.log1p(len(sets) / count[word]) for word in sorted(words)}
            norm = math.sqrt(sum(weight * weight for weight in weights.values()))
            self._vectors[name] = {word: weight / norm for word, weight in weights.items()}
            for word, weight in self._vectors[name].items():
                self._postings[word].append((name, weight))

    def near(self, name: str, above: float) -> list[tuple[str, float]]:
        """The others whose cosine is above a bound, nearest first, ties in the order given."""
        found: dict[str, float] = defaultdict(float)
        for word, own in self._vectors[name].items():
            for other, weight in self._postings[word]:
                found[other] += own * weight
        found.pop(name, None)
        close = [(other, cosine) for other, cosine in found.items() if cosine > above]
        return sorted(close, key=lambda pair: (-pair[1], self._order[pair[0]]))

    def earlier(self, name: str, above: float, most: int) -> list[tuple[str, float]]:
        """The `most` nearest among those that were given before."""
        at = self._order[name]
        return [pair for pair in self.near(name, above) if self._order[pair[0]] < at][:most]
