"""Roles `reflect` and `revise` by rules: what a chunk states, and the edits that bring a playbook up to it.

The order of the source may say which of several values is the current one; the question is not known here.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rdforget.calls.reflect import Bullet, ReflectInputs, Reflection, parse
from rdforget.calls.revise import ReviseInputs
from rdforget.calls.units import Units, when_of
from rdforget.dates import parse_date
from rdforget.reader.claims import claim
from rdforget.reader.conversation import everything, facts_in, read_conversation
from rdforget.reader.facts import UNDATED, Order, Slot, read_facts
from rdforget.reader.grammar import read
from rdforget.reader.passages import passage_of


@dataclass(frozen=True, slots=True)
class Line:
    """A statement of a chunk, or a unit of a list that holds none."""

    text: str
    when: str | None
    ref: str
    is_read: bool = True


@dataclass(frozen=True, slots=True)
class Value:
    """What a text gives for a slot; the larger `order` is later."""

    slot: Slot
    value: str
    order: Order


def reflection(inputs: ReflectInputs) -> dict[str, Any]:
    """Every line of the chunk as an observation, and what they do to the bullets that are shown."""
    return _report(inputs.units, inputs.shown.bullets)


def delta(inputs: ReviseInputs) -> dict[str, Any]:
    """The operations that follow from a report, or from the chunk where there is none, as far as they are allowed.

    A playbook that edits takes over the last value of a slot, by UPDATE or else by DELETE and ADD. One that only adds
    takes all values.
    """
    found = inputs.reflection or parse(json.dumps(_report(inputs.units, inputs.shown.bullets)), inputs.units)
    adds = dict.fromkeys(range(1, len(found.findings) + 1))
    operations: list[dict[str, Any]] = []
    if {"UPDATE", "DELETE"} & set(inputs.ops):
        for rivals in _by_slot((finding.text, finding.when) for finding in found.findings).values():
            for at, _ in rivals[:-1]:
                del adds[at]
        for relation in found.relations:
            for at in relation.findings:
                adds.pop(at, None)
            if relation.rel == "contradicts":
                newest = relation.findings[-1]
                if "UPDATE" in inputs.ops:
                    operations.append({"op": "UPDATE", "id": relation.id, **_pointer(newest, found, inputs)})
                else:
                    operations.append({"op": "DELETE", "id": relation.id})
                    adds[newest] = None
    if "ADD" in inputs.ops:
        operations += [{"op": "ADD", **_pointer(at, found, inputs)} for at in adds]
    return {"operations": operations}


def lines_of(units: Units) -> list[Line]:
    """What a chunk says, in its order: the sentences of a conversation, or the statements and other lines of a list."""
    if any(seen.speaker for seen in units):
        refs = {seen.line: seen.ref for seen in units}
        active, replaced = everything(read_conversation(units))
        passages = sorted((passage for passage, _ in (*active, *replaced)), key=lambda passage: passage.order[1])
        return [Line(passage.text, passage.when, refs[passage.line]) for passage in passages]
    facts, unread = read_facts(units)
    at = {id(seen): position for position, seen in enumerate(units)}
    found = [(fact.order[2], Line(fact.statement.text, fact.when, units[fact.order[2]].ref)) for fact in facts]
    found += [(at[id(seen)], Line(seen.line, seen.when, seen.ref, is_read=False)) for seen in unread]
    return [line for _, line in sorted(found, key=lambda pair: pair[0])]


def value_of(text: str, when: str | None, position: int = -1) -> Value | None:
    """The first value in a text that has a slot. A bullet stands before every position of the chunk."""
    serial = int(when[1:]) if when and when[0] == "#" and when[1:].isdecimal() else -1
    order = (parse_date(when or "") or UNDATED, serial, position)
    passage = passage_of(text)
    if not passage.speaker:
        return next((Value(said.slot, said.value, order) for said in read(text)), None)
    for fact in facts_in(passage):
        if fact.statement.known:
            return Value(fact.slot, fact.value, order)
    slot = claim(passage) if len(passage.said) == 1 else None
    return Value(slot, text, order) if slot else None


def _report(units: Units, bullets: Sequence[Bullet]) -> dict[str, Any]:
    lines = lines_of(units)
    observations = []
    for number, line in enumerate(lines, start=1):
        told: dict[str, Any] = {"o": number, "text": line.text, "kind": "fact" if line.is_read else "event"}
        if line.when and line.when != when_of("", (line.ref,), units):
            told["when"] = line.when
        observations.append(told | {"src": [line.ref]})
    by_slot = _by_slot((line.text, line.when) for line in lines)
    relations = []
    for bullet in bullets:
        known = value_of(bullet.text, bullet.when)
        if known and (rivals := by_slot.get(known.slot)):
            newest = rivals[-1][1]
            # A value from before the bullet's time leaves the bullet as it is.
            other = "contradicts" if newest.order > known.order else "extends"
            rel = "confirms" if newest.value == known.value else other
            relations.append({"id": bullet.id, "rel": rel, "o": [at for at, _ in rivals]})
    return {"observations": observations, "relations": relations}


def _by_slot(texts: Iterable[tuple[str, str | None]]) -> dict[Slot, list[tuple[int, Value]]]:
    """The values of each slot, oldest first, with the numbers of their observations."""
    found: defaultdict[Slot, list[tuple[int, Value]]] = defaultdict(list)
    for number, (text, when) in enumerate(texts, start=1):
        if value := value_of(text, when, number):
            found[value.slot].append((number, value))
    for rivals in found.values():
        rivals.sort(key=lambda pair: pair[1].order)
    return found


def _pointer(number: int, found: Reflection, inputs: ReviseInputs) -> dict[str, Any]:
    """An observation by its number, or in full where the reply has no report to point into."""
    if inputs.reflection:
        return {"o": number}
    finding = found.findings[number - 1]
    return {"text": finding.text, "section": f"{finding.kind}s", "when": finding.when or "", "src": list(finding.refs)}
