"""MAB-FC: fact consolidation, the split Conflict_Resolution of MemoryAgentBench (arXiv 2507.05257, MIT).

One row is one list of numbered facts, of which later ones contradict earlier ones, and 100 questions over it:

    {"context": "Here is a list of facts:\n0. Orla is in Metz.\n1. ...", "questions": ["Where is Orla?", ...],
     "answers": [["Metz"], ...], "metadata": {"source": "factconsolidation_mh_6k", "qa_pair_ids": [...], ...}}
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from numbers import Number
from pathlib import Path
from typing import Any

from rdforget.records import Gold, History, Observation, Query, Task
from rdforget.scoring.rule import normalise
from rdforget.suites.base import DataError, Source, Suite, file_sha256, find_file
from rdforget.suites.hub import hub
from rdforget.suites.registry import SUITES
from rdforget.suites.rows import read_list
from rdforget.text import one_line

SPEC = SUITES["mab-fc"]
DEFAULT = "mh_6k"
HUB = "ai-hyz/MemoryAgentBench"
SPLIT = "Conflict_Resolution"
REVISION = "7ea066982b140a19337e17e60d45d4076e042faf"
NOTE = (
    "The facts are numbered in the order in which they became known. "
    "Where two facts contradict each other, the one with the larger number is later, and it holds."
)

_PREFIX = "factconsolidation_"
_FACT = re.compile(r"\s*(\d{1,18})\.")
_LINE_END = re.compile(r"\r\n|\r|\n")  # str.splitlines would also cut facts at U+2028 and the like
_FIX = f"put {SPEC.files[0]} or {SPEC.files[3]} of the data set {HUB} into that folder or {SPEC.folder}/ in it"


def load(variant: str, data_dir: Path | None) -> Suite:
    """The row `factconsolidation_<variant>`; `mh_6k`, the paper's, when `variant` is empty.

    Reads the first of `SPEC.files` in `data_dir/mab` or `data_dir`, or the hub when no folder is given.
    DataError names the file, the row and the question of whatever is missing or broken.
    """
    variant = variant or DEFAULT
    path = find_file(data_dir, SPEC.folder, *SPEC.files) if data_dir else None
    if data_dir and not path:
        raise DataError(f"{data_dir} holds no file of MAB-FC: {_FIX}")
    where = str(path) if path else f"{HUB}@{REVISION[:7]}"
    rows = _file_rows(path) if path else _hub_rows()
    index, row = _select(rows, _PREFIX + variant, where)
    tasks = _tasks(row, variant, f"{where}, row {index} ({_PREFIX}{variant})")
    source = Source(path.name, file_sha256(path)) if path else Source(where, _digest(json.dumps(row, sort_keys=True)))
    notes = (f"{where} has {len(tasks)} of the {SPEC.expected} questions of {variant}.",)
    return Suite(
        name=_suite_name(variant),
        tasks=lambda: iter(tasks),
        sources=(source,),
        expected=SPEC.expected,
        notes=() if len(tasks) == SPEC.expected else notes,
    )


def _suite_name(variant: str) -> str:
    return "mab-fc" if variant == DEFAULT else f"mab-fc:{variant}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _hub_rows() -> list[Any]:
    with hub(HUB, _FIX):
        import datasets

        return list(datasets.load_dataset(HUB, split=SPLIT, revision=REVISION))


def _file_rows(path: Path) -> list[Any]:
    if path.suffix == ".parquet":
        import pandas

        try:
            return list(pandas.read_parquet(path).to_dict("records"))
        except (OSError, ValueError) as error:
            raise DataError(f"{path} is not readable parquet ({one_line(str(error))}): fetch it anew") from error
    return read_list(path)


def _plain(value: Any) -> Any:
    """Lists and dicts only: parquet hands out nested numpy arrays."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _select(rows: Sequence[Any], source: str, where: str) -> tuple[int, dict[str, Any]]:
    """Index and content of the one row whose `metadata.source` is `source`."""
    sources: list[str] = []
    found: list[int] = []
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise DataError(f"{where}, row {index} is not an object: fetch the file anew")
        metadata = row.get("metadata")
        name = metadata.get("source") if isinstance(metadata, Mapping) else None
        sources.append(str(name))
        if name == source:
            found.append(index)
    if len(found) != 1:
        problem = f"has rows {found} named {source}" if found else f"has no row {source}"
        names = ", ".join(name.removeprefix(_PREFIX) for name in sources) or "no rows"
        raise DataError(f"{where} {problem}: it holds {names}")
    fields = ("context", "questions", "answers", "metadata")
    return found[0], {field: _plain(rows[found[0]].get(field)) for field in fields}


def _tasks(row: Mapping[str, Any], variant: str, where: str) -> tuple[Task, ...]:
    questions, answers = row["questions"], row["answers"]
    for name in ("questions", "answers"):
        if not isinstance(row[name], list):
            raise DataError(f"{where}: {name} is not a list")
    if len(questions) != len(answers):
        raise DataError(f"{where} has {len(questions)} questions but {len(answers)} answers")
    context = row["context"]
    if not isinstance(context, str):
        raise DataError(f"{where}: context is not a text")
    history = History(f"mab-fc:{variant}:{_digest(context)[:8]}", _facts(context, where), NOTE)
    ids = _ids(row["metadata"].get("qa_pair_ids"), len(questions), variant)
    return tuple(
        Task(
            Query(id=item, suite=_suite_name(variant), text=_question(question, f"{where}, question {number}")),
            history,
            Gold(answers=_golds(answer, f"{where}, question {number}")),
        )
        for number, (item, question, answer) in enumerate(zip(ids, questions, answers, strict=True))
    )


def _facts(context: str, where: str) -> tuple[Observation, ...]:
    """One observation a numbered line; what stands before the first one is a heading."""
    lines: dict[str, str] = {}
    ref = ""
    for line in _LINE_END.split(context.removeprefix("\ufeff")):
        if match := _FACT.match(line):
            ref = f"#{int(match[1])}"
            if ref in lines:
                raise DataError(f"{where} has two facts with the number {ref[1:]}: fetch the file anew")
            lines[ref] = line
        elif ref and line.strip():
            lines[ref] += f" {line}"  # the rest of a fact that was broken over two lines
    if not lines:
        raise DataError(f"{where}: context holds no numbered fact")
    return tuple(Observation(ref, line) for ref, line in lines.items())


def _ids(names: Any, count: int, variant: str) -> list[str]:
    """The data's own question ids where they can tell the questions apart, else position in the row."""
    if isinstance(names, list) and len(names) == len(set(map(str, names))) == count and all(names):
        return [str(name) for name in names]
    return [f"mab-fc:{variant}:{number:04d}" for number in range(count)]


def _question(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{where} has no text")
    return value


def _golds(value: Any, where: str) -> tuple[str, ...]:
    golds = value if isinstance(value, list) else [value]
    if not all(isinstance(gold, str | Number) and not isinstance(gold, bool) for gold in golds):
        raise DataError(f"{where} has an answer that is neither a text nor a number")
    texts = tuple(str(gold) for gold in golds)
    if not any(normalise(text) for text in texts):
        raise DataError(f"{where} has no answer text")
    return texts
