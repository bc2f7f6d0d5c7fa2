"""Role `reflect`, first half of ACE: a chunk and the playbook in, a report of what the chunk says out.

After "Agentic Context Engineering" (ICLR 2026), for memory of a source: where the paper's reflector reads how an
attempt at a task went, this one reads the source. It states what a chunk establishes and how that bears on
the bullets of the playbook. What is done about it is up to role `revise`.
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
from rdforget.records import Status
from rdforget.text import one_line

SECTIONS = {
    "facts": "fct",
    "events": "evt",
    "preferences": "prf",
    "instructions": "ins",
    "relations": "rel",
    "conflicts": "cnf",
    "others": "msc",
}
"""Sections of a playbook and the slugs that begin the ids of their bullets."""
KINDS = ("fact", "event", "preference", "instruction", "relation")
RELATIONS = ("confirms", "contradicts", "extends", "retracts")
MAX_ITEMS = 400


@dataclass(frozen=True, slots=True)
class Bullet:
    """One bullet of a playbook."""

    id: str
    section: str
    """A key of `SECTIONS`."""
    text: str
    when: str | None = None
    refs: tuple[str, ...] = ()
    helpful: int = 0
    """Times that a later chunk confirmed it."""
    harmful: int = 0
    """Times that a later chunk contradicted or retracted it."""
    rev: int = 0
    """Times that its text was replaced in place."""
    status: Status = Status.ACTIVE
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """The part of a playbook that a call sees; what is hidden cannot be edited by its reply."""

    bullets: tuple[Bullet, ...] = ()
    hidden: Mapping[str, int] = field(default_factory=dict)
    """Bullets left out, by section."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An observation of the report: one statement of the chunk."""

    text: str
    kind: str
    when: str | None
    refs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """How findings bear on a bullet; `findings` are positions in the report, from 1."""

    id: str
    rel: str
    findings: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection(Parsed):
    findings: tuple[Finding, ...] = ()
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True)
class ReflectInputs:
    units: Units
    note: str
    shown: Shown
    draft: Reflection | None = None
    """The report of the round before, which this one is to better."""


SCHEMA = {
    "type": "object",
    "properties": {
        "observations": {
            "type": "array",
            "maxItems": MAX_ITEMS,
            "items": {
                "type": "object",
                "properties": {
                    "o": {"type": "integer"},
                    "text": TEXT,
                    "kind": {"type": "string", "enum": list(KINDS)},
                    "when": FIELD,
                    "src": REFS,
                },
                "required": ["o", "text", "kind", "src"],
                "additionalProperties": False,
            },
        },
        "relations": {
            "type": "array",
            "maxItems": MAX_ITEMS,
            "items": {
                "type": "object",
                "properties": {
                    "id": FIELD,
                    "rel": {"type": "string", "enum": list(RELATIONS)},
                    "o": {"type": "array", "items": {"type": "integer"}, "maxItems": 40},
                },
                "required": ["id", "rel", "o"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["observations", "relations"],
    "additionalProperties": False,
}


def build(inputs: ReflectInputs, *, cap: int, temperature: float = 0.0) -> Call:
    """The call that reports on one chunk."""
    prompt = load_prompt("reflect")
    draft = "\n\n" + prompt.fill("draft", report=report(inputs.draft)) if inputs.draft else ""
    user = prompt.fill(
        "user", playbook=playbook_lines(inputs.shown), note=inputs.note, source=unit_lines(inputs.units), draft=draft
    )
    return Call(
        role="reflect",
        inputs=inputs,
        messages=(Message("system", prompt.fill("system")), Message("user", user)),
        schema=within(SCHEMA, cap),
        max_output_tokens=cap,
        sampling={"temperature": temperature},
    )


def parse(text: str, units: Units) -> Reflection:
    """The report of a reply, each item validated by itself; never raises."""
    found = find(text, "observations", "relations")
    numbers: dict[int, int] = {}
    kept = 0

    def finding(raw: dict[str, Any]) -> Finding | str:
        nonlocal kept
        if not (said := text_field(raw, "text")):
            return "an observation has no text"
        kept += 1
        number = integer(raw.get("o"))
        numbers.setdefault(kept if number is None else number, kept)
        refs = refs_of(raw.get("src"), units)
        kind = text_field(raw, "kind").lower()
        return Finding(
            one_line(said), kind if kind in KINDS else "fact", when_of(text_field(raw, "when"), refs, units), refs
        )

    def relation(raw: dict[str, Any]) -> Relation | str:
        rel = text_field(raw, "rel").lower()
        if rel not in RELATIONS:
            return "a relation has an unknown rel"
        named = raw.get("o") if isinstance(raw.get("o"), list) else [raw.get("o")]
        positions = (numbers.get(number) for one in named or () if (number := integer(one)) is not None)
        return Relation(bullet_id(raw.get("id")), rel, tuple(dict.fromkeys(at for at in positions if at)))

    findings, faults, defect = listed(found, "observations", finding)
    relations, more, _ = listed(found, "relations", relation) if found.data.get("relations") else ((), (), "")
    return Reflection(status=found.status, faults=faults + more, defect=defect, findings=findings, relations=relations)


def playbook_lines(shown: Shown) -> str:
    """The bullets by section, `[id] (+confirmed -contradicted) text`, and how many are hidden."""
    lines = []
    for section in SECTIONS:
        bullets = [bullet for bullet in shown.bullets if bullet.section == section]
        hidden = shown.hidden.get(section, 0)
        if bullets or hidden:
            lines.append(f"{section}:")
        lines += [bullet_line(bullet) for bullet in bullets]
        if hidden:
            lines.append(f"({hidden} more are not shown)")
    return "\n".join(lines) or "(no bullet yet)"


def bullet_line(bullet: Bullet) -> str:
    return f"[{bullet.id}] (+{bullet.helpful} -{bullet.harmful}) {dated(bullet.text, bullet.when)}"


def report(reflection: Reflection) -> str:
    """A report in lines: the findings by number, then how they bear on bullets."""
    lines = [
        f"{number}. ({finding.kind}) {dated(finding.text, finding.when)}"
        for number, finding in enumerate(reflection.findings, start=1)
    ]
    for relation in reflection.relations:
        numbers = ", ".join(map(str, relation.findings))
        lines.append(f"[{relation.id}] {relation.rel}" + (f": {numbers}" if numbers else ""))
    return "\n".join(lines) or "(nothing)"


def bullet_id(raw: object) -> str:
    """An id as written, without brackets and in lower case; empty for what is no name."""
    return str(raw).strip().strip("[]").lower() if isinstance(raw, str | int) and not isinstance(raw, bool) else ""


def integer(raw: object) -> int | None:
    """A number written as one, or in digits."""
    if isinstance(raw, str) and raw.strip().isascii() and raw.strip().isdecimal() and len(raw) < 10:
        return int(raw)
    return raw if isinstance(raw, int) and not isinstance(raw, bool) else None
