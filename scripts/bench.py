"""Time and memory of whole commands, as a table: `python scripts/bench.py [--runs 5]`.

Every figure is of a child process by the operating system's own accounting; the median of the runs is printed.
Data of the suites is taken from RDF_DATA_DIR; without it the rows on real data are left out.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tabulate import tabulate

RDF = [sys.executable, "-m", "runners"]
CHUNKING = """
from rdforget.suites.registry import load_suite
from rdforget.tokens import count_tokens
from rdforget.view.chunk import chunks
[history] = {task.history.id: task.history for task in load_suite(%r, None).tasks()}.values()
found = chunks(history.observations, 8_000)
tokens = sum(count_tokens(seen.text) for seen in history.observations)
print(f"{tokens:,} tokens, {len(history.observations):,} observations, {len(found):,} chunks")
"""


class Figures(NamedTuple):
    """Seconds and MiB of one process."""

    wall: float
    cpu: float
    peak: float
    said: str


def measure(command: list[str], folder: Path) -> Figures:
    """Run a command to its end in `folder`; a failing command ends the benchmark."""
    with (folder / "said").open("w+", encoding="utf-8") as said:
        began = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=said)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with exit code {process.returncode}")
    return Figures(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    data = os.environ.get("RDF_DATA_DIR")
    big = "synthetic-chat:chats=1,sessions=2500,turns=100,people=200,facts=2000,questions=200"
    cases: list[tuple[str, list[str], int]] = [
        ("rdf --help", [*RDF, "--help"], runs),
        ("rdf run, synthetic-fc, rules, 60 questions", [*RDF, "run", "--suite", "synthetic-fc", "--quiet"], runs),
        ("rdf sweep demo, 360 questions", [*RDF, "sweep", "demo", "--quiet"], runs),
        ("a 10-million-token history, generated and chunked", [sys.executable, "-c", CHUNKING % big], 1),
    ]
    if data:
        for suite in ("mab-fc", "lme-ku", "beam"):
            command = [*RDF, "run", "--suite", suite, "--quiet", "--data-dir", str(Path(data).resolve())]
            cases.append((f"rdf run, {suite}, rules", command, runs))
    rows = []
    for name, command, count in cases:
        with tempfile.TemporaryDirectory() as folder:
            figures = [measure(command, Path(folder)) for _ in range(count)]
        wall, cpu, peak = (statistics.median(values) for values in list(zip(*figures, strict=True))[:3])
        rows.append((name, count, f"{wall:.2f}", f"{cpu:.2f}", f"{peak:.0f}"))
        if command[1] == "-c":
            print(figures[0].said.strip())
    print(tabulate(rows, headers=("what", "runs", "wall s", "CPU s", "peak MiB"), tablefmt="github"))


if __name__ == "__main__":
    main()
