"""Role `curate`: a source in, atomic statements with proposed slots out (Sec. 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rdforget.calls.base import Call, Message, load_prompt
from rdforget.calls.parsing import extract, text_field
from rdforget.calls.render import details, source_lines
from rdforget.records import Observation, Protocol, Query, Switches

MAX_ITEMS = 400
_TEXT_MAX, _FIELD_MAX = 600, 120


@dataclass(frozen=True, slots=True)
class CurateInputs:
    observations: tuple[Observation, ...]
    note: str
    query: Query | None
    """None under -QC: one memory for every question."""
    slots: bool
    closure: bool


@dataclass(frozen=True, slots=True)
class Item:
    """A curated item: atomic statement, proposed slot, source evidence, optional validity time."""

    text: str
    slot: str = ""
    when: str | None = None
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Curation:
    """A parsed reply. `dropped` counts items without a usable text."""

    active: tuple[Item, ...]
    replaced: tuple[Item, ...]
    status: str
    dropped: int = 0


def schema(slots: bool, cap: int) -> Mapping[str, Any]:
    """JSON schema of a reply of at most `cap` tokens; code joins subject, relation and scope into the slot.

    Under a very small cap a text is bounded by half as many characters, so that one item at least is whole.
    """
    fields = ["text", *(["subject", "relation", "scope"] if slots else []), "when", "evidence"]
    most = {"text": min(_TEXT_MAX, cap // 2), "evidence": min(_TEXT_MAX, cap // 2)}
    item = {
        "type": "object",
        "properties": {name: {"type": "string", "maxLength": most.get(name, _FIELD_MAX)} for name in fields},
        "required": fields,
        "additionalProperties": False,
    }
    items = {"type": "array", "items": item, "maxItems": MAX_ITEMS}
    return {
        "type": "object",
        "properties": {"active": items, "replaced": items},
        "required": ["active", "replaced"],
        "additionalProperties": False,
    }


def build(
    observations: tuple[Observation, ...],
    note: str,
    query: Query | None,
    switches: Switches,
    protocol: Protocol,
) -> Call:
    """The curation call over one source chunk. History first, question last, so that questions share a prefix."""
    prompt = load_prompt("curate")
    if query is None:
        closure_rule = prompt.fill("general-closure")
    else:
        closure_rule = prompt.fill("closure" if switches.closure else "direct-only")
    revisions = prompt.fill("revisions" if switches.slot else "revisions-without-slots")
    system = prompt.fill(
        "system",
        scope_rule=prompt.fill("question-scope" if query else "general-scope"),
        revision_rule=prompt.fill("slots") + "\n" + revisions if switches.slot else revisions,
        closure_rule=closure_rule,
        example=prompt.fill("example-slots" if switches.slot else "example"),
        reply_shape=prompt.fill("shape-slots" if switches.slot else "shape"),
    )
    question = "\n\n" + prompt.fill("question", text=query.text, details=details(query)) if query else ""
    user = prompt.fill("user", source="\n".join(source_lines(observations)), note=note, question=question)
    cap = protocol.curate_cap if query else protocol.curate_cap_general
    return Call(
        role="curate",
        inputs=CurateInputs(observations, note, query, switches.slot, switches.closure),
        messages=(Message("system", system), Message("user", user, shared=len(user) - len(question) if query else 0)),
        schema=schema(switches.slot, cap),
        max_output_tokens=cap,
    )


def parse(text: str) -> Curation:
    """Items of a reply, each validated by itself; never raises."""
    found = extract(text, "active", "replaced")
    if found.status in ("none", "salvaged"):
        alone = extract(text, "active")
        found = found if alone.status in ("none", "salvaged") and found.data else alone
    active, bad_active = _items(found.data.get("active"))
    replaced, bad_replaced = _items(found.data.get("replaced"))
    return Curation(active, replaced, found.status, bad_active + bad_replaced)


def join_slot(subject: str, relation: str, scope: str) -> str:
    """`subject|relation|scope`; empty without a subject and a relation, so that it matches no other."""
    if not subject or not relation:
        return ""
    return "|".join(part.replace("|", "/") for part in (subject, relation, scope))


def _items(raw: object) -> tuple[tuple[Item, ...], int]:
    if not isinstance(raw, list):
        return (), int(raw is not None)
    items = [item for one in raw if (item := _item(one))]
    return tuple(items), len(raw) - len(items)


def _item(raw: object) -> Item | None:
    if not isinstance(raw, dict) or not (text := text_field(raw, "text", "fact", "statement")):
        return None
    joined = join_slot(*(text_field(raw, name) for name in ("subject", "relation", "scope")))
    return Item(
        text=text,
        slot=joined or text_field(raw, "slot"),
        when=text_field(raw, "when") or None,
        evidence=text_field(raw, "evidence"),
    )
