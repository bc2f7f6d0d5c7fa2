"""`rdf compare` on runs of the deterministic reader, as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rdforget.records import Failure, Record
from runners.journal import Journal, read_records
from tests.acceptance.conftest import Done

Rdf = Callable[..., Done]
SUITE = "synthetic-fc:facts=120,questions=40,seed=3"
CHATS = "synthetic-chat"


def run(rdf: Rdf, *more: object, suite: str = SUITE) -> Path:
    return Path(rdf("run", "--suite", suite, "--json", *more).json["run_dir"])


@pytest.fixture
def full(rdf: Rdf) -> Path:
    return run(rdf)


@pytest.fixture
def ablated(rdf: Rdf) -> Path:
    return run(rdf, "--ablation", "no-forget")


def set_manifest(folder: Path, **settings: Any) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    manifest["settings"] |= settings
    path.write_text(json.dumps(manifest), "utf-8")


def rewritten(folder: Path, new: Path, change: Callable[[int, Record], Record | None]) -> Path:
    """A run like that in `folder` whose records went another way."""
    new.mkdir()
    (new / "manifest.json").write_text((folder / "manifest.json").read_text("utf-8"), "utf-8")
    journal = Journal(new)
    for ordinal, record in enumerate(read_records(folder)):
        if changed := change(ordinal, record):
            journal.add_record(ordinal, changed, 0.0)
    journal.close()
    return new


def test_full_against_no_forget(rdf: Rdf, full: Path, ablated: Path) -> None:
    from statsmodels.stats.contingency_tables import mcnemar  # type: ignore[import-untyped]

    found = rdf("compare", full, ablated, "--json").json
    a, b = (
        {record.query.id: (record.scores[0].value, record.answer) for record in read_records(folder)}
        for folder in (full, ablated)
    )
    wins = [item for item in a if (a[item][0] or 0) > (b[item][0] or 0)]
    losses = [item for item in a if (a[item][0] or 0) < (b[item][0] or 0)]
    result = found["paired"]
    assert (found["metric"], found["differs"], found["notes"]) == ("rule", ["switches"], [])
    assert (result["wins"], result["losses"], result["n"]) == (len(wins), len(losses), 40)
    assert result["p"] == pytest.approx(float(mcnemar([[0, len(wins)], [len(losses), 0]], exact=True).pvalue))
    assert result["difference"] == pytest.approx(100 * (len(wins) - len(losses)) / 40)
    assert result["difference"] == pytest.approx(found["a"]["interval"]["value"] - found["b"]["interval"]["value"])
    assert 0 < result["low"] < result["difference"] < result["high"]
    assert result["verdict"] == "better"
    assert {flip["item"] for flip in found["flips"]} == {*wins, *losses}
    for flip in found["flips"]:
        first, second = a[flip["item"]][1], b[flip["item"]][1]
        assert first
        assert second
        assert (flip["a_answer"], flip["b_answer"]) == (first.text, second.text)


def test_what_a_reader_sees(rdf: Rdf, full: Path, ablated: Path) -> None:
    done = rdf("compare", full.name, ablated, "--results", "results")
    assert done.code == 0
    for part in ("full", "no-forget", "A - B: +", "exact McNemar", "resamples of 40 questions", "A is better"):
        assert part in done.out
    flips = rdf("compare", full, ablated, "--json").json["flips"]
    assert all(flip["item"] in done.out and flip["question"] in done.out for flip in flips)
    assert "B is better" in rdf("compare", ablated, full).out
    assert rdf("compare", full, ablated, "--metric", "rule_strict", "--json").json["metric"] == "rule_strict"


def test_a_run_against_itself_is_a_tie_without_flips(rdf: Rdf, full: Path) -> None:
    found = rdf("compare", full, full, "--json").json
    assert (found["paired"]["verdict"], found["paired"]["p"], found["flips"], found["differs"]) == ("tie", 1, [], [])
    assert found["paired"]["low"] < 0 < found["paired"]["high"]
    assert "tie" in rdf("compare", full, full).out


def test_conversations_are_resampled_where_there_are_several(rdf: Rdf) -> None:
    full, ablated = run(rdf, suite=CHATS), run(rdf, "--ablation", "no-forget", suite=CHATS)
    found = rdf("compare", full, ablated, "--metric", "rule", "--json").json
    records = [r for r in read_records(full) if any(s.metric == "rule" and s.value is not None for s in r.scores)]
    conversations = len({record.history for record in records})
    assert 1 < conversations < len(records)
    assert (found["paired"]["units"], found["paired"]["n"]) == (conversations, len(records))
    assert [note.partition(":")[0] for note in found["notes"]] == [
        f"only {conversations} conversations",
        "McNemar's p takes questions as independent; the interval does not",
    ]
    assert found["a"]["selected"] > found["a"]["completed"] == len(records)


def test_only_what_both_completed_is_compared_and_said(rdf: Rdf, full: Path, tmp_path: Path) -> None:
    failure = Failure("timeout", "answer", "no reply")

    def flaky(ordinal: int, record: Record) -> Record:
        return replace(record, answer=None, scores=(), failure=failure) if ordinal < 5 else record

    other = rewritten(full, tmp_path / "flaky", flaky)
    found = rdf("compare", full, other, "--json").json
    assert (found["paired"]["n"], found["a"]["completed"], found["b"]["completed"]) == (35, 40, 35)
    assert found["a"]["interval"]["n"] == found["b"]["interval"]["n"] == 35
    assert any("only the 35 that both completed" in note for note in found["notes"])
    stopped = rewritten(full, tmp_path / "stopped", lambda ordinal, record: record if ordinal < 9 else None)
    notes = rdf("compare", full, stopped, "--json").json["notes"]
    assert any("B did not run to the end" in note for note in notes)
    nothing = rewritten(full, tmp_path / "nothing", lambda ordinal, record: replace(record, scores=(), failure=failure))
    done = rdf("compare", full, nothing)
    assert done.code == 2
    assert "no metric in common" in done.err


@pytest.mark.parametrize(
    ("more", "suite", "named"),
    [
        (("--limit", 9), SUITE, "number of questions (40 and 9)"),
        ((), "synthetic-fc:facts=120,questions=40,seed=4", "the data"),
        ((), CHATS, "the suite"),
    ],
)
def test_runs_over_other_questions_are_refused(
    rdf: Rdf, full: Path, more: tuple[object, ...], suite: str, named: str
) -> None:
    other = run(rdf, *more, suite=suite)
    done = rdf("compare", full, other)
    assert done.code == 2
    assert named in done.err
    assert done.out == ""


def test_a_suite_may_be_named_in_two_ways(rdf: Rdf, full: Path) -> None:
    other = run(rdf, suite="synthetic-fc:seed=3,questions=40,facts=120")
    assert rdf("compare", full, other, "--json").json["paired"]["ties"] == 40


def test_another_scorer_or_judge_is_refused_and_other_prompts_are_said(rdf: Rdf, full: Path, tmp_path: Path) -> None:
    other = rewritten(full, tmp_path / "other", lambda ordinal, record: record)
    set_manifest(other, prompts="changed")
    assert any("prompts" in note for note in rdf("compare", full, other, "--json").json["notes"])
    set_manifest(other, scorer=-1)
    assert "the version of the scorers (1 and -1)" in rdf("compare", full, other).err

    chats = run(rdf, suite=CHATS)
    judged = rewritten(chats, tmp_path / "judged", lambda ordinal, record: record)
    set_manifest(judged, judge={"model": "openai/other"})
    done = rdf("compare", chats, judged, "--metric", "judge")
    assert done.code == 2
    assert "the judge (rules and openai/other" in done.err
    assert rdf("compare", chats, judged, "--metric", "rule").code == 0
    set_manifest(judged, judge=None, protocol={"judge_cap": 7})
    assert "the output cap of the judge (256 and 7)" in rdf("compare", chats, judged, "--metric", "judge").err
    set_manifest(judged, judge_prompts="other")
    assert "the prompts of the judge" in rdf("compare", chats, judged, "--metric", "judge").err


def test_interval_and_test_may_part_and_then_it_is_said(rdf: Rdf, full: Path, tmp_path: Path) -> None:
    right = [n for n, record in enumerate(read_records(full)) if record.scores[0].value == 1][:4]

    def worse(ordinal: int, record: Record) -> Record:
        wrong = replace(record.scores[0], value=0.0)
        return replace(record, scores=(wrong, *record.scores[1:])) if ordinal in right else record

    found = rdf("compare", full, rewritten(full, tmp_path / "worse", worse), "--json").json
    assert (found["paired"]["verdict"], found["paired"]["p"]) == ("better", 0.125)
    assert [note.partition(":")[0] for note in found["notes"]] == ["borderline"]


def test_a_run_without_histories_is_compared_by_questions(rdf: Rdf, full: Path, tmp_path: Path) -> None:
    old = rewritten(full, tmp_path / "old", lambda ordinal, record: replace(record, history=""))
    found = rdf("compare", old, old, "--json").json
    assert found["paired"]["units"] == found["paired"]["n"] == 40
    assert any("questions count as independent" in note for note in found["notes"])


def test_a_changed_question_is_refused(rdf: Rdf, full: Path, tmp_path: Path) -> None:
    def changed(ordinal: int, record: Record) -> Record:
        return replace(record, query=replace(record.query, text="Another?")) if ordinal == 2 else record

    done = rdf("compare", full, rewritten(full, tmp_path / "changed", changed))
    assert done.code == 2
    assert "0002" in done.err


def test_graded_scores_are_tested_by_sign_flips(rdf: Rdf) -> None:
    full, ablated = run(rdf, suite=CHATS), run(rdf, "--ablation", "no-forget", suite=CHATS)
    graded = {s.value for f in (full, ablated) for r in read_records(f) for s in r.scores if s.metric == "rubric"}
    found = rdf("compare", full, ablated, "--metric", "rubric", "--json").json
    assert found["paired"]["test"] == ("mcnemar" if graded <= {None, 0.0, 1.0} else "sign-flip")


def test_user_errors_are_one_sentence(rdf: Rdf, full: Path) -> None:
    for args, named in (
        (("nothing", full), "nothing"),
        ((full, full, "--metric", "rul_strict"), "'rule_strict'"),
        ((full,), "'b'"),
    ):
        done = rdf("compare", *args)
        assert done.code == 2
        assert named in done.err.lower()
        assert "Traceback" not in done.err
    (full / "manifest.json").unlink()
    done = rdf("compare", full, full, "--json")
    assert (done.code, done.json["exit_code"]) == (2, 2)
    assert "manifest.json" in done.json["error"]


def test_statistics_are_imported_by_nothing_else(tmp_path: Path) -> None:
    code = "import sys; import runners.cli, runners.stats; sys.exit(str({'scipy', 'statsmodels'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "set()"
