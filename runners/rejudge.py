"""Scoring stored answers with another judge, without asking for answers again."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from rdforget.calls.base import prompts_digest
from rdforget.item import Desk, Ledger
from rdforget.records import Protocol, Record, Verdict
from rdforget.scoring.metrics import JUDGED, score
from runners import manifest
from runners.agreement import Agreement, agreements, payload
from runners.backends import make_backend, model_config, semantic
from runners.costs import costs_of, write_costs
from runners.engine import Watcher
from runners.errors import UserError
from runners.halt import Halt
from runners.interrupt import interruptible
from runners.journal import Journal, read_numbered, read_records, read_rejudge_calls, read_replies, read_unread
from runners.means import Limits, Means, Way, opened, way_to
from runners.pool import in_parallel
from runners.runs import Result, exit_code
from runners.tables import Outcome, cells_of, summary_of, write_tables


@dataclass(frozen=True, slots=True)
class Rejudged:
    """A run with the verdicts of another judge, and how far that judge agrees with those before."""

    result: Result
    agreements: list[Agreement]

    def payload(self) -> dict[str, Any]:
        """What `--json` prints."""
        return self.result.payload() | {"agreement": payload(self.agreements)}


def rejudge(folder: Path, judge: str, api_base: str | None, limits: Limits, watcher: Watcher) -> Rejudged:
    """Add a metric `judge[NAME]` (or `rubric[NAME]`) to a run; its own scores stay beside it.

    A round that was cut short, or in which verdicts are lacking, is gone on with. A further one with the same judge is
    `judge[NAME#2]` and asks anew.
    Raises UserError where no answer is stored.
    """
    began = time.monotonic()
    backend, config = make_backend(judge, api_base, limits.timeout), model_config(judge, api_base)
    settings = manifest.read(folder)["settings"]
    records = list(read_numbered(folder))
    if not any(record.answer for _, record in records):
        raise UserError(f"{folder} holds no answer to judge: run it first")
    turn = _round(judge, records)
    label = _label(judge, turn)
    # The run's own verdicts are a first round, where this judge gave them.
    own = semantic(config) == (settings["judge"] or settings["model"]) and bool(JUDGED & set(settings["metrics"]))
    with opened(limits.cache, [config]) as cache, Journal(folder) as journal:
        unread = read_unread(folder, label)
        desk = Desk(
            partial(journal.add_rejudge_reply, label),
            journal.add_build,
            read_replies(folder, judge=label, but=unread),
            repeat=turn + own,
        )
        halt = Halt()
        way = way_to(backend, config, desk, Means(cache), halt, unread)
        todo = [(ordinal, record) for ordinal, record in records if record.answer and not _judged(record, label)]
        watcher.begin(f"judged by {label}", len(todo))
        asyncio.run(_judge_all(todo, settings, way, halt, label, journal, limits.workers, watcher))
    suffix = label.replace("/", "-")
    costs = costs_of(read_rejudge_calls(folder, label), [], lambda _: config)
    write_costs(folder, costs, f"costs-{suffix}")
    if halt.reason:
        raise halt.reason
    judged = list(read_records(folder))
    outcome = Outcome(cells_of(judged, settings, manifest.read(folder)["spec"]["model"]), summary_of(judged))
    write_tables(folder, [outcome], name=f"table-{suffix}")
    code = exit_code(outcome.cells, limits.max_error_rate)
    return Rejudged(Result(folder, time.monotonic() - began, [outcome], code, [], costs), agreements(judged, label))


async def _judge_all(
    todo: list[tuple[int, Record]],
    settings: Mapping[str, Any],
    way: Way,
    halt: Halt,
    label: str,
    journal: Journal,
    workers: int,
    watcher: Watcher,
) -> None:
    metrics = tuple(metric for metric in settings["metrics"] if metric in JUDGED) or ("judge",)
    protocol = TypeAdapter(Protocol).validate_python(settings["protocol"])

    async def work(piece: tuple[int, Record]) -> None:
        ordinal, record = piece
        watcher.started()
        assert record.answer is not None
        ledger = Ledger(way.backend, way.desk)
        scores = await score(metrics, record.query, record.gold, record.answer.text, ledger, protocol)
        if halt.reason:
            return
        named = tuple(replace(one, metric=f"{one.metric}[{label}]") for one in scores)
        journal.add_rejudged(ordinal, label, prompts_digest(), named, tuple(ledger.calls))
        watcher.finished(replace(record, scores=named))

    try:
        with interruptible(halt, watcher.tell):
            await in_parallel(iter(todo), work, workers)
    finally:
        await way.backend.close()


def _round(judge: str, records: list[tuple[int, Record]]) -> int:
    """The number from 0 of the first round that lacks a verdict on an answer that there is."""
    answered = [record for _, record in records if record.answer]
    return next(n for n in itertools.count() if not all(_judged(record, _label(judge, n)) for record in answered))


def _label(judge: str, turn: int) -> str:
    return f"{judge}#{turn + 1}" if turn else judge


def _judged(record: Record, label: str) -> bool:
    scores = [one for one in record.scores if one.metric.endswith(f"[{label}]")]
    return bool(scores) and all(one.verdict is not Verdict.INVALID for one in scores)
