"""`--dry-run`: what would be asked and what it may cost, before a key is needed or anything is written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from runners.journal import read_records
from tests.acceptance.conftest import Done

Rdf = Callable[..., Done]
SUITE = "synthetic-fc:facts=100,questions=10,seed=2"


@pytest.mark.parametrize("more", [[], ["--ablation", "no-qc"], ["--method", "ace"], ["--method", "no-memory"]])
def test_the_plan_counts_the_calls_of_the_run(rdf: Rdf, more: list[str]) -> None:
    planned = rdf("run", "--suite", SUITE, *more, "--dry-run", "--json").json
    calls = {stage["role"]: stage["calls"] for stage in planned["stages"]}
    run = rdf("run", "--suite", SUITE, *more, "--json").json["run_dir"]
    asked = [call.role for record in read_records(Path(run)) for call in record.calls]
    assert {role: n for role, n in calls.items() if role in set(asked)} == {r: asked.count(r) for r in set(asked)}
    assert planned["usd_at_most"] == 0


def test_money_is_an_upper_bound_or_said_to_be_unknown(rdf: Rdf, tmp_path: Path) -> None:
    priced = rdf("run", "--suite", SUITE, "--model", "luna", "--dry-run", "--json").json
    [curate] = [stage for stage in priced["stages"] if stage["role"] == "curate"]
    assert curate["usd"] == pytest.approx((curate["prompt_tokens"] * 0.20 + 10 * 4_096 * 1.20) / 1e6)
    unpriced = rdf("run", "--suite", SUITE, "--model", "qwen", "--dry-run", "--json").json
    assert (unpriced["usd_at_most"], unpriced["unpriced"]) == (None, ["qwen"])
    assert "unknown" in rdf("run", "--suite", SUITE, "--model", "qwen", "--dry-run").out
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_is_planned_over_all_its_runs_without_litellm(tmp_path: Path) -> None:
    code = "import sys, runners.cli as c\ntry: c.main()\nexcept SystemExit: print('litellm' in sys.modules)"
    command = [sys.executable, "-c", code, "sweep", "demo", "--model", "luna", "--dry-run"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "6 runs" in done.stdout
    assert done.stdout.splitlines()[-1] == "False"
