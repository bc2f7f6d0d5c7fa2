"""Role `distill`, ReasoningBank's extraction: a chunk in, memory items with a title out; earlier memory is not shown.

After "ReasoningBank" (arXiv 2509.25140), for memory of a source. There are no attempts here that succeed or fail, so
the paper's two lenses become what the source establishes and what it corrects.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rdforget.calls.base import Call, Message, load_prompt
from rdforget.calls.parsing import Extracted, strip_reasoning, text_field
from rdforget.calls.units import FIELD, REFS, TEXT, Parsed, Units, find, listed, refs_of, unit_lines, when_of, within
from rdforget.text import one_line

KINDS = ("established", "correction")
MAX_ITEMS = 400
_HEADING = re.compile(r"\s*#+\s")  # with the space, since `#12` is a ref
_FENCE = re.compile(r"^```.*$", re.MULTILINE)
_FIELD = re.compile(r"^[*_\s]*(?P<name>title|description|content|kind|when|src)\b[*_\s]*:?[*_\s]*(?P<rest>.*)$", re.I)


@dataclass(frozen=True, slots=True)
class DistillInputs:
    units: Units
    note: str
    dual: bool
    """Whether corrections are asked for as items of their own kind."""
    max_items: int | None


@dataclass(frozen=True, slots=True)
class BankItem:
    title: str
    description: str
    content: str
    kind: str
    when: str | None
    refs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled(Parsed):
    items: tuple[BankItem, ...] = ()


def schema(inputs: DistillInputs) -> Mapping[str, Any]:
    kind = {"kind": {"type": "string", "enum": list(KINDS)}} if inputs.dual else {}
    item = {
        "type": "object",
        "properties": {"title": FIELD, "description": TEXT, "content": TEXT, **kind, "when": FIELD, "src": REFS},
        "required": ["title", "description", "content", *kind, "src"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"items": {"type": "array", "items": item, "maxItems": inputs.max_items or MAX_ITEMS}},
        "required": ["items"],
        "additionalProperties": False,
    }


def build(inputs: DistillInputs, *, cap: int, temperature: float = 0.0) -> Call:
    """The call that distils one chunk."""
    prompt = load_prompt("distill")
    number = prompt.fill("at-most", number=str(inputs.max_items)) if inputs.max_items else prompt.fill("all")
    system = prompt.fill(
        "system",
        lens=prompt.fill("dual" if inputs.dual else "single"),
        number=number,
        example=prompt.fill("example-dual" if inputs.dual else "example-single"),
        shape=prompt.fill("shape-dual" if inputs.dual else "shape-single"),
    )
    user = prompt.fill("user", source=unit_lines(inputs.units), note=inputs.note)
    return Call(
        role="distill",
        inputs=inputs,
        messages=(Message("system", system), Message("user", user)),
        schema=within(schema(inputs), cap),
        max_output_tokens=cap,
        sampling={"temperature": temperature},
    )


def parse(text: str, inputs: DistillInputs) -> Distilled:
    """The items of a reply, in JSON or under Markdown headings, each validated by itself; never raises."""
    found = find(text, "items")
    if found.status == "none" and (written := _under_headings(strip_reasoning(text))):
        found = Extracted({"items": written}, "headings")
    items, faults, defect = listed(found, "items", lambda raw: _item(raw, inputs))
    return Distilled(status=found.status, faults=faults, defect=defect, items=items)


def _item(raw: dict[str, Any], inputs: DistillInputs) -> BankItem | str:
    content = one_line(text_field(raw, "content"))
    if not content:
        return "an item has no content"
    refs = refs_of(raw.get("src"), inputs.units)
    kind = text_field(raw, "kind").lower()
    return BankItem(
        title=one_line(text_field(raw, "title")),
        description=one_line(text_field(raw, "description")),
        content=content,
        kind=kind if inputs.dual and kind in KINDS else KINDS[0],
        when=when_of(text_field(raw, "when"), refs, inputs.units),
        refs=refs,
    )


def _under_headings(text: str) -> list[dict[str, Any]]:
    """Items as `## Title`, `## Description`, `## Content`, their text beside or below the heading.

    A title begins the next item; paragraphs mean nothing, since a content may have several.
    """
    items: list[dict[str, list[str]]] = []
    body: list[str] = []
    for line in text.splitlines():
        if not _HEADING.match(line):
            body.append(line)
            continue
        body = []
        if named := _FIELD.match(line.strip().strip("#")):
            if not items or named["name"].lower() == "title":
                items.append({})
            body = items[-1].setdefault(named["name"].lower(), [])
            body.append(named["rest"])
    read = [{name: _FENCE.sub("", "\n".join(lines)) for name, lines in item.items()} for item in items]
    return [item | {"src": re.findall(r"[^\s,\[\]]+", item.get("src", ""))} for item in read]
