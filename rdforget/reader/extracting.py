"""The roles of memory builders by rules: facts of a chunk, what they do to memories, and short texts out of long ones.

Each function takes the inputs of a role and gives the JSON that a model would have written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rdforget.calls.condense import CondenseInputs, PressureInputs
from rdforget.calls.extract import LEAST, MAX_ITEMS, MOST, ExtractInputs, RateInputs
from rdforget.calls.reconcile import Label, Op, Pair, ReconcileInputs, RelateInputs
from rdforget.calls.units import undated
from rdforget.reader.grammar import Statement, read
from rdforget.reader.sentences import sentences, serial
from rdforget.records import Observation
from rdforget.text import one_line, word_set, words
from rdforget.tokens import count_tokens

_MARK = re.compile(r"\d|[^\W\d_a-z]")
"""Begins a number, a name, or a word of a script without case."""
_LEAST_WORDS = 4
"""Of a sentence that states something."""
_MARK_WEIGHT = 2
"""Units half made of names and numbers matter most."""
_MAX_EDITS = 12


def extracted(inputs: ExtractInputs) -> dict[str, Any]:
    """Role `extract`: every statement and every other sentence that is no question, once a unit."""
    facts = [{"text": text, "when": "", "refs": [seen.ref]} for seen in inputs.units for text in _facts(seen)]
    return {"facts": facts[:MAX_ITEMS]}


def rated(inputs: RateInputs) -> dict[str, Any]:
    """Role `rate`: by the share of numbers and names among the words of a unit."""
    return {"ratings": [{"ref": seen.ref, "importance": importance_of(seen.text)} for seen in inputs.units]}


def reconciled(inputs: ReconcileInputs) -> dict[str, Any]:
    """Role `reconcile`: the nearest memory that says the same makes a NOOP, that of the same slot an UPDATE."""
    said = {known.id: undated(known.text) for known in inputs.memories}
    decisions = []
    for new in inputs.facts:
        text = undated(new.text)
        for other in new.near:
            label = _label(said[other], text) if other in said else Label.COMPATIBLE
            if label is Label.COMPATIBLE:
                continue
            op = Op.NOOP if label is Label.SUBSUMED else Op.UPDATE
            decisions.append({"fact": new.id, "op": op, "id": other, "text": ""})
            said[other] = said[other] if op is Op.NOOP else text
            text = said[other]
            break
        said[new.id] = text
    return {"decisions": decisions}


def related(inputs: RelateInputs) -> dict[str, Any]:
    """Role `relate`: contradictions by slot, subsumption by words; the rest is compatible."""
    labels = [_pair_label(pair) for pair in inputs.pairs]
    return {
        "relations": [
            {"pair": f"p{at}", "label": label, "text": ""}
            for at, label in enumerate(labels, start=1)
            if label is not Label.COMPATIBLE
        ]
    }


def condensed(inputs: CondenseInputs) -> dict[str, Any]:
    """Role `condense`: the texts that fit, the newest first, in their order."""
    kept: list[str] = []
    for text in reversed(inputs.texts):
        if count_tokens(" ".join([text, *kept])) <= inputs.limit:
            kept.insert(0, text)
    return {"text": " ".join(kept)}


def saved(inputs: PressureInputs) -> dict[str, Any]:
    """Role `pressure`: what people say of themselves to the working page, all facts to the archive."""
    lines = list(inputs.working)
    edits: dict[int, str] = {}
    added: list[str] = []
    for seen in inputs.units:
        for statement in read(seen.text, seen.speaker) if seen.speaker else ():
            if statement.text in lines or statement.text in added or len(edits) + len(added) >= _MAX_EDITS:
                continue
            at = next((at for at, line in enumerate(lines) if _label(line, statement.text) is not Label.COMPATIBLE), -1)
            if at < 0:
                added.append(statement.text)
            else:
                lines[at] = edits[at + 1] = statement.text
    facts = [{"text": text, "refs": [seen.ref]} for seen in inputs.units for text in _facts(seen)]
    return {
        "working": [{"line": line, "text": text} for line, text in (*edits.items(), *((0, text) for text in added))],
        "archival": facts[:MAX_ITEMS],
    }


def _facts(seen: Observation) -> Iterator[str]:
    if not seen.speaker:
        yield from [statement.text for statement in read(seen.text)] or [one_line(serial(seen.text)[1])]
        return
    for line in seen.text.splitlines():
        for sentence in sentences(line):
            if statements := read(sentence, seen.speaker):
                yield from (statement.text for statement in statements)
            elif len(words(sentence)) >= _LEAST_WORDS and not sentence.endswith("?"):
                yield f"{seen.speaker}: {one_line(sentence)}"


def importance_of(text: str) -> int:
    """How much a text matters, on the scale of `rate`: by the share of numbers and names among its words."""
    parts = text.split()
    share = sum(bool(_MARK.match(part.lstrip("\"'“‘($€£"))) for part in parts) / len(parts) if parts else 0.0
    return min(LEAST + round((MOST - LEAST) * _MARK_WEIGHT * share), MOST)


def _pair_label(pair: Pair) -> Label:
    older, newer = undated(pair.older), undated(pair.newer)
    label = _label(older, newer)
    if label is Label.COMPATIBLE and word_set(older) < word_set(newer):
        return Label.SUBSUMES
    return Label.SUBSUMED if label is Label.COMPATIBLE and word_set(newer) < word_set(older) else label


def _label(older: str, newer: str) -> Label:
    """Subsumed where the same is said, contradicts where a slot gets another value, else compatible."""
    if words(older) == words(newer):
        return Label.SUBSUMED
    before = {statement.slot: statement for statement in read(older)}
    after = [(before[new.slot], new) for new in read(newer) if new.slot in before]
    if not after:
        return Label.COMPATIBLE
    return Label.SUBSUMED if all(map(_same_value, after)) else Label.CONTRADICTS


def _same_value(pair: tuple[Statement, Statement]) -> bool:
    return pair[0].value == pair[1].value
