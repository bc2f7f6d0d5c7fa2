"""Time and memory as a table: `python scripts/bench.py [--only engine store] [--write]`.

Every figure is of a child process, by the operating system's own accounting where it is of a whole one; the median of
the runs is printed. inspect-ai gets an environment of its own, which needs a package registry once. Rows on real data
are left out without RDF_DATA_DIR. `--write` puts the table into results/bench.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from platformdirs import user_cache_path
from tabulate import tabulate

from scripts.benches import engine, memory
from scripts.benches.measuring import ROOT, Bench, Options

BENCHES: dict[str, Bench] = {
    "parts": engine.parts,
    "engine": engine.scripted,
    "latency": engine.latency,
    "commands": engine.commands,
    "store": memory.scale,
}
_HEADERS = ("what", "figure", "target", "held")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=BENCHES, default=list(BENCHES))
    parser.add_argument("--runs", type=int, default=3, help="of what is cheap; the median is printed")
    parser.add_argument("--store-rows", type=int, default=1_000_000)
    parser.add_argument("--write", action="store_true", help="put the table into results/bench.md")
    given = parser.parse_args()
    data = os.environ.get("RDF_DATA_DIR")
    options = Options(
        given.runs, given.store_rows, Path(data).resolve() if data else None, user_cache_path("rdforget-bench")
    )
    rows = []
    for name in given.only:
        for row in BENCHES[name](options):
            print(" | ".join(row.cells()), flush=True)
            rows.append(row.cells())
    table = tabulate(rows, headers=_HEADERS, tablefmt="github")
    if given.write:
        (ROOT / "results" / "bench.md").write_text(f"{_head(' '.join(given.only))}\n\n{table}\n", "utf-8")
    else:
        print(table)


def _head(parts: str) -> str:
    when = datetime.now(UTC).date()
    return (
        f"# Speed and memory\n\nMade by `python scripts/bench.py --write` ({parts}) on {when}: {os.cpu_count()} shared "
        f"cores, Python {platform.python_version()}."
    )


if __name__ == "__main__":
    main()
