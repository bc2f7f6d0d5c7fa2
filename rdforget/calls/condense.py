"""Roles `pressure` and `condense`: saving what matters before a window overflows, and many texts made into one."""

from __future__ import annotations

from dataclasses import dataclass

from rdforget.calls.base import Call, Message, load_prompt
from rdforget.calls.extract import read_refs
from rdforget.calls.parsing import extract, strip_reasoning, text_field
from rdforget.calls.units import unit_lines
from rdforget.records import Observation, Protocol
from rdforget.text import one_line

MAX_EDITS, MAX_NOTES = 30, 200
_TEXT_MAX, _REF_MAX, _REFS_MAX = 600, 120, 8
_ENVELOPE = 40
"""Tokens of a reply around the text asked for; as much again as asked for keeps a long one readable."""


@dataclass(frozen=True, slots=True)
class PressureInputs:
    working: tuple[str, ...]
    observations: tuple[Observation, ...]
    note: str


@dataclass(frozen=True, slots=True)
class CondenseInputs:
    texts: tuple[str, ...]
    limit: int


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of the working context: line 0 adds a line, another one is replaced, or removed by an empty text."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Note:
    text: str
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Saved:
    """A parsed reply of `pressure`. `dropped` counts unusable items of either list."""

    edits: tuple[Edit, ...]
    notes: tuple[Note, ...]
    status: str
    dropped: int = 0


_TEXT = {"type": "string", "maxLength": _TEXT_MAX}
_EDIT = {
    "type": "object",
    "properties": {"line": {"type": "integer"}, "text": _TEXT},
    "required": ["line", "text"],
    "additionalProperties": False,
}
_NOTE = {
    "type": "object",
    "properties": {
        "text": _TEXT,
        "refs": {"type": "array", "items": {"type": "string", "maxLength": _REF_MAX}, "maxItems": _REFS_MAX},
    },
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
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


def build_pressure(
    working: tuple[str, ...], observations: tuple[Observation, ...], note: str, limit: int, protocol: Protocol
) -> Call:
    """The call that saves what matters of a filling window; `limit` is the size of the working context in tokens."""
    prompt = load_prompt("condense")
    user = prompt.fill(
        "pressure-user",
        working="\n".join(f"{at}. {line}" for at, line in enumerate(working, start=1)) or "(empty)",
        units=unit_lines(observations),
        note=note,
    )
    return Call(
        role="pressure",
        inputs=PressureInputs(working, observations, note),
        messages=(Message("system", prompt.fill("pressure-system", limit=str(limit))), Message("user", user)),
        schema=PRESSURE_SCHEMA,
        max_output_tokens=protocol.curate_cap,
    )


def parse_pressure(text: str) -> Saved:
    """Edits and notes of a reply, each validated by itself; never raises."""
    found = extract(text, "working", "archival")
    if found.status == "none":
        found = extract(text, "archival")
    working, archival = (raw if isinstance(raw := found.data.get(key), list) else [] for key in ("working", "archival"))
    edits = tuple(edit for one in working if (edit := _edit(one)))
    notes = tuple(note for one in archival if (note := _note(one)))
    return Saved(edits, notes, found.status, len(working) + len(archival) - len(edits) - len(notes))


def build(texts: tuple[str, ...], limit: int) -> Call:
    """The call that makes one text of at most about `limit` tokens out of several, oldest first."""
    prompt = load_prompt("condense")
    return Call(
        role="condense",
        inputs=CondenseInputs(texts, limit),
        messages=(
            Message("system", prompt.fill("system", limit=str(limit))),
            Message("user", prompt.fill("user", texts="\n".join(f"- {one_line(text)}" for text in texts))),
        ),
        schema=CONDENSE_SCHEMA,
        max_output_tokens=2 * limit + _ENVELOPE,
    )


def parse(text: str) -> str:
    """The text of a reply on one line, plain text taken as it is; empty where there is none; never raises."""
    said = extract(text, "text").data.get("text")
    if isinstance(said, str):
        return one_line(said)
    plain = strip_reasoning(text)
    return "" if "{" in plain else one_line(plain)


def _edit(raw: object) -> Edit | None:
    if isinstance(raw, str) and raw.strip():
        return Edit(0, one_line(raw))
    if not isinstance(raw, dict):
        return None
    line, text = raw.get("line", 0), one_line(text_field(raw, "text"))
    if isinstance(line, bool) or not isinstance(line, int) or line < 0 or not (line or text):
        return None
    return Edit(line, text)


def _note(raw: object) -> Note | None:
    if isinstance(raw, str) and raw.strip():
        return Note(one_line(raw))
    if not isinstance(raw, dict) or not (text := one_line(text_field(raw, "text", "note"))):
        return None
    return Note(text, read_refs(raw.get("refs")))
