"""Role `select`: candidates in, an ordered list of entry ids out (Sec. 3.5)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rdforget.calls.base import Call, Message, load_prompt
from rdforget.calls.parsing import extract, valid
from rdforget.calls.render import details, entry_lines
from rdforget.records import Entry, Protocol, Query

MAX_IDS = 60  # what the output cap of 256 tokens has room for


@dataclass(frozen=True, slots=True)
class SelectInputs:
    query: Query
    candidates: tuple[Entry, ...]


_USUAL = r"[a-z]{1,4}-?[0-9]{1,6}"
"""Form of the ids that this project's methods give: where a reply is not held to it, a small model lists dates."""


def schema(candidates: Sequence[Entry]) -> Mapping[str, Any]:
    """JSON schema of a reply about these candidates."""
    usual = all(re.fullmatch(_USUAL, entry.id) for entry in candidates)
    one = {"type": "string", "maxLength": 24, **({"pattern": f"^{_USUAL}$"} if usual else {})}
    return {
        "type": "object",
        "properties": {"ids": {"type": "array", "items": one, "maxItems": MAX_IDS}},
        "required": ["ids"],
        "additionalProperties": False,
    }


def build(query: Query, candidates: tuple[Entry, ...], protocol: Protocol) -> Call:
    """The selection call over the ranked candidates."""
    prompt = load_prompt("select")
    user = prompt.fill("user", entries=entry_lines(candidates), text=query.text, details=details(query))
    return Call(
        role="select",
        inputs=SelectInputs(query, candidates),
        messages=(Message("system", prompt.fill("system")), Message("user", user)),
        schema=schema(candidates),
        max_output_tokens=protocol.select_cap,
    )


def parse(text: str) -> tuple[str, ...]:
    """Ids as written, in order: `m3`, `[m3]`, `M3` and the number 3 all read `m3`; never raises."""
    raw = extract(text, "ids").data.get("ids")
    if isinstance(raw, str):
        raw = re.findall(r"[\w-]+", raw)
    return tuple(map(_id, raw)) if isinstance(raw, list) else ()


def _id(raw: object) -> str:
    if isinstance(raw, bool) or not isinstance(raw, str | int):
        return ""
    name = valid(str(raw)).strip().strip("[]").lower()
    return f"m{name}" if name.isdecimal() else name
