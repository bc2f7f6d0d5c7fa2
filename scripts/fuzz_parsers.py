"""Fuzz every parser of model replies: `python scripts/fuzz_parsers.py [--count 10000] [--seed 0]`.

Prints a row a parser: replies, errors, and the slowest reading. Ends with 1 if anything was raised.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback

from tabulate import tabulate

from tests.fuzzing import PARSERS, check, replies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000, help="replies a parser")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rows, errors = [], 0
    for role in PARSERS:
        raised: dict[str, str] = {}
        slowest, which = 0.0, ""
        began = time.perf_counter()
        for text in replies(role, given.count, given.seed):
            at = time.perf_counter()
            try:
                check(role, text)
            except Exception as error:
                frame = traceback.extract_tb(error.__traceback__)[-1]
                raised.setdefault(f"{type(error).__name__} at {frame.filename}:{frame.lineno}: {error}"[:200], text)
                errors += 1
            if (took := time.perf_counter() - at) > slowest:
                slowest, which = took, text
        rows.append((role, given.count, len(raised), f"{slowest:.2f}", f"{len(which):,} {which[:30]!r}"))
        print(role, f"{time.perf_counter() - began:.1f} s", file=sys.stderr)
        for what, text in raised.items():
            print(f"  {what}\n    {text[:200]!r}", file=sys.stderr)
    print(tabulate(rows, headers=("parser", "replies", "kinds of errors", "slowest s", "on"), tablefmt="github"))
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
