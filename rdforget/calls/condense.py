"""Roles `pressure` and `condense`: saving what matters before a window overflows, and many texts made into one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rdforget.calls.base import Call, Message, load_prompt
from rdforget.calls.extract import Fact
from rdforget.calls.parsing import extract, strip_reasoning, text_field
from rdforget.calls.units import REFS, TEXT, Parsed, Units, find, listed, refs_of, unit_lines, when_of, within
from rdforget.records import Protocol
from rdforget.text import one_line

MAX_EDITS, MAX_NOTES = 30, 200
_ENVELOPE = 40
"""Tokens of a reply around the text asked for; as much again as asked for keeps a long one readable."""


@dataclass(frozen=True, slots=True)
class PressureInputs:
    working: tuple[str, ...]
    units: Units
    note: str
    limit: int
    """Tokens of the working page."""


@dataclass(frozen=True, slots=True)
class CondenseInputs:
    texts: tuple[str, ...]
    """Oldest first."""
    limit: int
    """Tokens that the text may take, about."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of the working context: line 0 adds a line, another one is replaced, or removed by an empty text."""

    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved(Parsed):
    edits: tuple[Edit, ...] = ()
    notes: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Condensed(Parsed):
    text: str = ""


_EDIT = {
    "type": "object",
    "properties": {"line": {"type": "integer"}, "text": TEXT},
    "required": ["line", "text"],
    "additionalProperties": False,
}
_NOTE = {
    "type": "object",
    "properties": {"text": TEXT, "refs": REFS},
    "required": ["text", "refs"],
    "additionalProperties": False,
}
PRESSURE_SCHEMA = {
    "type": "object",
    "properties": {
        "working": {"type": "array", "items": _EDIT, "maxItems": MAX_EDITS},
        "archival": {"type": "array", "items": _NOTE, "maxItems": MAX_NOTES},
    },
    "required": ["working", "archival"],
    "additionalProperties": False,
}
CONDENSE_SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string", "maxLength": 2_000}},
    "required": ["text"],
    "additionalProperties": False,
}


def build_pressure(inputs: PressureInputs, protocol: Protocol) -> Call:
    """The call that saves what matters of a filling window."""
    prompt = load_prompt("condense")
    user = prompt.fill(
        "pressure-user",
        working="\n".join(f"{at}. {line}" for at, line in enumerate(inputs.working, start=1)) or "(empty)",
        units=unit_lines(inputs.units),
        note=inputs.note,
    )
    return Call(
        role="pressure",
        inputs=inputs,
        messages=(Message("system", prompt.fill("pressure-system", limit=str(inputs.limit))), Message("user", user)),
        schema=within(PRESSURE_SCHEMA, protocol.curate_cap),
        max_output_tokens=protocol.curate_cap,
    )


def parse_pressure(text: str, units: Units) -> Saved:
    """Edits and notes of a reply, each validated by itself; a list that is not there is empty; never raises."""
    found = find(text, "archival", "working")
    edits, bad_edits, _ = listed(found, "working", _edit)
    notes, bad_notes, defect = listed(found, "archival", lambda raw: _note(raw, units))
    faults = (*bad_edits, *bad_notes)
    return Saved(status=found.status, faults=faults, defect="" if edits else defect, edits=edits, notes=notes)


def build(inputs: CondenseInputs) -> Call:
    """The call that makes one text out of several."""
    prompt = load_prompt("condense")
    notes = "\n".join(f"- {one_line(text)}" for text in inputs.texts)
    return Call(
        role="condense",
        inputs=inputs,
        messages=(
            Message("system", prompt.fill("system", limit=str(inputs.limit))),
            Message("user", prompt.fill("user", texts=notes)),
        ),
        schema=CONDENSE_SCHEMA,
        max_output_tokens=2 * inputs.limit + _ENVELOPE,
    )


def parse(text: str) -> Condensed:
    """The text of a reply on one line, plain text taken as it is; never raises."""
    found = extract(text, "text")
    said = text_field(found.data, "text") if found.status != "none" else strip_reasoning(text)
    if not said or (found.status == "none" and "{" in said):
        return Condensed(status=found.status, defect='it holds no JSON object with a "text"')
    return Condensed(status=found.status if found.status != "none" else "plain", text=one_line(said))


def _edit(raw: dict[str, Any]) -> Edit | str:
    line, text = raw.get("line", 0), one_line(text_field(raw, "text"))
    if isinstance(line, bool) or not isinstance(line, int) or line < 0:
        return "an item has no line number"
    return Edit(line, text) if line or text else "a new line has no text"


def _note(raw: dict[str, Any], units: Units) -> Fact | str:
    if not (text := one_line(text_field(raw, "text", "note"))):
        return "a note has no text"
    refs = refs_of(raw.get("refs"), units)
    return Fact(text, when_of("", refs, units), refs)
