"""Role `answer`: the question and the view in, a short answer out (Sec. 3.5)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rdforget.calls.base import Call, Message, Reply, load_prompt
from rdforget.calls.parsing import extract, strip_reasoning
from rdforget.calls.render import entry_lines, options
from rdforget.records import Answer, AnswerOutcome, Entry, Protocol, Query


@dataclass(frozen=True, slots=True)
class AnswerInputs:
    query: Query
    entries: tuple[Entry, ...]


MAX_CHARACTERS = 2_000
"""More than a short answer has; grammars of llama.cpp refuse more repetitions."""
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "maxLength": MAX_CHARACTERS}},
    "required": ["answer"],
    "additionalProperties": False,
}
_CUT_OFF = re.compile(r'^\s*(?:```\w*\s*)?\{\s*"answer"\s*:\s*"((?:[^"\\]|\\.)*)', re.DOTALL)


def build(query: Query, entries: tuple[Entry, ...], protocol: Protocol) -> Call:
    """The answer call; an empty view is asked too, so that every policy makes the same number of calls."""
    prompt = load_prompt("answer")
    system = prompt.fill("system") + ("\n" + prompt.fill("options") if query.options else "")
    user = prompt.fill("user", entries=entry_lines(entries), text=query.text, details=options(query))
    return Call(
        role="answer",
        inputs=AnswerInputs(query, entries),
        messages=(Message("system", system), Message("user", user)),
        schema=SCHEMA,
        max_output_tokens=protocol.answer_cap,
    )


def parse(reply: Reply) -> Answer:
    """The answer of a reply: its JSON field, the beginning of one that was cut off, or plain text."""
    text = strip_reasoning(reply.text)
    found = extract(text, "answer")
    if "answer" in found.data:
        value = found.data["answer"]
        text = strip_reasoning(str(value)) if isinstance(value, str | int | float) else ""
    elif cut := _CUT_OFF.match(text):
        text = cut[1].replace('\\"', '"').replace("\\n", "\n")
    text = text.strip()
    if text:
        return Answer(text, AnswerOutcome.ANSWERED)
    return Answer("", AnswerOutcome.EMPTY_LENGTH if reply.finish_reason == "length" else AnswerOutcome.EMPTY)
