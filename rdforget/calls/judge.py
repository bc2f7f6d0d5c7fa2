"""Role `judge`: question, reference and answer in, a verdict out (Sec. 4.3). The only role that sees gold answers.

The wording is this project's own, the paper gives none. What it shares with role `rubric`, how a question and an
answer are shown and how the one value of a reply is found, stands here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rdforget.calls.base import Call, Message, load_prompt
from rdforget.calls.parsing import extract, strip_reasoning
from rdforget.records import Gold, Protocol, Query, Verdict


@dataclass(frozen=True, slots=True)
class JudgeInputs:
    query: Query
    gold: Gold
    answer: str


SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["correct", "wrong"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}
KNOWLEDGE_UPDATE = "knowledge-update"
"""Task type whose references are the updated values."""

_SAID = {
    "correct": Verdict.CORRECT,
    "right": Verdict.CORRECT,
    "yes": Verdict.CORRECT,
    "true": Verdict.CORRECT,
    "wrong": Verdict.WRONG,
    "incorrect": Verdict.WRONG,
    "not correct": Verdict.WRONG,
    "no": Verdict.WRONG,
    "false": Verdict.WRONG,
}
_LABEL = re.compile(r"^verdict[\s*_:]+")
_DECORATION = " \t\r\n*_`\"'#.!"


def build(query: Query, gold: Gold, answer: str, protocol: Protocol) -> Call:
    """The call that judges one answer by its references: as an abstention, an updated value or any other value."""
    prompt = load_prompt("judge")
    rule = "default"
    if gold.abstention:
        rule = "abstention"
    elif query.task_type == KNOWLEDGE_UPDATE:
        rule = KNOWLEDGE_UPDATE
    reference = " or ".join(gold.answers) or "(none)"
    user = prompt.fill("user", question=asked(query), reference=reference, answer=quoted(answer))
    return Call(
        role="judge",
        inputs=JudgeInputs(query, gold, answer),
        messages=(Message("system", prompt.fill("system", rule=prompt.fill(rule))), Message("user", user)),
        schema=SCHEMA,
        max_output_tokens=protocol.judge_cap,
    )


def parse(text: str) -> Verdict:
    """CORRECT, WRONG, or INVALID for whatever is not exactly one verdict; never raises.

    The field of a JSON object comes first, a reply that is nothing but a verdict word second. Words are compared
    whole, so that INCORRECT never reads as correct.
    """
    said = sole_value(text, "verdict")
    if said is None:
        said = strip_reasoning(text)
    if isinstance(said, bool):
        return Verdict.CORRECT if said else Verdict.WRONG
    if not isinstance(said, str):
        return Verdict.INVALID
    word = _LABEL.sub("", said.strip(_DECORATION).lower()).strip(_DECORATION)
    return _SAID.get(word, Verdict.INVALID)


def asked(query: Query) -> str:
    """The question and, where the suite has one, the date on which it was asked."""
    return f"{query.text}\nAsked on: {query.date}" if query.date else query.text


def quoted(answer: str) -> str:
    """The answer with every line marked `> `, so that no text in it can end the quotation."""
    return "\n".join(f"> {line}" for line in answer.splitlines()) or "> (empty)"


def sole_value(text: str, key: str) -> object:
    """The value under `key` of the JSON object in a reply; None without one, or where `key` is given two values."""
    claims = re.findall(rf'"{key}"\s*:\s*"?([^",}}\s]*)', strip_reasoning(text).lower())
    return extract(text, key).data.get(key) if len(set(claims)) == 1 else None
