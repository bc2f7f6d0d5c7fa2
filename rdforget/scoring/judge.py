"""The binary judge score (Sec. 4.3): correct, wrong, or no verdict, never a 0 by default.

The asking that it shares with the rubric score stands here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from rdforget.calls import judge as role
from rdforget.calls.base import Call, Caller
from rdforget.calls.parsing import strip_reasoning
from rdforget.models.base import STOPS_RUN, CallError
from rdforget.records import Gold, Protocol, Query, Score, Verdict

T = TypeVar("T")


def applies(gold: Gold) -> bool:
    """Whether there is a reference to judge by, or right is to abstain."""
    return gold.abstention or any(text.strip() for text in gold.answers)


async def score(query: Query, gold: Gold, answer: str, caller: Caller, protocol: Protocol) -> Score:
    """The metric `judge`: 1, 0, or None with its cause in `detail` where no verdict could be had.

    Where the metric does not apply the question is excluded. Raises CallError only for what stops a run.
    """
    if not applies(gold):
        return Score("judge", None, Verdict.EXCLUDED)
    call = role.build(query, gold, answer, protocol)
    verdict, cause = await ask(call, role.parse, Verdict.INVALID, caller)
    return Score("judge", None if cause else float(verdict is Verdict.CORRECT), verdict, cause)


async def ask(call: Call, parse: Callable[[str], T], invalid: T, caller: Caller) -> tuple[T, str]:
    """What `parse` reads in the reply, with "", or `invalid` with the cause as `kind: message`.

    A reply that reads `invalid` is asked for once more, with `repeat` 1, and is then of the kind `parse`. One that
    the output cap left empty would be so again under the same cap: it is of the kind `truncated` at once. Raises
    CallError only for what stops a run.
    """
    for repeat in range(2):
        try:
            reply = await caller(replace(call, repeat=repeat))
        except CallError as error:
            if error.kind in STOPS_RUN:
                raise
            return invalid, f"{error.kind}: {error}"
        if reply.finish_reason == "length" and not strip_reasoning(reply.text):
            return invalid, f"truncated: the output cap of {call.max_output_tokens} tokens left no reply"
        if (found := parse(reply.text)) != invalid:
            return found, ""
    return invalid, f"parse: two replies of role {call.role} cannot be read"
