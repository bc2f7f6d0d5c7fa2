"""LME-KU: the real questions, order by date, labels that must stay hidden, and an error for each broken part."""

from __future__ import annotations

import copy
import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.calls import answer, curate, select
from rdforget.calls.render import source_lines
from rdforget.dates import parse_date
from rdforget.records import Protocol, Switches, Task
from rdforget.suites import lme_ku
from rdforget.suites.base import DataError, Suite

EARLY, LATE = "2023/06/02 (Fri) 03:21", "2023/06/09 (Fri) 04:36"
ROW: dict[str, Any] = {
    "question_id": "locker",
    "question_type": "knowledge-update",
    "question": "Which locker do I have?",
    "answer": 12,
    "question_date": "2023/06/09 (Fri) 21:56",
    "haystack_dates": [LATE, EARLY],
    "haystack_session_ids": ["answer_s2", "answer_s1"],
    "haystack_sessions": [
        [
            {"role": "user", "content": "my locker is now number 12", "has_answer": True},
            {"role": "assistant", "content": " \n", "has_answer": False},
            {"role": "assistant", "content": "Noted:\n1. 12"},
        ],
        [{"role": "user", "content": "my locker is number 5", "has_answer": True}],
    ],
    "answer_session_ids": ["answer_s2", "answer_s1"],
}


def row(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(ROW), **changes}


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in ROW.items() if name != key}


def write(folder: Path, rows: Any, name: str = "longmemeval_oracle.json", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = json.dumps(rows, ensure_ascii=False, indent=4).replace("\n", "\r\n").encode(encoding)
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return folder


def load(folder: Path | None) -> Suite:
    return lme_ku.load("", folder)


def tasks(folder: Path, *rows: Any) -> list[Task]:
    return list(load(write(folder, list(rows))).tasks())


def prompts(task: Task) -> str:
    """Everything that a model is shown of a task before it answers."""
    calls = (
        curate.build(task.history.observations, task.history.note, task.query, Switches(), Protocol()),
        select.build(task.query, (), Protocol()),
        answer.build(task.query, (), Protocol()),
    )
    return "\n".join(message.content for call in calls for message in call.messages)


def test_real_data(data_dir: Path) -> None:
    suite = load(data_dir)
    loaded = list(suite.tasks())
    assert (suite.size, suite.expected, len(loaded), suite.notes) == (78, 78, 78, ())
    assert len({task.query.id for task in loaded}) == len({task.history.id for task in loaded}) == 78
    abstain = [task for task in loaded if task.gold.abstention]
    assert {task.query.id for task in abstain} == {
        *("lme-ku:6aeb4375_abs", "lme-ku:031748ae_abs", "lme-ku:2698e78f_abs"),
        *("lme-ku:2133c1b5_abs", "lme-ku:0ddfec37_abs", "lme-ku:f685340e_abs"),
    }
    assert all(task.gold.answers[0].startswith("The information provided is not enough.") for task in abstain)
    assert all(task.gold.evidence for task in loaded if not task.gold.abstention)
    golds = {task.query.id: task.gold.answers for task in loaded}
    assert (golds["lme-ku:0f05491a"], golds["lme-ku:a2f3aa27"]) == (("120",), ("1300",))
    for task in loaded:
        assert list(dict.fromkeys(o.session for o in task.history.observations)) == ["Session 1", "Session 2"]
        moments = [parse_date(o.when or "") for o in task.history.observations]
        assert all(a and b and a <= b for a, b in itertools.pairwise(moments))
        assert {o.speaker for o in task.history.observations} == {"user", "assistant"}


def test_real_data_with_a_question_dated_before_its_last_session(data_dir: Path) -> None:
    early = []
    for task in load(data_dir).tasks():
        asked, last = parse_date(task.query.date or ""), parse_date(task.history.observations[-1].when or "")
        assert asked
        assert last
        if asked < last:
            early.append(task.query.id)
    assert early == ["lme-ku:2133c1b5", "lme-ku:7a87bd0c", "lme-ku:e61a7584"]


def test_real_data_shows_no_label(data_dir: Path) -> None:
    for task in load(data_dir).tasks():
        shown = prompts(task)
        assert task.query.text in shown
        for label in ("has_answer", "answer_session", "answer_", "_abs", task.query.id.removeprefix("lme-ku:")):
            assert label not in shown, (task.query.id, label)


def test_sessions_come_in_the_order_of_their_dates(tmp_path: Path) -> None:
    [task] = tasks(tmp_path, row())
    assert source_lines(task.history.observations) == [
        f"--- Session 1 | {EARLY} ---",
        "user: my locker is number 5",
        f"--- Session 2 | {LATE} ---",
        "user: my locker is now number 12",
        "assistant: Noted:\n1. 12",
    ]
    assert [o.ref for o in task.history.observations] == ["s1/t1", "s2/t1", "s2/t3"]
    assert task.gold.answers == ("12",)
    assert task.gold.evidence == ("s1/t1", "s2/t1")
    assert (task.query.id, task.query.suite) == ("lme-ku:locker", "lme-ku")
    assert (task.query.task_type, task.query.date) == ("knowledge-update", "2023/06/09 (Fri) 21:56")
    assert "latest explicit" in task.history.note


def test_no_label_reaches_a_prompt(tmp_path: Path) -> None:
    [task] = tasks(tmp_path, row(question_id="canary_abs", answer="canary gold"))
    assert task.gold.abstention
    for label in ("canary", "_abs", "answer_s", "has_answer", "s1/t1"):
        assert label not in prompts(task)


@given(st.lists(st.sampled_from(["2023/05/25 (Thu) 20:21", EARLY, LATE, "2023/10/01 (Sun) 00:00"]), min_size=1))
def test_order_is_by_date_and_stable(dates: list[str]) -> None:
    sessions = [[{"role": "user", "content": f"{date} {number}"}] for number, date in enumerate(dates)]
    names = [f"s{number}" for number in range(len(dates))]
    data = row(haystack_dates=dates, haystack_session_ids=names, haystack_sessions=sessions)
    observations, _ = lme_ku._observations(data, "row 0")
    assert all(o.text.startswith(o.when or "-") for o in observations), "a session keeps its date"
    expected = sorted(range(len(dates)), key=lambda number: dates[number])  # this form sorts as text too
    assert [int(o.text.rpartition(" ")[2]) for o in observations] == expected


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("longmemeval_oracle.json", "utf-8"),
        ("longmemeval/longmemeval_oracle.json", "utf-8-sig"),
        ("longmemeval/longmemeval_oracle.json.gz", "utf-8"),
        ("longmemeval/longmemeval_oracle.subset100.json", "utf-8"),
    ],
)
def test_every_format_gives_the_same_tasks(tmp_path: Path, name: str, encoding: str) -> None:
    other = row(question_id="other", question_type="multi-session", question=None)
    suite = load(write(tmp_path, [other, row(question="Où ?")], name, encoding))
    [task] = suite.tasks()
    assert task.query.text == "Où ?"
    assert suite.sources[0].name == Path(name).name
    assert suite.notes == (f"{Path(name).name} has 1 of the 78 knowledge-update questions.",)
    assert list(suite.tasks()) == [task], "tasks() starts anew each time"


def test_parts_are_joined(tmp_path: Path) -> None:
    write(tmp_path, [row(question_id="b")], "longmemeval_oracle.part2.json")
    write(tmp_path, [row(question_id="a")], "longmemeval_oracle.part1.json.gz")
    suite = load(tmp_path)
    assert [task.query.id for task in suite.tasks()] == ["lme-ku:a", "lme-ku:b"]
    assert len({source.sha256 for source in suite.sources}) == 2
    write(tmp_path, [row(question_id="a")], "longmemeval_oracle.part3.json")
    with pytest.raises(DataError, match=r"part3\.json, row 0 has the question_id a of an earlier row"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("stored", "gold"), [(120, "120"), ("4", "4"), ("007", "007"), (2.5, "2.5"), (" two\ncups ", " two\ncups ")]
)
def test_golds_are_kept_byte_for_byte(tmp_path: Path, stored: Any, gold: str) -> None:
    [task] = tasks(tmp_path, row(answer=stored))
    assert task.gold.answers == (gold,)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([row(haystack_dates=[LATE])], "row 0 (locker) has 1 haystack_dates, 2 haystack_session_ids, 2 haystack_sess"),
        ([row(haystack_session_ids=[])], "row 0 (locker) has 2 haystack_dates, 0 haystack_session_ids, 2 haystack_se"),
        ([row(haystack_sessions=[[]])], "2 haystack_session_ids, 1 haystack_sessions: they must match"),
        ([row(haystack_dates=[LATE, "June 2023"])], "row 0 (locker) has the date 'June 2023', which cannot be read"),
        ([row(haystack_dates=[LATE, None])], "row 0 (locker) has the date None, which cannot be read"),
        ([row(haystack_sessions=["a", "b"])], "row 0 (locker): haystack_sessions is not a list of lists"),
        ([row(haystack_sessions=[[], []])], "row 0 (locker) has no turn that holds text"),
        ([row(haystack_sessions=[[], ["text"]])], "row 0 (locker), s1/t1 is not an object"),
        ([row(haystack_sessions=[[], [{"role": "user"}]])], "row 0 (locker), s1/t1 has no content"),
        ([row(haystack_sessions=[[{"role": "system", "content": "x"}], []])], "s2/t1 has the role 'system'"),
        ([row(question_date="today")], "row 0 (locker) has the date 'today', which cannot be read"),
        ([row(question_date=None)], "row 0 (locker): question_date is not a text"),
        ([row(question="")], "row 0 (locker): question has no text"),
        ([row(answer=None)], "row 0 (locker) has no answer that is a text or a number"),
        ([row(answer="")], "row 0 (locker) has no answer"),
        ([row(answer=False)], "row 0 (locker) has no answer"),
        ([row(), row()], "row 1 has the question_id locker of an earlier row"),
        ([row(), without("question_type")], "row 1 has no question_type"),
        ([without("question_id")], "row 0 has no question_id"),
        ([without("haystack_session_ids")], "row 0 (locker) has no haystack_session_ids"),
        (["text"], "row 0 is not an object"),
        ([row(question_type="multi-session")], "holds no knowledge-update question"),
        ([], "holds no knowledge-update question"),
        ({"data": []}, "is not a list of rows"),
    ],
)
def test_broken_data_names_its_question(tmp_path: Path, rows: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        load(write(tmp_path, rows))
    assert message in str(caught.value)
    assert "longmemeval_oracle.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_truncated_file(tmp_path: Path) -> None:
    (tmp_path / "longmemeval_oracle.json").write_text('[{"question_id": "a",', encoding="utf-8")
    with pytest.raises(DataError, match=r"longmemeval_oracle\.json is not JSON at line 1, column 22"):
        load(tmp_path)


def test_missing_file_and_variants(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no file of LME-KU: put longmemeval_oracle\.json") as caught:
        load(tmp_path)
    assert str(tmp_path) in str(caught.value)
    with pytest.raises(DataError, match="no variants, so no 's'"):
        lme_ku.load("s", tmp_path)


def test_hub_file_at_the_pinned_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def download(repo: str, name: str, **options: Any) -> str:
        asked.extend((repo, name, options))
        return str(write(tmp_path, [row()]) / name)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    suite = load(None)
    assert [task.query.id for task in suite.tasks()] == ["lme-ku:locker"]
    assert suite.sources == load(tmp_path).sources, "the same data is the same source, wherever it was read"
    repo, name, options = asked
    assert (repo, name) == ("xiaowu0162/longmemeval-cleaned", "longmemeval_oracle.json")
    assert (options["repo_type"], len(options["revision"])) == ("dataset", 40)


@pytest.mark.parametrize("error", [ConnectionError("no\nroute"), RuntimeError("closed"), ValueError("bad")])
def test_hub_out_of_reach(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def download(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    with pytest.raises(DataError, match=r"pass --data-dir and put longmemeval_oracle\.json") as caught:
        load(None)
    assert "\n" not in str(caught.value)
