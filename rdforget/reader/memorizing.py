"""Role `memorize` by rules: what people say in a chat, with a slot where the grammar reads one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rdforget.calls.memorize import ASSISTANTS, MAX_ITEMS, MemorizeInputs
from rdforget.dates import parse_date
from rdforget.reader.dated import point_in_time
from rdforget.reader.extracting import importance_of
from rdforget.reader.grammar import Statement, read
from rdforget.reader.sentences import denies, is_statement, sentences
from rdforget.records import Observation
from rdforget.text import fold, one_line, words

_LEAST_WORDS = 4
"""Of a sentence that states something."""
_RULE = re.compile(
    r"\b(?:always|never|whenever|from now on|make sure|how to"
    r"|(?:i|we) (?:prefer|want|like) (?:your )?(?:answers?|replies|responses)"
    r"|(?:please )?(?:answer|reply|respond|address me|call me|explain))\b",
    re.IGNORECASE,
)


def memorized(inputs: MemorizeInputs) -> dict[str, Any]:
    """Every statement of a person that is not stored already, in order."""
    known = {tuple(words(text)) for text in inputs.known}
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for seen in inputs.units:
        for memory in _memories(seen):
            found.setdefault(tuple(words(memory["text"])), memory)
    return {"memories": [memory for key, memory in found.items() if key not in known][:MAX_ITEMS]}


def _memories(seen: Observation) -> Iterator[dict[str, Any]]:
    if fold(seen.speaker or "") in ASSISTANTS:  # advice, and no memory of anybody
        return
    said_on = parse_date(seen.when) if seen.when else None
    for line in seen.text.splitlines():
        for sentence in sentences(line):
            if not is_statement(sentence):
                continue
            when = point_in_time(sentence, said_on) or ""
            # What is denied, or only happened, gives no slot a value.
            statements = [] if denies(sentence) else [one for one in read(sentence, seen.speaker) if _is_property(one)]
            for one in statements:
                yield _memory(one.text, "procedural" if _RULE.search(sentence) else "semantic", when, one.slot)
            if not statements and len(words(sentence)) >= _LEAST_WORDS:
                category = "procedural" if _RULE.search(sentence) else "episodic" if when else "semantic"
                text = f"{seen.speaker}: {one_line(sentence)}" if seen.speaker else one_line(sentence)
                yield _memory(text, category, when, ("", "", ""))


def _memory(text: str, category: str, when: str, slot: tuple[str, str, str]) -> dict[str, Any]:
    subject, relation, scope = slot
    return {
        "text": text,
        "subject": subject,
        "relation": relation,
        "scope": scope,
        "category": category,
        "when": when,
        "importance": importance_of(text),
    }


def _is_property(statement: Statement) -> bool:
    """Whether a new value would replace the old: of verbs that the lexicon does not know, nobody can tell."""
    return statement.known or bool(
        re.search(rf"(?:['’]s|['’]|\b[Mm]y|\b[Oo]ur|\b[Tt]he) {re.escape(statement.relation)}\b", statement.text)
    )
