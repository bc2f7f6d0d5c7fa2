"""`rdf tables` on sweeps of the deterministic reader, as a user types it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.conftest import Done
from tests.runners.test_paper import Maker

Rdf = Callable[..., Done]
SWEEP = """
suites: ["synthetic-fc:facts=120,questions=20,seed=3"]
models: [luna]
switches: [[], [no-forget], [no-qc]]
"""


@pytest.fixture
def swept(rdf: Rdf, tmp_path: Path) -> Path:
    """A sweep of a language model, run without one."""
    (tmp_path / "mine.yaml").write_text(SWEEP, "utf-8")
    done = rdf("sweep", "mine.yaml", "--model", "rules", "--json")
    assert done.code == 0
    return tmp_path / done.json["run_dir"]


def test_the_table_of_a_sweep(rdf: Rdf, swept: Path) -> None:
    before = {path: path.read_bytes() for path in swept.rglob("*") if path.is_file()}
    done = rdf("tables", "mine")
    assert done.code == 0
    for part in ("rd-forget no-forget", "Rules (no LLM)", "less rd-forget", "worse", "tie", "no tokens are counted"):
        assert part in done.out
    names = {path.name for path in swept.iterdir() if path.is_file()} - {path.name for path in before}
    stems = ("tables.md", "tables.csv", "tables.tex", "forest.png", "forest.svg")
    assert names == {*stems, "figure3-rules-no-llm.png", "figure3-rules-no-llm.svg"}
    assert all(path.read_bytes() == content for path, content in before.items())
    with (swept / "tables.csv").open(encoding="utf-8", newline="") as file:
        full, ablated, agnostic = csv.DictReader(file)
    assert full["paired_difference"] == full["verdict"] == ""
    assert float(ablated["paired_difference"]) == float(ablated["value"]) - float(full["value"]) < 0
    assert float(ablated["p_holm"]) >= float(ablated["p"])
    assert (full["curate.calls"], full["answer.calls"], full["curate.shared"]) == ("1.0", "1.0", "False")
    # One memory for all 20 questions.
    assert (agnostic["curate.calls"], agnostic["curate.shared"]) == ("0.05", "True")
    text = (swept / "tables.md").read_text("utf-8")
    assert "0.05 calls*" in text
    assert str(swept.parent) not in text + (swept / "tables.tex").read_text("utf-8")


def test_as_json_against_another_and_elsewhere(rdf: Rdf, swept: Path, tmp_path: Path) -> None:
    done = rdf("tables", swept, "--json", "--out", tmp_path / "new" / "folder")
    assert [row["switches"] for row in done.json["rows"]] == ["", "no-forget", "no-qc"]
    assert {Path(file).name for file in done.json["files"]} >= {"tables.md", "tables.csv", "tables.tex"}
    assert all(Path(file).parent == tmp_path / "new" / "folder" for file in done.json["files"])
    refused = rdf("tables", swept, "--against", "rd-forgt")
    assert refused.code == 2
    assert "'rd-forget'" in refused.err


def test_a_sweep_of_other_suites_has_no_table_of_the_paper(rdf: Rdf, swept: Path) -> None:
    done = rdf("tables", swept, "--paper")
    assert done.code == 2
    assert "leave --paper out" in done.err
    assert rdf("tables", "nothing").code == 2


def test_the_papers_tables(rdf: Rdf, tmp_path: Path) -> None:
    make = Maker(tmp_path / "results" / "20260101-000000-made")
    make.run("mab-fc", (57, 100), model="minimax")
    make.run("mab-fc", (40, 100), model="minimax", method="ace")
    make.run("personamem", (40, 100), model="minimax", method="ace")
    make.read()
    done = rdf("tables", "made", "--paper")
    assert done.code == 0
    for part in ("Table 1.", "Table 3.", "57.00 best", "paper 57.00, +0.00", "paper 42.00, -2.00", "missing"):
        assert part in done.out
    for name, parts in {
        "paper.md": ("## Table 1.", "**57.00 best**<br>", "paper 42.49 (derived), -2.49"),
        "paper.tex": (r"\toprule", r"\textbf{57.00 best}", r"95 \% interval", r"\label{tab:table3}"),
        "paper.csv": ("table,model,row,column,value,", "1,MiniMax-M2.5,RD,MAB-FC,57.0,"),
    }.items():
        text = (make.folder / name).read_text("utf-8")
        assert all(part in text for part in parts), name
    rows = rdf("tables", "made", "--paper", "--json").json["rows"]
    [gain] = [row for row in rows if (row["row"], row["column"]) == ("gain", "MAB-FC")]
    assert (gain["value"], gain["paper"], gain["difference"]) == (17.0, 11.0, 6.0)


def test_nothing_is_made_of_a_broken_sweep(rdf: Rdf, swept: Path) -> None:
    manifest = json.loads((swept / "manifest.json").read_text("utf-8"))
    manifest["sweep"][0]["suitess"] = []
    (swept / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    done = rdf("tables", swept, "--json")
    assert (done.code, done.json["exit_code"]) == (2, 2)
    assert "not a whole sweep folder" in done.json["error"]


def test_figures_are_imported_by_nothing_else(tmp_path: Path) -> None:
    code = "import sys; import runners.cli, runners.runs; sys.exit(str({'matplotlib', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "set()"
