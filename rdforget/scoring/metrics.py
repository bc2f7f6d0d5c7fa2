"""The metrics by name, and those that other packages bring."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable

from rdforget.calls.base import Caller
from rdforget.plugins import Registry
from rdforget.records import Gold, Protocol, Query, Score, Verdict
from rdforget.scoring import judge, option, rubric, rule

Scorer = Callable[[Query, Gold, str, Caller, Protocol], Awaitable[tuple[Score, ...]]]
"""Question, gold and final answer in, one score or several out. A scorer that needs no model asks none."""

JUDGED = frozenset({"judge", "rubric"})
"""Metrics whose value is a model's verdict."""


async def _rule(query: Query, gold: Gold, answer: str, caller: Caller, protocol: Protocol) -> tuple[Score, ...]:
    return rule.score(answer, gold)


async def _option(query: Query, gold: Gold, answer: str, caller: Caller, protocol: Protocol) -> tuple[Score, ...]:
    return option.score(answer, gold)


async def _judge(query: Query, gold: Gold, answer: str, caller: Caller, protocol: Protocol) -> tuple[Score, ...]:
    return (await judge.score(query, gold, answer, caller, protocol),)


async def _rubric(query: Query, gold: Gold, answer: str, caller: Caller, protocol: Protocol) -> tuple[Score, ...]:
    return (await rubric.score(query, gold, answer, caller, protocol),)


SCORERS: Registry[Scorer] = Registry(
    "metric", "rdforget.scorers", {"rule": _rule, "option": _option, "judge": _judge, "rubric": _rubric}
)


_APPLIES: dict[str, tuple[Callable[[Gold], bool], tuple[str, ...]]] = {
    "rule": (rule.applies, ("rule", "rule_strict", "rule_upstream")),
    "option": (lambda gold: gold.option is not None, ("option", "option_strict")),
    "judge": (judge.applies, ("judge",)),
    "rubric": (lambda gold: bool(gold.rubric), ("rubric",)),
}


def names_of(metrics: Iterable[str]) -> list[str]:
    """Names of the scores that the metrics give, the headline first."""
    return [name for metric in metrics for name in (_APPLIES[metric][1] if metric in _APPLIES else (metric,))]


def applying(golds: Collection[Gold]) -> tuple[str, ...]:
    """The metrics that some of these golds call for, the headline first; `judge` where there is no other."""
    found = tuple(name for name in ("rule", "option", "rubric") if any(map(_APPLIES[name][0], golds)))
    return found or ("judge",)


def excluded(metrics: tuple[str, ...], gold: Gold) -> tuple[Score, ...]:
    """What a question without an answer is not missing: the metrics that would not have applied to it."""
    return tuple(
        Score(name, None, Verdict.EXCLUDED)
        for metric in metrics
        if metric in _APPLIES and not _APPLIES[metric][0](gold)
        for name in _APPLIES[metric][1]
    )


async def score(
    metrics: tuple[str, ...], query: Query, gold: Gold, answer: str, caller: Caller, protocol: Protocol
) -> tuple[Score, ...]:
    """Every metric asked for, in order, on the final answer alone."""
    scores: list[Score] = []
    for metric in metrics:
        scores += await SCORERS.get(metric)(query, gold, answer, caller, protocol)
    return tuple(scores)
