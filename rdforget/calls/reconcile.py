"""Roles `reconcile` and `relate`: what new facts mean for the memories that are nearest to them.

`reconcile` decides about memories (Mem0's operations), `relate` only says how a pair hangs together (FadeMem's
labels). Both ask once for all facts of a chunk, and what a reply leaves out has a harmless meaning: a fact is
added, a pair is compatible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from rdforget.calls.base import Call, Message, load_prompt
from rdforget.calls.parsing import extract, text_field
from rdforget.records import Protocol
from rdforget.text import one_line

MAX_DECISIONS = 400
_TEXT_MAX, _ID_MAX = 600, 24

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


@dataclass(frozen=True, slots=True)
class Decisions:
    decisions: tuple[Decision, ...]
    status: str
    dropped: int = 0
    """Items without a fact or a known operation."""


@dataclass(frozen=True, slots=True)
class Relation:
    label: Label
    text: str = ""
    """For a subsumption, one sentence that says what both say."""


@dataclass(frozen=True, slots=True)
class Relations:
    """One relation a pair, in the order of the pairs asked about."""

    relations: tuple[Relation, ...]
    status: str
    dropped: int = 0
    """Items without a known label, or about no pair."""


def _items_schema(key: str, names: Sequence[str], choice: str, choices: type[StrEnum]) -> dict[str, object]:
    fields: dict[str, object] = {
        name: {"type": "string", "maxLength": _TEXT_MAX if name == "text" else _ID_MAX} for name in names
    }
    fields[choice] = {"type": "string", "enum": list(choices)}
    item = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return {
        "type": "object",
        "properties": {key: {"type": "array", "items": item, "maxItems": MAX_DECISIONS}},
        "required": [key],
        "additionalProperties": False,
    }


RECONCILE_SCHEMA = _items_schema("decisions", ("fact", "op", "id", "text"), "op", Op)
RELATE_SCHEMA = _items_schema("relations", ("pair", "label", "text"), "label", Label)


def build(memories: tuple[Known, ...], facts: tuple[New, ...], note: str, protocol: Protocol) -> Call:
    """The call that decides what the new facts of a chunk do to the memories shown."""
    prompt = load_prompt("reconcile")
    user = prompt.fill(
        "user",
        memories="\n".join(f"[{known.id}] {one_line(known.text)}" for known in memories) or "(none)",
        facts="\n".join(f"[{new.id}] {one_line(new.text)}{_near(new)}" for new in facts),
        note=note,
    )
    return Call(
        role="reconcile",
        inputs=ReconcileInputs(memories, facts, note),
        messages=(Message("system", prompt.fill("system")), Message("user", user)),
        schema=RECONCILE_SCHEMA,
        max_output_tokens=protocol.curate_cap,
    )


def parse(text: str) -> Decisions:
    """Operations of a reply, each validated by itself; never raises."""
    items, status = _items(text, "decisions")
    decisions = tuple(decision for one in items if (decision := _decision(one)))
    return Decisions(decisions, status, len(items) - len(decisions))


def build_pairs(pairs: tuple[Pair, ...], note: str, protocol: Protocol) -> Call:
    """The call that labels pairs of an older and a newer text."""
    prompt = load_prompt("reconcile")
    shown = "\n".join(
        f"[p{at}] older: {one_line(pair.older)}\n     newer: {one_line(pair.newer)}"
        for at, pair in enumerate(pairs, start=1)
    )
    return Call(
        role="relate",
        inputs=RelateInputs(pairs, note),
        messages=(
            Message("system", prompt.fill("pairs-system")),
            Message("user", prompt.fill("pairs-user", pairs=shown, note=note)),
        ),
        schema=RELATE_SCHEMA,
        max_output_tokens=protocol.curate_cap,
    )


def parse_pairs(text: str, count: int) -> Relations:
    """A relation for each of `count` pairs, compatible where the reply has none; never raises."""
    items, status = _items(text, "relations")
    found: dict[str, Relation] = {}
    for one in items:
        if isinstance(one, dict) and (label := _choice(one.get("label"), Label)):
            found[_id(one.get("pair"), "p")] = Relation(label, text_field(one, "text"))
    names = [f"p{at}" for at in range(1, count + 1)]
    relations = tuple(found.get(name, Relation(Label.COMPATIBLE)) for name in names)
    return Relations(relations, status, len(items) - sum(name in found for name in names))


def _near(new: New) -> str:
    return f" | near: {', '.join(new.near)}" if new.near else ""


def _items(text: str, key: str) -> tuple[list[object], str]:
    found = extract(text, key)
    raw = found.data.get(key)
    return (raw if isinstance(raw, list) else []), found.status


def _decision(raw: object) -> Decision | None:
    if not isinstance(raw, dict):
        return None
    fact, op = _id(raw.get("fact"), "n"), _choice(raw.get("op"), Op)
    if not fact or not op:
        return None
    return Decision(fact, op, _id(raw.get("id"), "m"), text_field(raw, "text"))


def _id(raw: object, letter: str) -> str:
    """`m3`, `[m3]`, `M3` and the number 3 all read `m3`."""
    if isinstance(raw, bool) or not isinstance(raw, str | int):
        return ""
    name = str(raw)[: _ID_MAX + 2].strip().strip("[]").lower()
    return f"{letter}{name}" if name.isdecimal() else name


def _choice(raw: object, choices: type[E]) -> E | None:
    said = raw.strip().lower() if isinstance(raw, str) else ""
    return next((choice for choice in choices if choice.lower() == said), None)
