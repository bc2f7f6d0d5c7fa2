"""Roles `reconcile` and `relate`: what new facts mean for the memories that are nearest to them.

`reconcile` decides about memories (Mem0's operations), `relate` only says how a pair hangs together (FadeMem's
labels). Both ask once for all facts of a chunk, and what a reply leaves out has a harmless meaning: a fact is
added, a pair is compatible.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from rdforget.calls.base import Call, Message, load_prompt
from rdforget.calls.parsing import text_field
from rdforget.calls.units import TEXT, Parsed, find, listed
from rdforget.records import Protocol
from rdforget.text import one_line

MAX_ITEMS = 400
_ID_MAX = 24

E = TypeVar("E", bound=StrEnum)


class Op(StrEnum):
    ADD = "ADD"
    UPDATE = "UPDATE"
    """The memory takes the fact's text, or the text given with the operation."""
    DELETE = "DELETE"
    """The memory no longer holds; the fact is not kept either, unless an ADD says so."""
    NOOP = "NOOP"


class Label(StrEnum):
    """How a newer text stands to an older one."""

    COMPATIBLE = "compatible"
    CONTRADICTS = "contradicts"
    SUBSUMES = "subsumes"
    """It says all that the older one says."""
    SUBSUMED = "subsumed"


@dataclass(frozen=True, slots=True)
class Known:
    """A memory, as a prompt shows it."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class New:
    """A fact of the chunk, with the ids of the nearest memories and of earlier facts of the chunk, nearest first."""

    id: str
    text: str
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReconcileInputs:
    memories: tuple[Known, ...]
    facts: tuple[New, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Pair:
    older: str
    newer: str


@dataclass(frozen=True, slots=True)
class RelateInputs:
    pairs: tuple[Pair, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Decision:
    """One operation of a reply; ids are as written and unchecked."""

    fact: str
    op: Op
    target: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions(Parsed):
    decisions: tuple[Decision, ...] = ()


@dataclass(frozen=True, slots=True)
class Relation:
    label: Label
    text: str = ""
    """For a subsumption, one sentence that says what both say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relations(Parsed):
    """One relation a pair, in the order of the pairs asked about."""

    relations: tuple[Relation, ...] = ()


def _schema(key: str, names: Sequence[str], choice: str, choices: type[StrEnum]) -> dict[str, object]:
    fields: dict[str, object] = {name: {"type": "string", "maxLength": _ID_MAX} for name in names}
    fields |= {choice: {"type": "string", "enum": list(choices)}, "text": TEXT}
    item = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return {
        "type": "object",
        "properties": {key: {"type": "array", "items": item, "maxItems": MAX_ITEMS}},
        "required": [key],
        "additionalProperties": False,
    }


RECONCILE_SCHEMA = _schema("decisions", ("fact", "id"), "op", Op)
RELATE_SCHEMA = _schema("relations", ("pair",), "label", Label)


def build(inputs: ReconcileInputs, protocol: Protocol) -> Call:
    """The call that decides what the new facts of a chunk do to the memories shown."""
    prompt = load_prompt("reconcile")
    user = prompt.fill(
        "user",
        memories="\n".join(f"[{known.id}] {one_line(known.text)}" for known in inputs.memories) or "(none)",
        facts="\n".join(f"[{new.id}] {one_line(new.text)}{_near(new)}" for new in inputs.facts),
        note=inputs.note,
    )
    return Call(
        role="reconcile",
        inputs=inputs,
        messages=(Message("system", prompt.fill("system")), Message("user", user)),
        schema=RECONCILE_SCHEMA,
        max_output_tokens=protocol.curate_cap,
    )


def parse(text: str, inputs: ReconcileInputs) -> Decisions:
    """Operations of a reply, each validated by itself; never raises."""
    names = {new.id for new in inputs.facts}
    found = find(text, "decisions")
    decisions, faults, defect = listed(found, "decisions", lambda raw: _decision(raw, names))
    return Decisions(status=found.status, faults=faults, defect=defect, decisions=decisions)


def build_pairs(inputs: RelateInputs, protocol: Protocol) -> Call:
    """The call that labels pairs of an older and a newer text."""
    prompt = load_prompt("reconcile")
    shown = "\n".join(
        f"[p{at}] older: {one_line(pair.older)}\n     newer: {one_line(pair.newer)}"
        for at, pair in enumerate(inputs.pairs, start=1)
    )
    return Call(
        role="relate",
        inputs=inputs,
        messages=(
            Message("system", prompt.fill("pairs-system")),
            Message("user", prompt.fill("pairs-user", pairs=shown, note=inputs.note)),
        ),
        schema=RELATE_SCHEMA,
        max_output_tokens=protocol.curate_cap,
    )


def parse_pairs(text: str, inputs: RelateInputs) -> Relations:
    """A relation for each pair, compatible where the reply has none; the first of a pair counts; never raises."""
    names = [f"p{at}" for at in range(1, len(inputs.pairs) + 1)]
    found = find(text, "relations")
    labelled, faults, defect = listed(found, "relations", lambda raw: _relation(raw, names))
    by_pair = dict(reversed(labelled))
    relations = tuple(by_pair.get(name, Relation(Label.COMPATIBLE)) for name in names)
    return Relations(status=found.status, faults=faults, defect=defect, relations=relations)


def _near(new: New) -> str:
    return f" | near: {', '.join(new.near)}" if new.near else ""


def _decision(raw: dict[str, Any], facts: Collection[str]) -> Decision | str:
    fact, op = _id(raw.get("fact"), "n"), _choice(raw.get("op"), Op)
    if fact not in facts:
        return "an item names no fact"
    return Decision(fact, op, _id(raw.get("id"), "m"), text_field(raw, "text")) if op else "an item has no operation"


def _relation(raw: dict[str, Any], pairs: Collection[str]) -> tuple[str, Relation] | str:
    pair, label = _id(raw.get("pair"), "p"), _choice(raw.get("label"), Label)
    if pair not in pairs:
        return "an item names no pair"
    return (pair, Relation(label, text_field(raw, "text"))) if label else "an item has no label"


def _id(raw: object, letter: str) -> str:
    """`m3`, `[m3]`, `M3` and the number 3 all read `m3`."""
    if isinstance(raw, bool) or not isinstance(raw, str | int):
        return ""
    name = str(raw)[: _ID_MAX + 2].strip().strip("[]").lower()
    return f"{letter}{name}" if name.isdecimal() else name


def _choice(raw: object, choices: type[E]) -> E | None:
    said = raw.strip().lower() if isinstance(raw, str) else ""
    return next((choice for choice in choices if choice.lower() == said), None)
