"""Scoring stored answers with another judge, without asking for answers again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from rdforget.calls.base import prompts_digest
from rdforget.item import Desk, Ledger
from rdforget.models.base import Backend
from rdforget.records import Protocol, Record
from rdforget.scoring.metrics import JUDGED, score
from runners import manifest
from runners.backends import make_backend
from runners.engine import Watcher
from runners.errors import UserError
from runners.journal import Journal, read_numbered, read_records
from runners.pool import in_parallel
from runners.runs import Limits, Result, exit_code
from runners.tables import Outcome, cells_of, summary_of, write_tables


def rejudge(folder: Path, judge: str, api_base: str | None, limits: Limits, watcher: Watcher) -> Result:
    """Add a metric `judge[NAME]` (or `rubric[NAME]`) to a run; its own scores stay beside it.

    A second round with the same judge is `judge[NAME#2]`. Raises UserError where no answer is stored.
    """
    began = time.monotonic()
    backend = make_backend(judge, api_base)
    settings = manifest.read(folder)["settings"]
    records = list(read_numbered(folder))
    if not any(record.answer for _, record in records):
        raise UserError(f"{folder} holds no answer to judge: run it first")
    label = _label(judge, records)
    journal = Journal(folder)
    try:
        asyncio.run(_judge_all(records, settings, backend, label, journal, limits.workers, watcher))
    finally:
        journal.close()
    judged = list(read_records(folder))
    outcome = Outcome(cells_of(judged, settings, manifest.read(folder)["spec"]["model"]), summary_of(judged))
    write_tables(folder, [outcome], name=f"table-{label.replace('/', '-')}")
    return Result(folder, time.monotonic() - began, [outcome], exit_code(outcome.cells, limits.max_error_rate), [])


async def _judge_all(
    records: list[tuple[int, Record]],
    settings: Mapping[str, Any],
    backend: Backend,
    label: str,
    journal: Journal,
    workers: int,
    watcher: Watcher,
) -> None:
    metrics = tuple(metric for metric in settings["metrics"] if metric in JUDGED) or ("judge",)
    protocol = TypeAdapter(Protocol).validate_python(settings["protocol"])
    answered = [(ordinal, record) for ordinal, record in records if record.answer]
    watcher.begin(f"judged by {label}", len(answered))

    desk = Desk(partial(journal.add_rejudge_reply, label), journal.add_build)

    async def work(piece: tuple[int, Record]) -> None:
        ordinal, record = piece
        watcher.started()
        assert record.answer is not None
        ledger = Ledger(backend, desk)
        scores = await score(metrics, record.query, record.gold, record.answer.text, ledger, protocol)
        named = tuple(replace(one, metric=f"{one.metric}[{label}]") for one in scores)
        journal.add_rejudged(ordinal, label, prompts_digest(), named, tuple(ledger.calls))
        watcher.finished(replace(record, scores=named))

    try:
        await in_parallel(iter(answered), work, workers)
    finally:
        await backend.close()


def _label(judge: str, records: list[tuple[int, Record]]) -> str:
    taken = {one.metric.partition("[")[2].rstrip("]") for _, record in records for one in record.scores}
    names = [judge, *(f"{judge}#{number}" for number in range(2, len(taken) + 3))]
    return next(name for name in names if name not in taken)
