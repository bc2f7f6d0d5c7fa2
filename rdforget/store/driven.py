"""The simulation's load brought to a real store: what it keeps, beside what the formula expects."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from rdforget.records import Status
from rdforget.store.memory_store import MemoryStore
from rdforget.store.records import Candidate, Category, Decision, Outcome, Policy, Row, StoreError
from rdforget.store.simulation import Load, Rows

_BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
_SYLLABLES = "ba de fi go hu ka le mi no pu ra se ti vo wu za ce di fo gu".split()  # noqa: SIM905  # as in _names


@dataclass(frozen=True, slots=True)
class Driven:
    """What a store holds at the end."""

    users: tuple[Rows, ...]
    size: int
    """Bytes of its files."""
    seconds: float


@dataclass(slots=True)
class _Share:
    """Says yes as often as a share asks, as evenly as may be: nothing of a difference is chance."""

    left: float

    def is_due(self, share: float) -> bool:
        self.left += share
        due = self.left >= 1
        self.left -= due
        return due


@dataclass(slots=True)
class _User:
    """One user's habits, and which rows he knows to be open: there is no other way to repeat or update one."""

    name: str
    load: Load
    rng: np.random.Generator
    """Chooses the rows that are repeated and the words."""
    merges: _Share
    updates: _Share
    episodes: _Share
    open: dict[str, Candidate] = field(default_factory=dict)
    told: int = 0
    merge: float = 0.0

    def says(self, count: int) -> list[Candidate]:
        """A session's candidates: texts of open rows, new texts for lasting ones' slots, or something new."""
        load = self.load
        self.merge = load.merge if load.half is None else len(self.open) / (len(self.open) + load.half)
        rows = list(self.open.values())
        said: list[Candidate] = []
        for _ in range(count):
            if not rows or not self.merges.is_due(self.merge):
                said.append(self._news())
                continue
            lasting = [at for at, row in enumerate(rows) if row.category is Category.SEMANTIC]
            if lasting and self.updates.is_due(load.updates):
                said.append(replace(rows.pop(self.rng.choice(lasting)), text=self._text()))
            else:
                said.append(rows.pop(self.rng.integers(len(rows))))
        return said

    def hears(self, said: Sequence[Candidate], decisions: Sequence[Decision]) -> None:
        for candidate, decision in zip(said, decisions, strict=True):
            if decision.outcome is Outcome.SUPERSEDED and decision.other:
                del self.open[decision.other]
            if decision.id and decision.outcome is not Outcome.DUPLICATE:
                self.open[decision.id] = candidate

    def _news(self) -> Candidate:
        self.told += 1
        if self.episodes.is_due(self.load.episodic):
            return Candidate(self._text(), category=Category.EPISODIC)
        return Candidate(self._text(), slot=f"{self.name}|fact {self.told}|")

    def _text(self) -> str:
        """Eight made-up words: no two are near-duplicates."""
        words = ("".join(self.rng.choice(_SYLLABLES, 3)) for _ in range(8))
        return f"{' '.join(words)}."


def drive(load: Load, users: int, folder: Path, seed: int) -> Driven:
    """Bring `users` users' days to a new store in `folder`, with a nightly expiry, by a clock of its own.

    Raises StoreError where the load has reads: which rows a search returns is not the load's to say.
    """
    if load.reads:
        raise StoreError(f"reads is {load.reads:g}: a store is driven without reads, give 0")
    began, now = time.perf_counter(), _BEGIN
    rngs = np.random.default_rng(seed).spawn(users)
    people = [
        _User(f"user-{number:04d}", load, rng, _Share(rng.random()), _Share(rng.random()), _Share(rng.random()))
        for number, rng in enumerate(rngs)
    ]
    with MemoryStore(folder, clock=lambda: now, policy=Policy(expire_days=load.expire_days)) as store:
        for day in range(load.days):
            sessions = range(math.floor(day * load.sessions), math.floor((day + 1) * load.sessions))
            for session in sessions:
                now = _BEGIN + timedelta(days=day + (session - sessions.start + 0.5) / len(sessions))
                count = math.floor((session + 1) * load.candidates) - math.floor(session * load.candidates)
                for person in people:
                    said = person.says(count)
                    person.hears(said, store.add_many(person.name, said))
            now = _BEGIN + timedelta(days=day + 1)
            for id in store.expire().ids:
                for person in people:
                    person.open.pop(id, None)
        found = tuple(_counted(person, list(store.rows(person.name, open_only=False))) for person in people)
    size = sum(path.stat().st_size for path in folder.iterdir())
    return Driven(found, size, time.perf_counter() - began)


def _counted(person: _User, rows: list[Row]) -> Rows:
    active = [row.category for row in rows if row.status is Status.ACTIVE]
    hot = active.count(Category.EPISODIC)
    by_status = [row.status for row in rows]
    seen = person.load.a_day * person.load.days
    closed, cold = by_status.count(Status.SUPERSEDED), by_status.count(Status.DEPRECATED)
    return Rows(seen, len(active) - hot, hot, closed, cold, person.merge)


@dataclass(frozen=True, slots=True)
class Difference:
    """Rows of one kind, a user: expected, and kept on average."""

    kind: str
    expected: float
    kept: float


def differences(expected: Rows, driven: Driven) -> list[Difference]:
    """Kind by kind."""
    names = ("open", "lasting", "hot", "closed", "cold", "disk")
    kept = {name: sum(getattr(rows, name) for rows in driven.users) / len(driven.users) for name in names}
    return [Difference(name, getattr(expected, name), kept[name]) for name in names]
