"""A folder of own data from check to funnel, as a user types it: the one of the README."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.conftest import Done
from tests.acceptance.test_readme import SECTIONS, blocks

Rdf = Callable[..., Done]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The README's example as a folder."""
    folder = tmp_path / "mine"
    folder.mkdir()
    tasks, histories = blocks("Your own data", "json")
    (folder / "tasks.jsonl").write_text(tasks, "utf-8")
    (folder / "histories.jsonl").write_text(histories, "utf-8")
    (folder / "suite.yaml").write_text(blocks("Your own data", "yaml")[0], "utf-8")
    return folder


def test_the_commands_of_the_readme(rdf: Rdf, mine: Path) -> None:
    for command in re.findall(r"\.venv/bin/rdf ([^#\n]+)", SECTIONS["Your own data"]):
        done = rdf(*command.split())
        assert (done.code, done.err) == (0, ""), command
    assert rdf("data", "schema").out.count("required") == 5


def test_run_show_funnel_and_resume(rdf: Rdf, mine: Path) -> None:
    done = rdf("run", "--suite", "mine", "--json")
    cells = {cell["metric"]: cell for cell in done.json["cells"]}
    assert (cells["rule"]["suite"], cells["rule"]["value"], cells["rule"]["n_total"]) == ("mine", 100.0, 3)
    assert cells["judge"]["n_completed"] == 3
    assert cells["rule"]["budget"] == 512
    run = done.json["run_dir"]
    shown = rdf("show", run, "home")
    assert "lines labelled as evidence: 1 of 3" in shown.out
    assert "Ines lives in Metz." in shown.out
    assert rdf("funnel", run, "--json").json["runs"][0]["counts"][0]["kept"] == 3
    assert rdf("run", "--resume", run).code == 0
    assert rdf("run", "--from-manifest", run, "--dry-run").out.startswith("identical")


def test_another_folder_with_the_same_content_goes_on_and_a_changed_one_does_not(rdf: Rdf, mine: Path) -> None:
    run = rdf("run", "--suite", "mine", "--json").json["run_dir"]
    (mine.parent / "moved").mkdir()
    moved = mine.rename(mine.parent / "moved" / "mine")
    gone = rdf("run", "--resume", run)
    assert gone.code == 2
    assert "mine" in gone.err
    assert rdf("run", "--resume", run, "--suite", moved).code == 0
    with (moved / "tasks.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "more", "history": "ines", "question": "Who?", "answers": ["Ines"]}\n')
    changed = rdf("run", "--resume", run, "--suite", moved)
    assert changed.code == 2
    assert "sources.tasks.jsonl" in changed.err


def test_in_a_sweep_with_another_suite(rdf: Rdf, mine: Path, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(
        "suites: [./mine, 'synthetic-fc:facts=50,questions=3']\nmethods: [rd-forget, full-context]\n"
    )
    done = rdf("sweep", "s.yaml", "--json")
    assert done.code == 0
    assert {cell["suite"] for cell in done.json["cells"]} == {"mine", "synthetic-fc:facts=50,questions=3"}
    assert any("001-mine-rd-forget" in path.name for path in Path(done.json["run_dir"]).iterdir())
    assert rdf("tables", done.json["run_dir"]).code == 0


def test_check_lists_the_first_twenty_mistakes(rdf: Rdf, mine: Path) -> None:
    with (mine / "tasks.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": f"\x1b[31m{n}"}) + "\n" for n in range(8))
    done = rdf("data", "check", "mine")
    assert done.code == 2
    lines = [line for line in done.out.splitlines() if line.startswith("tasks.jsonl")]
    assert len(lines) == 20
    assert "... and 4 more" in done.out
    assert "\x1b" not in done.out
    report = rdf("data", "check", "mine", "--json").json["suites"][0]
    assert (report["state"], len(report["problems"])) == ("broken", 24)
    refused = rdf("run", "--suite", "mine")
    assert refused.code == 2
    assert "line 4: id" in refused.err
    assert "(and 23 more: `rdf data check mine` lists them)" in refused.err


@pytest.mark.parametrize("args", [["data", "check", "./nowhere"], ["run", "--suite", "./nowhere"]])
def test_a_folder_that_is_not_there(rdf: Rdf, args: list[str]) -> None:
    done = rdf(*args)
    assert done.code == 2
    assert "there is no folder nowhere" in done.err + done.out
    assert "Traceback" not in done.err


def test_check_of_own_data_needs_no_data_folder(rdf: Rdf, mine: Path) -> None:
    assert "Where Ines lives: lines in 1 histories: 3; metrics: rule, judge" in rdf("data", "check", "mine").out
