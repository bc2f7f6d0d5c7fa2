"""Role `revise`, second half of ACE (its curator): a report in, a small delta of the playbook out.

Operations point to observations of the report by number, so that no text is written twice. Code applies them:
`rdforget.methods.playbook`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rdforget.calls.base import Call, Message, load_prompt
from rdforget.calls.parsing import text_field
from rdforget.calls.reflect import (
    MAX_ITEMS,
    SECTIONS,
    Finding,
    Reflection,
    Shown,
    bullet_id,
    integer,
    playbook_lines,
    report,
)
from rdforget.calls.units import FIELD, REFS, TEXT, Parsed, Units, find, listed, refs_of, unit_lines, when_of, within
from rdforget.text import one_line

OPS = ("UPDATE", "MERGE", "DELETE", "ADD")
"""In the order in which they are applied."""
_SHAPES = {
    "ADD": '{"op": "ADD", "o": 1, "section": "facts"}',
    "UPDATE": '{"op": "UPDATE", "id": "fct-00001", "o": 2}',
    "DELETE": '{"op": "DELETE", "id": "fct-00002", "why": "..."}',
    "MERGE": '{"op": "MERGE", "ids": ["fct-00003", "fct-00004"], "text": "..."}',
}
_SOURCE_SHAPES = {
    "ADD": '{"op": "ADD", "text": "...", "section": "facts", "src": ["..."]}',
    "UPDATE": '{"op": "UPDATE", "id": "fct-00001", "text": "...", "src": ["..."]}',
}


@dataclass(frozen=True, slots=True)
class ReviseInputs:
    units: Units
    note: str
    shown: Shown
    summary: str
    """How large the playbook is, and how large it may grow."""
    reflection: Reflection | None
    """None where there is no reflector: then the chunk itself is shown."""
    ops: tuple[str, ...]
    """Operations that the reply may use."""
    versioned: bool = False
    """Whether the playbook keeps what an UPDATE replaces."""


@dataclass(frozen=True, slots=True)
class Operation:
    op: str
    ids: tuple[str, ...] = ()
    text: str = ""
    section: str = ""
    """As the reply names it; empty where it does not."""
    when: str | None = None
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta(Parsed):
    operations: tuple[Operation, ...] = ()


def schema(ops: tuple[str, ...]) -> Mapping[str, Any]:
    operation = {
        "type": "object",
        "properties": {
            "op": {"type": "string", "enum": list(ops)},
            "id": FIELD,
            "ids": {"type": "array", "items": FIELD, "maxItems": 40},
            "o": {"type": "integer"},
            "text": TEXT,
            "section": {"type": "string", "enum": list(SECTIONS)},
            "when": FIELD,
            "src": REFS,
            "why": FIELD,
        },
        "required": ["op"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"operations": {"type": "array", "items": operation, "maxItems": MAX_ITEMS}},
        "required": ["operations"],
        "additionalProperties": False,
    }


def build(inputs: ReviseInputs, *, cap: int, temperature: float = 0.0) -> Call:
    """The call that edits the playbook after one chunk."""
    prompt = load_prompt("revise")
    reflected = inputs.reflection is not None
    rules = {"UPDATE": "update-versioned"} if inputs.versioned else {}
    shapes = _SHAPES if reflected else _SHAPES | _SOURCE_SHAPES
    system = prompt.fill(
        "system",
        task=prompt.fill("from-report" if reflected else "from-source"),
        rules="\n".join(prompt.fill(rules.get(op, op.lower())) for op in inputs.ops),
        constancy="" if "UPDATE" in inputs.ops else "\n" + prompt.fill("append-only"),
        sections=", ".join(SECTIONS),
        shape=",\n ".join(shapes[op] for op in inputs.ops),
    )
    seen = (
        prompt.fill("report", report=report(inputs.reflection))
        if inputs.reflection is not None
        else prompt.fill("source", source=unit_lines(inputs.units))
    )
    user = prompt.fill(
        "user", playbook=playbook_lines(inputs.shown), summary=inputs.summary, note=inputs.note, seen=seen
    )
    return Call(
        role="revise",
        inputs=inputs,
        messages=(Message("system", system), Message("user", user)),
        schema=within(schema(inputs.ops), cap),
        max_output_tokens=cap,
        sampling={"temperature": temperature},
    )


def parse(text: str, inputs: ReviseInputs, *, strict: bool = False) -> Delta:
    """The operations of a reply, each validated by itself; never raises.

    `strict` is what the released code of ACE does: one bad operation, or a cut-off end, makes the whole reply bad.
    """
    found = find(text, "operations")
    operations, faults, defect = listed(found, "operations", lambda raw: _operation(raw, inputs))
    if strict and not defect and (faults or found.status == "salvaged"):
        operations, defect = (), faults[0] if faults else "it is cut off"
    return Delta(status=found.status, faults=faults, defect=defect, operations=operations)


def additions(reflection: Reflection) -> tuple[Operation, ...]:
    """Every finding of a report as an ADD: what stands in for a delta that could not be read."""
    return tuple(
        Operation("ADD", (), finding.text, _section("", finding), finding.when, finding.refs)
        for finding in reflection.findings
    )


def _operation(raw: dict[str, Any], inputs: ReviseInputs) -> Operation | str:
    op = text_field(raw, "op", "type").upper()
    if op not in inputs.ops:
        return f"an operation is none of {', '.join(inputs.ops)}"
    named = raw.get("ids") if op == "MERGE" else [raw.get("id")] if op != "ADD" else []
    ids = tuple(dict.fromkeys(name for one in (named if isinstance(named, list) else []) if (name := bullet_id(one))))
    if op != "ADD" and not ids:
        return f"{op} names no bullet"
    if op == "DELETE":
        return Operation(op, ids)
    finding = _finding(raw.get("o"), inputs.reflection)
    said = one_line(text_field(raw, "text", "content")) or (finding.text if finding else "")
    if not said:
        return f"{op} has neither a text nor the number of an observation"
    refs = refs_of(raw.get("src"), inputs.units) or (finding.refs if finding else ())
    told = text_field(raw, "when")
    when = finding.when if finding and not told else when_of(told, refs, inputs.units) if told or refs else None
    return Operation(op, ids, said, _section(text_field(raw, "section"), finding), when, refs)


def _finding(raw: object, reflection: Reflection | None) -> Finding | None:
    number = integer(raw)
    if reflection is None or number is None or not 1 <= number <= len(reflection.findings):
        return None
    return reflection.findings[number - 1]


def _section(said: str, finding: Finding | None) -> str:
    return said or (f"{finding.kind}s" if finding else "")
