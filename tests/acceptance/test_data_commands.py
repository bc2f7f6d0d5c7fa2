"""`rdf data`: what is here, whether it loads, and fetching the rest, as a user types it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rdforget.suites.registry import SUITES
from rdforget.suites.sources import SOURCES
from tests.acceptance.conftest import Done
from tests.runners.test_data import BODY, Served, closed_port, serving

Rdf = Callable[..., Done]
WITH_FILES = [name for name, spec in SUITES.items() if spec.files]
QUESTIONS = {"amb-text": 86, "lme-ku": 78, "mab-fc": 100, "beam": 38, "personamem": 273}
"""What the folder of the tests holds; the paper's counts are `expected`."""


def test_list_shows_every_suite_and_what_is_here(rdf: Rdf, tmp_path: Path) -> None:
    (tmp_path / "Conflict_Resolution.json").write_text("[]", "utf-8")
    done = rdf("data", "list", "--data-dir", ".")
    assert done.code == 0
    assert all(name in done.out for name in SUITES)
    rows = {row["suite"]: row for row in rdf("data", "list", "--data-dir", ".", "--json").json["suites"]}
    assert rows["mab-fc"]["files"] == "present"
    assert rows["mab-fc"]["official"][0]["url"].startswith("https://")
    assert rows["synthetic-fc"]["files"] == "none needed"
    assert {row["suite"]: row["files"] for row in rdf("data", "list", "--json").json["suites"]} == {
        name: "no data folder named" if spec.files else "none needed" for name, spec in SUITES.items()
    }


@pytest.mark.parametrize("suite", WITH_FILES)
def test_real_data_is_whole_or_says_what_is_partial(rdf: Rdf, data_dir: Path, suite: str) -> None:
    done = rdf("data", "check", suite, "--data-dir", data_dir, "--json")
    [report] = done.json["suites"]
    assert (done.code, report["questions"], report["expected"]) == (0, QUESTIONS[suite], SUITES[suite].expected)
    whole = report["questions"] == report["expected"]
    assert report["state"] == ("complete" if whole else "partial")
    assert whole or report["detail"]
    assert any(file["found"] for file in report["files"])


def test_check_of_a_whole_folder_is_a_table(rdf: Rdf, data_dir: Path) -> None:
    done = rdf("data", "check", "--data-dir", data_dir)
    assert done.code == 0
    for name in WITH_FILES:
        assert any(line.split()[:1] == [name] for line in done.out.splitlines())
    assert "synthetic" not in done.out


def test_a_broken_file_is_a_row_and_not_the_end(rdf: Rdf, tmp_path: Path) -> None:
    (tmp_path / "Conflict_Resolution.json").write_text("[{", "utf-8")
    done = rdf("data", "check", "--data-dir", ".", "--json")
    reports = {report["suite"]: report for report in done.json["suites"]}
    assert (done.code, done.json["exit_code"]) == (2, 2)
    assert [*reports] == WITH_FILES
    assert reports["mab-fc"]["state"] == "broken"
    assert "Conflict_Resolution.json" in reports["mab-fc"]["detail"]
    assert {report["state"] for name, report in reports.items() if name != "mab-fc"} <= {"missing"}


def test_what_is_missing_counts_only_where_it_is_named(rdf: Rdf) -> None:
    assert rdf("data", "check", "--data-dir", ".").code == 0
    done = rdf("data", "check", "mab-fc", "--data-dir", ".", "--json")
    assert (done.code, done.json["suites"][0]["state"]) == (2, "missing")


def test_a_generated_suite_is_checked_when_it_is_named(rdf: Rdf) -> None:
    done = rdf("data", "check", "synthetic-fc:facts=100,questions=7", "--json")
    assert (done.code, done.json["suites"][0]["questions"]) == (0, 7)
    assert rdf("data", "check", "synthetic-fc:fact=100").code == 2


def test_fetch_downloads_checks_and_names_the_licence(
    rdf: Rdf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving({"/Conflict_Resolution.parquet": Served()}) as (base, _):
        hashes = {"Conflict_Resolution.parquet": hashlib.sha256(BODY).hexdigest()}
        monkeypatch.setitem(SOURCES, "mab-fc", replace(SOURCES["mab-fc"], url=f"{base}/{{file}}", hashes=hashes))
        done = rdf("data", "fetch", "mab-fc", "--data-dir", "new", "--json")
        again = rdf("data", "fetch", "mab-fc", "--data-dir", "new")
    assert done.code == again.code == 0
    assert [(file["action"], file["status"]) for file in done.json["files"]] == [("fetched", "official")]
    assert "licence MIT" in done.err
    assert "kept" in again.out
    assert again.err == ""
    assert [path.name for path in (tmp_path / "new" / "mab").iterdir()] == ["Conflict_Resolution.parquet"]


@pytest.mark.parametrize("offline", [True, False])
def test_fetch_that_fails_is_one_sentence(
    rdf: Rdf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offline: bool
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving({}) as (base, _):
        url = f"http://127.0.0.1:{closed_port()}/gone" if offline else f"{base}/gone"
        monkeypatch.setitem(SOURCES, "mab-fc", replace(SOURCES["mab-fc"], url=url))
        done = rdf("data", "fetch", "mab-fc", "--data-dir", ".", "--json")
    assert done.code == 2
    assert url in done.json["error"]
    assert ("refused" if offline else "404") in done.json["error"]
    assert "Conflict_Resolution.parquet" in done.json["error"]
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["check"], "--data-dir"),
        (["check", "mab-fx", "--data-dir", "."], "'mab-fc'"),
        (["check", "--data-dir", "nowhere"], "nowhere"),
        (["fetch", "mab-fc"], "--data-dir"),
        (["fetch", "mab-fx", "--data-dir", "."], "'mab-fc'"),
        (["fetch", "synthetic-fc", "--data-dir", "."], "no official files"),
        (["fetch", "--data-dir", "."], "suites"),
    ],
)
def test_user_errors_are_one_sentence(rdf: Rdf, tmp_path: Path, args: list[str], named: str) -> None:
    done = rdf("data", *args)
    assert done.code == 2
    assert named in done.err
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []


def test_json_is_ascii_and_one_object(rdf: Rdf) -> None:
    out = rdf("data", "list", "--json").out
    assert out.isascii()
    assert out.count("\n") == 1
    assert json.loads(out)
