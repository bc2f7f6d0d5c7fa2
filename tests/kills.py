"""Runs that are killed at random moments and gone on with: what is lost, what is asked twice, what comes out.

Used by tests/acceptance/test_kills.py and, with more kills, by scripts/kill_runs.py.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from runners import manifest
from runners.journal import FILE as JOURNAL
from runners.journal import read_records, read_roles
from tests.acceptance.test_http_run import replied
from tests.loopback import Response, Server, said, serve

QUESTIONS, WORKERS = 200, 4
SUITE = f"synthetic-fc:facts=300,questions={QUESTIONS},seed=3"


@dataclass(frozen=True, slots=True)
class Survived:
    """What a run is like that was killed."""

    kills: int
    requests: int
    lost: int
    """Replies that were in the journal after a kill and are not in the end, and questions without a record."""
    paid_twice: int
    """Calls of which the journal had a reply, and that were asked again."""
    repeated: int
    """Requests whose reply was on its way when the process was killed, and that were sent again."""
    identical: bool
    """Tables and records are those of an undisturbed run."""


class Counting:
    """A faithful server that counts the bodies of requests."""

    def __init__(self) -> None:
        self.bodies: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, request: dict[str, Any], n: int) -> Response:
        with self._lock:
            self.bodies[json.dumps(request, sort_keys=True)] += 1
        return said(request, replied(request))


def context() -> ForkServerContext:
    """Processes that start from one that has imported everything."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["tests.warm"])
    return found


def rdf(arguments: Sequence[str], folder: Path) -> None:
    """`rdf` in a process of its own."""
    from runners.cli import main

    os.chdir(folder)
    os.environ.update(OPENAI_API_KEY="none", HF_HUB_OFFLINE="1")
    sys.argv = ["rdf", *arguments]
    sys.stdout = sys.stderr = open("said.txt", "a", encoding="utf-8")  # noqa: SIM115
    main()


def undisturbed(folder: Path) -> Path:
    """The folder of a run that nothing happens to."""
    with serve(Counting()) as server:
        process = context().Process(target=rdf, args=(_command(server, cached=False), folder))
        process.start()
        process.join()
    [run] = (folder / "results/runs").iterdir()
    return run


def killed(folder: Path, whole: Path, kills: int, chance: random.Random) -> Survived:
    """Kill a run so often, at random moments, then let it end; `whole` is the run that it is held against.

    Some of its processes use the cache and some do not.
    """
    script = Counting()
    kept: set[str] = set()
    with serve(script) as server:
        for number in range(kills + 1):
            run = _folder(folder)
            cached = chance.random() < 0.5
            arguments = _command(server, cached=cached) if run is None else _resume(run, cached=cached)
            requests = chance.randrange(2 * QUESTIONS // kills) if number < kills else None
            _session(server, arguments, folder, requests, chance.random() * 0.02)
            if run := _folder(folder):
                replies = [key for _, key, reply in read_roles(run) if reply.source == "asked"]
                kept |= set(replies)
    run = _folder(folder)
    assert run is not None
    ended = {key for _, key, _ in read_roles(run)}
    records, expected = list(read_records(run)), list(read_records(whole))
    same = all((run / name).read_bytes() == (whole / name).read_bytes() for name in ("table.md", "table.csv"))
    told, right = ([(r.query, r.trace, r.answer, r.scores) for r in of] for of in (records, expected))
    return Survived(
        kills=kills,
        requests=sum(script.bodies.values()),
        lost=len(kept - ended) + QUESTIONS - len(records),
        paid_twice=_rows(run) - len(ended),
        repeated=sum(script.bodies.values()) - len(script.bodies),
        identical=same and told == right,
    )


def _session(server: Server, arguments: Sequence[str], folder: Path, requests: int | None, more: float) -> None:
    """One process; killed `more` seconds after the server has had so many requests of it."""
    process = context().Process(target=rdf, args=(arguments, folder))
    goal = None if requests is None else len(server.requests) + requests
    process.start()
    while process.is_alive() and (goal is None or len(server.requests) < goal):
        process.join(0.002)
    if goal is not None:
        process.join(more)
        process.kill()
    process.join()


def _command(server: Server, *, cached: bool) -> list[str]:
    model = ["--model", "openai/m", "--api-base", server.url]
    return ["run", "--suite", SUITE, *model, *_options(cached)]


def _resume(run: Path, *, cached: bool) -> list[str]:
    return ["run", "--resume", str(run), *_options(cached)]


def _options(cached: bool) -> list[str]:
    return ["--workers", str(WORKERS), "--quiet", *([] if cached else ["--no-cache"])]


def _folder(folder: Path) -> Path | None:
    """The run that was begun; a process may be killed before there is one."""
    begun = [path.parent for path in (folder / "results/runs").glob(f"*/{JOURNAL}")]
    whole = [path for path in begun if (path / manifest.FILE).is_file()]
    return max(whole, default=None)


def _rows(run: Path) -> int:
    """Replies in the journal, of every session."""
    import sqlite3

    db = sqlite3.connect(run / JOURNAL)
    try:
        [(count,)] = db.execute("SELECT count(*) FROM replies")
    finally:
        db.close()
    return int(count)
