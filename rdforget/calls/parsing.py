"""Reading JSON out of whatever a model wrote, without ever raising.

In order: the whole text, a fenced block, the first object in running text that has the keys asked for, and
the complete items of a list that was cut off. What a rung gives up is reported by its name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

# Possessive: a fence that never closes must not be looked for anew from every letter of its label.
_FENCE = re.compile(r"```[\w-]*+[ \t]*+\n?(.*?)```", re.DOTALL)
_TAG = re.compile(r"<(/?)(?:think|thinking|reasoning)>", re.IGNORECASE)
_DECODER = json.JSONDecoder(strict=False)  # raw line ends inside strings are common and harmless
_MAX_STARTS = 256  # a reply of opening braces, or of fences, must not cost quadratic time


@dataclass(frozen=True, slots=True)
class Extracted:
    """An object found in a reply. `status`: whole, fenced, embedded, salvaged, or none."""

    data: dict[str, Any]
    status: str


def strip_reasoning(text: str) -> str:
    """The text without thinking: paired tags, a closing tag alone, or an opening one that never closes.

    A closing tag ends all thinking, whatever was opened inside it; before one that nothing opened, all is thought.
    """
    kept: list[str] = []
    thinking, at = False, 0
    for tag in _TAG.finditer(text):
        if tag[1]:
            if not thinking:
                kept.clear()
            thinking, at = False, tag.end()
        elif not thinking:
            kept.append(text[at : tag.start()])
            thinking = True
    if not thinking:
        kept.append(text[at:])
    return valid("".join(kept)).strip()


def extract(text: str, *keys: str) -> Extracted:
    """The first object with all of `keys`; for a cut-off reply, the complete items under them."""
    text = strip_reasoning(text)
    fenced = (("fenced", _loads(match[1])) for match in islice(_FENCE.finditer(text), _MAX_STARTS))
    for status, found in chain([("whole", _loads(text))], fenced):
        if isinstance(found, dict) and all(key in found for key in keys):
            return Extracted(found, status)
    for found in _embedded(text):
        if all(key in found for key in keys):
            return Extracted(found, "embedded")
    salvaged = {key: items for key in keys if (items := list(_complete_items(text, key)))}
    return Extracted(salvaged, "salvaged" if salvaged else "none")


def text_field(item: dict[str, Any], *names: str) -> str:
    """The first of the named fields that holds a non-blank string, stripped; else empty."""
    for name in names:
        if isinstance(value := item.get(name), str) and value.strip():
            return valid(value).strip()
    return ""


def valid(text: str) -> str:
    """The text with half surrogate pairs replaced: a reply may escape one, and no request or file can hold it."""
    return text.encode("utf-8", "replace").decode()


def _loads(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _raw(text: str, start: int) -> tuple[Any, int] | None:
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def _embedded(text: str) -> Iterator[dict[str, Any]]:
    start = -1
    for _ in range(_MAX_STARTS):
        if (start := text.find("{", start + 1)) < 0:
            return
        if (found := _raw(text, start)) and isinstance(found[0], dict):
            yield found[0]


def _complete_items(text: str, key: str) -> Iterator[Any]:
    head = re.search(rf'"{re.escape(key)}"\s*:\s*\[', text)
    at = head.end() if head else len(text)
    while at < len(text):
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if not (found := _raw(text, at)):
            return
        item, at = found
        if at < len(text) or not isinstance(item, int | float):  # a number at the very end may have been cut short
            yield item
