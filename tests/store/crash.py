"""Processes that write and read one store and are killed at any moment, and what is wrong with the store after that."""

from __future__ import annotations

import itertools
import json
import multiprocessing
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from random import Random

from rdforget.store import Candidate, MemoryStore
from rdforget.store.records import Outcome
from rdforget.store.schema import connect

USERS = ("ann", "bob", "cho")
SLOTS = 5
BATCH = 5
_PATIENCE = 60.0
"""Seconds without a word from anybody after which processes are taken to hang."""


@dataclass
class Crashes:
    """What was done to a store, and what came of it."""

    kills: int = 0
    acknowledged: int = 0
    """Rows whose writing had been confirmed."""
    rows: int = 0
    lost: list[str] = field(default_factory=list)
    """Ids of confirmed rows that are not there."""
    torn: list[str] = field(default_factory=list)
    """Batches of which only some rows are there."""
    errors: list[str] = field(default_factory=list)
    """What the processes met with."""
    problems: list[str] = field(default_factory=list)
    """What verification says."""


def crash(folder: Path, *, processes: int, kills: int, seed: int = 1) -> Crashes:
    """Let processes work on one store, kill each `kills` times at random moments, then look at the store."""
    rng = Random(seed)
    result = Crashes()
    acknowledged: set[str] = set()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    running: dict[Connection, tuple[ForkServerProcess, int]] = {}
    left = [kills] * processes
    patience: dict[Connection, int] = {}

    def start(worker: int) -> None:
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=work, args=(folder, worker, f"{seed}.{worker}.{left[worker]}", there))
        process.start()
        there.close()
        running[here] = process, worker
        patience[here] = rng.randint(0, 12)

    def take(pipe: Connection) -> None:
        ids, error = pipe.recv()
        acknowledged.update(ids)
        result.errors.extend([error] if error else [])
        patience[pipe] -= 1

    def kill(pipe: Connection) -> None:
        process, worker = running.pop(pipe)
        # Into the middle of whatever it does next; before its first word it is still opening the store.
        wait([process.sentinel], timeout=rng.uniform(0, 0.02))
        process.kill()
        process.join()
        result.kills += 1
        with closing(pipe):
            try:
                while True:
                    take(pipe)
            except (EOFError, OSError):
                pass
        process.close()
        left[worker] -= 1
        if left[worker]:
            start(worker)

    for worker in range(processes):
        start(worker)
    while running and not result.errors:
        tired = [pipe for pipe in running if patience[pipe] <= 0]
        for pipe in tired:
            kill(pipe)
        ready = wait(list(running), timeout=_PATIENCE) if running and not tired else []
        if running and not tired and not ready:
            result.errors.append("nobody got on")
        for pipe in ready:
            assert isinstance(pipe, Connection)
            try:
                take(pipe)
            except EOFError:
                result.errors.append("a process ended by itself")
    for process, _ in running.values():
        process.kill()
        process.join()

    result.acknowledged = len(acknowledged)
    with closing(connect(folder, create=False)) as db:
        metadata = dict(db.execute("SELECT id, metadata FROM rows"))
    result.rows = len(metadata)
    result.lost = sorted(acknowledged - metadata.keys())
    batches = Counter(json.loads(text).get("batch") for text in metadata.values())
    result.torn = [name for name, n in batches.items() if name is not None and n != BATCH]
    with MemoryStore(folder) as store:
        result.problems = store.verify()
    return result


def work(folder: Path, worker: int, life: str, pipe: Connection) -> None:
    """Write and read until killed; after each commit say which rows were written."""
    try:
        rng = Random(life)
        with MemoryStore(folder) as store:
            for step in itertools.count():
                pipe.send((act(store, rng, f"{life}.{step}"), ""))
    except BaseException as error:
        pipe.send(((), f"worker {worker}: {error!r}"))


def act(store: MemoryStore, rng: Random, name: str) -> list[str]:
    """One thing that a caller does; the ids of rows written by it."""
    user, slot = rng.choice(USERS), f"thing {rng.randrange(SLOTS)}|is|"
    match rng.randrange(5):
        case 0:
            decisions = [store.add(user, f"Note {name} is written.", force=True)]
        case 1 | 2:
            decisions = [store.add(user, f"It is {name}.", slot=slot)]
        case 3:
            texts = [f"Part {part} of {name}." for part in range(BATCH)]
            slots = [slot, *[None] * (BATCH - 1)]
            decisions = store.add_many(
                user,
                [Candidate(text, slot=at, metadata={"batch": name}) for text, at in zip(texts, slots, strict=True)],
                force=True,
            )
        case _:
            store.search(user, f"Note {name}")
            versions = store.history(user, slot=slot)
            if versions and sum(row.valid_to is None for row in versions) != 1:
                raise AssertionError(f"{slot} has other than one open version")
            return []
    if unexpected := [each.outcome for each in decisions if each.outcome in (Outcome.REFUSED, Outcome.DUPLICATE)]:
        raise AssertionError(f"{name} was {unexpected}")
    return [each.id for each in decisions if each.id]
