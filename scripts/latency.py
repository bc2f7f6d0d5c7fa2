"""How near a run comes to the time that its server takes: `python scripts/latency.py [--latency 0.05] [--slots 16]`.

A server in a process of its own answers after a fixed time, with a fixed number of requests at once. The least time
for N questions is N x calls x latency / slots; printed are the run's own and the CPU that the client used for a call.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from runners.console import Silent
from runners.engine import RunSpec, begin, execute, prepare
from runners.journal import read_records
from tests.loopback import Response, role_of, said, serve

_REPLIES = {
    "curate": {"active": [{"text": "1. x", "subject": "a", "relation": "b", "scope": ""}], "replaced": []},
    "select": {"ids": ["m1"]},
    "answer": {"answer": "x"},
    "judge": {"verdict": "wrong"},
}


def server(latency: float, slots: int, pipe: Connection) -> None:
    """Serve until the other end of the pipe says something."""
    free = threading.Semaphore(slots)

    def script(request: dict[str, Any], n: int) -> Response:
        with free:
            time.sleep(latency)
        return said(request, json.dumps(_REPLIES[role_of(request)]))

    with serve(script) as running:
        pipe.send(running.url)
        pipe.recv()


def measure(url: str, questions: int, workers: int, clock: Callable[[], float]) -> tuple[float, int]:
    """What a run takes by the clock, and its calls."""
    model = "openai/some-model"
    spec = RunSpec(f"synthetic-fc:facts=300,questions={questions},seed=1", model=model, judge=model, api_base=url)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = prepare(spec, None)
        begin(run, folder, workers)
        began = clock()
        execute(run, folder, workers=workers, watcher=Silent())
        took = clock() - began
        calls = sum(len(record.calls) for record in read_records(folder))
    return took, calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--latency", type=float, default=0.05, help="seconds")
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=server, args=(given.latency, given.slots, there))
    process.start()
    try:
        url = here.recv()
        measure(url, 1, 1, time.perf_counter)  # imports litellm
        cpu = time.process_time()
        wall, calls = measure(url, given.questions, given.slots, time.perf_counter)
        cpu = time.process_time() - cpu
    finally:
        here.send("stop")
        process.join()
    least, each = calls * given.latency / given.slots, 1000 * cpu / calls
    if given.json:
        print(json.dumps({"ratio": wall / least, "slots": given.slots, "cpu_ms": each}))
    else:
        print(f"{calls} calls in {wall:.2f} s; least {least:.2f} s; ratio {wall / least:.2f}; CPU {each:.1f} ms a call")


if __name__ == "__main__":
    main()
