"""`rdf export` and `rdf import`, as a user types them: what other tools read, and answers that others made."""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import jsonschema
import pandas as pd
import pytest

from rdforget.records import Answer, AnswerOutcome, Failure, Record, Verdict
from runners.exchange.rows import COLUMNS
from runners.journal import Journal, read_records
from tests.acceptance.conftest import Done
from tests.loopback import failed, said, serve

Rdf = Callable[..., Done]
SUITE = "synthetic-chat:questions=20"
FACTS = "synthetic-fc:facts=100,questions=12"
SCHEMA = json.loads((Path(__file__).parents[1] / "exchange" / "inspect_log.schema.json").read_text("utf-8"))
INSPECT = os.environ.get("RDF_INSPECT_PYTHON")
"""A Python that has inspect-ai."""


@pytest.fixture
def run(rdf: Rdf) -> Path:
    return Path(rdf("run", "--suite", SUITE, "--json").json["run_dir"])


@pytest.fixture
def odd(run: Path) -> Path:
    """The run with a question that failed, one without a verdict, and an answer that is hard to write down."""
    records = list(read_records(run))
    hard = Answer('half \ud800, <script>alert("x")</script>, \x1b[31m, \u202e, {"a": 1}', AnswerOutcome.ANSWERED)
    no_verdict = tuple(replace(s, value=None, verdict=Verdict.INVALID, detail="parse: ?") for s in records[1].scores)
    records[0] = Record(records[0].query, records[0].gold, "h", failure=Failure("timeout", "answer", "too late"))
    records[1] = replace(records[1], scores=no_verdict)
    records[2] = replace(records[2], answer=hard)
    with Journal(run) as journal:
        for ordinal, record in enumerate(records[:3]):
            journal.add_record(ordinal, record, 0.0)
    return run


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_lines_hold_every_question_with_the_documented_keys(rdf: Rdf, odd: Path) -> None:
    done = rdf("export", odd, "--to", "jsonl", "-o", "run.jsonl", "--json")
    assert (done.code, done.json) == (0, {"file": "run.jsonl", "questions": 20})
    rows = lines(Path("run.jsonl"))
    assert all(list(row) == [column.name for column in COLUMNS] for row in rows)
    assert [row["id"] for row in rows] == [record.query.id for record in read_records(odd)]
    assert (rows[0]["answer"], rows[0]["failure_kind"], rows[0]["completed"]) == (None, "timeout", False)
    assert {score["value"] for score in rows[1]["scores"]} == {None}
    assert rows[2]["answer"].startswith("half ?, <script>")
    for row, record in list(zip(rows, read_records(odd), strict=True))[3:]:
        assert record.trace
        assert [entry["id"] for entry in row["view"]] == [entry.id for entry in record.trace.view.entries]
        assert [score["metric"] for score in row["scores"]] == [score.metric for score in record.scores]
    assert all(f"  {column.name} " in rdf("data", "schema", "export").out for column in COLUMNS)


def test_parquet_and_a_data_set_hold_the_same(rdf: Rdf, odd: Path) -> None:
    for to, name in (("jsonl", "r.jsonl"), ("parquet", "r.parquet"), ("hf", "r")):
        assert rdf("export", odd, "--to", to, "--out", name).code == 0
    rows = lines(Path("r.jsonl"))
    data = datasets.load_from_disk("r")
    assert data.to_list() == rows
    assert data.features["value"].dtype == "float64"
    frame = pd.read_parquet("r.parquet")
    assert list(frame["id"]) == [row["id"] for row in rows]
    assert frame["judge"].isna().all()
    assert frame["view_tokens"].sum() == sum(row["view_tokens"] or 0 for row in rows)


def test_the_inspect_log_keeps_to_the_schema(rdf: Rdf, odd: Path) -> None:
    assert rdf("export", odd, "--to", "inspect").code == 0
    [file] = Path("results/exports").iterdir()
    log = json.loads(file.read_text("utf-8"))
    jsonschema.Draft202012Validator(SCHEMA).validate(log)
    assert log["status"] == "success"
    assert log["results"]["total_samples"] == log["eval"]["dataset"]["samples"] == len(log["samples"]) == 20
    first, second, third = log["samples"][:3]
    assert first["error"]["message"] == "answer: timeout: too late"
    assert "output" not in first
    assert all(math.isnan(score["value"]) and score["reason"] == "grader_failed" for score in second["scores"].values())
    assert third["messages"][-1]["content"].startswith("half ?")
    [event] = third["events"]
    assert event["input"] == third["messages"][:-1]
    assert [message["role"] for message in event["input"]] == ["system", "user"]
    means = {score["name"]: score["metrics"]["mean"]["value"] for score in log["results"]["scores"] if score["metrics"]}
    for metric, mean in means.items():
        values = [s.value for r in read_records(odd) for s in r.scores if s.metric == metric and s.value is not None]
        assert mean == pytest.approx(sum(values) / len(values))
    assert next(iter(means)) == "judge"


def test_a_run_that_did_not_end_is_a_cancelled_log_and_other_prompts_are_not_shown(rdf: Rdf, run: Path) -> None:
    path = run / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    manifest["settings"] |= {"items": 30, "prompts": "others"}
    path.write_text(json.dumps(manifest), "utf-8")
    rdf("export", run, "--to", "inspect", "--out", "log.json")
    log = json.loads(Path("log.json").read_text("utf-8"))
    assert log["status"] == "cancelled"
    assert [message["role"] for message in log["samples"][0]["messages"]] == ["user", "assistant"]


@pytest.mark.skipif(not INSPECT, reason="RDF_INSPECT_PYTHON names no Python with inspect-ai")
def test_inspect_ai_reads_the_log_and_its_data_frames_do(rdf: Rdf, odd: Path) -> None:
    rdf("export", odd, "--to", "inspect")
    code = """
import json, sys
from inspect_ai.analysis import evals_df, messages_df, samples_df
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries
[info] = list_eval_logs("results/exports")
log = read_eval_log(info)
samples, messages = samples_df("results/exports"), messages_df("results/exports")
print(json.dumps({
    "status": log.status, "task": info.task, "samples": len(log.samples),
    "summaries": len(read_eval_log_sample_summaries(info)), "evals": len(evals_df("results/exports")),
    "rows": len(samples), "messages": len(messages), "unscored": int(samples["score_judge"].isna().sum()),
    "mean": log.results.scores[0].metrics["mean"].value, "errors": int((samples["error"].fillna("") != "").sum()),
}))
"""
    done = subprocess.run([str(INSPECT), "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert (found["status"], found["samples"], found["summaries"], found["evals"]) == ("success", 20, 20, 1)
    assert (found["rows"], found["messages"], found["errors"]) == (20, 19 * 3, 1)
    assert found["task"].startswith("synthetic-chat-questions-20")


@pytest.mark.parametrize("to", ["inspect", "jsonl", "parquet", "hf"])
def test_nothing_is_overwritten_and_nothing_half_done_stays(rdf: Rdf, run: Path, tmp_path: Path, to: str) -> None:
    (tmp_path / "there").write_text("mine", "utf-8")
    done = rdf("export", run, "--to", to, "--out", "there")
    assert (done.code, "there is there already" in done.err) == (2, True)
    assert (tmp_path / "there").read_text("utf-8") == "mine"
    (tmp_path / "file").write_text("", "utf-8")
    blocked = rdf("export", run, "--to", to, "--out", "file/under")
    assert blocked.code == 2
    assert "file/under cannot be written" in blocked.err
    assert {path.name for path in tmp_path.iterdir()} == {"there", "file", "results"}


@pytest.mark.parametrize(
    ("args", "named"), [(["--to", "jsnl"], "'jsonl'"), ([], "--to"), (["--to", "hf", "--results", "gone"], "gone")]
)
def test_errors_of_export(rdf: Rdf, args: list[str], named: str) -> None:
    done = rdf("export", "some", *args)
    assert (done.code, named in done.err) == (2, True)
    assert "Traceback" not in done.err


def answers(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def golds(rdf: Rdf, suite: str) -> dict[str, str]:
    folder = Path(rdf("run", "--suite", suite, "--json").json["run_dir"])
    return {record.query.id: (record.gold.answers or ("",))[0] for record in read_records(folder)}


def test_an_export_taken_in_has_the_scores_that_it_had(rdf: Rdf) -> None:
    """The round trip: the same answers, the same scores, and every command on the run that comes out."""
    first = rdf("run", "--suite", FACTS, "--json", "--ablation", "no-forget").json
    assert rdf("export", first["run_dir"], "--to", "jsonl", "-o", "a.jsonl").code == 0
    done = rdf("import", "a.jsonl", "--suite", FACTS, "--name", "elsewhere", "--json")
    assert done.code == 0
    for before, after in zip(first["cells"], done.json["cells"], strict=True):
        assert (after["metric"], after["value"], after["n_total"]) == (before["metric"], before["value"], 12)
        assert (after["method"], after["model"]) == ("imported:elsewhere", "imported")
    taken = done.json["run_dir"]
    compared = rdf("compare", first["run_dir"], taken, "--json").json
    assert (compared["paired"]["ties"], compared["flips"]) == (12, [])
    assert "different prompts" in " ".join(compared["notes"])
    assert rdf("show", taken).code == rdf("show", taken, 1).code == rdf("funnel", taken).code == 0
    assert rdf("rejudge", taken, "--judge", "rules").code == 0
    for to in ("inspect", "jsonl", "parquet", "hf"):
        assert rdf("export", taken, "--to", to).code == 0
    resumed = rdf("run", "--resume", taken)
    assert (resumed.code, "`rdf import`" in resumed.err) == (2, True)


def test_what_is_missing_counts_as_failed(rdf: Rdf, tmp_path: Path) -> None:
    gold = golds(rdf, FACTS)
    ids = list(gold)
    rows = [{"id": id, "answer": gold[id], "mine": 1} for id in ids[:8]] + [{"id": ids[8], "answer": None}]
    rows += [{"suite": "other", "id": "x", "answer": "y"}, {"suite": "synthetic-fc", "id": ids[9], "answer": " "}]
    file = answers(tmp_path / "a.jsonl", rows)
    done = rdf("import", file, "--suite", FACTS, "--max-error-rate", "0.5", "--json")
    assert done.code == 3
    cell = done.json["cells"][0]
    assert (cell["n_completed"], cell["n_failed"], cell["n_missing"], cell["n_total"]) == (9, 3, 0, 12)
    assert (cell["value"], cell["low"]) == (88.89, 66.67)
    assert cell["method"] == "imported:a"
    assert done.json["summaries"][0]["failures"] == {"answer: missing": 3}
    assert done.json["summaries"][0]["empty_answers"] == 1
    assert done.json["notes"] == ["1 lines are for other suites."]
    assert rdf("import", file, "--suite", FACTS).code == 4  # more than a fifth is missing


def test_a_judge_scores_them_too(rdf: Rdf, tmp_path: Path) -> None:
    gold = golds(rdf, SUITE)
    file = answers(tmp_path / "a.jsonl", [{"id": id, "answer": text or "?"} for id, text in gold.items()])
    unjudged = rdf("import", file, "--suite", SUITE, "--json").json["cells"]
    assert {cell["metric"] for cell in unjudged} == {"rule", "rule_strict", "rule_upstream", "option", "option_strict"}
    with serve(lambda request, n: said(request, '{"verdict": "wrong", "grade": 0}')) as server:
        judge = ("--judge", "openai/j", "--api-base", server.url, "--no-cache")
        done = rdf("import", file, "--suite", SUITE, *judge, "--json")
    cells = {cell["metric"]: cell for cell in done.json["cells"]}
    assert next(iter(cells)) == "judge"
    assert (cells["judge"]["value"], cells["judge"]["self_judged"]) == (0.0, False)
    assert {stage["stage"] for stage in done.json["costs"]["stages"]} == {"judge", "rubric"}
    with serve(lambda request, n: failed(401, "bad key")) as server:
        refused = rdf("import", file, "--suite", SUITE, "--judge", "openai/j", "--api-base", server.url, "--no-cache")
    assert (refused.code, "bad key" in refused.err) == (4, True)


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([{"id": "nobody", "answer": "x"}], "line 1: there is no question of synthetic-fc"),
        ([{"answer": "x"}], "line 1 has no id"),
        ([{"id": "q", "answer": 3}], "line 1: answer 3 is no text"),
        ([{"suite": "lme-ku", "id": "q", "answer": "x"}], "has no answer to a question of synthetic-fc"),
        ([[]], "line 1 is not an object"),
        ([], "is empty"),
    ],
)
def test_errors_of_import(rdf: Rdf, tmp_path: Path, rows: list[Any], named: str) -> None:
    done = rdf("import", answers(tmp_path / "a.jsonl", rows), "--suite", FACTS)
    assert done.code == 2
    assert named in done.err
    assert "Traceback" not in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_question_that_is_answered_twice(rdf: Rdf, tmp_path: Path) -> None:
    id = next(iter(golds(rdf, FACTS)))
    file = answers(tmp_path / "a.jsonl", [{"id": id, "answer": "x"}] * 2)
    done = rdf("import", file, "--suite", FACTS)
    assert (done.code, f"line 2 answers {id} again, as " in done.err) == (2, True)


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["--suite", "synthetic-fx"], "'synthetic-fc'"),
        (["--suite", FACTS, "--judge", "rule"], "'rules'"),
        (["--suite", FACTS, "--name", "a\nb"], "--name"),
        ([], "--suite"),
    ],
)
def test_options_of_import(rdf: Rdf, tmp_path: Path, args: list[str], named: str) -> None:
    done = rdf("import", answers(tmp_path / "a.jsonl", [{"id": "q", "answer": "x"}]), *args)
    assert (done.code, named in done.err) == (2, True)
    assert "Traceback" not in done.err


@pytest.mark.parametrize("of", ["own", "answers", "errata", "export"])
def test_every_format_is_documented(rdf: Rdf, of: str) -> None:
    words = rdf("data", "schema", of).out
    found = rdf("data", "schema", of, "--json").json
    assert all(key["key"] in words for keys in found["files"].values() for key in keys)
    assert rdf("data", "schema", "exprt").code == 2


def test_own_data_takes_answers_too(rdf: Rdf, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    answers(folder / "tasks.jsonl", [{"id": "q", "history": "h", "question": "Where?", "answers": ["Metz"]}])
    answers(folder / "histories.jsonl", [{"history": "h", "text": "Metz"}])
    file = answers(tmp_path / "a.jsonl", [{"suite": "mine", "id": "q", "answer": "Metz"}])
    assert rdf("import", file, "--suite", "./mine", "--json").json["cells"][0]["value"] == 100
