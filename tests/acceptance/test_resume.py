"""A run or sweep that was cut short goes on: nothing is lost, nothing is asked twice, another setting is refused."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rdforget.records import Gold, Record, Score
from runners.journal import read_records, read_replies
from tests.acceptance.conftest import Done
from tests.acceptance.test_http_run import replied
from tests.loopback import Response, failed, role_of, said, serve

Rdf = Callable[..., Done]
SUITE = "synthetic-fc:facts=200,questions=30,seed=5"
ENV = {**os.environ, "OPENAI_API_KEY": "none"}


class Counting:
    """A faithful server that counts requests and lets a test act at one of them."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.stop_at = 0
        self.reached = threading.Event()

    def __call__(self, request: dict[str, Any], n: int) -> Response:
        if self.stop_at and n >= self.stop_at:
            self.reached.set()
            return Response(delay=60)
        self.asked[str(request["messages"])] += 1
        return said(request, replied(request))


def kill_at(server: Counting, at: int, command: list[str], folder: Path) -> None:
    """Start a command and kill it when the server has its request number `at`."""
    server.stop_at = at
    server.reached.clear()
    process = subprocess.Popen([sys.executable, "-m", "runners", *command], cwd=folder, env=ENV)
    assert server.reached.wait(60)
    process.kill()
    process.wait()
    server.stop_at = 0


def comparable(records: list[Record]) -> list[tuple[object, ...]]:
    return [(r.query.id, r.trace, r.answer, r.scores) for r in records]


def test_a_killed_run_goes_on_where_it_was(rdf: Rdf, tmp_path: Path) -> None:
    server = Counting()
    with serve(server) as running:
        options = ["--model", "openai/m", "--api-base", running.url, "--workers", "3", "--no-cache"]
        whole = rdf("run", "--suite", SUITE, *options, "--json")
        expected = comparable(list(read_records(Path(whole.json["run_dir"]))))
        server.asked.clear()
        (tmp_path / "killed").mkdir()
        start = len(running.requests)
        kill_at(server, start + 20, ["run", "--suite", SUITE, *options, "--quiet"], tmp_path / "killed")
        [folder] = (tmp_path / "killed/results/runs").iterdir()
        resume = ["run", "--resume", str(folder), "--quiet", "--workers", "2", "--no-cache"]
        kill_at(server, len(running.requests) + 31, resume, tmp_path)
        done = rdf(*resume, "--json")
    assert done.code == 0
    assert comparable(list(read_records(folder))) == expected
    # Only what was on its way back to a worker when the process was killed is asked again.
    assert sum(server.asked.values()) - len(server.asked) <= (3 - 1) + (2 - 1)
    assert done.json["cells"] == whole.json["cells"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (["--model", "openai/other"], "model.model: openai/m then, openai/other now"),
        (["--budget", "99"], "protocol.budget: 2048 then, 99 now"),
        (["--ablation", "no-slot"], "switches: [] then, ['no-slot'] now"),
        (["--limit", "3"], "items: 4 then, 3 now"),
    ],
)
def test_another_setting_is_refused_before_any_call(rdf: Rdf, change: list[str], named: str) -> None:
    server = Counting()
    with serve(server) as running:
        first = rdf("run", "--suite", SUITE, "--limit", 4, "--model", "openai/m", "--api-base", running.url, "--json")
        journal = Path(first.json["run_dir"]) / "journal.sqlite"
        before, asked = journal.read_bytes(), len(running.requests)
        done = rdf("run", "--resume", first.json["run_dir"], *change)
        assert len(running.requests) == asked
    assert done.code == 2
    assert named in done.err
    assert journal.read_bytes() == before


def test_only_failed_questions_are_asked_again(rdf: Rdf) -> None:
    broken = {"judge": 2, "answer": 1}
    asked: Counter[str] = Counter()

    def script(request: dict[str, Any], n: int) -> Response:
        role = role_of(request)
        asked[role] += 1
        if broken.get(role):
            broken[role] -= 1
            return failed(400, "not now")
        return said(request, replied(request))

    with serve(script) as server:
        model = ("--model", "openai/m", "--api-base", server.url, "--judge", "openai/m")
        first = rdf("run", "--suite", SUITE, "--limit", 10, *model, "--workers", 1, "--json", "--max-error-rate", 0.5)
        assert first.code == 3
        assert asked == {"curate": 10, "select": 10, "answer": 10, "judge": 9}
        asked.clear()
        done = rdf("run", "--resume", first.json["run_dir"], "--json")
    assert done.code == 0
    assert asked == {"answer": 1, "judge": 3}
    assert {cell["n_completed"] for cell in done.json["cells"]} == {10}


def test_a_scorer_that_crashes_costs_nothing_twice(rdf: Rdf, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(answer: str, gold: Gold) -> tuple[Score, ...]:
        raise RuntimeError("a scorer with a fault")

    server = Counting()
    with serve(server) as running:
        model = ("--model", "openai/m", "--api-base", running.url, "--no-cache")
        with monkeypatch.context() as broken:
            broken.setattr("rdforget.scoring.rule.score", crash)
            first = rdf("run", "--suite", SUITE, "--limit", 5, *model, "--json")
        assert first.code == 4
        assert sum(server.asked.values()) == 3 * 5
        folder = Path(first.json["run_dir"])
        assert [record.failure.stage for record in read_records(folder) if record.failure] == ["score"] * 5
        done = rdf("run", "--resume", folder, "--no-cache", "--json")
        assert sum(server.asked.values()) == 3 * 5
    assert done.code == 0
    assert {cell["n_completed"] for cell in done.json["cells"]} == {5}
    with closing(sqlite3.connect(folder / "journal.sqlite")) as db:
        assert list(db.execute("SELECT attempt, count(*) FROM records GROUP BY attempt")) == [(1, 5), (2, 5)]


def test_a_later_judge_never_answers_for_the_runs_own(rdf: Rdf) -> None:
    down = True

    def script(request: dict[str, Any], n: int) -> Response:
        if role_of(request) != "judge":
            return said(request, replied(request))
        if request["model"] == "b":
            return said(request, '{"verdict": "correct"}')
        return failed(400, "not now") if down else said(request, '{"verdict": "wrong"}')

    with serve(script) as server:
        model = ("--model", "openai/m", "--judge", "openai/a", "--api-base", server.url)
        first = rdf("run", "--suite", SUITE, "--limit", 6, *model, "--json")
        folder = first.json["run_dir"]
        assert first.code == 4
        rdf("rejudge", folder, "--judge", "openai/b", "--api-base", server.url)
        down = False
        done = rdf("run", "--resume", folder, "--json")
    cells = {cell["metric"]: cell["value"] for cell in done.json["cells"]}
    assert (cells["judge"], cells["judge[openai/b]"]) == (0.0, 100.0)


def test_a_sweep_killed_before_a_manifest_was_written_goes_on(rdf: Rdf) -> None:
    folder = Path(rdf("sweep", "demo", "--json").json["run_dir"])
    own = json.loads((folder / "manifest.json").read_text("utf-8"))
    del own["ended"]
    (folder / "manifest.json").write_text(json.dumps(own), "utf-8")
    cell = sorted(folder.glob("*/journal.sqlite"))[2].parent
    for name in ("manifest.json", "journal.sqlite"):
        (cell / name).unlink()
    (cell / "journal.sqlite").touch()  # made, and killed before its tables were
    done = rdf("sweep", "demo", "--json")
    assert (done.code, Path(done.json["run_dir"])) == (0, folder)
    assert {c["n_completed"] for c in done.json["cells"] if c["metric"] == "rule"} == {60}
    assert rdf("tables", folder).code == 0


def test_a_killed_sweep_goes_on_and_its_table_says_what_is_missing(rdf: Rdf, tmp_path: Path) -> None:
    server = Counting()
    with serve(server) as running:
        (tmp_path / "mine.yaml").write_text(
            f"suites: ['{SUITE}']\nmodels: [openai/m]\nswitches: [[], [no-qc], [no-slot]]\nlimit: 8\n"
            f"api_base: {running.url}\n",
            "utf-8",
        )
        kill_at(server, 40, ["sweep", "mine.yaml", "--quiet", "--workers", "2"], tmp_path)
        [folder] = (tmp_path / "results/sweeps").iterdir()
        early = (folder / "table.md").read_text("utf-8")
        done = rdf("sweep", "mine.yaml", "--json")
    assert done.code == 0
    assert Path(done.json["run_dir"]).resolve() == folder.resolve()
    assert "missing" in early
    assert "missing" not in (folder / "table.md").read_text("utf-8")
    assert {cell["n_completed"] for cell in done.json["cells"]} == {8}
    kept = [reply for path in folder.glob("*/journal.sqlite") for reply in read_replies(path.parent).values()]
    asked = [reply for reply in kept if reply.source == "asked"]
    assert 0 <= sum(server.asked.values()) - len(asked) <= 2 - 1  # on its way to a worker
    # What the three runs have in common is asked once.
    assert len(kept) > len(asked)
    again = rdf("sweep", "demo", "--json").json["run_dir"]
    assert rdf("sweep", "demo", "--json").json["run_dir"] != again  # one that has ended is not gone on with
