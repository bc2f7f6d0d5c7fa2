"""`rdf import`: answers that another system made, scored as a run, so that they can be compared with any other.

A line of the file is an answer; other keys than these are passed over:

    {"suite": "lme-ku", "id": "lme-ku:0a1b2c3d", "answer": "Metz"}
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rdforget.item import Desk, Ledger
from rdforget.plugins import nearest
from rdforget.records import Answer, AnswerOutcome, Failure, Record, Task
from rdforget.scoring.metrics import JUDGED, excluded, score
from rdforget.suites.base import file_sha256
from rdforget.suites.jsonl import Line, read_lines, refuse
from rdforget.suites.keys import ID, Key, Kind, complaints
from runners import manifest
from runners.config import IMPORTED
from runners.costs import costs_in, write_costs
from runners.engine import Run, RunSpec, Watcher, prepare
from runners.errors import UserError
from runners.folders import new_folder
from runners.halt import Halt
from runners.journal import Journal, read_records
from runners.means import Limits, Means, given, way_to
from runners.pool import in_parallel
from runners.runs import Result, exit_code
from runners.tables import Outcome, cells_of, self_judged, summary_of, write_tables

_ANSWER = Kind("text", lambda value: isinstance(value, str), 'write it as "...", or null where there is none')
KEYS = (
    Key("suite", ID, "the suite's name; without it the line is for the suite of the command"),
    Key("id", ID, "the question's id, as `rdf show RUN` has it", required=True),
    Key("answer", _ANSWER, "the final answer and nothing else; null or no line at all counts as failed"),
)
MODEL = "imported"
MISSING = Failure("missing", "answer", "the file has no answer to this question")


@dataclass(frozen=True, slots=True)
class Given:
    """The answers of a file to the questions of a suite."""

    sha256: str
    answers: Mapping[str, str]
    """By the question's id."""
    foreign: int
    """Lines for other suites."""


def import_answers(
    file: Path,
    suite: str,
    label: str,
    judge: str | None,
    api_base: str | None,
    data_dir: Path | None,
    out: Path,
    limits: Limits,
    watcher: Watcher,
) -> Result:
    """A run folder with the answers of `file` and their scores, made by method `imported:<label>`.

    Metrics are those of the suite, without the judged ones unless a judge is named.
    """
    began = time.monotonic()
    run = _prepared(file, suite, label, judge, api_base, data_dir, limits)
    tasks = list(run.suite.tasks())
    answers = read_answers(file, run.suite.name, tasks)
    run = replace(run, settings={**run.settings, "answers": answers.sha256})
    with given(limits, [run]) as means:
        folder = new_folder(out, f"{suite}-imported-{label}")
        manifest.write(folder, _manifest(run, folder, limits.workers))
        with Journal(folder) as journal:
            asyncio.run(_score_all(run, tasks, answers.answers, journal, limits.workers, watcher, means))
    records = list(read_records(folder))
    cells = cells_of(records, run.settings, MODEL)
    outcome = Outcome(cells, summary_of(records))
    write_tables(folder, [outcome])
    costs = costs_in(folder, run)
    write_costs(folder, costs)
    notes = [*run.suite.notes, *([f"{answers.foreign} lines are for other suites."] if answers.foreign else [])]
    code = exit_code(cells, limits.max_error_rate)
    return Result(folder, time.monotonic() - began, [outcome], code, notes, costs)


def read_answers(file: Path, suite: str, tasks: list[Task]) -> Given:
    """The answers to a suite's questions. DataError names the lines that are wrong, repeated or of no question."""
    lines, problems = read_lines(file)
    ids = {task.query.id for task in tasks}
    names = {suite, suite.partition(":")[0], *(task.query.suite for task in tasks[:1])}
    answers: dict[str, str] = {}
    places: dict[str, str] = {}
    foreign = 0
    for line in lines:
        found = list(complaints(_known(line), KEYS))
        problems += found
        if found:
            continue
        if line.row.get("suite", suite) not in names:
            foreign += 1
        elif (id := line.row["id"]) in places:
            problems.append(f"{line.where} answers {id} again, as {places[id]} does: keep one")
        elif id not in ids:
            problems.append(f"{line.where}: {nearest(f'question of {suite}', id, sorted(ids)[:500])}")
        else:
            places[id] = line.where
            if "answer" in line.row:
                answers[id] = line.row["answer"]
    refuse(problems, " in this file")
    if not answers:
        raise UserError(f"{file} has no answer to a question of {suite}: its lines need that suite, or none")
    return Given(file_sha256(file), answers, foreign)


def _known(line: Line) -> Line:
    return Line(line.where, {key.name: line.row[key.name] for key in KEYS if key.name in line.row})


def _prepared(
    file: Path, suite: str, label: str, judge: str | None, api_base: str | None, data_dir: Path | None, limits: Limits
) -> Run:
    """The suite, its protocol and the judge, as a run that asks no model but the judge."""
    if not label.strip() or not label.isprintable():
        raise UserError(f"--name {label!r} is no name: give the system's")
    spec = RunSpec(suite, "no-memory", judge=judge, api_base=api_base)
    run = prepare(spec, data_dir, timeout=limits.timeout)
    metrics = run.setup.metrics if judge else tuple(name for name in run.setup.metrics if name not in JUDGED)
    if not metrics:
        raise UserError(f"the answers to {suite} are scored by a judge: name one with --judge")
    settings = {
        **run.settings,
        "method": f"{IMPORTED}{label}",
        "method_options": {},
        "model": {"backend": MODEL},
        "metrics": list(metrics),
        "prompts": None,
        "sampling": {},
    }
    setup = replace(run.setup, metrics=metrics)
    spec = replace(spec, method=f"{IMPORTED}{label}", model=MODEL)
    return replace(run, spec=spec, setup=setup, settings=settings)


def _manifest(run: Run, folder: Path, workers: int) -> dict[str, Any]:
    return {
        "id": folder.name,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "spec": asdict(run.spec),
        "settings": run.settings,
        "fingerprint": manifest.fingerprint(run.settings),
        "suite_notes": list(run.suite.notes),
        "expected": run.suite.expected,
        "self_judged": self_judged(run.settings),
        "workers": workers,
        "environment": manifest.environment(),
    }


async def _score_all(
    run: Run,
    tasks: list[Task],
    answers: Mapping[str, str],
    journal: Journal,
    workers: int,
    watcher: Watcher,
    means: Means,
) -> None:
    halt = Halt()
    way = way_to(run.judge, run.judge_config, Desk(journal.add_reply, journal.add_build), means, halt)
    watcher.begin(f"{run.spec.suite} {run.spec.method}", len(tasks))

    async def work(piece: tuple[int, Task]) -> None:
        ordinal, task = piece
        if halt.reason:
            return
        watcher.started()
        began = time.perf_counter()
        record = await _scored(run, task, answers.get(task.query.id), Ledger(way.backend, way.desk))
        if halt.reason and not record.completed:
            return
        journal.add_record(ordinal, record, time.perf_counter() - began)
        watcher.finished(record)

    try:
        await in_parallel(iter(enumerate(tasks)), work, workers)
    finally:
        await way.backend.close()
    if halt.reason:
        raise halt.reason


async def _scored(run: Run, task: Task, text: str | None, judge: Ledger) -> Record:
    record = Record(task.query, task.gold, task.history.id)
    if text is None:
        return replace(record, failure=MISSING, scores=excluded(run.setup.metrics, task.gold))
    answer = Answer(text.strip(), AnswerOutcome.ANSWERED if text.strip() else AnswerOutcome.EMPTY)
    scores = await score(run.setup.metrics, task.query, task.gold, answer.text, judge, run.setup.protocol)
    calls, unanswered = tuple(judge.calls), tuple(judge.unanswered)
    return replace(record, answer=answer, scores=scores, calls=calls, unanswered=unanswered)
