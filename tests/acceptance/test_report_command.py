"""`rdf report` and `rdf view`, as a user types them."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.conftest import Done
from tests.acceptance.test_compare import run
from tests.acceptance.test_http_run import Faulty
from tests.loopback import serve

Rdf = Callable[..., Done]


@pytest.fixture
def full(rdf: Rdf) -> Path:
    return run(rdf)


def test_a_report_of_one_run_and_again(rdf: Rdf, full: Path) -> None:
    done = rdf("report", full.name, "-o", "out")
    assert (done.code, done.err, done.out) == (0, "", "open out/index.html: 1 run\n")
    assert rdf("report", full, "-o", "out", "--json").json == {"report": "out/index.html", "runs": [str(full)]}


def test_costs_and_faults_of_a_language_model(rdf: Rdf) -> None:
    with serve(Faulty()) as server:
        suite = ("--suite", "synthetic-fc:facts=60,questions=20,seed=5", "--judge", "openai/other", "--workers", 1)
        done = rdf("run", *suite, "--model", "openai/some", "--api-base", server.url, "--max-error-rate", 1, "--json")
    folder = Path(done.json["run_dir"])
    assert rdf("report", folder, "-o", "out").code == 0
    text = Path("out/data/index.js").read_text("ascii")
    index = json.loads(text.removeprefix('rdf.take("index",').removesuffix(");\n"))
    with (folder / "costs.csv").open(encoding="utf-8") as file:
        costs = list(csv.DictReader(file))
    named = [dict(zip(index["costs"]["columns"], row, strict=True)) for row in index["costs"]["rows"]]
    assert [(row["stage"], row["calls"], row["prompt"]) for row in named[:-1]] == [
        (cost["stage"], cost["calls"], f"{int(cost['prompt']):,}") for cost in costs
    ]
    [one] = index["runs"]
    assert {"select: candidate order stands in", "answer: empty"} & set(one["faults"])
    assert sum(count for _, count in one["faulty"]) > 0


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["report"], "runs"),
        (["report", "nothing", "-o", "out"], "'nothing'"),
        (["report", "nothing", "-o", "results"], "is no report"),
        (["view", "nothing"], "'nothing'"),
        (["view", "--port", "70000"], "--port"),
        (["view", "--results", "nowhere"], "nowhere holds no run"),
    ],
)
def test_one_sentence_that_names_the_thing(rdf: Rdf, full: Path, args: list[str], named: str) -> None:
    done = rdf(*args)
    assert (done.code, done.out) == (2, "")
    assert named in done.err
    assert done.err.count("\n") == 1
    assert not Path("out").exists()


def test_view_of_the_newest_run_until_it_is_interrupted(full: Path) -> None:
    command = [sys.executable, "-m", "runners", "view"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        address = process.stdout.readline().split()[0]
        with urllib.request.urlopen(f"{address}data/index.js", timeout=10) as reply:
            assert full.name in reply.read().decode("ascii")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "stopped\n", "")
