"""The binary judge score (Sec. 4.3): correct, wrong, or no verdict, never a 0 by default."""

from __future__ import annotations

from dataclasses import replace

from rdforget.calls import judge as role
from rdforget.calls.base import Caller
from rdforget.models.base import CallError
from rdforget.records import Gold, Protocol, Query, Score, Verdict


async def score(query: Query, gold: Gold, answer: str, caller: Caller, protocol: Protocol) -> Score:
    """Ask for a verdict, once more when the reply holds none; a judge that fails gives no value."""
    call = role.build(query, gold, answer, protocol)
    try:
        for repeat in range(2):
            verdict = role.parse((await caller(replace(call, repeat=repeat))).text)
            if verdict is not Verdict.INVALID:
                return Score("judge", float(verdict is Verdict.CORRECT), verdict)
    except CallError as error:
        if error.kind == "auth":
            raise
        return Score("judge", None, Verdict.INVALID, f"{error.kind}: {error}")
    return Score("judge", None, Verdict.INVALID, "parse: the reply holds no verdict")
