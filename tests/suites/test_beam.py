"""BEAM: the real chats, the order and the ten left out, both layouts, odd rows, and one conversation at a time."""

from __future__ import annotations

import copy
import gc
import gzip
import json
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pandas
import pytest

from rdforget.calls.render import details, source_lines
from rdforget.records import History, Observation, Task
from rdforget.suites import beam
from rdforget.suites.base import DataError

GOLDS = dict(zip(beam.CATEGORIES, ("answer", "ideal_answer", "answer", "expected_compliance"), strict=True))
CHAT: list[dict[str, Any]] = [
    {
        "batch_number": 1,
        "time_anchor": None,
        "turns": [
            [
                {"role": "user", "id": 0, "content": "Hi ->-> 1,1", "time_anchor": "March-15-2024", "index": "1,1"},
                {"role": "assistant", "id": 1, "content": "Yes?"},
                {"role": "user", "id": 2, "content": "I am in <b>Metz</b>.", "question_type": "followup_question"},
                {"role": "assistant", "id": 3, "content": "Noted."},
            ],
            [{"role": "user", "id": 4, "content": "And in Évry. ->-> 1,N/A"}],
        ],
    },
    {
        "batch_number": 2,
        "time_anchor": None,
        "turns": [[{"role": "user", "id": 5, "content": "Back.", "time_anchor": "April-05-2024"}]],
    },
]


def chat() -> list[dict[str, Any]]:
    return copy.deepcopy(CHAT)


def questions(number: int = 1) -> dict[str, Any]:
    made: dict[str, Any] = {"abstention": [{"question": "Not used?"}]}
    for category in reversed(beam.CATEGORIES):  # the order of the keys must not matter
        ids: Any = [2] if category == "preference_following" else {"original_info": [0, 2], "updated_info": [4, 2]}
        made[category] = [
            {
                "question": f"{number} {category} {index}?",
                "rubric": ['It\'s "Évry"'],
                GOLDS[category]: "Évry\n",
                "source_chat_ids": ids,
            }
            for index in range(2)
        ]
    return made


def write(folder: Path, number: int, said: Any = CHAT, asked: Any = None, *, zipped: bool = False) -> Path:
    """A conversation as the repository has it; `folder` again."""
    contents = {"chat.json": said, "probing_questions/probing_questions.json": asked or questions(number)}
    for name, content in contents.items():
        path = folder / "100K" / str(number) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        raw = json.dumps(content, ensure_ascii=False).encode()
        if zipped:
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(raw))
        else:
            path.write_bytes(raw)
    return folder


def hub_row(number: int, said: Any = CHAT, asked: Any = None) -> dict[str, Any]:
    """The same content as the hub has it: flat batches, every key in every message, a Python literal."""
    messages = [[message for group in batch["turns"] for message in group] for batch in said]
    keys = ("role", "id", "content", "question_type", "index", "time_anchor")
    return {
        "conversation_id": str(number),
        "conversation_seed": {"category": "Coding"},
        "chat": [[{key: message.get(key) for key in keys} for message in batch] for batch in messages],
        "probing_questions": repr(asked or questions(number)),
    }


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pandas.DataFrame(rows).to_parquet(path)


def tasks(folder: Path | None, variant: str = "") -> list[Task]:
    return list(beam.load(variant, folder).tasks())


def observations(folder: Path) -> tuple[Observation, ...]:
    return tasks(folder)[0].history.observations


def test_real_data(data_dir: Path) -> None:
    suite = beam.load("", data_dir)
    loaded = list(suite.tasks())
    assert len(loaded) == suite.size == 38
    assert suite.expected == 150
    assert Counter(task.query.task_type for task in loaded) == {
        "knowledge_update": 9,
        "contradiction_resolution": 9,
        "temporal_reasoning": 10,
        "preference_following": 10,
    }
    assert Counter(task.history.id for task in loaded) == {"beam:2": 6, **{f"beam:{n}": 8 for n in range(3, 7)}}
    sizes = {task.history.id: len(task.history.observations) for task in loaded}
    assert sizes == {"beam:2": 200, "beam:3": 194, "beam:4": 212, "beam:5": 238, "beam:6": 258}
    assert loaded[0].query.id == "beam:2:temporal_reasoning:0"
    assert "6 of 20 conversations" in suite.notes[0]
    assert len({source.name for source in suite.sources}) == 12
    assert suite.sources[0].name == "100K/1/chat.json"
    assert suite.sources[0].sha256.startswith("ea71efd5dcc13f73")


def test_real_messages(data_dir: Path) -> None:
    for task in tasks(data_dir)[::8]:
        seen = task.history.observations
        assert [o.ref for o in seen] == [f"m{number}" for number in range(len(seen))]
        assert not any("->->" in o.text for o in seen if o.speaker == "user")
        assert {o.session for o in seen if o.when} == {o.session for o in seen}
        assert set(task.gold.evidence) <= {o.ref for o in seen}
    assert {o.when for o in seen} == {
        "March-15-2024",
        "May-02-2024",
        "July-07-2024",
        "September-10-2024",
        "November-18-2024",
    }


def test_real_prompts_hold_no_gold(data_dir: Path) -> None:
    for task in tasks(data_dir):
        shown = "\n".join([*source_lines(task.history.observations), task.query.text, details(task.query)])
        assert task.gold.rubric
        assert not any(criterion in shown for criterion in task.gold.rubric)
        assert "source_chat_ids" not in shown


def test_real_chats_in_the_layout_of_the_hub(data_dir: Path, tmp_path: Path) -> None:
    rows = []
    for number in range(1, 7):
        folder = data_dir / "beam" / "100K" / str(number)
        asked = json.loads((folder / "probing_questions" / "probing_questions.json").read_text("utf-8"))
        rows.append(hub_row(number, json.loads((folder / "chat.json").read_text("utf-8")), asked))
    write_parquet(tmp_path / "beam" / "100K.parquet", rows)
    assert tasks(tmp_path) == tasks(data_dir)


def test_real_truncated_chat(data_dir: Path) -> None:
    suite = beam.load("truncated", data_dir)
    sizes = {task.history.id: len(task.history.observations) for task in suite.tasks()}
    assert (sizes["beam:truncated:5"], sizes["beam:truncated:6"]) == (232, 258)
    assert suite.notes[1].endswith("chat_trunecated.json has them: 5.")
    assert "100K/5/chat_trunecated.json" in {source.name for source in suite.sources}
    assert {task.query.suite for task in suite.tasks()} == {"beam:truncated"}


def test_order_of_twenty_conversations_without_the_first_ten(tmp_path: Path) -> None:
    for number in range(20, 0, -1):
        write(tmp_path, number)
    suite = beam.load("", tmp_path)
    ids = [task.query.id for task in suite.tasks()]
    order = [
        f"beam:{number}:{category}:{index}"
        for number in range(1, 21)
        for index in range(2)
        for category in beam.CATEGORIES
    ]
    assert ids == order[10:]
    assert len(ids) == suite.size == suite.expected == 150
    assert suite.notes == ()
    assert [task.query.text for task in suite.tasks()][:2] == ["2 temporal_reasoning 0?", "2 preference_following 0?"]


@pytest.mark.parametrize(
    ("numbers", "first", "size"),
    [
        ([1, 3], "beam:3:knowledge_update:0", 8),
        ([2, 10], "beam:2:temporal_reasoning:0", 14),
        ([10, 3], "beam:3:knowledge_update:0", 16),
    ],
)
def test_only_those_of_the_ten_that_are_here_drop_out(
    tmp_path: Path, numbers: list[int], first: str, size: int
) -> None:
    for number in numbers:
        write(tmp_path / "beam", number)
    suite = beam.load("", tmp_path)
    assert next(suite.tasks()).query.id == first
    assert suite.size == size
    assert suite.notes[0].startswith("2 of 20 conversations are here: ")


@pytest.mark.parametrize("name", ["beam/100K.parquet", "data/100K-00000-of-00001.parquet"])
def test_layouts_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    rows = [hub_row(number) for number in (10, 3, 2)]
    write_parquet(tmp_path / "parquet" / name, rows)
    asked: dict[str, Any] = {}

    def load_dataset(name: str, **options: Any) -> Any:
        asked.update(options, name=name)
        return datasets.Dataset.from_list(rows)

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    for number in (2, 3, 10):
        write(tmp_path / "plain", number)
        write(tmp_path / "zipped", number, zipped=True)
    hub = beam.load("", None)
    plain = tasks(tmp_path / "plain")
    assert len(plain) == 22
    assert tasks(tmp_path / "zipped") == tasks(tmp_path / "parquet") == list(hub.tasks()) == plain
    assert (asked["name"], asked["split"], len(asked["revision"])) == ("Mohammadta/BEAM", "100K", 40)
    assert len(hub.sources[0].sha256) == 64


def test_parts_of_a_task(tmp_path: Path) -> None:
    first, second, *_ = tasks(write(tmp_path, 3))
    assert first.query.id == "beam:3:knowledge_update:0"
    assert (first.query.suite, first.query.task_type, first.query.date) == ("beam", "knowledge_update", None)
    assert first.gold.answers == ("Évry\n",)
    assert first.gold.rubric == ('It\'s "Évry"',)
    assert first.gold.evidence == ("m0", "m2", "m4")
    assert second.query.task_type == "contradiction_resolution"
    assert [(o.ref, o.text, o.session, o.when, o.speaker) for o in first.history.observations] == [
        ("m0", "Hi", "Batch 1", "March-15-2024", "user"),
        ("m1", "Yes?", "Batch 1", "March-15-2024", "assistant"),
        ("m2", "I am in <b>Metz</b>.", "Batch 1", "March-15-2024", "user"),
        ("m3", "Noted.", "Batch 1", "March-15-2024", "assistant"),
        ("m4", "And in Évry.", "Batch 1", "March-15-2024", "user"),
        ("m5", "Back.", "Batch 2", "April-05-2024", "user"),
    ]


@pytest.mark.parametrize(
    ("role", "content", "text"),
    [
        ("user", "Where? ->-> 1,1", "Where?"),
        ("user", "Where? ->->  12, 34 \n", "Where?"),
        ("user", "Where? ->-> 2,N/A", "Where?"),
        ("user", "  code\n ```->-> 3,8", "  code\n ```"),
        ("user", "End with ->-> 3,8 please.", "End with ->-> 3,8 please."),
        ("user", "End with ->-> 3,8, ->-> 3,8", "End with ->-> 3,8,"),
        ("user", "f: a ->-> b", "f: a ->-> b"),
        ("user", "No mark. ", "No mark. "),
        ("assistant", "As you like: ->-> 3,8", "As you like:"),
    ],
)
def test_generator_mark(tmp_path: Path, role: str, content: str, text: str) -> None:
    said = chat()
    said[0]["turns"][0][0].update(role=role, content=content)
    assert observations(write(tmp_path, 3, said))[0].text == text


def test_messages_that_say_nothing_are_left_out(tmp_path: Path) -> None:
    said = chat()
    said[0]["turns"][0][0]["content"] = " ->-> 1,1"
    said[0]["turns"][0][1]["content"] = "\n"
    assert [o.ref for o in observations(write(tmp_path, 3, said))] == ["m2", "m3", "m4", "m5"]


@pytest.mark.parametrize(
    ("anchors", "dates"),
    [
        ((None, "May-01-2024", "May-02-2024"), {"Batch 1": "May-01-2024", "Batch 2": "April-05-2024"}),
        (("", "None", None), {"Batch 1": None, "Batch 2": "April-05-2024"}),
    ],
)
def test_dates(tmp_path: Path, anchors: tuple[str | None, ...], dates: dict[str, str | None]) -> None:
    said = chat()
    for message, anchor in zip(said[0]["turns"][0], anchors, strict=False):
        message["time_anchor"] = anchor
    assert {o.session: o.when for o in observations(write(tmp_path, 3, said))} == dates


@pytest.mark.parametrize(
    ("ids", "refs"),
    [
        ([34, 2, 34], ("m34", "m2")),
        ([], ()),
        (None, ()),
        ({"first_event": [3], "second_event": []}, ("m3",)),
        ({"first_event": 3}, ("m3",)),
    ],
)
def test_evidence(tmp_path: Path, ids: Any, refs: tuple[str, ...]) -> None:
    asked = questions()
    asked["knowledge_update"][0]["source_chat_ids"] = ids
    assert tasks(write(tmp_path, 3, asked=asked))[0].gold.evidence == refs


@pytest.mark.parametrize(("answer", "answers"), [(250, ("250",)), (None, ()), ("", ()), ("x", ("x",))])
def test_answers_as_available(tmp_path: Path, answer: Any, answers: tuple[str, ...]) -> None:
    asked = questions()
    asked["knowledge_update"][0]["answer"] = answer
    assert tasks(write(tmp_path, 3, asked=asked))[0].gold.answers == answers


def test_prompts_hold_no_marker_of_gold(tmp_path: Path) -> None:
    asked = questions()
    for category in beam.CATEGORIES:
        for question in asked[category]:
            for field in question.keys() - {"question", "source_chat_ids"}:
                question[field] = ["MARKER"] if field == "rubric" else "MARKER"
            question["conversation_references"] = question["compliance_indicators"] = ["MARKER"]
    for task in tasks(write(tmp_path, 3, asked=asked)):
        shown = [*source_lines(task.history.observations), repr(task.query), details(task.query)]
        assert "MARKER" not in "\n".join(shown)
        assert "MARKER" in repr(task.gold)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda asked: asked.pop("temporal_reasoning"), "temporal_reasoning is not a list of 2 questions"),
        (lambda asked: asked["knowledge_update"].pop(), "knowledge_update is not a list of 2 questions"),
        (
            lambda asked: asked["knowledge_update"][1].update(question=" "),
            "json, knowledge_update question 1 has no text",
        ),
        (lambda asked: asked.update(knowledge_update=["text", {}]), "knowledge_update question 0 has no text"),
        (lambda asked: asked["preference_following"][0].pop("rubric"), "preference_following question 0: rubric is"),
        (lambda asked: asked["knowledge_update"][0].update(rubric=[]), "question 0: rubric is not a list of criteria"),
        (lambda asked: asked["knowledge_update"][0].update(rubric=["a", ""]), "rubric is not a list of criteria"),
        (lambda asked: asked["knowledge_update"][0].update(rubric="a"), "rubric is not a list of criteria"),
        (
            lambda asked: asked["contradiction_resolution"][1].update(source_chat_ids={"first_statement": ["m3"]}),
            "contradiction_resolution question 1: source_chat_ids holds 'm3'",
        ),
    ],
)
def test_broken_question_names_file_category_and_index(tmp_path: Path, change: Any, message: str) -> None:
    asked = questions()
    change(asked)
    write(tmp_path, 3)
    with pytest.raises(DataError) as caught:
        beam.load("", write(tmp_path, 1, asked=asked))
    assert message in str(caught.value)
    assert "probing_questions.json" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda said: said.clear(), "chat.json is not a list of batches"),
        (lambda said: said[1].pop("turns"), "chat.json, batch 2 is not a list of messages"),
        (lambda said: said[1]["turns"].append("text"), "batch 2: what stands at place 1 is not a message"),
        (lambda said: said[1]["turns"][0][0].pop("id"), "batch 2: a message has the id None"),
        (lambda said: said[1]["turns"][0][0].update(id=4.5), "batch 2: a message has the id 4.5"),
        (lambda said: said[1]["turns"][0][0].update(id=4), "batch 2 has a second message 4"),
        (lambda said: said[1]["turns"][0][0].update(role="system"), "batch 2, message 5 has no role user or assistant"),
        (lambda said: said[1]["turns"][0][0].update(content=None), "batch 2, message 5 has no role"),
        (lambda said: said[1]["turns"][0][0].update(time_anchor="Smarch-13-2024"), "time_anchor 'Smarch-13-2024' is"),
        (lambda said: said[1]["turns"][0][0].update(time_anchor=20240405), "time_anchor 20240405 is not a date"),
    ],
)
def test_broken_chat_is_an_error_at_loading(tmp_path: Path, change: Any, message: str) -> None:
    said = chat()
    change(said)
    with pytest.raises(DataError) as caught:
        beam.load("", write(tmp_path, 3, said))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        ("3/chat.json", b"[{]", "not JSON at line 1, column 3"),
        ("3/chat.json", b"\xff[]", "cannot be read"),
        ("3/probing_questions/probing_questions.json", b"[]", "is not an object of categories"),
        ("3/probing_questions/probing_questions.json", None, "has no probing_questions/probing_questions.json: put"),
        ("3/chat.json", None, "has no chat.json: put"),
    ],
)
def test_broken_file(tmp_path: Path, name: str, raw: bytes | None, message: str) -> None:
    path = write(tmp_path, 3) / "100K" / name
    if raw is None:
        path.unlink()
    else:
        path.write_bytes(raw)
    with pytest.raises(DataError, match=message):
        beam.load("", tmp_path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{**hub_row(3), "probing_questions": "{'knowledge_update': ["}], "conversation 3: probing_questions is not a"),
        ([{**hub_row(3), "probing_questions": None}], "conversation 3: probing_questions is not a Python literal"),
        ([{**hub_row(3), "probing_questions": "[]"}], "conversation 3 is not an object of categories"),
        ([{**hub_row(3), "conversation_id": "three"}], "conversation three is not a number"),
        ([{**hub_row(3), "chat": None}], "conversation 3 is not a list of batches"),
        ([hub_row(3), hub_row(2), hub_row(3)], "conversation 3 is there twice"),
        ([hub_row(1)], "holds none of the questions after the first 10"),
        ([{"text": "something else"}], "conversation None is not a number"),
    ],
)
def test_broken_row_names_file_and_conversation(tmp_path: Path, rows: list[dict[str, Any]], message: str) -> None:
    write_parquet(tmp_path / "100K.parquet", rows)
    with pytest.raises(DataError) as caught:
        beam.load("", tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_broken_parquet(tmp_path: Path) -> None:
    (tmp_path / "100K.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"100K\.parquet is not readable parquet"):
        beam.load("", tmp_path)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    (tmp_path / "100K" / "notes").mkdir(parents=True)
    with pytest.raises(DataError, match=r"holds no file of BEAM: put the folders 100K/N of .* or beam/ in it"):
        beam.load("", tmp_path)
    with pytest.raises(DataError, match="there is no variant 'trunecated': did you mean 'truncated'"):
        beam.load("trunecated", tmp_path)
    for folder in (tmp_path, None):
        with pytest.raises(DataError, match="beam:truncated pass --data-dir and put"):
            beam.load("truncated", folder)


@pytest.mark.parametrize("error", [ConnectionError("no\nroute"), datasets.exceptions.DatasetNotFoundError("gone")])
def test_hub_out_of_reach(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def load_dataset(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(DataError, match=r"pass --data-dir and put the folders 100K/N") as caught:
        beam.load("", None)
    assert "\n" not in str(caught.value)


def long_chat() -> list[dict[str, Any]]:
    messages = [{"role": "user", "id": number, "content": f"{number} " + "x" * 1000} for number in range(300)]
    return [{"batch_number": 1, "time_anchor": None, "turns": [messages]}]


@pytest.mark.parametrize("layout", ["folders", "parquet"])
def test_one_conversation_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str) -> None:
    if layout == "folders":
        for number in range(1, 21):
            write(tmp_path, number, long_chat())
    else:
        write_parquet(tmp_path / "100K.parquet", [hub_row(number, long_chat()) for number in range(1, 21)])
    suite = beam.load("", tmp_path)
    others: list[int] = []
    read = beam._observations

    def counted(chat: beam.Chat) -> tuple[Observation, ...]:
        others.append(sum(isinstance(thing, History) for thing in gc.get_objects()))
        return read(chat)

    monkeypatch.setattr(beam, "_observations", counted)
    before = sum(isinstance(thing, History) for thing in gc.get_objects())
    assert sum(1 for _ in drained(suite.tasks())) == 150
    assert others == [before] * 19, "conversation 1 is not read, and each other one when no history is alive"


def drained(source: Iterator[Task]) -> Iterator[str]:
    """Ids of the tasks; no task is held while the next is made."""
    while task := next(source, None):
        name = task.query.id
        del task
        yield name


def test_memory_does_not_grow_with_the_number_of_conversations(tmp_path: Path) -> None:
    peaks = []
    for count in (2, 20):
        for number in range(1, count + 1):
            write(tmp_path / str(count), number, long_chat())
        tracemalloc.start()
        assert sum(1 for _ in drained(beam.load("", tmp_path / str(count)).tasks())) == 8 * count - 10
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2 * peaks[0], "a chat here takes about 0.3 MB, so 20 at once would be 6 MB more"
