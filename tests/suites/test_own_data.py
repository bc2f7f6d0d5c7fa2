"""Own data: what a good folder gives, and a sentence with file and line for everything that can be wrong with one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.records import Gold, Observation, Protocol
from rdforget.suites.base import DataError
from rdforget.suites.own_data import load, read
from rdforget.suites.own_schema import LINE_KEYS, TASK_KEYS, schema
from rdforget.suites.registry import is_folder, is_ready, load_suite

TASK = {"id": "q1", "history": "h1", "question": "Where does Ines live?", "answers": ["Metz"]}
LINE = {"history": "h1", "text": "Ines lives in Metz."}


def write(folder: Path, tasks: Any = (TASK,), histories: Any = (LINE,), about: str = "") -> Path:
    """A folder of own data; rows become lines, texts and bytes stay as they are."""
    folder.mkdir(exist_ok=True)
    for name, rows in (("tasks.jsonl", tasks), ("histories.jsonl", histories)):
        if not isinstance(rows, str | bytes):
            rows = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / name).write_bytes(rows if isinstance(rows, bytes) else rows.encode())
    if about:
        (folder / "suite.yaml").write_text(about, "utf-8")
    return folder


def problems(folder: Path) -> list[str]:
    return list(read(folder).problems)


def test_every_key_comes_through(tmp_path: Path) -> None:
    task = {
        **TASK,
        "evidence": ["D1:2"],
        "options": ["Metz", "Lyon"],
        "option": "a",
        "rubric": ["names Metz"],
        "abstention": False,
        "type": "place",
        "date": "2024-04-01",
    }
    lines = [
        LINE | {"text": "I live in Lyon.", "session": "s1", "when": "2024-01-15", "speaker": "Ines"},
        LINE | {"ref": "D1:2"},
    ]
    suite = load(write(tmp_path / "mine", [task], lines, "note: A later line counts.\nprotocol: {budget: 512}\n"))
    [found] = suite.tasks()
    assert (suite.name, suite.size, found.query.suite, found.query.id) == ("mine", 1, "mine", "q1")
    assert (found.query.task_type, found.query.date) == ("place", "2024-04-01")
    assert found.query.options == ("(a) Metz", "(b) Lyon")
    assert found.gold == Gold(("Metz",), ("D1:2",), ("names Metz",), "a")
    assert found.history.note == "A later line counts."
    assert found.history.observations == (
        Observation("#1", "I live in Lyon.", "s1", "2024-01-15", "Ines"),
        Observation("D1:2", "Ines lives in Metz."),
    )
    assert suite.metrics == ("option", "rubric")
    assert suite.protocol == Protocol(budget=512)
    assert [source.name for source in suite.sources] == ["tasks.jsonl", "histories.jsonl", "note"]


def test_a_file_a_history_is_the_same_as_one_for_all(tmp_path: Path) -> None:
    whole = load(write(tmp_path / "mine"))
    parts = write(tmp_path / "parts", histories="")
    (parts / "histories.jsonl").unlink()
    (parts / "histories").mkdir()
    (parts / "histories" / "h1.jsonl").write_text('{"text": "Ines lives in Metz."}\n', "utf-8")
    assert [task.history for task in load(parts).tasks()] == [task.history for task in whole.tasks()]
    assert [source.name for source in load(parts).sources] == ["tasks.jsonl", "histories"]


@pytest.mark.parametrize(
    ("golds", "metrics"),
    [
        ([{"answers": ["Metz"]}], ("rule",)),
        ([{"answers": ["Metz"]}, {"rubric": ["names Metz"]}], ("rule", "rubric")),
        ([{"abstention": True}], ("judge",)),
    ],
)
def test_metrics_are_those_that_the_golds_call_for(
    tmp_path: Path, golds: list[dict[str, Any]], metrics: tuple[str, ...]
) -> None:
    bare = {key: value for key, value in TASK.items() if key != "answers"}
    rows = [bare | gold | {"id": f"q{n}"} for n, gold in enumerate(golds)]
    assert load(write(tmp_path / "mine", rows)).metrics == metrics


def test_byte_order_marks_line_ends_blank_lines_and_nulls_are_no_matter(tmp_path: Path) -> None:
    text = "\ufeff" + json.dumps({**TASK, "type": None}) + "\r\n\r\n"
    folder = write(tmp_path / "mine", text.encode(), b"\xef\xbb\xbf" + json.dumps(LINE).encode())
    assert [task.query.id for task in load(folder).tasks()] == ["q1"]


def test_a_line_separator_inside_a_text_is_part_of_it(tmp_path: Path) -> None:
    line = json.dumps({**LINE, "text": "one\u2028two"}, ensure_ascii=False)
    [task] = load(write(tmp_path / "mine", histories=line)).tasks()
    assert task.history.observations[0].text == "one\u2028two"


def test_the_title_is_no_part_of_what_is_measured(tmp_path: Path) -> None:
    before = load(write(tmp_path / "mine", about="title: One\n")).sources
    assert load(write(tmp_path / "mine", about="title: Two\nmetrics: [judge]\n")).sources == before
    assert load(write(tmp_path / "mine", about="title: Two\nnote: Later counts.\n")).sources != before


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"anwsers": ["Metz"]}, "line 2: there is no key 'anwsers': did you mean 'answers'?"),
        ({"id": 7}, "line 2: id 7 is no id: write it as"),
        ({"id": "two\nlines"}, "line 2: id 'two\\nlines' is no id"),
        ({"question": " "}, "line 2: question ' ' is no text"),
        ({"answers": "Metz"}, "line 2: answers 'Metz' is no list of texts"),
        ({"answers": [4]}, "line 2: answers [4] is no list of texts"),
        ({"answers": []}, "line 2: answers [] is no list of texts"),
        ({"abstention": "yes"}, "line 2: abstention 'yes' is no true or false"),
        ({"option": "e"}, "line 2: option 'e' is no letter from a to d"),
        ({"option": "ab"}, "line 2: option 'ab' is no letter from a to d"),
        ({"option": "b", "options": ["one"]}, "line 2: option 'b' is none of its 1 options"),
        ({"option": "a"}, "line 2: option 'a' is none of its 0 options"),
        ({"options": list("vwxyz")}, "line 2 has 5 options"),
        ({"date": "yesterday"}, "line 2: date 'yesterday' is no date: write it as 2024-03-15"),
        ({"date": "2024-02-30"}, "line 2: date '2024-02-30' is no date"),
        ({"history": "h2"}, "line 2: there is no history 'h2': did you mean 'h1'?"),
        ({"evidence": ["#2"]}, "line 2: there is no line in history h1 '#2': did you mean '#1'?"),
        ({"id": "q1"}, "line 2: id 'q1' is that of tasks.jsonl, line 1 too"),
        ({"question": None}, "line 2 has no question: give the question"),
        ({"answers": None}, "line 2 has nothing to score by: give answers, option, rubric or abstention"),
        ({"answers": None, "abstention": False}, "line 2 has nothing to score by"),
    ],
)
def test_a_bad_question_is_named_with_its_line(tmp_path: Path, row: dict[str, Any], told: str) -> None:
    found = problems(write(tmp_path / "mine", [TASK, TASK | {"id": "q2"} | row]))
    assert len(found) == 1
    assert found[0].startswith("tasks.jsonl, ")
    assert told in found[0]
    assert "\n" not in found[0]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"txt": "?"}, "line 2: there is no key 'txt': did you mean 'text'?"),
        ({"text": ""}, "line 2: text '' is no text"),
        ({"ref": "#1"}, "line 2: ref '#1' is that of histories.jsonl, line 1 too"),
        ({"when": "soon"}, "line 2: when 'soon' is no date"),
        ({"when": "2024-01-14"}, "line 2 is of 2024-01-14, before histories.jsonl, line 1 of 2024-01-15"),
        ({"speaker": 3}, "line 2: speaker 3 is no id"),
        ({"history": None}, "line 2 has no history"),
    ],
)
def test_a_bad_line_of_a_history_is_named(tmp_path: Path, row: dict[str, Any], told: str) -> None:
    found = problems(write(tmp_path / "mine", histories=[LINE | {"when": "2024-01-15"}, LINE | row]))
    assert len(found) == 1
    assert found[0].startswith("histories.jsonl, ")
    assert told in found[0]


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"", "tasks.jsonl is empty"),
        (b"\n \n", "tasks.jsonl is empty"),
        (b'{"id": ', "line 1 is not JSON at column"),
        (b"[1]", "line 1 is not an object"),
        (b'{"id": "\xe9"}', "line 1 is not UTF-8 (byte 0xe9)"),
        (b'\n{"id": NaN}', "line 2 holds NaN, which is no number"),
        (b'{"id": "a", "id": "b"}', "line 1 has the key 'id' twice"),
        (b'{"id": "\\ud800"}', "line 1 holds half a surrogate pair"),
        (b'{"id": ' + b"9" * 5_000 + b"}", "line 1 cannot be read"),
        (b"[" * 100_000, "line 1"),
        ("\ufeff{}".encode("utf-16"), "line 1 is not UTF-8"),
    ],
)
def test_lines_that_cannot_be_read_are_named(tmp_path: Path, raw: bytes, told: str) -> None:
    found = problems(write(tmp_path / "mine", raw))
    assert told in found[0]
    assert all(one.startswith("tasks.jsonl") for one in found)


@pytest.mark.parametrize(
    ("about", "told"),
    [
        ("metric: [rule]\n", "there is no key 'metric': did you mean 'metrics'?"),
        ("metrics: [rules]\n", "there is no metric 'rules': did you mean 'rule'?"),
        ("metrics: [rule, rule]\n", "metrics is no list of different names"),
        ("metrics: rule\n", "metrics is no list"),
        ("protocol: {budgt: 5}\n", "there is no key of protocol 'budgt': did you mean 'budget'?"),
        ("protocol: {budget: 0}\n", "budget is 0"),
        ("protocol: {budget: many}\n", "protocol.budget"),
        ("note: 7\n", "note is no text"),
        ("- a\n", "no mapping"),
        ("note: [\n", "cannot be read"),
    ],
)
def test_a_bad_suite_yaml_is_named(tmp_path: Path, about: str, told: str) -> None:
    [found] = problems(write(tmp_path / "mine", about=about))
    assert found.startswith("suite.yaml")
    assert told in found


def test_all_mistakes_are_found_at_once_and_loading_names_the_first(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", [TASK | {"id": ""}, {"id": "q3"}], [LINE, {"text": "?"}])
    assert [problem.partition(":")[0] for problem in problems(folder)] == [
        "histories.jsonl, line 2 has no history",
        "tasks.jsonl, line 1",
        "tasks.jsonl, line 2 has no history",
        "tasks.jsonl, line 2 has no question",
    ]
    with pytest.raises(DataError, match=r"line 2 has no history.*and 3 more: `rdf data check"):
        load(folder)


def test_histories_in_both_places_or_in_none(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine")
    (folder / "histories").mkdir()
    assert "keep one of them" in problems(folder)[0]
    (folder / "histories.jsonl").unlink()
    assert "has no history" in problems(folder)[0]
    (folder / "histories" / "h1.json").write_text("{}", "utf-8")
    assert "is no .jsonl file" in problems(folder)[0]


def test_a_folder_is_told_from_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert not is_folder("mine")
    for name in ("mine", "mab-fc"):
        write(tmp_path / name)
    assert is_folder("mine")
    assert not is_folder("mab-fc")
    assert is_folder("./mab-fc")
    assert load_suite("mine", None).name == "mine"
    assert is_ready("mine", None) == "local: mine"
    assert is_ready("./nowhere", None).startswith("needs")
    with pytest.raises(DataError, match="name of a suite that is listed"):
        load_suite("./mab-fc", None)
    with pytest.raises(DataError, match="there is no folder"):
        load_suite("./nowhere", None)
    with pytest.raises(DataError, match=r"holds no tasks\.jsonl"):
        load_suite("..", None)


def test_histories_without_questions_are_noted(tmp_path: Path) -> None:
    suite = load(write(tmp_path / "mine", histories=[LINE, LINE | {"history": "h2"}]))
    assert suite.notes == ("Histories without a question: 1 of 2.",)


def test_the_schema_in_words_has_every_key() -> None:
    assert all(f"  {key.name} " in schema() for key in (*TASK_KEYS, *LINE_KEYS))


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.lists(st.dictionaries(st.sampled_from([key.name for key in TASK_KEYS]), _VALUES), max_size=3), st.binary())
def test_nothing_in_a_file_raises(
    tmp_path_factory: pytest.TempPathFactory, tasks: list[dict[str, Any]], histories: bytes
) -> None:
    folder = write(tmp_path_factory.mktemp("own") / "mine", tasks, histories)
    assert read(folder).tasks == () or not read(folder).problems or read(folder).histories
