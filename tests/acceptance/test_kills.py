"""Runs that are killed lose nothing and pay for nothing twice; two processes share one cache."""

from __future__ import annotations

import random
from pathlib import Path

from tests.kills import WORKERS, Counting, context, killed, rdf, undisturbed
from tests.loopback import serve


def test_a_run_killed_at_random_moments_ends_as_one_that_was_not(tmp_path: Path) -> None:
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    whole = undisturbed(tmp_path / "whole")
    end = killed(tmp_path / "killed", whole, 8, random.Random(7))
    assert (end.kills, end.lost, end.paid_twice, end.identical) == (8, 0, 0, True)
    assert end.repeated <= end.kills * WORKERS


def test_two_sweeps_at_once_over_one_cache_ask_everything_once(tmp_path: Path) -> None:
    script = Counting()
    with serve(script) as server:
        (tmp_path / "mine.yaml").write_text(
            "suites: ['synthetic-fc:facts=100,questions=20,seed=5']\nmodels: [openai/m]\nswitches: [[], [no-rescue]]\n"
            f"api_base: {server.url}\n",
            "utf-8",
        )
        processes = []
        for name in ("one", "other"):
            arguments = ["sweep", "mine.yaml", "--quiet", "--cache", "shared.sqlite", "--out", name, "--workers", "4"]
            processes.append(context().Process(target=rdf, args=(arguments, tmp_path)))
        for process in processes:
            process.start()
        for process in processes:
            process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert set(script.bodies.values()) == {1}
    assert len(script.bodies) >= 3 * 20
    tables = [path.read_bytes() for path in sorted(tmp_path.glob("*/*/table.csv"))]
    assert len(tables) == 2
    assert tables[0] == tables[1]
