"""The paper's tables from journals: hand-made records in, cells with the paper's values out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import hypot
from pathlib import Path
from typing import Any

import pytest

from rdforget.records import (
    Answer,
    AnswerOutcome,
    CallRecord,
    Entry,
    Gold,
    Memory,
    Packed,
    Query,
    Record,
    Score,
    Status,
    Trace,
    Usage,
    Verdict,
    View,
)
from runners import manifest
from runners.config import SweepConfig, method_configs, shipped_sweeps, sweep_config
from runners.engine import make_method
from runners.errors import UserError
from runners.journal import Journal
from runners.latex import Box, Sheet, escaped, latex, markdown
from runners.paper import MAIN, PaperTable, paper_tables
from runners.paper_reference import reference
from runners.runs import sweep_specs
from runners.stats import interval
from runners.sweeps import Sweep, against, find_sweep, read_sweep

METRICS = {"amb-text": "judge", "lme-ku": "judge", "mab-fc": "rule", "beam": "rubric", "personamem": "option"}
OFF = {"-FORGET": "no-forget", "-QC": "no-qc", "-SLOT": "no-slot", "-RESCUE": "no-rescue", "-CLOSURE": "no-closure"}


def record(number: int, metric: str, value: float | None, calls: Sequence[CallRecord] = (), tokens: int = 40) -> Record:
    """A question with a score, and a view of one entry."""
    entry = Entry("m1", "x", Status.ACTIVE)
    view = View((Packed(entry, tokens),), 2048)
    memory = Memory((entry,), {"parse": {"whole": 1, "none": 1}})
    verdict = Verdict.INVALID if value is None else Verdict.CORRECT if value else Verdict.WRONG
    return Record(
        Query(f"q{number}", "test", "?"),
        Gold(("a",)),
        "test:conversation",
        Trace(memory, False, ("m1",), ("m1",), ("m1",), False, 0, view),
        Answer("a", AnswerOutcome.ANSWERED),
        (Score(metric, value, verdict),),
        tuple(calls),
    )


class Maker:
    """A sweep folder whose runs have the scores that a test wants."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.blocks: list[Mapping[str, Any]] = []
        self.count = 0
        folder.mkdir(parents=True)

    def run(
        self,
        suite: str,
        scores: Sequence[float | None] | tuple[int, int],
        *,
        method: str = "rd-forget",
        off: Sequence[str] = (),
        model: str = "luna",
        builds: Mapping[str, Sequence[CallRecord]] | None = None,
        records: Sequence[Record] = (),
        tokens: int = 40,
        **settings: Any,
    ) -> Path:
        """Scores of each question, or how many of how many are right, the first ones."""
        if isinstance(scores, tuple):
            scores = [1.0] * scores[0] + [0.0] * (scores[1] - scores[0])
        self.count += 1
        folder = self.folder / f"{self.count:03d}-{suite}-{method}-{model}"
        folder.mkdir()
        budget = settings.pop("budget", 2048)
        metric = METRICS.get(suite, "rule")
        own = {
            "suite": suite,
            "sources": {},
            "items": len(scores),
            "method": method,
            "switches": list(off),
            "protocol": {"budget": budget, "judge_cap": 256},
            "model": {"backend": "rules"} if model == "rules" else {"model": model},
            "judge": None,
            "metrics": [metric],
            "scorer": 1,
            "repeat": 0,
            "uses_gold": False,
        }
        spec = {"suite": suite, "method": method, "model": model, "switches": list(off), "budget": budget}
        manifest.write(folder, {"id": folder.name, "spec": spec, "settings": own | settings, "suite_notes": []})
        journal = Journal(folder)
        made = records or [record(number, metric, score, tokens=tokens) for number, score in enumerate(scores)]
        for ordinal, one in enumerate(made):
            journal.add_record(ordinal, one, 0.0)
        for history, calls in (builds or {}).items():
            journal.add_build(history, tuple(calls))
        journal.close()
        return folder

    def read(self) -> Sweep:
        manifest.write(self.folder, {"id": self.folder.name, "sweep": self.blocks, "environment": {}})
        return read_sweep(self.folder)


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    return Maker(tmp_path / "20260101-000000-made")


def cell(table: PaperTable, row: str, column: str, model: str = "GPT-5.6-Luna") -> dict[str, Any]:
    [found] = [c for c in table.cells if (c["row"], c["column"], c["model"]) == (row, column, model)]
    return found


def call(role: str, key: str) -> CallRecord:
    return CallRecord(role, key, "m", "stop", Usage(100, 0, 10), {})


@pytest.mark.parametrize(
    ("table", "model", "row", "column", "text"),
    [
        (1, "GPT-5.6-Luna", "RD", "mean", "86.71"),
        (1, "GPT-5.6-Luna", "RD", "MAB-FC", "not stated, at least 26.00"),
        (1, "Qwen3.5-flash", "RD", "AMB-Text", "not stated"),  # its note speaks of MAB-FC
        (1, "MiniMax-M2.5", "RD", "AMB-Text", "87.21 (unique)"),
        (1, "MiniMax-M2.5", "ACE", "AMB-Text", "not stated, at most 86.05"),
        (1, "Kimi-K2.5", "gain", "MAB-FC", "14.00"),
        (1, "Kimi-K2.5", "gain", "LME-KU", "not stated, 6.41 to 25.64 over its models"),
        (2, "GPT-5.6-Luna", "-FORGET", "LME-KU", "60.26"),
        (2, "GPT-5.6-Luna", "-SLOT", "MAB-FC", "64.00 (derived)"),
        (3, "Kimi-K2.5", "RB", "BEAM", "not stated, at most 42.16"),
        (3, "MiniMax-M2.5", "gain", "PersonaMem", "17.61"),
    ],
)
def test_what_the_paper_says(table: Any, model: str, row: str, column: str, text: str) -> None:
    stated = reference().cell(table, model, row, column)
    assert stated
    assert stated.text == text


def test_what_the_paper_does_not_have() -> None:
    assert reference().cell(2, "Kimi-K2.5", "Full", "MAB-FC") is None
    assert reference().cell(1, "Rules (no LLM)", "RD", "MAB-FC") is None
    assert reference().deficit("-FORGET", "MAB-FC") == 23.0
    assert reference().deficit("-FORGET", "BEAM") is None


def test_the_papers_own_ablations_differ_from_it_by_nothing(make: Maker) -> None:
    counts = {"Full": (79, 73, 74), "-FORGET": (59, 47, 51), "-CLOSURE": (75, 70, 70)}
    for row, right in counts.items():
        for suite, k, n in zip(MAIN, right, (86, 78, 100), strict=True):
            make.run(suite, (k, n), off=[OFF[row]] if row in OFF else [])
    [table] = paper_tables(make.read())
    assert table.sheet.title.startswith("Table 2.")
    for row in ("Full", "-FORGET"):
        for column in (*MAIN.values(), "mean"):
            assert cell(table, row, column)["difference"] == 0, (row, column)
    closure = cell(table, "-CLOSURE", "MAB-FC")
    assert (closure["value"], closure["paper"], closure["difference"]) == (70.0, 71.0, -1.0)
    assert cell(table, "-QC", "MAB-FC")["value"] is None
    text = markdown([table.sheet])
    assert "**74.00 best**<br>64.63 to 81.60<br>100 of 100<br>paper 74.00, +0.00" in text
    assert "70.00<br>60.42 to 78.11<br>100 of 100<br>paper 71.00 (derived), -1.00" in text
    assert "missing<br>paper 56.00" in text
    assert "another model" not in text


def test_ties_follow_the_paired_test_and_not_the_intervals(make: Maker) -> None:
    # ACE answers a subset of what RD-Forget answers: 8 points apart and told from 0, though the intervals overlap.
    make.run("mab-fc", (60, 100))
    make.run("mab-fc", (52, 100), method="ace")
    make.run("mab-fc", [0.0] * 35 + [1.0] * 58 + [0.0] * 7, method="reasoningbank")
    [table] = paper_tables(make.read())
    rows = {row: cell(table, row, "MAB-FC") for row in ("RD", "ACE", "RB", "gain")}
    assert rows["RD"]["low"] < rows["ACE"]["high"]
    assert [rows[row]["mark"] for row in rows] == ["best, tied", "", "tie", "tie"]
    assert (rows["gain"]["value"], rows["gain"]["paper"], rows["gain"]["difference"]) == (2.0, 26.0, -24.0)
    assert cell(table, "RD", "mean")["value"] is None
    assert cell(table, "RD", "AMB-Text")["paper_text"] == "not stated"


def test_equal_values_are_all_best(make: Maker) -> None:
    make.run("mab-fc", (60, 100))
    make.run("mab-fc", (60, 100), method="ace")
    [table] = paper_tables(make.read())
    assert {cell(table, row, "MAB-FC")["mark"] for row in ("RD", "ACE")} == {"best, tied"}


def test_runs_that_must_not_be_compared_are_not_called_ties(make: Maker) -> None:
    make.run("mab-fc", (60, 100))
    make.run("mab-fc", (59, 100), method="ace", sources={"file": "other"})
    [table] = paper_tables(make.read())
    assert [cell(table, row, "MAB-FC")["mark"] for row in ("RD", "ACE", "gain")] == ["best", "", ""]
    assert against(make.read().runs, "rd-forget") == []


def test_the_mean_weighs_suites_equally_and_bounds_itself_by_theirs(make: Maker) -> None:
    sizes = {"amb-text": (80, 86), "lme-ku": (30, 78), "mab-fc": (50, 100)}
    for suite, scores in sizes.items():
        make.run(suite, scores)
    [table] = paper_tables(make.read())
    found = cell(table, "RD", "mean")
    parts = [interval([1.0] * k + [0.0] * (n - k), ["c"] * n) for k, n in sizes.values()]
    mean = sum(part.value for part in parts if part) / 3
    below = hypot(*(part.value - part.low for part in parts if part)) / 3
    assert found["value"] == round(mean, 2) != round(100 * 160 / 264, 2)
    assert found["low"] == round(mean - below, 2)
    assert (found["completed"], found["selected"]) == (264, 264)
    assert found["difference"] == round(round(mean, 2) - 86.71, 2)


def test_another_model_has_the_papers_luna_beside_it_and_no_difference(make: Maker) -> None:
    make.run("beam", [0.5, 1.0, 0.0], model="rules")
    make.run("beam", (2, 3), model="kimi")
    [table] = paper_tables(make.read())
    rules = cell(table, "RD", "BEAM", "Rules (no LLM)")
    assert (rules["value"], rules["paper"], rules["paper_text"], rules["difference"]) == (50.0, None, None, None)
    assert cell(table, "RD", "BEAM", "Kimi-K2.5")["paper"] == 57.83
    assert table.sheet.columns[-1] == "the paper's GPT-5.6-Luna (another model)"
    beside = [row[-1].lines for row in table.sheet.rows if row[1].lines == ("RD-Forget",)]
    assert beside == [("BEAM 70.58", "PersonaMem 79.97"), ("",)]
    notes = "\n".join(table.sheet.notes)
    assert "Rules (no LLM): no model of this table of the paper" in notes
    assert "BEAM: 3 questions here, 150 in the paper." in notes


def test_failed_evaluations_are_outside_the_value_and_inside_the_count(make: Maker) -> None:
    make.run("mab-fc", [1.0, 1.0, 0.0, None])
    [table] = paper_tables(make.read())
    found = cell(table, "RD", "MAB-FC")
    assert (found["value"], found["completed"], found["selected"]) == (66.67, 3, 4)


def test_repeats_are_averaged_by_question(make: Maker) -> None:
    make.run("mab-fc", [1.0, 0.0, 1.0, 0.0])
    make.run("mab-fc", [1.0, 1.0, 1.0, None], repeat=1)
    [table] = paper_tables(make.read())
    found = cell(table, "RD", "MAB-FC")
    assert (found["value"], found["completed"], found["selected"]) == (62.5, 7, 8)
    assert any("mean over repeats" in note for note in table.sheet.notes)


def test_of_several_budgets_the_papers_is_taken(make: Maker) -> None:
    make.run("mab-fc", (1, 4), budget=512)
    make.run("mab-fc", (3, 4))
    [table] = paper_tables(make.read())
    assert cell(table, "RD", "MAB-FC")["value"] == 75.0
    assert table.sheet.title.endswith("B = 2,048")


def test_the_ablations_do_not_stand_for_table_1(make: Maker) -> None:
    make.run("mab-fc", (3, 4))
    make.run("mab-fc", (2, 4), off=["no-qc"])
    assert [table.sheet.name for table in paper_tables(make.read())] == ["table2"]
    make.run("mab-fc", (2, 4), method="ace")
    assert [table.sheet.name for table in paper_tables(make.read())] == ["table1", "table2"]


def test_paired_differences_are_adjusted_over_the_sweep(make: Maker) -> None:
    make.run("mab-fc", (60, 100))
    make.run("mab-fc", (54, 100), method="ace")
    make.run("mab-fc", (20, 100), off=["no-forget"])
    make.run("mab-fc", (20, 100), model="kimi")
    lost, ablated = against(make.read().runs, "rd-forget")
    assert (lost.paired.difference, lost.paired.losses, lost.verdict) == (-6.0, 6, "worse")
    assert lost.p == pytest.approx(0.03125)
    assert ablated.p == pytest.approx(2 * ablated.paired.p)
    assert ablated.run.name == "rd-forget no-forget"
    make.run("mab-fc", (99, 100), method="oracle", uses_gold=True)
    assert make.read().runs[-1].name == "oracle (uses gold)"
    [only] = against(make.read().runs[:2], "ace")
    assert only.paired.difference == 6.0


def test_what_the_adjusted_test_does_not_confirm_is_unsettled(make: Maker) -> None:
    make.run("mab-fc", (60, 100))
    make.run("mab-fc", (54, 100), method="ace")
    for off in OFF.values():
        make.run("mab-fc", (54, 100), off=[off])
    assert {one.verdict for one in against(make.read().runs, "rd-forget")} == {"unsettled"}


def test_calls_of_shared_memories_are_spread_and_counted_once(make: Maker) -> None:
    records = [
        replace(record(n, "rule", 1.0), history="h", calls=(call("select", f"s{n}"), call("answer", f"a{n}")))
        for n in range(4)
    ]
    builds = {"h": [call("reflect", "r1"), call("curate", "c1")], "h2": [call("reflect", "r1"), call("reflect", "r2")]}
    make.run("mab-fc", (4, 4), method="ace", records=records, builds=builds)
    [run] = make.read().runs
    calls = {role: (stage.calls, stage.tokens["prompt"], stage.shared) for role, stage in run.stages.items()}
    assert calls == {
        "reflect": (0.5, 50.0, True),
        "curate": (0.25, 25.0, True),
        "select": (1.0, 100.0, False),
        "answer": (1.0, 100.0, False),
    }
    assert run.unread == {"memory": 1}  # one memory, four questions


def test_runs_that_have_not_begun_are_named(make: Maker) -> None:
    make.blocks = [SweepConfig(suites=("mab-fc",), methods=("rd-forget", "ace"), models=("luna",)).model_dump()]
    make.run("mab-fc", (3, 4))
    sweep = make.read()
    assert sweep.absent == ["mab-fc ace luna"]
    [table] = paper_tables(sweep)
    assert "not begun: mab-fc ace luna" in table.sheet.notes
    assert cell(table, "ACE", "MAB-FC")["value"] is None


def test_finding_a_sweep(make: Maker, tmp_path: Path) -> None:
    make.run("mab-fc", (3, 4))
    make.read()
    later = Maker(tmp_path / "20260102-000000-made")
    later.run("mab-fc", (3, 4))
    later.read()
    assert find_sweep(str(make.folder), tmp_path) == make.folder
    assert find_sweep("20260101", tmp_path) == make.folder
    assert find_sweep("made", tmp_path) == later.folder
    with pytest.raises(UserError, match="could be any of"):
        find_sweep("202601", tmp_path)
    with pytest.raises(UserError, match="no sweep 'mode'"):
        find_sweep("mode", tmp_path)
    with pytest.raises(UserError, match="holds none"):
        find_sweep("made", tmp_path / "nowhere")
    (make.folder / "manifest.json").unlink()
    with pytest.raises(UserError, match="not a whole sweep folder"):
        read_sweep(make.folder)


def test_latex_prints_text_as_it_is() -> None:
    assert escaped(r"50 % & a_b #1 $x {y} ~ ^ \ <|>") == (
        r"50 \% \& a\_b \#1 \$x \{y\} \textasciitilde{} \textasciicircum{} \textbackslash{} "
        r"\textless{}|\textgreater{}"
    )
    sheet = Sheet(
        "t", "A & B", ["suite_x", "method", "score"], [[Box.of("a|b"), Box.of("m"), Box(("1.00", "50 %"), True)]]
    )
    text = latex([sheet])
    assert r"\caption{A \& B}" in text
    assert r"suite\_x & method & score \\" in text
    assert r"a|b & m & \makecell[tr]{\textbf{1.00} \\ 50 \%} \\" in text
    assert text.count(r"\begin{") == text.count(r"\end{") == 2
    assert r"| a\|b | m | **1.00**<br>50 % |" in markdown([sheet])


def test_markdown_makes_nothing_of_the_text_of_others() -> None:
    evil = "<script>alert(1)</script> ![x](http://x/y) a|b &lt;"
    sheet = Sheet("t", evil, [evil, "score"], [[Box.of(evil), Box((evil, evil), True)]], notes=[evil])
    text = markdown([sheet])
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt; ![x]\\(http://x/y) a") == 6
    assert not re.search(r"<(?!br>)", text)
    assert text.count("&amp;lt;") == 6
    assert [line.replace(r"\|", "").count("|") for line in text.splitlines() if line.startswith("|")] == [3, 3, 3]


@pytest.mark.parametrize("name", sorted(shipped_sweeps()))
def test_every_shipped_sweep_can_be_run(name: str) -> None:
    specs = sweep_specs(sweep_config(name)[1])
    assert len(specs) == len(set(specs)) > 0
    for spec in specs:
        assert set(spec.switches) <= make_method(spec.method).switches, spec


def test_the_smoke_sweep_has_every_method_and_switch() -> None:
    specs = sweep_specs(sweep_config("smoke")[1])
    assert {spec.method for spec in specs} == set(method_configs())
    assert {switch for spec in specs for switch in spec.switches} == set(OFF.values())
    assert {spec.model for spec in specs} == {"rules"}


def test_a_sweep_of_blocks(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("suites: [s]\nlimit: 2\nblocks:\n  - switches: [[], [no-qc]]\n  - methods: [rd-forget, ace]\n")
    specs = sweep_specs(sweep_config(str(path))[1])
    assert [(s.method, s.switches, s.limit) for s in specs] == [
        ("rd-forget", (), 2),
        ("rd-forget", ("no-qc",), 2),
        ("ace", (), 2),
    ]
    for content, named in (
        ("suites: [s]\nblocks:\n  - methds: [ace]\n", "'methods'"),
        ("suites: [s]\nblock: []\n", "'blocks'"),
        ("suites: [s]\nblocks: ace\n", "list of mappings"),
        ("blocks:\n  - methods: [ace]\n", "suites: field required"),
    ):
        path.write_text(content)
        with pytest.raises(UserError, match=named):
            sweep_config(str(path))
