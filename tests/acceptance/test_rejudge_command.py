"""`rdf rejudge`: agreement with the judge before, and gaps that a second call fills."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runners.journal import read_records
from tests.acceptance.conftest import Done
from tests.loopback import Response, Script, failed, said, serve

Rdf = Callable[..., Done]
SUITE = "synthetic-fc:facts=100,questions=12"


def run(rdf: Rdf) -> str:
    done = rdf("run", "--suite", SUITE, "--judge", "rules", "--json")
    assert done.code == 0
    return str(done.json["run_dir"])


def judging(rdf: Rdf, folder: str, script: Script) -> tuple[Done, int]:
    with serve(script) as server:
        args = ("--judge", "openai/b", "--api-base", server.url, "--workers", 1, "--json")
        return rdf("rejudge", folder, *args), len(server.requests)


def correct(request: dict[str, Any], n: int) -> Response:
    return said(request, json.dumps({"verdict": "correct"}))


def metrics(folder: str) -> set[str]:
    return {score.metric for record in read_records(Path(folder)) for score in record.scores}


def test_agreement_is_counted_and_shown(rdf: Rdf) -> None:
    folder = run(rdf)
    done, _ = judging(rdf, folder, correct)
    [found] = done.json["agreement"]
    assert (found["first"], found["second"], found["both"]) == ("judge", "judge[openai/b]", 12)
    right = sum(found["counts"]["correct"].values())
    assert found["percent"] == round(100 * right / 12, 2)
    assert len(found["differing"]) == 12 - right
    [cost] = done.json["costs"]["stages"]
    assert (cost["stage"], cost["model"], cost["calls"]) == ("judge", "openai/b", 12)
    assert (Path(folder) / "costs-openai-b.csv").is_file()
    shown = rdf("rejudge", folder, "--judge", "rules")
    assert "agreement: 12 of 12, 100.0 %" in shown.out
    assert "judge \\ judge[rules]" in shown.out
    assert "judge[openai/b] \\ judge[rules]" in shown.out


def test_the_same_judge_fills_the_gaps_of_its_round(rdf: Rdf) -> None:
    """What could not be read and what failed is asked again, in the same round, and nothing else."""
    folder = run(rdf)

    def limping(request: dict[str, Any], n: int) -> Response:
        if n in (0, 1):  # a bad reply is asked for once more
            return said(request, "CORRECT or INCORRECT?")
        return failed(400, "no") if n == 5 else correct(request, n)

    first, asked = judging(rdf, folder, limping)
    assert (first.code, asked) == (3, 13)
    [cell] = [cell for cell in first.json["cells"] if cell["metric"] == "judge[openai/b]"]
    assert (cell["n_completed"], cell["n_failed"]) == (10, 2)
    assert sum(row["none"] for row in first.json["agreement"][0]["counts"].values()) == 2
    second, asked = judging(rdf, folder, correct)
    assert (second.code, asked) == (0, 2)
    [cell] = [cell for cell in second.json["cells"] if cell["metric"] == "judge[openai/b]"]
    assert (cell["n_completed"], cell["n_failed"], cell["n_total"]) == (12, 0, 12)
    assert "judge[openai/b#2]" not in metrics(folder)
    third, asked = judging(rdf, folder, correct)
    assert (third.code, asked) == (0, 12)
    assert "judge[openai/b#2]" in metrics(folder)


def test_gaps_that_stay_are_counted_once(rdf: Rdf) -> None:
    folder = run(rdf)
    for _ in range(2):
        done, _ = judging(rdf, folder, lambda request, n: said(request, "?"))
        [cell] = [cell for cell in done.json["cells"] if cell["metric"] == "judge[openai/b]"]
        assert (done.code, cell["n_failed"], cell["value"]) == (4, 12, None)
    assert all(
        sum(score.metric == "judge[openai/b]" for score in record.scores) == 1 for record in read_records(Path(folder))
    )
