"""Every suite to its end: with the deterministic reader, and over HTTP with every scorer."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import time_machine

from rdforget.suites.registry import SUITES
from runners.journal import read_records
from tests.acceptance.conftest import Done
from tests.acceptance.test_http_run import replied
from tests.loopback import Response, role_of, said, serve

Rdf = Callable[..., Done]
CHAT = "synthetic-chat:sessions=4,turns=6,questions=12,seed=3"
COUNTS = {"amb-text": 86, "lme-ku": 78, "mab-fc": 100, "beam": 38, "personamem": 273}
HEADLINE = {
    "amb-text": "judge",
    "lme-ku": "judge",
    "mab-fc": "rule",
    "beam": "rubric",
    "personamem": "option",
}


def scored(request: dict[str, Any], n: int) -> Response:
    role = role_of(request)
    text = {"rubric": '{"grade": 0.5}', "judge": '{"verdict": "correct"}'}.get(role) or replied(request)
    return said(request, text)


def check(done: Done) -> dict[str, dict[str, Any]]:
    """The cells by metric, whose counts add up."""
    cells = {cell["metric"]: cell for cell in done.json["cells"]}
    for cell in cells.values():
        assert cell["n_completed"] + cell["n_failed"] + cell["n_excluded"] == cell["n_total"]
        assert cell["n_failed"] == 0
    return cells


@pytest.mark.parametrize("suite", COUNTS)
def test_real_suites_run_to_the_end_with_rules(rdf: Rdf, data_dir: Path, suite: str) -> None:
    limit = [] if suite in ("mab-fc", "lme-ku") else ["--limit", 12]
    done = rdf("run", "--suite", suite, "--data-dir", data_dir, "--json", *limit)
    assert done.code == 0
    cells = check(done)
    assert next(iter(cells)) == HEADLINE[suite]
    assert cells[HEADLINE[suite]]["n_total"] == (12 if limit else COUNTS[suite])
    assert cells[HEADLINE[suite]]["n_completed"] == cells[HEADLINE[suite]]["n_total"]
    if suite == "lme-ku":
        assert cells["rule"]["n_excluded"] == 6


@pytest.mark.parametrize("suite", COUNTS)
def test_real_suites_run_to_the_end_over_http(rdf: Rdf, data_dir: Path, suite: str) -> None:
    with serve(scored) as server:
        done = rdf(
            *("run", "--suite", suite, "--data-dir", data_dir, "--limit", 6, "--json"),
            *("--model", "openai/some-model", "--api-base", server.url),
        )
        roles = {role_of(request.json) for request in server.requests}
    assert done.code == 0
    cells = check(done)
    assert {"curate", "select", "answer"} <= roles
    value = cells[HEADLINE[suite]]["value"]
    assert value == {"judge": 100.0, "rubric": 50.0}.get(HEADLINE[suite], value)


def test_the_generated_conversations_reach_every_scorer(rdf: Rdf) -> None:
    done = rdf("run", "--suite", CHAT, "--json")
    assert done.code == 0
    cells = check(done)
    assert {"judge", "rule", "rubric", "option"} <= set(cells)
    assert cells["rule"]["n_excluded"] > 0
    with serve(scored) as server:
        over_http = rdf(*("run", "--suite", CHAT, "--json", "--model", "openai/some-model", "--api-base", server.url))
    assert set(check(over_http)) == set(cells)


def test_every_suite_has_its_metrics_configured() -> None:
    from runners.config import suite_configs

    assert set(suite_configs()) == set(SUITES)


def test_two_runs_a_day_apart_send_identical_requests(rdf: Rdf) -> None:
    sent = []
    for day in (1, 2):
        with (
            time_machine.travel(datetime.datetime(2026, 3, day, 12, tzinfo=datetime.UTC)),
            serve(scored) as server,
        ):
            rdf("run", "--suite", CHAT, "--model", "openai/m", "--api-base", server.url, "--workers", 1, "--json")
            sent.append([request.json for request in server.requests])
    assert len(sent[0]) > 20
    assert sent[0] == sent[1]


def test_another_judge_scores_stored_answers_and_both_scores_stay(rdf: Rdf) -> None:
    folder = rdf("run", "--suite", CHAT, "--json").json["run_dir"]
    before = [record.scores for record in read_records(Path(folder))]
    with serve(scored) as server:
        judge = ("--judge", "openai/other", "--api-base", server.url)
        done = rdf("rejudge", folder, *judge, "--json")
        again = rdf("rejudge", folder, *judge, "--json")
        roles = {role_of(request.json) for request in server.requests}
    assert roles <= {"judge", "rubric"}
    assert "judge[openai/other]" in check(done)
    assert "judge[openai/other#2]" in check(again)
    after = [record.scores for record in read_records(Path(folder))]
    assert all(new[: len(old)] == old and len(new) > len(old) for old, new in zip(before, after, strict=True))


@pytest.mark.parametrize(("model", "judge", "mark"), [("openai/m", None, True), ("openai/m", "openai/n", False)])
def test_the_manifest_says_when_a_model_judges_itself(rdf: Rdf, model: str, judge: str | None, mark: bool) -> None:
    other = ["--judge", judge] if judge else []
    with serve(scored) as server:
        done = rdf(
            *("run", "--suite", CHAT, "--limit", 2, "--json", *other),
            *("--model", model, "--api-base", server.url),
        )
    folder = Path(done.json["run_dir"])
    assert json.loads((folder / "manifest.json").read_text("utf-8"))["self_judged"] is mark
    assert {cell["self_judged"] for cell in done.json["cells"] if cell["metric"] == "judge"} == {mark}
    assert ("itself" in (folder / "table.md").read_text("utf-8")) is mark
