"""The laws of FadeMem: how the strength of a memory falls with time, and what accesses and contradictions do to it.

Strength and importance lie between 0 and 1, times are days of the source. Decay is incremental: computed anew from the
time of making, it would wipe out reinforcement and suppression.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rdforget.calls.extract import Fact

Layer = Literal["long", "short"]
BETA: Mapping[Layer, float] = {"long": 0.8, "short": 1.2}
"""Exponent of age: half-lives of 11.25 and 5.02 days at importance 0."""
PROMOTE, DEMOTE = 0.7, 0.3
_WITHOUT_QUERY = 0.5
"""Relevance in the importance of a memory that no question has been compared with."""


def importance(accesses: float, age: float) -> float:
    """`I`, 0 to 1, from the faded sum of accesses and the age in days."""
    return 0.4 * _WITHOUT_QUERY + 0.3 * accesses / (1 + accesses) + 0.3 * math.exp(-0.1 * age)


def decay_rate(important: float) -> float:
    """`lambda` per day."""
    return 0.1 * math.exp(-important)


def decayed(strength: float, rate: float, before: float, age: float, beta: float) -> float:
    """Strength at an age, from that at an age before; steps of one rate add up to the one step."""
    return strength * math.exp(-rate * (age**beta - before**beta))


def reinforced(strength: float, recent: int) -> float:
    """Strength after an access; `recent` accesses of the last seven days make another one weigh less."""
    return strength + 0.2 * (1 - strength) * math.exp(-recent / 10)


def suppressed(strength: float, days: float) -> float:
    """Strength after a contradiction by something `days` younger: never less than 0.61 of what it was."""
    return strength * math.exp(-0.5 * min(max(days / 30, 0.0), 1.0))


@dataclass(slots=True)
class Trace:
    """A memory as it fades. Times are days of the source."""

    fact: Fact
    born: float
    strength: float = 1.0
    layer: Layer = "short"
    age: float = 0.0
    """At which it was last let decay."""
    hits: list[float] = field(default_factory=list)
    damp: float = 1.0
    """What is left of the weight of its accesses after compatible, and so partly redundant, facts."""
    size: int = 1
    """Memories fused in it."""

    def importance(self, now: float) -> float:
        accesses = self.damp * sum(math.exp(-0.1 * max(now - hit, 0.0)) for hit in self.hits)
        return importance(accesses, max(now - self.born, 0.0))

    def fade(self, now: float) -> None:
        important = self.importance(now)
        age = max(now - self.born, self.age)
        rate = decay_rate(important) / (1 + math.log(self.size))
        self.strength = decayed(self.strength, rate, self.age, age, BETA[self.layer])
        self.age = age
        self.layer = "long" if important >= PROMOTE else "short" if important < DEMOTE else self.layer

    def access(self, now: float) -> None:
        self.strength = reinforced(self.strength, sum(now - hit <= 7 for hit in self.hits))
        self.hits.append(now)
