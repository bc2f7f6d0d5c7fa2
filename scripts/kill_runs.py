"""Kill runs at random moments and go on with them, many times: `python scripts/kill_runs.py [--kills 200]`.

Every run has 200 questions and is killed 20 times before it may end. Printed are the kills, what was lost or paid
twice, the requests that were on their way and had to be sent again, and whether the tables are those of a run that
nothing happened to. Exit code 1 where anything was lost, paid twice or different.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tabulate import tabulate

from tests.kills import WORKERS, killed, undisturbed

KILLS_A_RUN = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "whole").mkdir()
        whole = undisturbed(root / "whole")
        for number in range(-(-given.kills // KILLS_A_RUN)):
            folder = root / str(number)
            folder.mkdir()
            runs.append(killed(folder, whole, KILLS_A_RUN, random.Random(f"{given.seed} {number}")))
            print(f"run {number + 1}: {runs[-1]}", file=sys.stderr)
    kills, repeated = sum(run.kills for run in runs), sum(run.repeated for run in runs)
    row = {
        "kills": kills,
        "lost": sum(run.lost for run in runs),
        "paid twice": sum(run.paid_twice for run in runs),
        "in flight, sent again": f"{repeated} (at most {kills * WORKERS})",
        "identical tables": f"{sum(run.identical for run in runs)} of {len(runs)} runs",
    }
    print(tabulate([list(row.values())], headers=list(row), tablefmt="github"))
    sound = all((run.lost, run.paid_twice, run.identical) == (0, 0, True) for run in runs)
    sys.exit(0 if sound and repeated <= kills * WORKERS else 1)


if __name__ == "__main__":
    main()
