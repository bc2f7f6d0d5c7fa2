"""What a model can do, tried with a few small calls: the roles, the schema, the output cap, the prompt cache."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rdforget.calls import answer, curate, judge, rubric, select
from rdforget.calls.base import Call, Message, Reply
from rdforget.models.base import STOPS_RUN, Backend, CallError
from rdforget.models.fitting import fitted
from rdforget.models.parameters import ModelConfig
from rdforget.records import AnswerOutcome, Entry, Gold, Observation, Protocol, Query, Status, Switches, Usage, Verdict
from rdforget.tokens import count_tokens
from runners.errors import Exit, UserError
from runners.limits import prompt_tokens

_STOPS = STOPS_RUN | {"connection"}
"""Kinds after which no further call would fare better."""
_PROTOCOL = Protocol(curate_cap=256, select_cap=64, answer_cap=64, judge_cap=64)
_QUERY = Query("check", "check", "Where does Ines live now?")
_SOURCE = tuple(
    Observation(f"#{number}", line)
    for number, line in enumerate(("1. Ines lives in Lyon.", "2. Ines works for Orla.", "3. Ines lives in Metz."), 1)
)
_MEMORY = (
    Entry("m1", "Ines lives in Metz.", Status.ACTIVE),
    Entry("m2", "Ines lives in Lyon.", Status.SUPERSEDED),
)
_SMALL_CAP = 16
_LONG = 1_500
"""Tokens of the prompt that is sent twice: providers cache nothing below 1,024."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A call, and whether its reply is what was asked for."""

    name: str
    call: Call
    usable: Callable[[Reply], bool]


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a probe."""

    name: str
    reply: Reply | None
    seconds: float
    usable: bool
    failure: str = ""

    @property
    def outcome(self) -> str:
        return "failed" if self.reply is None else "usable" if self.usable else "not usable"

    @property
    def detail(self) -> str:
        if self.reply is None:
            return self.failure
        usage = self.reply.usage
        tokens = f"{usage.prompt:,} prompt and {usage.completion:,} reply tokens"
        return f"{tokens}, {self.seconds:.1f} s, finish_reason {self.reply.finish_reason}"


@dataclass(frozen=True, slots=True)
class Finding:
    """A row of the report."""

    what: str
    outcome: str
    detail: str


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked model."""

    findings: Sequence[Finding]
    fit: bool
    """Whether every role gave a reply that can be used."""

    def payload(self) -> dict[str, Any]:
        return {"fit": self.fit, "findings": [asdict(finding) for finding in self.findings]}


def probes(config: ModelConfig) -> list[Probe]:
    """One call a role, one that contradicts its schema, one that passes its cap, and a long one twice."""
    protocol = fitted(_PROTOCOL, config)
    gold = Gold(answers=("Metz",))
    size = min(_LONG, config.window // 3) if config.window else _LONG
    long = _call(_numbered(size), "Reply with the last number.", _SMALL_CAP)
    prose = _call("", "What is the sea? Reply in one sentence of plain prose. Do not use any braces.", 64)
    return [
        Probe(
            "curate",
            curate.build(_SOURCE, "", _QUERY, Switches(), protocol),
            lambda reply: bool(curate.parse(reply.text).active),
        ),
        Probe(
            "select",
            select.build(_QUERY, _MEMORY, protocol),
            lambda reply: bool({*select.parse(reply.text)} & {entry.id for entry in _MEMORY}),
        ),
        Probe(
            "answer",
            answer.build(_QUERY, _MEMORY, protocol),
            lambda reply: answer.parse(reply).outcome is AnswerOutcome.ANSWERED,
        ),
        Probe(
            "judge",
            judge.build(_QUERY, gold, "In Metz.", protocol),
            lambda reply: judge.parse(reply.text) is not Verdict.INVALID,
        ),
        Probe(
            "rubric",
            rubric.build(_QUERY, "The answer names Metz.", "In Metz.", protocol),
            lambda reply: rubric.parse(reply.text) is not None,
        ),
        Probe("schema", replace(prose, schema=answer.SCHEMA), _follows),
        Probe("output cap", _call("", "Count from 1 to 300 in digits.", _SMALL_CAP), lambda reply: True),
        Probe("prompt, first time", long, lambda reply: True),
        Probe("prompt, again", long, lambda reply: True),
    ]


def usd_at_most(config: ModelConfig, tried: Sequence[Probe]) -> float | None:
    """Most that the calls may cost; None where the price is not known."""
    if config.prices is None:
        return None
    allowance = config.parameters.reasoning_allowance
    usages = [
        Usage(prompt=prompt_tokens(probe.call), completion=probe.call.max_output_tokens + allowance) for probe in tried
    ]
    return sum(map(config.prices.cost, usages))


async def check(
    backend: Backend, config: ModelConfig, given: Sequence[Probe], *, clock: Callable[[], float] = time.perf_counter
) -> Checked:
    """Make the calls, one after the other. UserError where the model cannot be reached or refuses the key."""
    tried: dict[str, Tried] = {}
    try:
        for probe in given:
            began = clock()
            try:
                reply = await backend.answer(probe.call)
            except CallError as error:
                if error.kind in _STOPS:
                    raise UserError(f"{error}: nothing more is tried", Exit.ABORTED) from error
                tried[probe.name] = Tried(probe.name, None, clock() - began, False, str(error))
            else:
                tried[probe.name] = Tried(probe.name, reply, clock() - began, probe.usable(reply))
    finally:
        await backend.close()
    roles = [tried[name] for name in ("curate", "select", "answer", "judge", "rubric")]
    findings = [Finding(f"role {one.name}", one.outcome, one.detail) for one in roles]
    findings += [
        _schema(config, tried["schema"]),
        _cap(config, tried["output cap"]),
        _caching(tried["prompt, again"]),
        _usage([one.reply for one in tried.values() if one.reply]),
        _speed(tried["prompt, first time"], roles),
        _price(config),
    ]
    return Checked(findings, all(one.usable for one in roles))


def _call(beginning: str, request: str, cap: int) -> Call:
    text = f"{beginning}\n\n{request}".strip()
    return Call("answer", None, (Message("user", text, shared=len(beginning)),), None, cap)


def _numbered(tokens: int) -> str:
    """Lines of about that many tokens."""
    lines: list[str] = []
    size = 0
    while size < tokens:
        lines.append(f"{len(lines) + 1}. Ines has read page {len(lines) + 1}.")
        size += count_tokens(lines[-1] + "\n")
    return "\n".join(lines)


def _follows(reply: Reply) -> bool:
    """Whether a reply has the form of the answer's schema, as far as its cap let it come."""
    try:
        found = json.loads(reply.text, strict=False)
    except ValueError:
        cut = re.match(r'\s*\{\s*"answer"\s*:\s*"', reply.text)
        return bool(cut) and reply.finish_reason == "length"
    return isinstance(found, dict) and [*found] == ["answer"] and isinstance(found["answer"], str)


def _schema(config: ModelConfig, tried: Tried) -> Finding:
    if config.structured == "none":
        return Finding("reply schema", "not asked for", "`structured` is none: the words of the prompt must do")
    asked = f"asked for as {config.structured}"
    if tried.reply is None:
        return Finding("reply schema", "failed", f"{asked}; {tried.failure}")
    against = "against a prompt that asks for prose"
    return Finding("reply schema", "honoured" if tried.usable else "ignored", f"{asked}, {against}")


def _cap(config: ModelConfig, tried: Tried) -> Finding:
    if tried.reply is None:
        return Finding("output cap", "failed", tried.failure)
    most = _SMALL_CAP + config.parameters.reasoning_allowance
    usage = tried.reply.usage
    # A reply whose tokens are not told is counted here, and given the room by which vocabularies differ.
    over = count_tokens(tried.reply.text) > 2 * most if usage.uncounted else usage.completion > most
    told = f"{usage.completion:,} tokens under a cap of {most:,}, finish_reason {tried.reply.finish_reason}"
    if over:
        return Finding("output cap", "ignored", told)
    return Finding("output cap", "honoured" if tried.reply.finish_reason == "length" else "not reached", told)


def _caching(again: Tried) -> Finding:
    if again.reply is None:
        return Finding("prompt cache", "failed", again.failure)
    usage = again.reply.usage
    told = f"{usage.cached:,} of {usage.prompt:,} tokens of a prompt sent twice"
    return Finding("prompt cache", "used" if usage.cached else "not reported", told)


def _usage(replies: Sequence[Reply]) -> Finding:
    uncounted = sum(reply.usage.uncounted for reply in replies)
    told = f"{len(replies) - uncounted} of {len(replies)} replies tell their tokens"
    return Finding("usage", "told" if replies and not uncounted else "not told", told)


def _speed(long: Tried, roles: Sequence[Tried]) -> Finding:
    written = sum(one.reply.usage.completion for one in roles if one.reply)
    seconds = sum(one.seconds for one in roles if one.reply)
    read = long.reply.usage.prompt / long.seconds if long.reply and long.seconds else 0.0
    rate = written / seconds if seconds else 0.0
    told = f"{rate:,.0f} reply tokens a second over the roles, {read:,.0f} prompt tokens a second in the long prompt"
    return Finding("speed", "measured" if rate or read else "not told", told)


def _price(config: ModelConfig) -> Finding:
    if config.prices is None:
        return Finding("price", "not known", "set `prices` in configs/models.yaml, or limit runs by --max-calls")
    prices = config.prices
    cached = "" if prices.cached is None else f", {prices.cached:g} for cached ones"
    told = f"USD a million tokens: {prices.input:g} for prompts{cached}, {prices.output:g} for replies"
    return Finding("price", "known", told)
