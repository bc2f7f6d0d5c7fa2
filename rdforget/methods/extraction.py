"""What methods share that build memory from the facts of source chunks: the facts, source time, and nearness."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from rdforget.calls import extract as role
from rdforget.calls.extract import ExtractInputs, Fact
from rdforget.calls.units import Asker, Units, halves
from rdforget.dates import parse_date
from rdforget.records import History, Observation, Protocol
from rdforget.text import word_set
from rdforget.view.chunk import chunks

CHUNK_TOKENS = 1_500
"""Where neither the method nor the suite says otherwise: the facts of 1,500 tokens fit the curation cap."""
MAX_SPLITS = 2
"""Times that a chunk whose reply was cut off is halved."""


def chunked(history: History, own: int | None, protocol: Protocol) -> tuple[Units, ...]:
    """The chunks of a history: by the method's own target, else the suite's, else `CHUNK_TOKENS`."""
    return chunks(history.observations, protocol.chunk_target(own, CHUNK_TOKENS))


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


async def facts_of(
    units: Units, note: str, asker: Asker, protocol: Protocol, splits: int = MAX_SPLITS
) -> tuple[Fact, ...]:
    """The facts of a chunk, or of its halves where the reply is cut off. Raises CallError."""
    found, cut = await asker.ask(role.build(ExtractInputs(units, note), protocol), lambda text: role.parse(text, units))
    if cut and splits and len(units) > 1:
        asker.counts["splits"] += 1
        parts = [await facts_of(half, note, asker, protocol, splits - 1) for half in halves(units)]
        return tuple(fact for part in parts for fact in part)
    asker.counts["facts"] += len(found.facts)
    asker.counts["dropped"] += len(found.faults)
    asker.counts["unsourced"] += sum(not fact.refs for fact in found.facts)
    return found.facts


class Nearness:
    """Texts by name, and which of them are near: the cosine of their words, rare words weighing more (idf)."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        sets = {name: word_set(text) for name, text in texts.items()}
        count = Counter(word for words in sets.values() for word in words)
        self._order = {name: at for at, name in enumerate(sets)}
        self._vectors: dict[str, dict[str, float]] = {}
        self._postings: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for name, words in sets.items():
            rarest_first = sorted(words, key=lambda word: (count[word], word))
            weights = {word: math.log1p(len(sets) / count[word]) for word in rarest_first}
            norm = math.sqrt(sum(weight * weight for weight in weights.values()))
            self._vectors[name] = {word: weight / norm for word, weight in weights.items()}
            for word, weight in self._vectors[name].items():
                self._postings[word].append((name, weight))

    def near(self, name: str, above: float) -> list[tuple[str, float]]:
        """The others whose cosine is above a bound, nearest first, ties in the order given."""
        found: dict[str, float] = defaultdict(float)
        rest = 1.0
        for word, own in self._vectors[name].items():
            if rest > above * above:
                for other, weight in self._postings[word]:
                    found[other] += own * weight
            else:  # the words left cannot lift a text above the bound that shares none of the rarer ones
                for other in found:
                    found[other] += own * self._vectors[other].get(word, 0.0)
            rest -= own * own
        found.pop(name, None)
        close = [(other, cosine) for other, cosine in found.items() if cosine > above]
        return sorted(close, key=lambda pair: (-pair[1], self._order[pair[0]]))

    def earlier(self, name: str, above: float, most: int) -> list[tuple[str, float]]:
        """The `most` nearest among those that were given before."""
        at = self._order[name]
        return [pair for pair in self.near(name, above) if self._order[pair[0]] < at][:most]
