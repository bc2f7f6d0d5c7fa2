"""Whatever a user types wrong: one sentence, the right exit code, no traceback, nothing written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.conftest import Done

Rdf = Callable[..., Done]


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["run", "--suite", "mab-fx"], "'mab-fc'"),
        (["run", "--suite", "synthetic-fc:fact=3"], "'facts'"),
        (["run", "--suite", "synthetic-fc:facts=many"], "many"),
        (["run", "--suite", "synthetic-fc", "--model", "rule"], "'rules'"),
        (["run", "--suite", "synthetic-fc", "--model", "lunar"], "'luna'"),
        (["run", "--suite", "synthetic-fc", "--model", "luna"], "OPENAI_API_KEY"),
        (["run", "--suite", "synthetic-fc", "--judge", "kimi"], "MOONSHOT_API_KEY"),
        (["run", "--suite", "synthetic-fc", "--method", "rd-forgot"], "'rd-forget'"),
        (["run", "--suite", "synthetic-fc", "--ablation", "no-slots"], "'no-slot'"),
        (["run", "--suite", "synthetic-fc", "--ablation", "forget"], "'no-forget'"),
        (["run", "--suite", "synthetic-fc", "--budget", "0"], "--budget"),
        (["run", "--suite", "synthetic-fc", "--limit", "-3"], "--limit"),
        (["run", "--suite", "mab-fc", "--data-dir", "nowhere"], "nowhere"),
        (["run", "--suite", "mab-fc", "--data-dir", "."], "Conflict_Resolution.json"),
        (["run"], "--suite"),
        (["run", "--suite", "synthetic-fc", "--modell", "rules"], "--model"),
        (["rum"], "rum"),
        (["sweep", "dmo"], "'demo'"),
        (["show", "nothing"], "nothing"),
    ],
)
def test_one_sentence_that_names_the_thing(rdf: Rdf, tmp_path: Path, args: list[str], named: str) -> None:
    done = rdf(*args)
    assert done.code == 2
    assert named in done.err
    assert "Traceback" not in done.err + done.out
    assert list(tmp_path.iterdir()) == []


def test_with_json_an_error_is_one_object_too(rdf: Rdf) -> None:
    done = rdf("run", "--suite", "mab-fx", "--json")
    assert (done.code, done.json["exit_code"]) == (2, 2)
    assert "mab-fc" in done.json["error"]


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("suites: [synthetic-fc]\nmodel: [rules]\n", "'models'"),
        ("suites: [synthetic-fc]\nswitches: [[no-forgt]]\n", "'no-forget'"),
        ("suites: []\n", "suites"),
        ("suites: [synthetic-fc]\nbudgets: [0]\n", "budgets"),
        ("suites: [synthetic-fc\n", "cannot be read"),
        ("- a\n", "mapping"),
        ("suites: [synthetic-fc]\nmodels: [rules, luna]\n", "OPENAI_API_KEY"),
    ],
)
def test_a_broken_sweep_file_names_file_key_and_nearest(rdf: Rdf, tmp_path: Path, content: str, named: str) -> None:
    (tmp_path / "mine.yaml").write_text(content, "utf-8")
    done = rdf("sweep", "mine.yaml")
    assert done.code == 2
    assert named in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.yaml"]


ROW = {
    "context": "Here is a list of facts:\n0. Orla is in Metz.",
    "questions": ["Where is Orla?"],
    "answers": [["Metz"]],
    "metadata": {"source": "factconsolidation_mh_6k"},
}
OTHER = {**ROW, "metadata": {"source": "factconsolidation_sh_6k"}}


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([{**ROW, "answers": []}], "row 0"),
        ([OTHER, {**ROW, "questions": [7]}], "row 1"),
        ([OTHER], "sh_6k"),
        ([{**ROW, "answers": [["?"]]}], "row 0"),
        ([{k: v for k, v in ROW.items() if k != "context"}], "row 0"),
        ("[", "Conflict_Resolution.json"),
    ],
)
def test_a_broken_data_file_names_file_and_row(rdf: Rdf, tmp_path: Path, rows: object, named: str) -> None:
    text = rows if isinstance(rows, str) else json.dumps(rows)
    (tmp_path / "Conflict_Resolution.json").write_text(text, "utf-8")
    done = rdf("run", "--suite", "mab-fc", "--data-dir", ".")
    assert done.code == 2
    assert named in done.err
    assert "Conflict_Resolution.json" in done.err
    assert "Traceback" not in done.err
