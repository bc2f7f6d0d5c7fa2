"""Role `judge`: question, reference and answer in, a verdict out (Sec. 4.3). The only role that sees gold."""

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
_RIGHT, _WRONG = {"correct", "right", "yes", "true"}, {"wrong", "incorrect", "no", "false"}


def build(query: Query, gold: Gold, answer: str, protocol: Protocol) -> Call:
    """The call that compares one answer with its references."""
    prompt = load_prompt("judge")
    user = prompt.fill("user", text=query.text, reference=" or ".join(gold.answers), answer=answer or "(empty)")
    return Call(
        role="judge",
        inputs=JudgeInputs(query, gold, answer),
        messages=(Message("system", prompt.fill("system")), Message("user", user)),
        schema=SCHEMA,
        max_output_tokens=protocol.judge_cap,
    )


def parse(text: str) -> Verdict:
    """CORRECT, WRONG, or INVALID for anything that is not exactly one verdict; never raises."""
    found = extract(text, "verdict").data.get("verdict", strip_reasoning(text))
    if isinstance(found, bool):
        return Verdict.CORRECT if found else Verdict.WRONG
    said = set(re.findall(r"[a-z]+", str(found).lower()))
    right, wrong = bool(said & _RIGHT), bool(said & _WRONG) or ("not" in said and bool(said & _RIGHT))
    if len(said) > 12 or (right and said & _WRONG) or not (right or wrong):
        return Verdict.INVALID
    return Verdict.WRONG if wrong else Verdict.CORRECT
