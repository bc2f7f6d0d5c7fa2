"""`rdf funnel` and the drawing of `rdf show` on runs of the deterministic reader, as a user types them."""

from __future__ import annotations

import csv
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from rdforget.records import Failure, Memory, Record
from runners.journal import read_records
from tests.acceptance.conftest import Done
from tests.acceptance.test_compare import rewritten, run, set_manifest

Rdf = Callable[..., Done]
STAGES = ["history", "stored", "eligible", "candidates", "selected", "packed", "answer", "credit"]


@pytest.fixture
def full(rdf: Rdf) -> Path:
    return run(rdf)


def ends(count: dict[str, Any]) -> int:
    whole = sum(count[name] for name in ("kept", "untraced", "abstention", "failed", "missing"))
    return int(whole + sum(count["recovered"].values()) + sum(count["lost"].values()))


def test_every_question_has_one_end_and_the_score_is_that_of_the_run(rdf: Rdf, full: Path) -> None:
    done = rdf("funnel", full, "--json")
    assert done.code == 0
    [found] = done.json["runs"]
    whole, *types = found["counts"]
    assert [ends(count) for count in found["counts"]] == [count["selected"] for count in found["counts"]]
    assert (whole["type"], whole["selected"], whole["followed"]) == ("all", 40, 40)
    assert sum(count["selected"] for count in types) == 40
    assert list(whole["reach"]) == STAGES
    credited = sum(record.scores[0].value == 1 for record in read_records(full))
    assert whole["reach"]["credit"]["whole"] == credited == whole["kept"] + sum(whole["recovered"].values())
    assert {one["basis"] for one in found["questions"]} == {"labels"}
    reached = [whole["reach"][stage]["whole"] for stage in STAGES[:6]]
    assert reached == sorted(reached, reverse=True)


def test_what_an_ablation_loses_and_where(rdf: Rdf, full: Path) -> None:
    without = {name: run(rdf, "--ablation", name) for name in ("no-forget", "no-closure")}
    lost = {}
    for name, folder in without.items():
        found = rdf("funnel", full, folder, "--json").json
        lost[name] = found["runs"][1]["counts"][0]["lost"]
        ended = [{one["item"]: (one["outcome"], one["lost"]) for one in side["questions"]} for side in found["runs"]]
        assert {one["item"] for one in found["changed"]} == {
            item for item in ended[0] if ended[0][item] != ended[1][item]
        }
    assert max(lost["no-forget"], key=lost["no-forget"].__getitem__) == "answer"  # it is all there, with the old values
    assert max(lost["no-closure"], key=lost["no-closure"].__getitem__) == "stored"  # the linking fact was not taken
    shown = rdf("funnel", full, without["no-forget"]).out
    for part in ("difference", "lost at answer", "view coverage, %", "that end otherwise", "By type of question"):
        assert part in shown
    three = rdf("funnel", full, *without.values())
    assert three.code == 0
    assert "no-closure" in three.out
    assert "that end otherwise" not in three.out


def test_the_files(rdf: Rdf, full: Path, tmp_path: Path) -> None:
    done = rdf("funnel", full, "--out", tmp_path / "out", "--json")
    files = sorted(Path(name) for name in done.json["files"])
    assert [file.suffix for file in files] == [".csv", ".md", ".png", ".svg"]
    assert files == sorted((tmp_path / "out").iterdir())
    with files[0].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["type"], rows[0]["selected"], rows[0]["packed.known"]) == ("all", "40", "40")
    assert full.name in files[1].read_text("utf-8")
    before = files[3].read_bytes()
    rdf("funnel", full, "--out", tmp_path / "out")
    assert files[3].read_bytes() == before
    (tmp_path / "file").write_text("")
    refused = rdf("funnel", full, "--out", tmp_path / "file" / "out")
    assert (refused.code, refused.err.count("\n")) == (2, 1)


def test_failed_and_missing_questions_are_apart(rdf: Rdf, full: Path, tmp_path: Path) -> None:
    failure = Failure("timeout", "memory", "no reply")

    def broken(ordinal: int, record: Record) -> Record | None:
        if ordinal < 4:
            return replace(record, trace=None, answer=None, scores=(), failure=failure)
        return record if ordinal < 30 else None

    other = rewritten(full, tmp_path / "broken", broken)
    whole = rdf("funnel", other, "--json").json["runs"][0]["counts"][0]
    assert (whole["failed"], whole["missing"], whole["followed"], ends(whole)) == (4, 10, 26, 40)
    assert rdf("funnel", other).code == 0
    shown = rdf("show", other, "1")
    assert "failed in memory: timeout: no reply" in shown.out
    assert shown.code == 0


def test_without_the_data_of_the_run_the_history_is_unknown(rdf: Rdf, full: Path, tmp_path: Path) -> None:
    other = rewritten(full, tmp_path / "other", lambda ordinal, record: record)
    set_manifest(other, sources={"synthetic-fc": "another"})
    [found] = rdf("funnel", other, "--json").json["runs"]
    assert found["counts"][0]["reach"]["history"]["known"] == 0
    assert any("not what the run read" in note for note in found["notes"])
    assert {one["basis"] for one in found["questions"]} == {"gold"}  # entries quote lines that are not at hand
    assert "unknown" in rdf("funnel", other).out
    assert "SOURCE  the data of" in rdf("show", other, "1").out
    assert "history unknown" in rdf("show", other, "1").out


def test_conversations_with_abstentions_and_options(rdf: Rdf) -> None:
    found = rdf("funnel", run(rdf, suite="synthetic-chat"), "--json").json["runs"][0]["counts"]
    by_type = {count["type"]: count for count in found}
    assert all(ends(count) == count["selected"] for count in found)
    assert by_type["abstention"]["abstention"] == by_type["abstention"]["selected"] > 0
    assert by_type["choice"]["reach"]["answer"]["known"] == 0
    assert by_type["choice"]["followed"] > 0


def test_runs_over_other_questions_are_refused(rdf: Rdf, full: Path) -> None:
    done = rdf("funnel", full, run(rdf, "--limit", 9))
    assert (done.code, done.out) == (2, "")
    assert "number of questions (40 and 9)" in done.err
    assert rdf("funnel", "nothing").code == 2


def test_the_drawing_of_one_question(rdf: Rdf, full: Path) -> None:
    record = next(
        one
        for one in read_records(full)
        if one.trace and any(entry.superseded_by for entry in one.trace.memory.entries)
    )
    assert record.trace
    shown = rdf("show", full, record.query.id).out
    [old] = [entry for entry in record.trace.memory.entries if entry.superseded_by][:1]
    assert f"{old.id} -> {old.superseded_by}" in shown
    for part in ("SOURCE  lines labelled as evidence: ", "MEMORY  stored", "ACTIVE (", "SUPERSEDED (", "VIEW  [#"):
        assert part in shown
    assert f"{record.trace.view.tokens} of 2,048 tokens" in shown
    assert "evidence: history whole > stored whole" in shown
    for entry in record.trace.memory.entries:  # one line an entry, in a pipe
        assert sum(line.startswith((f"{entry.id} ", f"{entry.id}\n")) for line in shown.splitlines()) == 1


def test_a_long_memory_is_cut_to_what_tells(rdf: Rdf) -> None:
    folder = run(rdf, "--ablation", "no-qc")
    short, long = (len(rdf("show", folder, "1", *more).out.splitlines()) for more in ((), ("--all",)))
    assert short < 40 < long
    assert "(--all shows them)" in rdf("show", folder, "1").out


def test_text_of_others_is_text(rdf: Rdf, full: Path, tmp_path: Path) -> None:
    evil = "\x1b[31mred\x1b]8;;http://x\x07 \u202egnp.exe [bold]<b>&amp;</b>\nnext"

    def poisoned(ordinal: int, record: Record) -> Record:
        assert record.trace
        assert record.answer
        entries = tuple(replace(entry, text=evil, slot=evil) for entry in record.trace.memory.entries)
        trace = replace(record.trace, memory=Memory(entries, {"cause": evil}))
        query = replace(record.query, text=evil, task_type=evil)
        gold = replace(record.gold, answers=(evil,), evidence=(*record.gold.evidence, evil))
        return replace(record, query=query, gold=gold, trace=trace, answer=replace(record.answer, text=evil))

    one, two = (rewritten(full, tmp_path / name, poisoned) for name in ("one", "two"))
    for done in (rdf("show", one, "1"), rdf("funnel", one), rdf("funnel", full, two), rdf("funnel", one, "--json")):
        assert done.code == 0
        assert not set(done.out) & {"\x1b", "\x07", "\u202e"}
    rdf("funnel", full, two, "--out", tmp_path)
    [markdown] = tmp_path.glob("*.md")
    assert not set(markdown.read_text("utf-8")) & {"\x1b", "\x07", "\u202e", "<"}
    shown = rdf("show", one, "1").out
    assert "\\x1b[31mred" in shown
    assert "[bold]<b>&amp;</b> next" in shown


@pytest.mark.parametrize("width", [80, 120])
def test_on_a_terminal_nothing_is_wider_than_it(rdf: Rdf, full: Path, tmp_path: Path, width: int) -> None:
    env = {**os.environ, "COLUMNS": str(width), "TERM": "xterm-256color", "NO_COLOR": "1"}
    for command in (["show", str(full), "2"], ["funnel", str(full), str(full)]):
        lines = on_terminal([sys.executable, "-m", "runners", *command], env, tmp_path)
        assert all(cell_len(re.sub(r"\x1b\[[01]m", "", line)) <= width for line in lines)  # bold is no colour
        assert any(line.startswith("history") or "history whole" in line for line in lines)


def on_terminal(command: list[str], env: dict[str, str], folder: Path) -> list[str]:
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=env, cwd=folder) as process:
        os.close(theirs)
        printed = b""
        while part := read(ours):
            printed += part
        os.close(ours)
    assert process.returncode == 0, printed
    return printed.decode().splitlines()


def read(handle: int) -> bytes:
    """What a terminal shows next; Linux ends it with an error."""
    try:
        return os.read(handle, 65_536)
    except OSError:
        return b""
