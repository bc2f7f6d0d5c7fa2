"""Processes by the operating system's own accounting, and the rows of the table."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
RDF = (sys.executable, "-m", "runners")
CHILD = (sys.executable, "-m", "scripts.benches.children")
SCRIPTED = (sys.executable, "-m", "scripts.benches.scripted")


@dataclass(frozen=True, slots=True)
class Row:
    """A figure and what it should be; None where nothing was promised."""

    what: str
    figure: str
    target: str = ""
    held: bool | None = None

    def cells(self) -> tuple[str, ...]:
        return self.what, self.figure, self.target, {None: "", True: "yes", False: "no"}[self.held]


@dataclass(frozen=True, slots=True)
class Options:
    """What the whole benchmark is given."""

    runs: int
    """Runs of what is cheap; the median is printed."""
    store_rows: int
    data: Path | None
    """Folder with the suites' files."""
    cache: Path
    """Where inspect-ai's environment is kept."""


Bench = Callable[[Options], Iterator[Row]]


class Process(NamedTuple):
    """Seconds and MB of one process, and what it printed."""

    wall: float
    cpu: float
    peak: float
    said: str

    def told(self) -> dict[str, Any]:
        """The JSON object that it printed in its last line."""
        told: dict[str, Any] = json.loads(self.said.splitlines()[-1])
        return told


def measure(command: Sequence[str], folder: Path, env: Mapping[str, str] | None = None) -> Process:
    """Run a command to its end in `folder`; a failing one ends the benchmark."""
    with (folder / "said").open("w+", encoding="utf-8") as said:
        began = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=said, env={**os.environ, **(env or {})})
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with exit code {process.returncode}: {text[-500:]}")
    return Process(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6, text)


def median(command: Sequence[str], folder: Path, runs: int, env: Mapping[str, str] | None = None) -> Process:
    """The medians of several runs, and what the last one printed."""
    found = [measure(command, folder, env) for _ in range(runs)]
    wall, cpu, peak = (statistics.median(values) for values in list(zip(*found, strict=True))[:3])
    return Process(wall, cpu, peak, found[-1].said)


def told(runs: int, *words: str) -> dict[str, float]:
    """The medians of what a child says of itself, in several runs."""
    with scratch() as folder:
        found = [measure((*CHILD, *words), folder).told() for _ in range(runs)]
    return {name: statistics.median(one[name] for one in found) for name in found[0]}


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)
