"""The main job with the deterministic reader: on real data, and on generated data everywhere."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rdforget.records import SWITCHES
from runners.journal import read_records
from tests.acceptance.conftest import Done

Rdf = Callable[..., Done]
SMALL = "synthetic-fc:facts=120,questions=20,seed=3"


def run_dir(done: Done) -> Path:
    return Path(done.json["run_dir"])


@pytest.mark.parametrize(("variant", "least"), [("mab-fc", 80), ("mab-fc:sh_6k", 95)])
def test_real_fact_consolidation(rdf: Rdf, data_dir: Path, variant: str, least: int) -> None:
    done = rdf("run", "--suite", variant, "--model", "rules", "--data-dir", data_dir, "--json")
    assert done.code == 0
    cells = {cell["metric"]: cell for cell in done.json["cells"]}
    assert list(cells) == ["rule", "rule_strict", "rule_upstream"]
    assert (cells["rule"]["n_completed"], cells["rule"]["n_total"]) == (100, 100)
    assert cells["rule"]["value"] >= least
    assert all(record.trace and record.trace.view.tokens <= 2_048 for record in read_records(run_dir(done)))


def test_two_runs_leave_identical_records(rdf: Rdf) -> None:
    first, second = (run_dir(rdf("run", "--suite", SMALL, "--json", "--workers", n)) for n in (1, 8))
    assert first != second
    assert list(read_records(first)) == list(read_records(second))


def test_what_a_run_leaves_behind(rdf: Rdf) -> None:
    folder = run_dir(rdf("run", "--suite", SMALL, "--json"))
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert manifest["settings"]["protocol"]["budget"] == 2_048
    assert manifest["settings"]["sources"]
    assert manifest["environment"]["packages"]["tiktoken"]
    assert sorted(path.name for path in folder.iterdir()) == [
        "journal.sqlite",
        "manifest.json",
        "table.csv",
        "table.md",
    ]
    heads = (folder / "table.md").read_text("utf-8").splitlines()[0].replace(" ", "").split("|")
    assert {"rule", "rule_strict", "rule_upstream", "bounds", "selected", "completed", "excluded", "fallbacks"} <= set(
        heads
    )


@pytest.mark.parametrize("switch", [f"no-{name}" for name in SWITCHES])
def test_each_ablation_runs(rdf: Rdf, switch: str) -> None:
    done = rdf("run", "--suite", SMALL, "--ablation", switch, "--json")
    assert done.code == 0
    assert done.json["cells"][0]["switches"] == [switch]
    assert done.json["cells"][0]["n_completed"] == 20


def test_limit_and_budget(rdf: Rdf) -> None:
    done = rdf("run", "--suite", SMALL, "--limit", 5, "--budget", 64, "--json")
    cell = done.json["cells"][0]
    assert (cell["n_total"], cell["budget"]) == (5, 64)
    assert all(record.trace and record.trace.view.tokens <= 64 for record in read_records(run_dir(done)))


def test_the_demo_sweep_makes_one_table_of_six_rows(rdf: Rdf) -> None:
    done = rdf("sweep", "demo", "--json")
    assert done.code == 0
    values = {tuple(c["switches"]): c["value"] for c in done.json["cells"] if c["metric"] == "rule"}
    assert len(values) == 6
    assert values[()] > max(values[("no-forget",)], values[("no-rescue",)], values[("no-closure",)])
    folder = run_dir(done)
    assert (folder / "table.md").is_file()
    assert len(list(folder.glob("*/journal.sqlite"))) == 6


def test_show_prints_the_way_of_one_question(rdf: Rdf) -> None:
    folder = run_dir(rdf("run", "--suite", SMALL, "--json"))
    listed = rdf("show", folder)
    assert listed.code == 0
    assert len(listed.out.splitlines()) == 21
    shown = rdf("show", folder.name, "1", "--results", "results")
    for part in ("stored", "eligible", "packed", "ACTIVE", "answer:", "scores: rule"):
        assert part in shown.out
    as_json = rdf("show", folder, "1", "--json").json
    assert as_json["trace"]["view"]["packed"]
    assert as_json["completed"] is True


@pytest.mark.parametrize("command", ["suites", "models", "methods"])
def test_lists(rdf: Rdf, command: str) -> None:
    assert rdf(command).out.strip()
    assert rdf(command, "--json").json[command]


def test_neither_help_nor_a_rules_run_imports_what_it_does_not_need(tmp_path: Path) -> None:
    code = (
        "import sys; from runners.cli import main\n"
        "try: main()\n"
        "except SystemExit as stop: code = stop.code\n"
        "heavy = sorted({'litellm', 'datasets', 'pandas', 'scipy', 'torch'} & set(sys.modules))\n"
        "sys.exit(str(heavy) if heavy else code)"
    )
    for args in (["--help"], ["suites"], ["run", "--suite", SMALL, "--quiet"], ["models"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *args], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_output_survives_a_console_without_unicode(tmp_path: Path) -> None:
    env = {"PYTHONUTF8": "0", "LC_ALL": "C", "PATH": "", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "runners", "run", "--suite", SMALL, "--quiet"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
