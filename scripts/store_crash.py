"""Kill processes that work on one store: `python scripts/store_crash.py [--processes 8] [--kills 25] [--seed 1]`.

Each process adds, supersedes, writes batches and reads, and is killed so many times at random moments. Printed is what
was lost, torn or unsound afterwards; the exit code is 1 if anything was.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from tests.store.crash import crash


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--kills", type=int, default=25, help="of each process")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        result = crash(Path(folder) / "store", processes=given.processes, kills=given.kills, seed=given.seed)
    took = time.perf_counter() - began
    print(f"{result.kills} kills of {given.processes} processes in {took:.1f} s")
    print(
        f"{result.acknowledged} rows confirmed, {result.rows} found, {len(result.lost)} lost, {len(result.torn)} torn"
    )
    for sentence in [*result.errors, *result.problems]:
        print(sentence)
    return bool(result.lost or result.torn or result.errors or result.problems)


if __name__ == "__main__":
    raise SystemExit(main())
