"""Role `distill` by rules: one item for each slot of a list of facts, or for a few sentences of one speaker."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from typing import Any

from rdforget.calls.distill import KINDS, DistillInputs
from rdforget.reader.facts import UNDATED, Order
from rdforget.reader.passages import passage_of
from rdforget.reader.playbook import Line, lines_of, value_of

_SENTENCES = 3


def distilled(inputs: DistillInputs) -> dict[str, Any]:
    """The items of a chunk, in its order, at most as many as are asked for.

    Where a slot of a list has several values in the chunk, the item is a correction: its content begins with the last
    one. Items of lists have no title, and those of a conversation the speaker's name: the reader reads an entry's
    text from its beginning, and has no words of its own.
    """
    lines = lines_of(inputs.units)
    spoken = any(seen.speaker for seen in inputs.units)
    items = _of_speech(lines) if spoken else _of_facts(lines, dual=inputs.dual)
    return {"items": items[: inputs.max_items]}


def _of_facts(lines: list[Line], *, dual: bool) -> list[dict[str, Any]]:
    groups: defaultdict[object, list[tuple[Order, Line]]] = defaultdict(list)
    for at, line in enumerate(lines):
        value = value_of(line.text, line.when, at) if line.is_read else None
        groups[value.slot if value else at].append((value.order if value else (UNDATED, -1, at), line))
    items = []
    for group in groups.values():
        *before, last = (line for _, line in sorted(group, key=lambda pair: pair[0]))
        earlier = [f"Earlier: {line.text}" for line in reversed(before) if dual]
        content = " ".join([last.text, *earlier])
        items.append(_item("", content, KINDS[bool(earlier)], [*before, last]))
    return items


def _of_speech(lines: list[Line]) -> list[dict[str, Any]]:
    items = []
    for _, turn in groupby(lines, key=lambda line: line.ref):
        said = list(turn)
        for at in range(0, len(said), _SENTENCES):
            run = said[at : at + _SENTENCES]
            label = passage_of(run[0].text).speaker_label
            content = " ".join(line.text.removeprefix(label) for line in run)
            items.append(_item(label.removesuffix(": "), content, KINDS[0], run))
    return items


def _item(title: str, content: str, kind: str, lines: list[Line]) -> dict[str, Any]:
    refs = list(dict.fromkeys(line.ref for line in lines))
    return {"title": title, "description": "", "content": content, "kind": kind, "when": lines[-1].when, "src": refs}
