"""Facts of a source in their order in time, and the graph that they span.

Nodes are names in normal form, an edge leads from the subject of a fact to its value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rdforget.dates import parse_date
from rdforget.reader.grammar import Statement, has_several_readings, read
from rdforget.reader.sentences import serial
from rdforget.records import Observation

Slot = tuple[str, str, str]
Order = tuple[datetime, int, int]
"""Date of the session (`UNDATED` where unknown), serial (-1 without), source position."""
UNDATED = datetime.min  # noqa: DTZ901  # the dates of the sources have no zone


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement with where it stands."""

    statement: Statement
    line: str = ""
    """The source line."""
    when: str | None = None
    """`#N` of a serial, else the date of the session as the source writes it."""
    order: Order = (UNDATED, -1, 0)
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
        order = (parse_date(seen.when or "") or UNDATED, -1 if number is None else number, position)
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
