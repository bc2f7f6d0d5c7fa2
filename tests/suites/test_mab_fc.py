"""MAB-FC: the real file, every format of it, odd facts, and an error for each broken part."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import datasets
import numpy
import pandas
import pytest

from rdforget.suites import mab_fc
from rdforget.suites.base import DataError

CONTEXT = "Here is a list of facts:\n0. Orla is in Metz.\n1. Ines is in Washington, D.C..\n2. Orla is in Évry.\n"
ROW: dict[str, Any] = {
    "context": CONTEXT,
    "questions": ["Where is Orla?", "Where is Ines?"],
    "answers": [["Évry"], ["Washington, D.C.", "Washington"]],
    "metadata": {"source": "factconsolidation_mh_6k", "qa_pair_ids": ["no0", "no1"]},
}


def row(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(ROW), **changes}


def write(folder: Path, *rows: Any, name: str = "Conflict_Resolution.json", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pandas.DataFrame(list(rows)).to_parquet(path)
    else:
        raw = json.dumps(list(rows), ensure_ascii=False).encode(encoding)
        path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return folder


def tasks(folder: Path | None, variant: str = "") -> list[Any]:
    return list(mab_fc.load(variant, folder).tasks())


@pytest.mark.parametrize("variant", ["mh_6k", "sh_6k"])
def test_real_data(data_dir: Path, variant: str) -> None:
    suite = mab_fc.load(variant, data_dir)
    loaded = list(suite.tasks())
    assert len(loaded) == suite.expected == 100
    assert suite.notes == ()
    assert {len(task.history.observations) for task in loaded} == {455}
    assert len({id(task.history) for task in loaded}) == 1
    assert len({task.query.id for task in loaded}) == 100
    observations = loaded[0].history.observations
    assert [o.ref for o in observations] == [f"#{n}" for n in range(455)]
    assert observations[5].text == "5. Pedro Pierluisi worked in the city of Washington, D.C.."
    if variant == "mh_6k":
        assert loaded[0].gold.answers == ("Belgium",)
        assert loaded[0].query.id == "factconsolidation_mh_6k_no0"


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("Conflict_Resolution.json", "utf-8"),
        ("Conflict_Resolution.json", "utf-8-sig"),
        ("mab/Conflict_Resolution.json.gz", "utf-8"),
        ("mab/Conflict_Resolution.parquet", ""),
        ("Conflict_Resolution-00000-of-00001.parquet", ""),
        ("mab/data/Conflict_Resolution-00000-of-00001.parquet", ""),
    ],
)
def test_every_format_gives_the_same_tasks(tmp_path: Path, name: str, encoding: str) -> None:
    other = row(metadata={"source": "factconsolidation_sh_6k", "qa_pair_ids": None})
    write(tmp_path, other, row(), name=name, encoding=encoding)
    suite = mab_fc.load("", tmp_path)
    first, second = suite.tasks()
    assert [(o.ref, o.text) for o in first.history.observations] == [
        ("#0", "0. Orla is in Metz."),
        ("#1", "1. Ines is in Washington, D.C.."),
        ("#2", "2. Orla is in Évry."),
    ]
    assert (first.query.id, first.query.suite, first.query.text) == ("no0", "mab-fc", "Where is Orla?")
    assert first.history.id == "mab-fc:mh_6k:" + mab_fc._digest(CONTEXT)[:8]
    assert first.gold.answers == ("Évry",)
    assert second.gold.answers == ("Washington, D.C.", "Washington")
    assert suite.sources[0].name == Path(name).name
    assert "2 of the 100 questions" in suite.notes[0]
    assert [task.query.id for task in suite.tasks()] == ["no0", "no1"], "tasks() starts anew each time"


@pytest.mark.parametrize(
    ("context", "lines"),
    [
        ("0. A is B.\r\n\r\n1. C is D.\r\n", ["0. A is B.", "1. C is D."]),
        ("\ufeff0. A is B.", ["0. A is B."]),
        ("Facts:\n\n7. A is\u2028B.", ["7. A is\u2028B."]),
        ("0. A is\nB.\n1. 12. is a number.", ["0. A is B.", "1. 12. is a number."]),
        ("0. 猫 is é.", ["0. 猫 is é."]),
    ],
)
def test_fact_lines(tmp_path: Path, context: str, lines: list[str]) -> None:
    history = tasks(write(tmp_path, row(context=context)))[0].history
    assert [o.text for o in history.observations] == lines
    assert [o.ref for o in history.observations] == ["#" + line.split(".")[0] for line in lines]


@pytest.mark.parametrize(
    ("answer", "golds"),
    [("Metz", ("Metz",)), (2022, ("2022",)), (["Metz", 7], ("Metz", "7")), (["", "Metz"], ("", "Metz"))],
)
def test_golds(tmp_path: Path, answer: Any, golds: tuple[str, ...]) -> None:
    assert tasks(write(tmp_path, row(answers=[answer, ["x"]])))[0].gold.answers == golds


@pytest.mark.parametrize("ids", [None, [], ["only one"], ["same", "same"], ["a", None]])
def test_ids_by_position_where_the_data_has_no_usable_ones(tmp_path: Path, ids: Any) -> None:
    metadata = {"source": "factconsolidation_sh_32k", "qa_pair_ids": ids, "demo": ""}
    loaded = tasks(write(tmp_path, row(metadata=metadata)), "sh_32k")
    assert [task.query.id for task in loaded] == ["mab-fc:sh_32k:0000", "mab-fc:sh_32k:0001"]
    assert loaded[0].query.suite == "mab-fc:sh_32k"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([row(answers=[["x"]])], "row 0 (factconsolidation_mh_6k) has 2 questions but 1 answers"),
        ([row(questions=["Where?", " "])], "row 0 (factconsolidation_mh_6k), question 1 has no text"),
        ([row(questions=["Where?", None])], "question 1 has no text"),
        ([row(answers=[["x"], []])], "row 0 (factconsolidation_mh_6k), question 1 has no answer text"),
        ([row(answers=[["x"], ["...", ""]])], "question 1 has no answer text"),
        ([row(answers=[None, ["x"]])], "question 0 has an answer that is neither a text nor a number"),
        ([row(answers=None)], "answers is not a list"),
        ([row(context=None)], "context is not a text"),
        ([row(context="no facts")], "context holds no numbered fact"),
        ([row(context="1. A.\n01. B.")], "two facts with the number 1"),
        ([row(metadata={"source": "factconsolidation_sh_6k"}), row(metadata=None)], "holds sh_6k, None"),
        ([row(), row()], "has rows [0, 1] named factconsolidation_mh_6k"),
        ([], "no row factconsolidation_mh_6k: it holds no rows"),
        ([row(), "text"], "row 1 is not an object"),
    ],
)
def test_broken_data_names_file_and_row(tmp_path: Path, rows: list[Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        tasks(write(tmp_path, *rows))
    assert message in str(caught.value)
    assert "Conflict_Resolution.json" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        ("Conflict_Resolution.json", b'[{"context": ,', "not JSON at line 1, column 14"),
        ("Conflict_Resolution.json", b'{"context": ""}', "not a list of rows"),
        ("Conflict_Resolution.json", b"\xff\xfe[", "cannot be read"),
        ("Conflict_Resolution.json.gz", b"[]", "cannot be read"),
        ("Conflict_Resolution.parquet", b"[]", "not readable parquet"),
    ],
)
def test_broken_file(tmp_path: Path, name: str, raw: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(DataError, match=message) as caught:
        mab_fc.load("", tmp_path)
    assert name in str(caught.value)


def test_missing_file_says_what_to_put_where(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"put Conflict_Resolution\.json or .*parquet .* mab/ in it"):
        mab_fc.load("", tmp_path / "absent")


def test_hub_rows_at_the_pinned_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def load_dataset(name: str, **options: Any) -> list[dict[str, Any]]:
        asked.update(options, name=name)
        return [row(answers=numpy.array([numpy.array(["Évry"]), numpy.array(["Washington"])]))]

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    suite = mab_fc.load("mh_6k", None)
    assert [task.gold.answers for task in suite.tasks()] == [("Évry",), ("Washington",)]
    assert asked["name"] == "ai-hyz/MemoryAgentBench"
    assert (asked["split"], len(asked["revision"])) == ("Conflict_Resolution", 40)
    assert len(suite.sources[0].sha256) == 64


@pytest.mark.parametrize("error", [ConnectionError("no\nroute"), datasets.exceptions.DatasetNotFoundError("gone")])
def test_hub_out_of_reach(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def load_dataset(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(DataError, match=r"pass --data-dir and put Conflict_Resolution\.json") as caught:
        mab_fc.load("", None)
    assert "\n" not in str(caught.value)
