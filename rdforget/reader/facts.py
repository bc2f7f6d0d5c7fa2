"""Facts of a source in their order in time, and the graph that they span.

Nodes are names in normal form, an edge leads from the subject of a fact to its value.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rdforget.reader.grammar import Statement, has_several_readings, read
from rdforget.reader.sentences import serial
from rdforget.records import Observation

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_YEAR_FIRST = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")
_WORDS = re.compile(r"\d+|[A-Za-z]+")
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::\d{2})?\s*([ap]\.?m)?", re.IGNORECASE)

Slot = tuple[str, str, str]
Order = tuple[tuple[int, ...], int, int]
"""Date (year, month, day, hour, minute; empty where unknown), serial (-1 without), source position."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement with where it stands."""

    statement: Statement
    line: str = ""
    """The source line."""
    when: str | None = None
    """`#N` of a serial, else the date of the session as the source writes it."""
    order: Order = ((), -1, 0)
    """The larger is later."""

    @property
    def slot(self) -> Slot:
        return self.statement.slot

    @property
    def value(self) -> str:
        return self.statement.value


@dataclass(frozen=True, slots=True)
class Slots:
    """Facts grouped by slot; within a slot each value stands once, at its latest order, oldest first."""

    values: dict[Slot, list[Fact]]

    def current(self, slot: Slot) -> Fact:
        return self.values[slot][-1]

    def replaced(self, slot: Slot) -> list[Fact]:
        return self.values[slot][:-1]


@dataclass(frozen=True, slots=True)
class Graph:
    """Facts as edges. `facts` keeps its order; the rest are indexes into it by node."""

    facts: tuple[Fact, ...]
    out: dict[str, dict[Slot, list[Fact]]] = field(default_factory=dict)
    into: dict[str, dict[str, list[Fact]]] = field(default_factory=dict)
    """Value -> relation -> facts."""
    names: dict[str, str] = field(default_factory=dict)
    """Node -> its name as first written."""
    longest: int = 0
    """Words of the longest name."""


def read_facts(observations: Sequence[Observation]) -> tuple[list[Fact], list[Observation]]:
    """All facts of a source in source order, and the observations that hold none."""
    facts: list[Fact] = []
    unread: list[Observation] = []
    readings = [read(seen.text, seen.speaker) for seen in observations]
    names = {name for found in readings for statement in found for name in (statement.subject, statement.value)}
    for position, (seen, found) in enumerate(zip(observations, readings, strict=True)):
        number, _ = serial(seen.text)
        order = (parse_date(seen.when), -1 if number is None else number, position)
        when = seen.when if number is None else f"#{number}"
        if has_several_readings(seen.text):
            found = read(seen.text, seen.speaker, names)
        facts.extend(Fact(statement, seen.line, when, order) for statement in found)
        if not found:
            unread.append(seen)
    return facts, unread


def group(facts: Iterable[Fact]) -> Slots:
    """Facts by slot, oldest first; a value said again counts where it was said last."""
    values: dict[Slot, dict[str, Fact]] = defaultdict(dict)
    for fact in sorted(facts, key=lambda fact: fact.order):
        values[fact.slot].pop(fact.value, None)
        values[fact.slot][fact.value] = fact
    return Slots({slot: list(latest.values()) for slot, latest in values.items()})


def build_graph(facts: Iterable[Fact]) -> Graph:
    """The graph of facts, with every name that a question may mention."""
    graph_facts = tuple(facts)
    out: dict[str, dict[Slot, list[Fact]]] = {}
    into: dict[str, dict[str, list[Fact]]] = {}
    names: dict[str, str] = {}
    for fact in graph_facts:
        subject, value = fact.statement.subject, fact.value
        out.setdefault(subject, {}).setdefault(fact.slot, []).append(fact)
        into.setdefault(value, {}).setdefault(fact.statement.relation, []).append(fact)
        names.setdefault(subject, fact.statement.subject_text)
        names.setdefault(value, fact.statement.object)
    longest = max((name.count(" ") + 1 for name in names), default=0)
    return Graph(graph_facts, out, into, names, longest)


def parse_date(text: str | None) -> tuple[int, ...]:
    """(year, month, day, hour, minute) of a date in digits or with an English month; empty if there is none."""
    if not text:
        return ()
    time = _TIME.search(text)
    hour, minute = (int(time[1]) % (12 if time[3] else 24), int(time[2])) if time else (0, 0)
    if time and time[3] and time[3].lower().startswith("p"):
        hour += 12
    if found := _YEAR_FIRST.search(text):
        return (int(found[1]), int(found[2]), int(found[3]), hour, minute)
    parts = _WORDS.findall(text[: time.start()] + " " + text[time.end() :] if time else text)
    month = next((_MONTHS[part[:3].lower()] for part in parts if part[:3].lower() in _MONTHS and part.isalpha()), 0)
    year = next((int(part) for part in parts if part.isdecimal() and len(part) == 4), 0)
    day = next((int(part) for part in parts if part.isdecimal() and len(part) <= 2), 0)
    return (year, month, day, hour, minute) if year else ()
