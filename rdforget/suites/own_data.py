"""Own data: a folder of questions and histories as JSON lines; `own_schema` has their keys.

mine/tasks.jsonl      {"id": "q1", "history": "h1", "question": "Where does Ines live?", "answers": ["Metz"]}
mine/histories.jsonl  {"history": "h1", "text": "I live in Lyon.", "speaker": "Ines", "when": "2024-03-15"}
mine/suite.yaml       note: A later line replaces an earlier one.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from rdforget.dates import parse_date
from rdforget.plugins import nearest
from rdforget.records import Gold, History, Observation, Protocol, Query, Task
from rdforget.scoring.metrics import SCORERS, applying
from rdforget.suites.base import DataError, Source, Suite, file_sha256
from rdforget.suites.jsonl import Line, read_lines, refuse
from rdforget.suites.keys import LETTERS, complaints
from rdforget.suites.own_schema import ABOUT, FOLDER, HISTORIES, LINE_KEYS, TASK_KEYS, TASKS, gold_complaints

_ABOUT_KEYS = ("title", "note", "metrics", "protocol")
_FEW = 500


@dataclass(frozen=True, slots=True)
class About:
    """What `suite.yaml` says."""

    title: str = ""
    note: str = ""
    metrics: tuple[str, ...] = ()
    protocol: Protocol = field(default_factory=Protocol)


@dataclass(frozen=True, slots=True)
class OwnData:
    """A folder as it was read, with all that is wrong with it."""

    name: str
    tasks: tuple[Task, ...]
    histories: Mapping[str, History]
    about: About
    sources: tuple[Source, ...]
    problems: tuple[str, ...]
    """A sentence each, with file and line."""

    @property
    def idle(self) -> int:
        """Histories that no question is about."""
        return len(self.histories.keys() - {task.history.id for task in self.tasks})


def name_of(folder: Path) -> str:
    """The suite's name: that of the folder, wherever it is."""
    return folder.resolve().name.replace(":", "-") or "root"


def load(folder: Path) -> Suite:
    """The suite of a folder; DataError names the first thing that is wrong with it."""
    data = read(folder)
    refuse(data.problems, f": `rdf data check {folder}` lists them")
    notes = [f"Histories without a question: {data.idle} of {len(data.histories)}."] if data.idle else []
    return Suite(
        name=data.name,
        tasks=lambda: iter(data.tasks),
        sources=data.sources,
        size=len(data.tasks),
        notes=tuple(notes),
        metrics=data.about.metrics,
        protocol=data.about.protocol,
    )


def read(folder: Path) -> OwnData:
    """Everything in a folder, good or bad. DataError where it is no folder of own data at all."""
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}: own data is a folder with {TASKS} (see `rdf data schema`)")
    if not (folder / TASKS).is_file():
        raise DataError(f"{folder} holds no {TASKS}, so it is no own data: see `rdf data schema`")
    name = name_of(folder)
    about, problems = _about(folder)
    lines, unread = _history_lines(folder)
    histories, wrong = _histories(lines, about.note)
    tasks, untold = _tasks(folder, name, histories)
    problems += unread + wrong + untold
    if not about.metrics:
        about = About(about.title, about.note, applying([task.gold for task in tasks]), about.protocol)
    return OwnData(name, tuple(tasks), histories, about, tuple(_sources(folder, about.note)), tuple(problems))


def _history_lines(folder: Path) -> tuple[list[Line], list[str]]:
    """The lines of all histories, each with the key `history`."""
    whole, parts = folder / HISTORIES, folder / FOLDER
    if whole.is_file() and parts.is_dir():
        return [], [f"{folder} has both {HISTORIES} and {FOLDER}/: keep one of them"]
    if whole.is_file():
        return read_lines(whole, HISTORIES)
    files = [path for path in sorted(parts.glob("*")) if not path.name.startswith(".")] if parts.is_dir() else []
    if not files:
        return [], [f"{folder} has no history: give {HISTORIES}, or {FOLDER}/<id>.jsonl for each"]
    lines, problems = [], []
    for path in files:
        name = f"{FOLDER}/{path.name}"
        if path.suffix != ".jsonl":
            problems.append(f"{name} is no .jsonl file: rename it, or take it out of {FOLDER}/")
            continue
        found, unread = read_lines(path, name)
        problems += unread
        for line in found:
            if "history" in line.row:
                problems.append(f"{line.where} has a key history: the file's name says it")
            lines.append(Line(line.where, {**line.row, "history": path.stem}))
    return lines, problems


def _histories(lines: list[Line], note: str) -> tuple[dict[str, History], list[str]]:
    """The histories by id, with the lines that are as they should be."""
    by_id: defaultdict[str, dict[str, tuple[str, Observation]]] = defaultdict(dict)
    counts: defaultdict[str, int] = defaultdict(int)
    latest: dict[str, Line] = {}
    problems = []
    for line in lines:
        found = list(complaints(line, LINE_KEYS))
        problems += found
        if found:
            continue
        row, history = line.row, str(line.row["history"])
        counts[history] += 1
        ref = row.get("ref", f"#{counts[history]}")
        if ref in by_id[history]:
            problems.append(f"{line.where}: ref {ref!r} is that of {by_id[history][ref][0]} too: give each its own")
            continue
        before = latest.get(history)
        if before and "when" in row and _moment(row) < _moment(before.row):
            problems.append(
                f"{line.where} is of {row['when']}, before {before.where} of {before.row['when']}: "
                "put the lines of a history in the order of their dates"
            )
        if "when" in row:
            latest[history] = line
        seen = Observation(ref, row["text"], row.get("session", ""), row.get("when"), row.get("speaker"))
        by_id[history][ref] = line.where, seen
    histories = {
        history: History(history, tuple(seen for _, seen in seen_by_ref.values()), note)
        for history, seen_by_ref in by_id.items()
    }
    return histories, problems


def _moment(row: Mapping[str, Any]) -> Any:
    return parse_date(row["when"])


def _tasks(folder: Path, name: str, histories: Mapping[str, History]) -> tuple[list[Task], list[str]]:
    lines, problems = read_lines(folder / TASKS, TASKS)
    tasks: list[Task] = []
    places: dict[str, str] = {}
    refs = {id: {seen.ref for seen in history.observations} for id, history in histories.items()}
    for line in lines:
        found = list(complaints(line, TASK_KEYS))
        if not found:
            found = [*gold_complaints(line), *_dangling(line, refs)]
            if place := places.get(line.row["id"]):
                found.append(f"{line.where}: id {line.row['id']!r} is that of {place} too: give each its own")
            places.setdefault(line.row["id"], line.where)
        problems += found
        if not found:
            tasks.append(_task(line.row, name, histories[line.row["history"]]))
    return tasks, problems


def _dangling(line: Line, refs: Mapping[str, set[str]]) -> Iterator[str]:
    """Names in a question of what is not there."""
    history = line.row["history"]
    if history not in refs:
        yield f"{line.where}: {_nearest('history', history, refs)}"
        return
    for ref in line.row.get("evidence", ()):
        if ref not in refs[history]:
            yield f"{line.where}: {_nearest(f'line in history {history}', ref, refs[history])}"


def _nearest(kind: str, name: str, names: Collection[str]) -> str:
    """As `nearest`, unless there are so many names that looking for it would take long."""
    return nearest(kind, name, sorted(names)) if 0 < len(names) <= _FEW else f"there is no {kind} {name!r}"


def _task(row: Mapping[str, Any], suite: str, history: History) -> Task:
    options = tuple(
        text if text.startswith(f"({letter})") else f"({letter}) {text}"
        for letter, text in zip(LETTERS, row.get("options", ()), strict=False)
    )
    query = Query(row["id"], suite, row["question"], row.get("type", ""), row.get("date"), options)
    gold = Gold(
        answers=tuple(row.get("answers", ())),
        evidence=tuple(row.get("evidence", ())),
        rubric=tuple(row.get("rubric", ())),
        option=row.get("option"),
        abstention=row.get("abstention", False),
    )
    return Task(query, history, gold)


def _about(folder: Path) -> tuple[About, list[str]]:
    path = folder / ABOUT
    if not path.is_file():
        return About(), []
    try:
        raw = yaml.safe_load(path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValueError, RecursionError) as error:
        return About(), [f"{ABOUT} cannot be read: {' '.join(str(error).split())}"]
    if not isinstance(raw, dict):
        return About(), [f"{ABOUT} is no mapping of keys to values: write `note: ...`"]
    problems = [f"{ABOUT}: {nearest('key', str(key), _ABOUT_KEYS)}" for key in raw if key not in _ABOUT_KEYS]
    texts = {key: raw.get(key) or "" for key in ("title", "note")}
    problems += [f"{ABOUT}: {key} is no text" for key, text in texts.items() if not isinstance(text, str)]
    metrics, protocol = raw.get("metrics") or [], raw.get("protocol") or {}
    if not isinstance(metrics, list) or len({*map(str, metrics)}) < len(metrics):
        metrics, problems = [], [*problems, f"{ABOUT}: metrics is no list of different names: write [rule, judge]"]
    known = SCORERS.names()
    problems += [f"{ABOUT}: {nearest('metric', str(name), known)}" for name in metrics if name not in known]
    settings, wrong = _protocol(protocol)
    if problems or wrong:
        return About(), problems + wrong
    return About(texts["title"], texts["note"].strip(), tuple(metrics), settings), []


def _protocol(raw: Any) -> tuple[Protocol, list[str]]:
    if not isinstance(raw, dict):
        return Protocol(), [f"{ABOUT}: protocol is no mapping of keys to values"]
    keys = [item.name for item in fields(Protocol)]
    if unknown := [str(key) for key in raw if key not in keys]:
        return Protocol(), [f"{ABOUT}: {nearest('key of protocol', key, keys)}" for key in unknown]
    if low := [key for key, value in raw.items() if isinstance(value, int) and value < 1]:
        return Protocol(), [f"{ABOUT}: {key} is {raw[key]}, and at least 1 is needed" for key in low]
    try:
        return TypeAdapter(Protocol).validate_python(raw), []
    except ValidationError as error:
        first = error.errors()[0]
        return Protocol(), [f"{ABOUT}: protocol.{first['loc'][0]}: {first['msg'].lower()}, not {first['input']!r}"]


def _sources(folder: Path, note: str) -> Iterator[Source]:
    """The files by what is in them; the note is a source too, since prompts show it."""
    yield Source(TASKS, file_sha256(folder / TASKS))
    if (folder / HISTORIES).is_file():
        yield Source(HISTORIES, file_sha256(folder / HISTORIES))
    else:
        files = sorted((folder / FOLDER).glob("*.jsonl"))
        digests = "".join(f"{path.name} {file_sha256(path)}\n" for path in files)
        yield Source(FOLDER, hashlib.sha256(digests.encode()).hexdigest())
    if note:
        yield Source("note", hashlib.sha256(note.encode()).hexdigest())
