"""Roles `extract` and `rate`: what a source chunk states, fact by fact, and how much each of its units matters.

Neither is shown the question or earlier memory, so that a chunk asks the same whatever stands around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rdforget.calls.base import Call, Message, load_prompt
from rdforget.calls.parsing import extract, text_field
from rdforget.calls.units import unit_lines
from rdforget.records import Observation, Protocol

MAX_FACTS = 300
LEAST, MIDDLE, MOST = 1, 5, 10
"""The scale of `rate`, and what a unit without a usable rating gets."""
_TEXT_MAX, _FIELD_MAX, _REFS_MAX = 600, 120, 8


@dataclass(frozen=True, slots=True)
class ExtractInputs:
    observations: tuple[Observation, ...]
    note: str


@dataclass(frozen=True, slots=True)
class RateInputs:
    observations: tuple[Observation, ...]


@dataclass(frozen=True, slots=True)
class Stated:
    """A fact as the reply gives it; `refs` are unchecked."""

    text: str
    when: str | None = None
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extraction:
    """A parsed reply of `extract`. `dropped` counts items without a usable text."""

    facts: tuple[Stated, ...]
    status: str
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Ratings:
    """A parsed reply of `rate`: ref -> 1 to 10. `dropped` counts items without a ref or a number."""

    by_ref: Mapping[str, float]
    status: str
    dropped: int = 0


def _list_schema(key: str, item: Mapping[str, Any], most: int) -> Mapping[str, Any]:
    properties = {
        "type": "object",
        "properties": item,
        "required": list(item),
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {key: {"type": "array", "items": properties, "maxItems": most}},
        "required": [key],
        "additionalProperties": False,
    }


_REF = {"type": "string", "maxLength": _FIELD_MAX}
EXTRACT_SCHEMA = _list_schema(
    "facts",
    {
        "text": {"type": "string", "maxLength": _TEXT_MAX},
        "when": {"type": "string", "maxLength": _FIELD_MAX},
        "refs": {"type": "array", "items": _REF, "maxItems": _REFS_MAX},
    },
    MAX_FACTS,
)
RATE_SCHEMA = _list_schema(
    "ratings", {"ref": _REF, "importance": {"type": "integer", "minimum": LEAST, "maximum": MOST}}, MAX_FACTS
)


def build(observations: tuple[Observation, ...], note: str, protocol: Protocol) -> Call:
    """The extraction call over one source chunk; `note` is the suite's own rule of precedence."""
    prompt = load_prompt("extract")
    return Call(
        role="extract",
        inputs=ExtractInputs(observations, note),
        messages=(
            Message("system", prompt.fill("system")),
            Message("user", prompt.fill("user", units=unit_lines(observations), note=note)),
        ),
        schema=EXTRACT_SCHEMA,
        max_output_tokens=protocol.curate_cap,
    )


def parse(text: str) -> Extraction:
    """Facts of a reply, each validated by itself; never raises."""
    found = extract(text, "facts")
    raw = found.data.get("facts")
    items = raw if isinstance(raw, list) else []
    facts = tuple(fact for one in items if (fact := _fact(one)))
    return Extraction(facts, found.status, len(items) - len(facts))


def build_rating(observations: tuple[Observation, ...], protocol: Protocol) -> Call:
    """The call that rates the units of one source chunk."""
    prompt = load_prompt("extract")
    return Call(
        role="rate",
        inputs=RateInputs(observations),
        messages=(
            Message("system", prompt.fill("rate-system")),
            Message("user", prompt.fill("rate-user", units=unit_lines(observations))),
        ),
        schema=RATE_SCHEMA,
        max_output_tokens=protocol.curate_cap,
    )


def parse_rating(text: str) -> Ratings:
    """Ratings of a reply, clipped to the scale; the last one of a ref counts; never raises."""
    found = extract(text, "ratings")
    raw = found.data.get("ratings")
    items = raw if isinstance(raw, list) else []
    pairs = [pair for one in items if (pair := _rating(one))]
    return Ratings(dict(pairs), found.status, len(items) - len(pairs))


def read_ref(raw: object) -> str:
    """A ref as a model may cite it: `[#12]`, `#12` and the like; empty if it is no text."""
    return raw.strip().removeprefix("[").removesuffix("]").strip() if isinstance(raw, str) else ""


def read_refs(raw: object) -> tuple[str, ...]:
    """The refs of a list, or a single one, without repetitions."""
    cited = raw if isinstance(raw, list) else [raw]
    return tuple(dict.fromkeys(ref for one in cited if (ref := read_ref(one))))


def _fact(raw: object) -> Stated | None:
    if isinstance(raw, str) and raw.strip():
        return Stated(raw.strip())
    if not isinstance(raw, dict) or not (text := text_field(raw, "text", "fact", "statement")):
        return None
    return Stated(text, text_field(raw, "when") or None, read_refs(raw.get("refs", raw.get("ref"))))


def _rating(raw: object) -> tuple[str, float] | None:
    if not isinstance(raw, dict) or not (ref := read_ref(raw.get("ref"))):
        return None
    said = raw.get("importance")
    if isinstance(said, bool) or not isinstance(said, int | float | str):
        return None
    try:
        number = float(said)
    except (ValueError, OverflowError):
        return None
    return (ref, min(max(number, LEAST), MOST)) if number == number else None
