"""`rdf judge-check`: how often a judge is mistaken about answers whose right verdict is known."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rdforget.calls.base import prompts_digest
from rdforget.item import Desk, Ledger
from rdforget.records import Score, Verdict
from rdforget.scoring import judge as scorer
from rdforget.scoring.judge_cases import Case, Kind, cases
from runners.console import print_table, stdout
from runners.engine import Run, RunSpec, prepare
from runners.errors import Exit, UserError
from runners.halt import Halt
from runners.means import Limits, Means, given, way_to
from runners.pool import in_parallel
from runners.stats import Interval, interval, wilson

_SHOWN = 20
"""Mistakes that are listed."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A case and what the judge made of it."""

    case: Case
    score: Score

    @property
    def mistaken(self) -> bool:
        """A verdict, and the wrong one."""
        return self.score.value is not None and (self.score.verdict is Verdict.CORRECT) is not self.case.correct


@dataclass(frozen=True, slots=True)
class Count:
    """The cases of one kind: judged + invalid = cases."""

    kind: Kind
    should_be: str
    cases: int
    judged: int
    mistaken: int
    """False rejects of right answers, false accepts of all others."""
    rate: float | None
    """Mistaken in percent of the judged, with Wilson's 95 % interval."""
    low: float | None
    high: float | None
    invalid: int
    """Without a verdict, after a second request."""
    wordings: dict[str, int]
    """Where it was mistaken, by wording."""


@dataclass(frozen=True, slots=True)
class Check:
    judge: str
    suite: str
    sources: dict[str, str]
    prompts: str
    """Digest of the judge's prompts."""
    questions: int
    counts: list[Count]
    false_accepts: Interval | None
    """Over wrong answers of every kind; a question's answers stand or fall together."""
    false_rejects: Interval | None
    causes: dict[str, int]
    """Why there was no verdict."""
    mistakes: list[dict[str, str]]

    @property
    def code(self) -> Exit:
        """Aborted where nothing at all was judged: a check that found no mistake is another thing."""
        return Exit.DONE if any(count.judged for count in self.counts) else Exit.ABORTED

    def payload(self) -> dict[str, Any]:
        """What `--json` prints."""
        return asdict(self) | {"exit_code": int(self.code)}


def check(
    judge: str, suite: str, limit: int | None, api_base: str | None, data_dir: Path | None, limits: Limits
) -> Check:
    """Judge made-up answers to the first `limit` questions that can be judged."""
    run = prepare(RunSpec(suite, "no-memory", judge, api_base=api_base), data_dir, timeout=limits.timeout)
    tasks = ((task.query, task.gold) for task in run.suite.tasks() if scorer.applies(task.gold))
    asked = list(cases(list(itertools.islice(tasks, limit))))
    if not asked:
        raise UserError(f"suite {suite} has no question with a reference to judge by: name another --suite")
    with given(limits, [run]) as means:
        judged = asyncio.run(_judge_all(run, asked, means, limits.workers))
    return Check(
        judge=judge,
        suite=run.suite.name,
        sources={source.name: source.sha256 for source in run.suite.sources},
        prompts=prompts_digest("judge"),
        questions=len({case.query.id for case in asked}),
        counts=[_count(kind, found) for kind in Kind if (found := [one for one in judged if one.case.kind is kind])],
        false_accepts=_rate([one for one in judged if not one.case.correct]),
        false_rejects=_rate([one for one in judged if one.case.correct]),
        causes=dict(Counter(one.score.detail.partition(":")[0] for one in judged if one.score.value is None)),
        mistakes=[
            {
                "item": one.case.query.id,
                "kind": one.case.kind,
                "wording": one.case.wording,
                "question": one.case.query.text,
                "gold": " or ".join(one.case.gold.answers),
                "answer": one.case.answer,
                "verdict": one.score.verdict,
            }
            for one in judged
            if one.mistaken
        ],
    )


def show(check: Check) -> None:
    """A row a kind, and the mistakes."""
    console = stdout()
    rows = [
        (
            count.kind,
            count.should_be,
            str(count.judged),
            str(count.mistaken),
            "n/a" if count.rate is None else f"{count.rate:.1f}",
            "" if count.rate is None else f"{count.low:.1f} to {count.high:.1f}",
            str(count.invalid),
            ", ".join(f"{name} {n}" for name, n in count.wordings.items()),
        )
        for count in check.counts
    ]
    columns = ("answers", "should be", "judged", "mistaken", "%", "95 % interval", "no verdict", "mistaken about")
    print_table(columns, rows, left=("answers", "should be", "mistaken about"))
    console.print(
        f"\n{check.judge} on {check.questions} questions of {check.suite}, one answer of each kind a question"
    )
    for told, rate in (
        ("wrong answers accepted", check.false_accepts),
        ("right answers rejected", check.false_rejects),
    ):
        console.print(
            f"{told}: {rate.value:.1f} %, 95 % interval {rate.low:.1f} to {rate.high:.1f}, of {rate.n}"
            if rate
            else f"{told}: n/a, none was judged"
        )
    if check.causes:
        console.print(f"no verdict: {', '.join(f'{cause} {count}' for cause, count in check.causes.items())}")
    if check.mistakes:
        console.print()
        names = ("item", "kind", "wording", "verdict", "gold", "answer", "question")
        print_table(names, [[one[name] for name in names] for one in check.mistakes[:_SHOWN]], left=names)
    if more := len(check.mistakes[_SHOWN:]):
        console.print(f"... and {more} mistakes more (--json lists all)")


async def _judge_all(run: Run, asked: Sequence[Case], means: Means, workers: int) -> list[Judged]:
    halt = Halt()
    way = way_to(run.backend, run.config, Desk(lambda call, reply: None, lambda history, calls: None), means, halt)
    found: dict[int, Judged] = {}

    async def work(piece: tuple[int, Case]) -> None:
        if not halt.reason:
            place, case = piece
            ledger = Ledger(way.backend, way.desk)
            score = await scorer.score(case.query, case.gold, case.answer, ledger, run.setup.protocol)
            found[place] = Judged(case, score)

    try:
        await in_parallel(iter(enumerate(asked)), work, workers)
    finally:
        await way.backend.close()
    if halt.reason:
        raise halt.reason
    return [found[place] for place in sorted(found)]


def _count(kind: Kind, found: Sequence[Judged]) -> Count:
    judged = sum(one.score.value is not None for one in found)
    mistaken = [one for one in found if one.mistaken]
    bounds = [round(100 * bound, 2) for bound in wilson(len(mistaken), judged)] if judged else [None, None]
    return Count(
        kind=kind,
        should_be="correct" if found[0].case.correct else "wrong",
        cases=len(found),
        judged=judged,
        mistaken=len(mistaken),
        rate=round(100 * len(mistaken) / judged, 2) if judged else None,
        low=bounds[0],
        high=bounds[1],
        invalid=len(found) - judged,
        wordings=dict(Counter(one.case.wording for one in mistaken)),
    )


def _rate(found: Sequence[Judged]) -> Interval | None:
    judged = [one for one in found if one.score.value is not None]
    return interval([float(one.mistaken) for one in judged], [one.case.query.id for one in judged])
