"""AMB-Text: the real file and its 86 questions, the rule case by case, and an error for each broken part."""

from __future__ import annotations

import copy
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.calls.render import source_lines
from rdforget.records import Task
from rdforget.suites import amb_text
from rdforget.suites.base import DataError, Suite

FEW = "is not the official file: the rule keeps 1 questions, not the paper's 86."


def turn(ref: str, text: str = "Hello.", **rest: Any) -> dict[str, Any]:
    return {"speaker": "Ines", "dia_id": ref, "text": text, **rest}


def qa(**changes: Any) -> dict[str, Any]:
    row = {"question": "Where is Ines?", "answer": "Metz", "category": 4, "evidence": ["D1:1"]}
    return {**row, "where": 1, "where_ground_truth": [1], **changes}


CONVERSATION: dict[str, Any] = {
    "speaker_a": "Ines",
    "speaker_b": "Orla",
    "session_10": [turn("D10:1", "I moved to Évry.")],
    "session_10_date_time": "12:09 am on 13 September, 2023",
    "session_2": [turn("D2:1", "Look!", blip_caption="a red boat"), turn("D2:2", " ", blip_caption="a cat")],
    "session_2_date_time": "12:30 pm on 1 June, 2023",
    "session_1": [turn("D1:1", "I live in Metz."), turn("D1:2", "Nice.", speaker="Orla")],
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_11_date_time": "a session that is not there",
}


def data(*questions: dict[str, Any], **changes: Any) -> list[dict[str, Any]]:
    return [{"qa": list(questions), "conversation": {**copy.deepcopy(CONVERSATION), **changes}, "sample_id": "conv"}]


def write(folder: Path, rows: Any, name: str = "locomo0.json", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = json.dumps(rows, ensure_ascii=False, indent=1).replace("\n", "\r\n").encode(encoding)
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return folder


def load(folder: Path) -> Suite:
    return amb_text.load("", folder)


def tasks(folder: Path, *questions: dict[str, Any], **changes: Any) -> list[Task]:
    return list(load(write(folder, data(*questions, **changes))).tasks())


def test_real_data(data_dir: Path) -> None:
    suite = load(data_dir)
    loaded = list(suite.tasks())
    assert (suite.size, suite.expected, suite.notes) == (86, 86, ())
    assert suite.sources[0].sha256 == amb_text.OFFICIAL
    assert [task.query.id for task in loaded] == [f"amb-text:{index:04d}" for index in amb_text.KEPT]
    kinds = Counter(task.query.task_type for task in loaded)
    assert kinds == {"4 single-hop": 47, "2 temporal": 21, "1 multi-hop": 11, "3 open-domain": 7}
    assert len({id(task.history) for task in loaded}) == len({task.history.id for task in loaded}) == 19
    by_id = {task.query.id: task for task in loaded}
    assert by_id["amb-text:0072"].gold.answers == ("2022",)
    compound = by_id["amb-text:0037"]
    assert compound.gold.evidence == ("D8:6", "D9:17")
    assert compound.history.observations[-1].session == "Session 8"
    assert max(len(task.history.observations) for task in loaded) == 419
    assert not any(task.query.date for task in loaded)


def test_real_data_shows_no_caption_and_no_label(data_dir: Path) -> None:
    raw = json.loads((data_dir / "locomo" / "locomo0.json").read_text("utf-8"))[0]["conversation"]
    turns = [turn for number in range(1, 20) for turn in raw[f"session_{number}"]]
    captions = {turn["blip_caption"] for turn in turns if "blip_caption" in turn}
    said = "\n".join(turn["text"] for turn in turns)
    last = max((task.history for task in load(data_dir).tasks()), key=lambda history: len(history.observations))
    shown = "\n".join(source_lines(last.observations))
    assert shown.startswith("--- Session 1 | 1:56 pm on 8 May, 2023 ---\nCaroline: Hey Mel!")
    assert shown.count("--- Session ") == 19
    assert [o.text for o in last.observations] == [turn["text"] for turn in turns]
    assert not any(caption in shown for caption in captions if caption not in said)
    assert "where_ground_truth" not in shown


def test_the_official_conv_26_lacks_the_boundaries(data_dir: Path, tmp_path: Path) -> None:
    rows = json.loads((data_dir / "locomo" / "locomo10_conv-26.json").read_text("utf-8"))
    with pytest.raises(DataError, match=r"question 0 has no where_ground_truth: fetch the official file"):
        load(write(tmp_path, rows))


def test_other_questions_from_the_official_file_are_a_defect(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amb_text, "KEPT", amb_text.KEPT[1:])
    with pytest.raises(DataError, match="report this defect"):
        load(data_dir)


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("locomo0.json", "utf-8"),
        ("locomo/locomo0.json", "utf-8-sig"),
        ("locomo/locomo0.json.gz", "utf-8"),
    ],
)
def test_every_format_gives_the_same_tasks(tmp_path: Path, name: str, encoding: str) -> None:
    suite = load(write(tmp_path, data(qa(where_ground_truth=[10, 1])), name, encoding))
    [task] = suite.tasks()
    assert source_lines(task.history.observations) == [
        "--- Session 1 | 1:56 pm on 8 May, 2023 ---",
        "Ines: I live in Metz.",
        "Orla: Nice.",
        "--- Session 2 | 12:30 pm on 1 June, 2023 ---",
        "Ines: Look!",
        "--- Session 10 | 12:09 am on 13 September, 2023 ---",
        "Ines: I moved to Évry.",
    ]
    assert [o.ref for o in task.history.observations] == ["D1:1", "D1:2", "D2:1", "D10:1"]
    assert (task.query.text, task.query.suite, task.query.date) == ("Where is Ines?", "amb-text", None)
    assert suite.sources[0].name == Path(name).name
    assert suite.notes == (f"{Path(name).name} {FEW}",)
    assert list(suite.tasks()) == [task], "tasks() starts anew each time"


def test_questions_of_one_boundary_share_their_history(tmp_path: Path) -> None:
    first, second, third = tasks(tmp_path, qa(), qa(where_ground_truth=[10]), qa(category=2))
    assert first.history is third.history
    assert first.history.id == second.history.id.removesuffix("0")
    assert first.history.id.rpartition(":")[2] == "1"
    assert len(first.history.observations) == 2
    assert (third.query.id, third.query.task_type) == ("amb-text:0002", "2 temporal")


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({}, True),
        ({"category": 5}, False),
        ({"where_ground_truth": []}, False),
        ({"evidence": []}, True),
        ({"evidence": ["D2:1"]}, False),
        ({"evidence": ["D1:1", "D2:2"]}, False),
        ({"evidence": ["D2:1; D1:1"]}, True),
        ({"evidence": ["D2:1 "]}, True),
        ({"evidence": ["D", "D:11:26", "D30:05", "D9:99"]}, True),
    ],
)
def test_rule(tmp_path: Path, changes: dict[str, Any], kept: bool) -> None:
    assert len(tasks(tmp_path, qa(**changes))) == kept


def test_adversarial_questions_need_no_answer(tmp_path: Path) -> None:
    adversarial = {"question": "Why did Orla move?", "category": 5, "adversarial_answer": "work"}
    assert [task.query.id for task in tasks(tmp_path, adversarial, qa())] == ["amb-text:0001"]


@pytest.mark.parametrize(
    ("stored", "refs"),
    [
        (["D2:1; D1:1"], ("D2:1", "D1:1")),
        (["D1:1 D1:2 D10:1", "D1:2"], ("D1:1", "D1:2", "D10:1")),
        (["D", "D:11:26", "D1:01", "D9:99", ""], ()),
    ],
)
def test_evidence(tmp_path: Path, stored: list[str], refs: tuple[str, ...]) -> None:
    assert tasks(tmp_path, qa(evidence=stored))[0].gold.evidence == refs


@given(st.lists(st.sampled_from(["D1:1", "D1:2", "D2:1", "D10:1", "D9:9"])), st.sampled_from(["; ", ", ", " ", ";"]))
def test_joined_refs_name_what_single_ones_name(refs: list[str], mark: str) -> None:
    conversation = amb_text._conversation(CONVERSATION, "file")
    joined, single = ({"evidence": evidence} for evidence in ([mark.join(refs)], refs))
    assert amb_text._evidence(joined, conversation, "") == amb_text._evidence(single, conversation, "")


@pytest.mark.parametrize(
    ("answer", "gold"),
    [(2022, "2022"), (1.5, "1.5"), (" The sunday before\n25 May 2023", " The sunday before\n25 May 2023"), (0, "0")],
)
def test_golds_are_kept_byte_for_byte(tmp_path: Path, answer: Any, gold: str) -> None:
    assert tasks(tmp_path, qa(answer=answer))[0].gold.answers == (gold,)


def without(row: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != key}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (data(qa(), without(qa(), "answer")), "question 1 has no answer that is a text or a number"),
        (data(qa(answer=" ")), "question 0 has no answer"),
        (data(qa(answer=True)), "question 0 has no answer"),
        (data(qa(answer=["Metz"])), "question 0 has no answer"),
        (data(without(qa(), "where_ground_truth")), "question 0 has no where_ground_truth"),
        (data(without(qa(), "evidence")), "question 0 has no evidence"),
        (data(without(qa(), "category")), "question 0 has no category"),
        (data(qa(category=True)), "question 0: category is not a whole number"),
        (data(qa(category=6)), "question 0 has the category 6"),
        (data(qa(where_ground_truth=1)), "question 0: where_ground_truth is not a list"),
        (data(qa(where_ground_truth=["1"])), "where_ground_truth names '1', which is no session"),
        (data(qa(where_ground_truth=[11])), "where_ground_truth names 11, which is no session"),
        (data(qa(evidence=[1])), "question 0: evidence is not a list of texts"),
        (data(qa(question="\t")), "question 0 has no text"),
        (data(qa(question=None)), "question 0: question is not a text"),
        ([{"conversation": CONVERSATION, "qa": ["text"]}], "question 0 is not an object"),
        (data(session_2_date_time="June 2023"), "session_2 has the date 'June 2023', which cannot be read"),
        (data(session_3=[]), "locomo0.json has no session_3_date_time"),
        (data(session_2="text"), "locomo0.json: session_2 is not a list"),
        (data(session_2=[turn("D1:1")]), "session_2, turn 1 has the dia_id D1:1 of an earlier turn"),
        (data(session_2=[turn("D2:1"), {"dia_id": "D2:2"}]), "session_2, turn 2 has no speaker"),
        (data(session_2=[turn("D2:1", 7)]), "session_2, turn 1: text is not a text"),  # type: ignore[arg-type]
        ([{"qa": []}], "has no conversation"),
        ([], "is not a list that begins with a conversation"),
        ({"qa": []}, "is not a list of rows"),
    ],
)
def test_broken_data_names_its_place(tmp_path: Path, rows: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        load(write(tmp_path, rows))
    assert message in str(caught.value)
    assert "locomo0.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_truncated_file(tmp_path: Path) -> None:
    (tmp_path / "locomo0.json").write_text('[{"qa": [{"question": ', encoding="utf-8")
    with pytest.raises(DataError, match=r"locomo0\.json is not JSON at line 1, column 23"):
        load(tmp_path)


@pytest.mark.parametrize("names", [(), ("locomo0.a.json", "locomo0.b.json")])
def test_no_file_or_several_says_what_to_put_where(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        write(tmp_path, data(), name)
    with pytest.raises(DataError, match=f"holds {len(names) or 'no'} copies of .* put data/locomo/locomo0") as caught:
        load(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_needs_a_folder_and_has_no_variants(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"rdf data fetch amb-text.*--data-dir"):
        amb_text.load("", None)
    with pytest.raises(DataError, match="no variants, so no 'conv-30'"):
        amb_text.load("conv-30", tmp_path)
