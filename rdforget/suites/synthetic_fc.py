"""synthetic-fc: a made-up twin of fact consolidation, of any size, whose golds are known by construction.

A world of made-up people, companies, cities, ... is a set of slots (subject, relation), each of which holds one value
at a time. Every value that a slot ever has is one numbered sentence; the sentences of all slots are shuffled, and the
larger number is the later value. Questions walk from slot to slot along the latest values.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

from rdforget.records import Gold, History, Observation, Query, Task
from rdforget.scoring.rule import paper_rule
from rdforget.suites._names import Namer, Relation, evolution_frames, relations, relations_of
from rdforget.suites._parameters import GeneratedParameters
from rdforget.suites.base import DataError, Source, Suite

NAME = "synthetic-fc"
VERSION = 1
"""Raise it whenever the same parameters would give other facts or questions."""
NOTE = "The facts are numbered in the order in which they were recorded; a fact with a larger number is newer."

_MIX = {"person": 10, "company": 3, "city": 4, "country": 2, "book": 4, "club": 2}
"""Relative numbers of the subjects that grow with the world."""
_FEW = {"continent": 8, "language": 60, "religion": 40, "sport": 40}
"""Largest numbers of the things that a world has few of."""
_LEAST = 6  # even the halves of the people, who marry across, then have three values to change between
_TRIES = 100  # walks per question before it is given up
_CALM = 5  # every fifth current question may do without a revised fact on its way


@dataclass(frozen=True, slots=True)
class Parameters(GeneratedParameters):
    """What stands in the variant, as `facts=400,seed=7`."""

    suite = NAME
    version = VERSION
    shares = ("historical", "evolution")

    facts: int = field(default=400, metadata={"range": (1, 1_000_000)})
    revisions: float = field(default=0.3, metadata={"range": (0, 0.6)})
    """Share of the facts that a later fact replaces; a slot is revised at most twice."""
    hops: int = field(default=2, metadata={"range": (1, 4)})
    """Current questions take 1 to `hops` steps, in equal numbers."""
    questions: int = field(default=60, metadata={"range": (1, 10_000)})
    historical: float = field(default=0.2, metadata={"range": (0, 1)})
    """Share of questions for the value before the present one."""
    evolution: float = field(default=0.1, metadata={"range": (0, 1)})
    """Share of questions for all values in order."""
    seed: int = field(default=7, metadata={"range": (0, 2**63 - 1)})
    updates: int = field(default=0, metadata={"range": (0, 100), "later": True})
    """Times that every slot is revised, in place of `revisions`; there are facts // (updates + 1) slots then."""


@dataclass(slots=True)
class Slot:
    """All values that a subject's relation ever has, oldest first, and the numbers of their facts."""

    subject: str
    relation: Relation
    values: list[str]
    serials: list[int] = field(default_factory=list)

    @property
    def value(self) -> str:
        return self.values[-1]


class Question(NamedTuple):
    kind: str
    """`current`, `historical` or `evolution`"""
    text: str
    answer: str
    chain: tuple[Slot, ...]
    """The slots on the way; one, unless the question is a current one."""
    evidence: tuple[int, ...]
    """Numbers of the facts that hold the answer."""


@dataclass(frozen=True, slots=True)
class World:
    slots: dict[tuple[str, str], Slot]
    """By subject and name of relation."""
    lines: tuple[str, ...]
    """Line n is the fact with number n."""

    def follow(self, entity: str, way: Sequence[Relation]) -> str | None:
        """Where the latest values lead from `entity`; None where a fact is missing on the way."""
        for relation in way:
            if not (slot := self.slots.get((entity, relation.name))):
                return None
            entity = slot.value
        return entity


def build_world(parameters: Parameters) -> World:
    """Exactly `facts` lines in time linear in their number; the same for any choice of questions.

    With `updates` there are as many as slots of equal length have.
    """
    rng = Random(f"{NAME} {VERSION} world {parameters.seed}")
    revisions = _revisions(parameters)
    count = len(revisions)
    pools = _pools(count, rng, max(_LEAST, 2 * (parameters.updates + 1)))
    pairs = [
        (subject, relation)
        for kind, outgoing in relations_of().items()
        for position, subject in enumerate(pools[kind])
        for relation in outgoing
        if relation.name != "spouse" or position % 2 == 0
    ]
    slots = {
        (subject, relation.name): Slot(subject, relation, _values(relation, 1 + extra, pools, rng))
        for (subject, relation), extra in zip(rng.sample(pairs, count), revisions, strict=True)
    }
    order = [slot for slot in slots.values() for _ in slot.values]
    rng.shuffle(order)
    lines = []
    for number, slot in enumerate(order):
        value = slot.values[len(slot.serials)]
        slot.serials.append(number)
        lines.append(f"{number}. {rng.choice(slot.relation.facts).format(s=slot.subject, o=value)}")
    return World(slots, tuple(lines))


def _revisions(parameters: Parameters) -> list[int]:
    """How often each slot is revised."""
    if parameters.updates:
        return [parameters.updates] * max(parameters.facts // (parameters.updates + 1), 1)
    replaced = min(round(parameters.revisions * parameters.facts), 2 * parameters.facts // 3)
    count = parameters.facts - replaced
    twice = max(replaced - count, replaced // 6)
    once = replaced - 2 * twice
    return [2] * twice + [1] * once + [0] * (count - once - twice)


def _pools(count: int, rng: Random, least: int) -> dict[str, list[str]]:
    """Names by type, enough for `count` slots."""
    namer = Namer(rng)
    slots_per_unit = sum(_MIX.get(relation.subject, 0) for relation in relations()) - _MIX["person"] / 2
    sizes = {kind: math.ceil(share * count / slots_per_unit) for kind, share in _MIX.items()}
    sizes |= {kind: min(most, count // 100) for kind, most in _FEW.items()}
    return {kind: [namer.name(kind) for _ in range(max(least, size))] for kind, size in sizes.items()}


def _values(relation: Relation, count: int, pools: dict[str, list[str]], rng: Random) -> list[str]:
    """Different values, oldest first. Those who are married to have no spouse fact of their own to contradict."""
    pool = pools[relation.object]
    values: list[str] = []
    while len(values) < count:
        value = pool[2 * rng.randrange(len(pool) // 2) + 1] if relation.name == "spouse" else rng.choice(pool)
        if value not in values:
            values.append(value)
    return values


def build_questions(world: World, parameters: Parameters) -> list[Question]:
    """Up to `questions` different questions in mixed order; fewer where the world has no more to ask."""
    rng = Random(f"{NAME} {VERSION} questions {parameters.sha256}")
    historical = round(parameters.historical * parameters.questions)
    evolution = min(round(parameters.evolution * parameters.questions), parameters.questions - historical)
    changing = [slot for slot in world.slots.values() if slot.relation.before and len(slot.values) > 1]
    once = [slot for slot in changing if len(slot.values) == 2 and not paper_rule(slot.value, slot.values[0])]
    questions = [
        *(_historical(slot, rng) for slot in rng.sample(once, min(historical, len(once)))),
        *(_evolution(slot, rng) for slot in rng.sample(changing, min(evolution, len(changing)))),
        *_current(world, parameters.questions - historical - evolution, parameters.hops, rng),
    ]
    rng.shuffle(questions)
    return questions


def _historical(slot: Slot, rng: Random) -> Question:
    text = rng.choice(slot.relation.before).format(x=slot.subject)
    return Question("historical", text, slot.values[-2], (slot,), (slot.serials[-2],))


def _evolution(slot: Slot, rng: Random) -> Question:
    noun = slot.relation.noun[0].format(x=slot.subject)
    text = rng.choice(evolution_frames()).format(noun=noun)
    return Question("evolution", text, ", then ".join(slot.values), (slot,), tuple(slot.serials))


def _current(world: World, count: int, hops: int, rng: Random) -> Iterator[Question]:
    """Questions for latest values; four of five have a revised fact on the way, as far as there are such ways."""
    slots = list(world.slots.values())
    revised = [slot for slot in slots if len(slot.values) > 1]
    asked: set[tuple[str, ...]] = set()
    for number in range(count):
        for attempt in range(_TRIES):
            conflict = number % _CALM > 0 and attempt < _TRIES // 2
            start = rng.choice(revised if conflict and revised and attempt % 2 else slots)
            chain = _walk(world, start, 1 + number % hops, rng)
            if not chain or (conflict and all(len(slot.values) == 1 for slot in chain)):
                continue
            key = (start.subject, *(slot.relation.name for slot in chain))
            if key in asked or not _is_telling(world, chain):
                continue
            asked.add(key)
            evidence = tuple(slot.serials[-1] for slot in chain)
            yield Question("current", _phrase(chain, rng), chain[-1].value, chain, evidence)
            break


def _walk(world: World, start: Slot, hops: int, rng: Random) -> tuple[Slot, ...]:
    """A chain of `hops` slots from `start` through different entities; empty where it comes to a dead end."""
    chain, seen = [start], {start.subject, start.value}
    while len(chain) < hops:
        last = chain[-1]
        onward = [
            slot
            for relation in relations_of().get(last.relation.object, ())
            if last.relation.name not in relation.not_after
            and (slot := world.slots.get((last.value, relation.name)))
            and slot.value not in seen
        ]
        if not onward:
            return ()
        chain.append(rng.choice(onward))
        seen.add(chain[-1].value)
    return tuple(chain)


def _is_telling(world: World, chain: Sequence[Slot]) -> bool:
    """Whether every older value on the way leads, over facts that exist, to an answer that scores as wrong."""
    gold = chain[-1].value
    way = [slot.relation for slot in chain]
    stale = (world.follow(value, way[step + 1 :]) for step, slot in enumerate(chain) for value in slot.values[:-1])
    return all(answer is not None and not paper_rule(answer, gold) for answer in stale)


def _phrase(chain: Sequence[Slot], rng: Random) -> str:
    """The question in English; noun phrases other than the innermost keep to the form that can be nested."""
    phrase = chain[0].subject
    for step, slot in enumerate(chain[:-1]):
        phrase = rng.choice(slot.relation.noun[: 1 if step else None]).format(x=phrase)
    return rng.choice(chain[-1].relation.ask).format(x=phrase)


def load(variant: str, data_dir: Path | None) -> Suite:
    """The suite of a variant such as `facts=400,revisions=0.3,seed=7`; see `Parameters`. Needs no data folder."""
    parameters = Parameters.parse(variant)
    world = build_world(parameters)
    questions = build_questions(world, parameters)
    if not questions:
        raise DataError(f"{NAME}: {parameters.facts} facts give no question of this kind: raise facts or revisions")
    content = hashlib.sha256("\n".join(world.lines).encode()).hexdigest()
    history = History(
        f"{NAME}:{content[:12]}",
        tuple(Observation(f"#{number}", line) for number, line in enumerate(world.lines)),
        NOTE,
    )
    tasks = tuple(
        Task(
            Query(f"{NAME}:{parameters.sha256[:8]}:{number:04d}", parameters.name, question.text, question.kind),
            history,
            Gold((question.answer,), tuple(f"#{serial}" for serial in question.evidence)),
        )
        for number, question in enumerate(questions)
    )
    missing = parameters.questions - len(tasks)
    return Suite(
        name=parameters.name,
        tasks=lambda: iter(tasks),
        sources=(Source(NAME, parameters.sha256),),
        notes=(f"{missing} of {parameters.questions} questions could not be built.",) if missing else (),
    )
