"""Roles `extract` and `rate`: what a source chunk states, fact by fact, and how much each of its units matters.

Neither is shown the question or earlier memory, so that a chunk asks the same whatever stands around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rdforget.calls.base import Call, Message, load_prompt
from rdforget.calls.parsing import text_field
from rdforget.calls.units import (
    FIELD,
    REFS,
    TEXT,
    Parsed,
    Units,
    dated,
    find,
    listed,
    refs_of,
    unit_lines,
    when_of,
    within,
)
from rdforget.records import Protocol
from rdforget.text import one_line

MAX_ITEMS = 400
LEAST, MIDDLE, MOST = 1, 5, 10
"""The scale of `rate`, and what a unit without a usable rating gets."""


@dataclass(frozen=True, slots=True)
class ExtractInputs:
    units: Units
    note: str


@dataclass(frozen=True, slots=True)
class RateInputs:
    units: Units


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact with the refs of the units that it rests on, and its date or the serial `#N` of a unit."""

    text: str
    when: str | None = None
    refs: tuple[str, ...] = ()

    @property
    def stated(self) -> str:
        """The text with its time, as entries and prompts show it."""
        return dated(self.text, self.when)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction(Parsed):
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings(Parsed):
    by_ref: Mapping[str, float] = field(default_factory=dict)


def _schema(key: str, item: Mapping[str, Any], **bounds: int) -> Mapping[str, Any]:
    items = {"type": "object", "properties": item, "required": list(item), "additionalProperties": False}
    return {
        "type": "object",
        "properties": {key: {"type": "array", "items": items, "maxItems": MAX_ITEMS, **bounds}},
        "required": [key],
        "additionalProperties": False,
    }


EXTRACT_SCHEMA = _schema("facts", {"text": TEXT, "when": FIELD, "refs": REFS})
_RATING = {"ref": FIELD, "importance": {"type": "integer", "minimum": LEAST, "maximum": MOST}}


def build(inputs: ExtractInputs, protocol: Protocol) -> Call:
    """The call that lists the facts of one chunk; `note` is the suite's own rule of precedence."""
    prompt = load_prompt("extract")
    return Call(
        role="extract",
        inputs=inputs,
        messages=(
            Message("system", prompt.fill("system")),
            Message("user", prompt.fill("user", units=unit_lines(inputs.units), note=inputs.note)),
        ),
        schema=within(EXTRACT_SCHEMA, protocol.curate_cap),
        max_output_tokens=protocol.curate_cap,
    )


def parse(text: str, units: Units) -> Extraction:
    """Facts of a reply, each validated by itself; never raises."""
    found = find(text, "facts")
    facts, faults, defect = listed(found, "facts", lambda raw: _fact(raw, units))
    return Extraction(status=found.status, faults=faults, defect=defect, facts=facts)


def build_rating(inputs: RateInputs, protocol: Protocol) -> Call:
    """The call that rates the units of one chunk."""
    prompt = load_prompt("extract")
    return Call(
        role="rate",
        inputs=inputs,
        messages=(
            Message("system", prompt.fill("rate-system")),
            Message("user", prompt.fill("rate-user", units=unit_lines(inputs.units))),
        ),
        schema=_schema("ratings", _RATING, minItems=len(inputs.units), maxItems=len(inputs.units)),
        max_output_tokens=protocol.curate_cap,
    )


def parse_rating(text: str, units: Units) -> Ratings:
    """Ratings of a reply by ref, clipped to the scale; the last one of a unit counts; never raises."""
    found = find(text, "ratings")
    pairs, faults, defect = listed(found, "ratings", lambda raw: _rating(raw, units))
    return Ratings(status=found.status, faults=faults, defect=defect, by_ref=dict(pairs))


def _fact(raw: dict[str, Any], units: Units) -> Fact | str:
    if not (text := one_line(text_field(raw, "text", "fact", "statement"))):
        return "an item has no text"
    refs = refs_of(raw.get("refs"), units)
    return Fact(text, when_of(text_field(raw, "when"), refs, units), refs)


def rating(said: object) -> float | None:
    """A rating clipped to the scale; None for what is no number."""
    try:
        number = float(said) if isinstance(said, int | float | str) and not isinstance(said, bool) else float("nan")
    except (ValueError, OverflowError):
        return None
    return min(max(number, LEAST), MOST) if number == number else None


def _rating(raw: dict[str, Any], units: Units) -> tuple[str, float] | str:
    refs, number = refs_of(raw.get("ref"), units), rating(raw.get("importance"))
    if not refs:
        return "an item names no unit"
    return "an item has no number" if number is None else (refs[0], number)
