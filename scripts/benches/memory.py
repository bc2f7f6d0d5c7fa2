"""The memory store at its size: `rdf memory`'s own paths, each part in a process of its own."""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rdforget.store import Candidate, Category, MemoryStore
from scripts.benches.measuring import ROOT, Options, Row, measure, scratch

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HEAVY = "heavy"
_BATCH = 1_000
_HEAVY_ROWS = 10_000
_USERS = 1_000
_WORDS = [
    f"{a}{b}{c}"
    for a in ("ka", "lo", "mi", "ru", "se")
    for b in ("dan", "fel", "gor", "hin", "jul", "pra")
    for c in "aeiou"
]
_CHILD = (sys.executable, "-m", "scripts.benches.memory")


def scale(options: Options) -> Iterator[Row]:
    """Rows of 1,000 users, one of whom has 10,000."""
    rows = options.store_rows
    with scratch() as folder:

        def told(*words: str) -> dict[str, Any]:
            done = measure((*_CHILD, *words), folder, {"PYTHONPATH": str(ROOT)})
            return done.told() | {"peak": done.peak}

        filled = told("fill", str(rows))
        size = f"store of {filled['rows']:,} rows of {_USERS:,} users, {filled['bytes'] / 1e9:.1f} GB"
        rate = filled["rows"] / filled["seconds"]
        yield Row(f"{size}: added a second, batches of {_BATCH:,}", f"{rate:,.0f}", "at least 500", rate >= 500)
        found = told("search")
        slow = found["p95"]
        yield Row(
            f"search, user of {_HEAVY_ROWS:,} rows: median, p95, first in the process",
            f"{found['p50']:.1f}, {slow:.1f}, {found['first']:.0f} ms",
            "p95 below 20 ms",
            slow < 20,
        )
        erased = told("erase")
        took = erased["commit_ms"]
        what = f"3 memories erased: committed ({erased['whole_s']:.0f} s with the search of all files)"
        yield Row(what, f"{took:.1f} ms", "within 20 ms", took <= 20)
        expired = told("expire")
        what = f"a full pass that expires {expired['rows']:,} rows"
        yield Row(what, f"{expired['seconds']:.1f} s", "below 60 s", expired["seconds"] < 60)
        peak = max(part["peak"] for part in (filled, found, erased, expired))
        yield Row("most memory of any of these processes", f"{peak:.0f} MB", "below 500 MB", peak < 500)


def fill(rows: str) -> dict[str, Any]:
    """Batches through `add_many`, four in ten rows episodic, one in five in a slot."""
    rng, made, began = random.Random(0), 0, time.perf_counter()
    share = (int(rows) - _HEAVY_ROWS) // (_USERS - 1)
    with MemoryStore(Path("store"), clock=lambda: NOW - timedelta(days=100)) as store:
        for number in range(_USERS):
            user, left = (HEAVY, _HEAVY_ROWS) if number == _USERS // 2 else (f"user{number}", share)
            while left:
                batch = min(_BATCH, left)
                store.add_many(user, [_candidate(rng, made + at) for at in range(batch)])
                made, left = made + batch, left - batch
        seconds = time.perf_counter() - began
        stats = store.stats()
    return {"rows": made, "seconds": seconds, "bytes": stats.file_bytes}


def _candidate(rng: random.Random, number: int) -> Candidate:
    text = f"{' '.join(rng.choices(_WORDS, k=10))} {number}"
    category = Category.EPISODIC if rng.random() < 0.4 else Category.SEMANTIC
    return Candidate(text, f"s{number}|r|" if rng.random() < 0.2 else None, category)


def search() -> dict[str, Any]:
    rng, took = random.Random(1), []
    with MemoryStore(Path("store"), clock=lambda: NOW, create=False) as store:
        for _ in range(200):
            query = " ".join(rng.choices(_WORDS, k=6))
            began = time.perf_counter()
            hits = store.search(HEAVY, query)
            took.append(1000 * (time.perf_counter() - began))
            assert len(hits) == 3
    first, rest = took[0], took[1:]
    return {"first": first, "p50": statistics.median(rest), "p95": statistics.quantiles(rest, n=20)[-1]}


def erase() -> dict[str, Any]:
    with MemoryStore(Path("store"), clock=lambda: NOW, create=False) as store:
        rows = store.rows("user7")
        ids = [next(rows).id for _ in range(3)]
        rows.close()  # type: ignore[attr-defined]
        began = time.perf_counter()
        done = store.erase_rows("user7", ids)
        assert done.state == "done"
        return {"commit_ms": done.commit_ms, "whole_s": time.perf_counter() - began}


def expire() -> dict[str, Any]:
    with MemoryStore(Path("store"), clock=lambda: NOW, create=False) as store:
        began = time.perf_counter()
        done = store.expire()
        return {"rows": done.rows, "seconds": time.perf_counter() - began}


NAMES: dict[str, Callable[..., dict[str, Any]]] = {"fill": fill, "search": search, "erase": erase, "expire": expire}

if __name__ == "__main__":
    print(json.dumps(NAMES[sys.argv[1]](*sys.argv[2:])))
