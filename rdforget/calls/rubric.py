"""Role `rubric`: question, one criterion and answer in, a grade out (Sec. 4.1, BEAM)."""

from __future__ import annotations

from dataclasses import dataclass

from rdforget.calls.base import Call, Message, load_prompt
from rdforget.calls.judge import asked, quoted, sole_value
from rdforget.records import Protocol, Query


@dataclass(frozen=True, slots=True)
class RubricInputs:
    query: Query
    criterion: str
    answer: str


GRADES = (0.0, 0.5, 1.0)
SCHEMA = {
    "type": "object",
    "properties": {"grade": {"type": "number", "enum": [0, 0.5, 1]}},
    "required": ["grade"],
    "additionalProperties": False,
}


def build(query: Query, criterion: str, answer: str, protocol: Protocol) -> Call:
    """The call that grades one answer by one criterion; under the judge's output cap."""
    prompt = load_prompt("rubric")
    user = prompt.fill("user", question=asked(query), criterion=criterion, answer=quoted(answer))
    return Call(
        role="rubric",
        inputs=RubricInputs(query, criterion, answer),
        messages=(Message("system", prompt.fill("system")), Message("user", user)),
        schema=SCHEMA,
        max_output_tokens=protocol.judge_cap,
    )


def parse(text: str) -> float | None:
    """The grade, a number or a numeric string in a JSON object, or None where it is not 0, 0.5 or 1; never raises."""
    said = sole_value(text, "grade")
    if isinstance(said, bool) or not isinstance(said, str | int | float):
        return None
    try:
        number = float(said)
    except (ValueError, OverflowError):
        return None
    return next((grade for grade in GRADES if grade == number), None)
