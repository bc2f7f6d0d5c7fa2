"""PersonaMem: the real rows, the ten left out, files in parts, what is visible, and an error for each broken cell."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from rdforget.calls.render import details, source_lines
from rdforget.records import Task
from rdforget.suites import personamem
from rdforget.suites.base import DataError, Suite

ID = "e898d03fec683b1c" + "0" * 48
OTHER = "1b0b224347ae" + "f" * 52
MESSAGES = [
    {"role": "system", "content": "Current user persona: Ines"},
    {"role": "user", "content": "User: I like tea.\r\nStrong\u2028tea."},
    {"role": "assistant", "content": "Assistant: Noted."},
    {"role": "user", "content": "[Original_Sentence]: User: é"},
    {"role": "system", "content": "Current user persona: Ines"},
    {"role": "user", "content": "Assistant: who said that?"},
    {"role": "user", "content": "User: HIDDEN"},
]
OPTIONS = ["(a) It's tea.", '(b) He said "tea".', "(c) Tea, é\nor not.", "(d) d"]
COLUMNS = (
    "persona_id",
    "question_id",
    "question_type",
    "context_length_in_letters",
    "user_question_or_message",
    "correct_answer",
    "all_options",
    "shared_context_id",
    "end_index_in_shared_context",
)


def letters(end: int) -> int:
    return sum(len(message["content"]) for message in MESSAGES[:end])


def row(number: int, end: int = 6, **changes: str) -> dict[str, str]:
    return {
        "persona_id": "0",
        "question_id": f"id-{number}",
        "question_type": "recall_user_shared_facts",
        "context_length_in_letters": str(letters(end)),
        "user_question_or_message": f"{number}, what do I like?",
        "correct_answer": "(c)",
        "all_options": repr(OPTIONS),
        "shared_context_id": ID,
        "end_index_in_shared_context": str(end),
        **changes,
    }


def rows(count: int, start: int = 0) -> list[dict[str, str]]:
    return [row(number) for number in range(start, start + count)]


def table(content: list[dict[str, str]], columns: tuple[str, ...] = COLUMNS) -> str:
    """As the official file is: CRLF, and none at the end."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(content)
    return out.getvalue().removesuffix("\r\n")


def contexts(*names: str) -> str:
    return "".join(json.dumps({name: MESSAGES}, ensure_ascii=False) + "\n" for name in names or (ID,))


def write(folder: Path, **texts: str) -> Path:
    """Files by name, with `_` for the dots of the tag: `questions_part1`, `contexts`; `folder` again."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        kind, _, tag = name.partition("_")
        stem, extension = ("questions_32k", "csv") if kind == "questions" else ("shared_contexts_32k", "jsonl")
        (folder / ".".join(filter(None, (stem, tag, extension)))).write_bytes(text.encode())
    return folder


def official(folder: Path, content: list[dict[str, str]]) -> Path:
    return write(folder, questions=table(content), contexts=contexts())


def load(folder: Path) -> tuple[Suite, list[Task]]:
    suite = personamem.load("", folder)
    return suite, list(suite.tasks())


def ids(tasks: list[Task]) -> list[str]:
    return [task.query.id.removeprefix("personamem:") for task in tasks]


def test_real_data(data_dir: Path) -> None:
    suite, tasks = load(data_dir)
    assert len(tasks) == suite.size == 273
    assert suite.expected == 579
    assert suite.notes == ("273 of the 579 questions are here.",)
    with (data_dir / "personamem" / "questions_32k.part1.csv").open(encoding="utf-8-sig", newline="") as file:
        official_rows = list(csv.DictReader(file))
    assert len(official_rows) == 283
    assert ids(tasks) == [cells["question_id"] for cells in official_rows[10:]]
    assert [f"({task.gold.option})" for task in tasks] == [cells["correct_answer"] for cells in official_rows[10:]]
    assert Counter(task.query.task_type for task in tasks) == Counter(
        cells["question_type"] for cells in official_rows[10:]
    )
    assert all(len(task.query.options) == 4 for task in tasks)
    assert [source.sha256[:8] for source in suite.sources] == ["9ce33eb7", "4f2ff596"]


def test_real_histories(data_dir: Path) -> None:
    _, tasks = load(data_dir)
    shared = {id(seen) for task in tasks for seen in task.history.observations}
    assert len({task.history.id.split(":")[1] for task in tasks}) == 17, "context e898d03f is that of the first ten"
    assert len(shared) < 17 * 240, "questions of one context share its observations"
    assert len({id(task.history) for task in tasks}) == len({task.history.id for task in tasks})
    for task in tasks:
        seen = task.history.observations
        assert task.history.id.endswith(f":{len(seen)}"), "no real message is blank"
        assert [o.ref for o in seen] == [f"t{number}" for number in range(len(seen))]
        assert seen[0].speaker == "system"
        assert seen[-1].session == f"Session {sum(o.speaker == 'system' for o in seen)}"
    lines = {line for task in tasks for line in source_lines(task.history.observations)}
    assert not [line for line in lines if line.startswith(("user: User: ", "assistant: Assistant: "))]


def test_full_file_without_its_first_ten(tmp_path: Path) -> None:
    suite, tasks = load(official(tmp_path / "personamem", rows(589)).parent)
    assert ids(tasks) == [f"id-{number}" for number in range(10, 589)]
    assert suite.size == suite.expected == 579
    assert suite.notes == ()
    assert [source.name for source in suite.sources] == ["questions_32k.csv", "shared_contexts_32k.jsonl"]


@pytest.mark.parametrize(
    ("tags", "kept", "dropped"),
    [
        (("part1", "part2"), 20, True),
        (("part1",), 5, True),
        (("part0", "part1"), 20, True),
        (("00000-of-2", "00001-of-2"), 20, True),
        (("head",), 5, True),
        (("part2",), 15, False),
        (("part2", "part3"), 30, False),
        (("part12",), 15, False),
    ],
)
def test_parts(tmp_path: Path, tags: tuple[str, ...], kept: int, dropped: bool) -> None:
    parts = {f"questions_{tag}": table(rows(15, 15 * place)) for place, tag in enumerate(tags)}
    suite, tasks = load(write(tmp_path, contexts=contexts(), **parts))
    assert ids(tasks) == [f"id-{number}" for number in range(10 if dropped else 0, 15 * len(tags))]
    assert len(tasks) == kept
    assert suite.notes[0] == f"{kept} of the 579 questions are here."
    assert any("is not the beginning of questions_32k.csv" in note for note in suite.notes) is not dropped


def test_context_in_a_part_that_is_not_here(tmp_path: Path) -> None:
    content = [*rows(11), row(11, shared_context_id=OTHER), row(12)]
    content[0]["shared_context_id"] = OTHER
    suite, tasks = load(write(tmp_path, questions=table(content), contexts_part1=contexts()))
    assert ids(tasks) == ["id-10", "id-12"], "the ten are counted in the file, not in what is left of it"
    assert suite.notes[1].startswith("1 questions are left out")
    suite, tasks = load(write(tmp_path, contexts_part2=contexts(OTHER)))
    assert ids(tasks) == ["id-10", "id-11", "id-12"]
    assert len(suite.notes) == 1
    with pytest.raises(DataError, match=rf"row 0 \(question id-0\): shared_contexts_32k.jsonl has no .* {OTHER[:12]}"):
        load(write(tmp_path, contexts=contexts()))


@pytest.mark.parametrize("kind", ["plain", "bom", "lf", "end of line", "gz"])
def test_forms_of_the_files(tmp_path: Path, kind: str) -> None:
    expected = load(official(tmp_path / "expected", rows(12)))[1]
    folder = official(tmp_path / "other", rows(12))
    path = folder / "questions_32k.csv"
    raw = path.read_bytes()
    assert raw.count(b"\r\n") == 12
    assert not raw.endswith(b"\n")
    changed = {"bom": b"\xef\xbb\xbf" + raw, "lf": raw.replace(b"\r\n", b"\n"), "end of line": raw + b"\r\n"}
    path.write_bytes(changed.get(kind, raw))
    if kind == "gz":
        for name in ("questions_32k.csv", "shared_contexts_32k.jsonl"):
            (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
            (folder / name).unlink()
    assert load(folder)[1] == expected


def test_parts_of_a_task(tmp_path: Path) -> None:
    content = [*rows(10), row(10), row(11, end=3, correct_answer="(A) "), row(12, user_question_or_message="User: ?")]
    _, [first, shorter, same] = load(official(tmp_path, content))
    assert first.query.text == "10, what do I like?"
    assert (first.query.suite, first.query.task_type, first.query.date) == (
        "personamem",
        "recall_user_shared_facts",
        None,
    )
    assert first.query.options == tuple(OPTIONS)
    assert (first.gold.option, first.gold.answers, shorter.gold.option) == ("c", (), "a")
    assert first.history.id == "personamem:e898d03fec68:6"
    assert shorter.history.id == "personamem:e898d03fec68:3"
    assert same.query.text == "User: ?"
    assert same.history is first.history
    assert all(a is b for a, b in zip(shorter.history.observations, first.history.observations, strict=False))
    assert [(o.ref, o.session, o.when, o.line) for o in first.history.observations] == [
        ("t0", "Session 1", None, "system: Current user persona: Ines"),
        ("t1", "Session 1", None, "user: I like tea.\r\nStrong\u2028tea."),
        ("t2", "Session 1", None, "assistant: Noted."),
        ("t3", "Session 1", None, "user: [Original_Sentence]: User: é"),
        ("t4", "Session 2", None, "system: Current user persona: Ines"),
        ("t5", "Session 2", None, "user: Assistant: who said that?"),
    ]


def test_blank_messages_are_left_out_but_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MESSAGES[2], "content", "Assistant:  \n")
    history = load(official(tmp_path, rows(11)))[1][0].history
    assert [o.ref for o in history.observations] == ["t0", "t1", "t3", "t4", "t5"]
    assert history.id.endswith(":6")


def test_prompts_hold_neither_gold_nor_what_comes_later(tmp_path: Path) -> None:
    [task] = load(official(tmp_path, [*rows(10), row(10, correct_answer="(c)", topic="MARKER")]))[1]
    shown = "\n".join([*source_lines(task.history.observations), task.query.text, details(task.query)])
    assert "HIDDEN" not in shown
    assert "MARKER" not in shown
    assert shown.count("(c)") == shown.count("(b)") == 1
    assert "option" not in {name for name in dir(task.query) if not name.startswith("_")} - {"options"}


@pytest.mark.parametrize(
    ("literal", "options"),
    [
        ("""["(a) It's", '(b) "x"', "(c) \\u00e9", '(d) ']""", ("(a) It's", '(b) "x"', "(c) é", "(d) ")),
        ('["(a) 1", "(b) 2", "(c) 3", "(d) 4"]', ("(a) 1", "(b) 2", "(c) 3", "(d) 4")),
    ],
)
def test_options_are_python_literals(tmp_path: Path, literal: str, options: tuple[str, ...]) -> None:
    assert load(official(tmp_path, [*rows(10), row(10, all_options=literal)]))[1][0].query.options == options


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"context_length_in_letters": "100"}, f"have {letters(6)} characters, but context_length_in_letters is 100"),
        ({"context_length_in_letters": "many"}, "context_length_in_letters is 'many', not a whole number"),
        ({"end_index_in_shared_context": "0"}, "end_index_in_shared_context is 0, not a number from 1 to 7"),
        ({"end_index_in_shared_context": "8"}, "end_index_in_shared_context is 8, not a number from 1 to 7"),
        ({"end_index_in_shared_context": "-1"}, "end_index_in_shared_context is -1, not a number from 1 to 7"),
        ({"end_index_in_shared_context": "6.5"}, "end_index_in_shared_context is '6.5', not a whole number"),
        ({"end_index_in_shared_context": ""}, "has no end_index_in_shared_context"),
        ({"all_options": "['(a) x', "}, "all_options is not a Python literal"),
        ({"all_options": "print(1)"}, "all_options is not a Python literal"),
        ({"all_options": "['(a) x', '(b) x', '(c) x']"}, "all_options is not a list of four texts"),
        ({"all_options": "['(a) x', '(b) x', '(d) x', '(c) x']"}, "all_options is not a list of four texts"),
        ({"all_options": "['(a) x', '(b) x', '(c) x', 4]"}, "all_options is not a list of four texts"),
        ({"all_options": "{'(a) x': 1}"}, "all_options is not a list of four texts"),
        ({"all_options": "4"}, "all_options is not a list of four texts"),
        ({"correct_answer": "(e)"}, "correct_answer is '(e)', not one of (a) to (d)"),
        ({"correct_answer": "(ab)"}, "correct_answer is '(ab)', not one of (a) to (d)"),
        ({"question_id": "id-3"}, "has the id of an earlier row"),
        ({"question_id": " "}, "has no question_id"),
        ({"user_question_or_message": ""}, "has no user_question_or_message"),
    ],
)
@pytest.mark.parametrize("number", [4, 11])
def test_broken_row_names_file_and_row(tmp_path: Path, changes: dict[str, str], message: str, number: int) -> None:
    content = rows(12)
    content[number].update(changes)
    with pytest.raises(DataError) as caught:
        load(official(tmp_path, content))
    assert message in str(caught.value)
    assert f"questions_32k.csv, row {number} (question " in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (table(rows(12), COLUMNS[:-1]), "row 0 (question id-0) has no end_index_in_shared_context"),
        (table(rows(12)) + ",more", "row 11 (question id-11) has more cells than there are columns"),
        (table(rows(12)).partition("\r\n")[2], "(question None) has no question_id"),
        (table(rows(12)) + '\r\n"open', "is not CSV at line"),
        (table(rows(10)), "leaves no question whose context is here"),
        ("", "leaves no question whose context is here"),
    ],
)
def test_broken_table(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        load(write(tmp_path, questions=text, contexts=contexts()))
    assert message in str(caught.value)
    assert "questions_32k.csv" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (contexts() + "\n{", "line 3 is not JSON at column 2"),
        ("[]", "line 1 is not an object of contexts"),
        (contexts(ID, ID), "line 2 has context e898d03fec68 a second time"),
        (json.dumps({ID: {}}), "line 1, context e898d03fec68 is not a list of messages"),
        (json.dumps({ID: [{"role": "tool", "content": ""}]}), "message 0 has no role with a text"),
        (json.dumps({ID: [MESSAGES[0], {"role": "user", "content": None}]}), "message 1 has no role with a text"),
        (json.dumps({ID: ["text"]}), "message 0 has no role with a text"),
    ],
)
def test_broken_contexts(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        load(write(tmp_path, questions=table(rows(12)), contexts=text))
    assert message in str(caught.value)
    assert "shared_contexts_32k.jsonl" in str(caught.value)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no questions_32k\.csv of PersonaMem: put .* or personamem/ in it"):
        load(tmp_path)
    with pytest.raises(DataError, match=r"holds no shared_contexts_32k\.jsonl"):
        load(write(tmp_path, questions=table(rows(12))))
    with pytest.raises(DataError, match="has no variants: ask for personamem alone, not for '128k'"):
        personamem.load("128k", tmp_path)


def test_hub_files_at_the_pinned_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    official(tmp_path, rows(12))
    asked: list[Any] = []

    def hf_hub_download(repo: str, name: str, *, repo_type: str, revision: str) -> str:
        asked.append((repo, name, repo_type, len(revision)))
        return str(tmp_path / name)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", hf_hub_download)
    assert list(personamem.load("", None).tasks()) == load(tmp_path)[1]
    assert asked == [
        ("bowen-upenn/PersonaMem-v1", "questions_32k.csv", "dataset", 40),
        ("bowen-upenn/PersonaMem-v1", "shared_contexts_32k.jsonl", "dataset", 40),
    ]


@pytest.mark.parametrize("error", [ConnectionError("no\nroute"), RuntimeError("read timed out")])
def test_hub_out_of_reach(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def hf_hub_download(*_: Any, **__: Any) -> str:
        raise error

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", hf_hub_download)
    with pytest.raises(DataError, match=r"pass --data-dir and put questions_32k\.csv and shared_contexts") as caught:
        personamem.load("", None)
    assert "\n" not in str(caught.value)
