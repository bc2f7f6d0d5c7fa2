"""Role `memorize`: what of a chat is worth keeping, beside what is stored already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rdforget.calls.base import Call, Message, load_prompt
from rdforget.calls.curate import join_slot
from rdforget.calls.extract import LEAST, MIDDLE, MOST, rating
from rdforget.calls.parsing import text_field
from rdforget.calls.units import FIELD, TEXT, Parsed, Units, find, listed, unit_lines
from rdforget.text import fold, one_line

MAX_ITEMS = 40
CATEGORIES = ("semantic", "episodic", "procedural")
ASSISTANTS = frozenset({"assistant", "ai", "bot", "agent", "model", "system", "tool"})
"""Names of speakers, in lower case, whose words are an assistant's."""
CAP = 4_096
"""Output tokens: 40 memories fit."""

_FIELDS: Mapping[str, Any] = {
    "text": TEXT,
    "subject": FIELD,
    "relation": FIELD,
    "scope": FIELD,
    "category": {"type": "string", "enum": list(CATEGORIES)},
    "when": FIELD,
    "importance": {"type": "integer", "minimum": LEAST, "maximum": MOST},
}
_ITEM = {"type": "object", "properties": _FIELDS, "required": list(_FIELDS), "additionalProperties": False}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"memories": {"type": "array", "items": _ITEM, "maxItems": MAX_ITEMS}},
    "required": ["memories"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class MemorizeInputs:
    units: Units
    """Turns of a chat; `when` is its time."""
    known: tuple[str, ...]
    """Texts of stored memories that are near to it."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """A memory as the model proposes it."""

    text: str
    slot: str = ""
    """`subject|relation|scope` of its fields; empty where it replaces nothing."""
    category: str = CATEGORIES[0]
    when: str = ""
    """As the model writes it: usually a date."""
    importance: float = MIDDLE / MOST
    """0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memorized(Parsed):
    memories: tuple[Proposed, ...] = ()


def build(inputs: MemorizeInputs) -> Call:
    """The call over one part of a chat."""
    prompt = load_prompt("memorize")
    known = "\n".join(f"- {one_line(text)}" for text in inputs.known) or "(none)"
    return Call(
        role="memorize",
        inputs=inputs,
        messages=(
            Message("system", prompt.fill("system")),
            Message("user", prompt.fill("user", known=known, units=unit_lines(inputs.units))),
        ),
        schema=SCHEMA,
        max_output_tokens=CAP,
    )


def parse(text: str) -> Memorized:
    """Memories of a reply, each validated by itself, at most MAX_ITEMS; never raises."""
    found = find(text, "memories")
    memories, faults, defect = listed(found, "memories", _proposed)
    return Memorized(status=found.status, faults=faults, defect=defect, memories=memories[:MAX_ITEMS])


def _proposed(raw: dict[str, Any]) -> Proposed | str:
    if not (text := one_line(text_field(raw, "text", "memory", "fact"))):
        return "an item has no text"
    slot = join_slot(*(text_field(raw, name) for name in ("subject", "relation", "scope"))) or text_field(raw, "slot")
    category = fold(text_field(raw, "category"))
    importance = rating(raw.get("importance"))
    return Proposed(
        text,
        slot,
        category if category in CATEGORIES else CATEGORIES[0],
        text_field(raw, "when", "valid_from"),
        (MIDDLE if importance is None else importance) / MOST,
    )
