"""PersonaMem-v1, its 32k file (arXiv 2504.14225; MIT): questions with four options over a persona's sessions.

    questions_32k.csv          one row a question, all cells texts: question_id, question_type,
                               user_question_or_message, correct_answer "(c)", all_options "['(a) ...', ...]",
                               shared_context_id, end_index_in_shared_context, context_length_in_letters, ...
    shared_contexts_32k.jsonl  {"<shared_context_id>": [{"role": "system", "content": "Current user persona: ..."},
                               {"role": "user", "content": "User: ..."}, ...]}, one context a line

A question sees the messages before its end index, which never reaches the end of the context.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from rdforget.records import Gold, History, Observation, Query, Task
from rdforget.suites.base import DataError, Source, Suite, file_sha256, find_parts, read_text
from rdforget.suites.hub import hub

NAME = "personamem"
EXPECTED = 579
QUESTIONS = "questions_32k.csv"
CONTEXTS = "shared_contexts_32k.jsonl"
HUB = "bowen-upenn/PersonaMem-v1"
REVISION = "73dfd752d477d0c466cd441f1669397f5726d7ab"

_DEVELOPMENT = 10  # the first rows of the file, which the paper leaves out
_LETTERS = "abcd"
_FIX = f"put {QUESTIONS} and {CONTEXTS} of the data set {HUB} into that folder or {NAME}/ in it"


class Row(NamedTuple):
    """A question as the CSV has it, and how to name it in an error."""

    cells: Mapping[str, Any]
    where: str

    def cell(self, column: str) -> str:
        """DataError where the cell is missing or blank."""
        value = self.cells.get(column)
        if not isinstance(value, str) or not value.strip():
            raise DataError(f"{self.where} has no {column}: fetch the file anew")
        return value

    def number(self, column: str) -> int:
        try:
            return int(self.cell(column))
        except ValueError as error:
            raise DataError(f"{self.where}: {column} is {self.cell(column)!r}, not a whole number") from error


class Context(NamedTuple):
    """The messages that several questions share."""

    id: str
    observations: tuple[Observation | None, ...]
    """By position in the data; None where the message says nothing."""
    letters: tuple[int, ...]
    """Length of the first n messages as the data has them, in characters, for n from 0."""


def load(variant: str, data_dir: Path | None) -> Suite:
    """The questions in file order without the first ten rows of the official file. There is no variant.

    Reads both files, or their parts in order, from `data_dir/personamem` or `data_dir`, or from the hub when no
    folder is given. DataError names the file and the row of whatever is missing or broken.
    """
    if variant:
        raise DataError(f"{NAME} has no variants: ask for {NAME} alone, not for {variant!r}")
    if data_dir:
        question_files, context_files = (find_parts(data_dir, NAME, name) for name in (QUESTIONS, CONTEXTS))
    else:
        question_files, context_files = (_from_hub(QUESTIONS),), (_from_hub(CONTEXTS),)
    if not question_files or not context_files:
        missing = CONTEXTS if question_files else QUESTIONS
        raise DataError(f"{data_dir} holds no {missing} of PersonaMem: {_FIX}")

    contexts = _contexts(context_files)
    in_parts = _tag(context_files[0], CONTEXTS) != ""
    tasks = _tasks([row for path in question_files for row in _rows(path)], contexts, in_parts)
    beginning = _is_beginning(_tag(question_files[0], QUESTIONS))
    asked = tasks[_DEVELOPMENT:] if beginning else tasks
    kept = tuple(task for task in asked if task)
    if not kept:
        raise DataError(f"{question_files[0]} leaves no question whose context is here: {_FIX}")
    return Suite(
        name=NAME,
        tasks=lambda: iter(kept),
        sources=tuple(Source(path.name, file_sha256(path)) for path in (*question_files, *context_files)),
        size=len(kept),
        expected=EXPECTED,
        notes=tuple(_notes(len(kept), beginning, question_files[0], asked.count(None))),
    )


def _notes(count: int, beginning: bool, first: Path, without_context: int) -> Iterator[str]:
    if count != EXPECTED:
        yield f"{count} of the {EXPECTED} questions are here."
    if not beginning:
        yield f"{first.name} is not the beginning of {QUESTIONS}, so the first ten are not here and none is left out."
    if without_context:
        yield f"{without_context} questions are left out, because no part of {CONTEXTS} here holds their context."


def _from_hub(name: str) -> Path:
    with hub(HUB, _FIX):
        import huggingface_hub

        return Path(huggingface_hub.hf_hub_download(HUB, name, repo_type="dataset", revision=REVISION))


def _tag(path: Path, official: str) -> str:
    """What the name has before the extension that the official one has not: `part1`; empty for the whole file."""
    stem, _, extension = official.rpartition(".")
    return path.name.removesuffix(".gz").removeprefix(stem).removesuffix(extension).strip(".")


def _is_beginning(tag: str) -> bool:
    """Whether the part of that tag begins the file: the whole file, part 0 or 1, or a part without a number."""
    number = re.search(r"\d+", tag)
    return not number or int(number[0]) <= 1


def _rows(path: Path) -> Iterator[Row]:
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        for index, cells in enumerate(reader):
            where = f"{path}, row {index} (question {cells.get('question_id')})"
            if None in cells:
                raise DataError(f"{where} has more cells than there are columns: fetch the file anew")
            yield Row(cells, where)
    except csv.Error as error:
        raise DataError(f"{path} is not CSV at line {reader.line_num} ({error}): fetch it anew") from error


def _contexts(paths: tuple[Path, ...]) -> dict[str, Context]:
    contexts: dict[str, Context] = {}
    for path in paths:
        for number, line in enumerate(read_text(path).split("\n"), 1):  # texts may hold what str.splitlines cuts at
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            try:
                content = json.loads(line)
            except json.JSONDecodeError as error:
                raise DataError(f"{where} is not JSON at column {error.colno} ({error.msg}): fetch it anew") from error
            if not isinstance(content, dict):
                raise DataError(f"{where} is not an object of contexts: fetch the file anew")
            for name, messages in content.items():
                if name in contexts:
                    raise DataError(f"{where} has context {name[:12]} a second time: fetch the file anew")
                contexts[name] = _context(name, messages, f"{where}, context {name[:12]}")
    return contexts


def _context(name: str, messages: Any, where: str) -> Context:
    if not isinstance(messages, list):
        raise DataError(f"{where} is not a list of messages: fetch the file anew")
    observations: list[Observation | None] = []
    lengths: list[int] = []
    session = 0
    for position, message in enumerate(messages):
        role, text = (message.get(key) if isinstance(message, dict) else None for key in ("role", "content"))
        if role not in ("system", "user", "assistant") or not isinstance(text, str):
            raise DataError(f"{where}, message {position} has no role with a text: fetch the file anew")
        session += role == "system"
        lengths.append(len(text))
        text = text.removeprefix(f"{role.capitalize()}: ")  # the speaker of the line says it already
        seen = Observation(f"t{position}", text, f"Session {session}", speaker=role)
        observations.append(seen if text.strip() else None)
    return Context(name, tuple(observations), tuple(accumulate(lengths, initial=0)))


def _tasks(rows: list[Row], contexts: Mapping[str, Context], in_parts: bool) -> list[Task | None]:
    """A task a row; None where the row's context may be in another part. Equal histories are one object."""
    histories: dict[str, History] = {}
    ids: set[str] = set()
    tasks: list[Task | None] = []
    for row in rows:
        query, gold = _query(row), _gold(row)
        if query.id in ids:
            raise DataError(f"{row.where} has the id of an earlier row: fetch the file anew")
        ids.add(query.id)
        context = contexts.get(name := row.cell("shared_context_id"))
        if not context and not in_parts:
            raise DataError(f"{row.where}: {CONTEXTS} has no context {name[:12]}: fetch both files of one revision")
        history = _history(row, context) if context else None
        tasks.append(Task(query, histories.setdefault(history.id, history), gold) if history else None)
    return tasks


def _history(row: Row, context: Context) -> History:
    """What the question sees; DataError unless it is as long as the row says it is."""
    end, letters = row.number("end_index_in_shared_context"), row.number("context_length_in_letters")
    last = len(context.observations)
    if not 1 <= end <= last:
        raise DataError(f"{row.where}: end_index_in_shared_context is {end}, not a number from 1 to {last}")
    if letters != context.letters[end]:
        raise DataError(
            f"{row.where}: the first {end} messages of context {context.id[:12]} have {context.letters[end]} "
            f"characters, but context_length_in_letters is {letters}: fetch both files of one revision"
        )
    return History(f"{NAME}:{context.id[:12]}:{end}", tuple(seen for seen in context.observations[:end] if seen))


def _query(row: Row) -> Query:
    return Query(
        id=f"{NAME}:{row.cell('question_id')}",
        suite=NAME,
        text=row.cell("user_question_or_message"),
        task_type=row.cell("question_type"),
        options=_options(row),
    )


def _options(row: Row) -> tuple[str, ...]:
    try:
        options = ast.literal_eval(row.cell("all_options"))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise DataError(f"{row.where}: all_options is not a Python literal: fetch the file anew") from error
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        options = []
    if [option[:4] for option in options] != [f"({letter}) " for letter in _LETTERS]:
        raise DataError(f"{row.where}: all_options is not a list of four texts that begin (a) to (d)")
    return tuple(options)


def _gold(row: Row) -> Gold:
    letter = row.cell("correct_answer").strip("() ").lower()
    if letter not in tuple(_LETTERS):
        raise DataError(f"{row.where}: correct_answer is {row.cell('correct_answer')!r}, not one of (a) to (d)")
    return Gold(option=letter)
