"""One flat record a question: what JSON lines, Parquet and a Hugging Face data set hold, with the same keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdforget.calls.base import prompts_digest
from rdforget.records import CallRecord, Record, Score
from runners.compare import manifest_of
from runners.journal import read_records

SCORE = {"metric": str, "value": float, "verdict": str, "detail": str}
ENTRY = {"id": str, "text": str, "status": str, "slot": str, "superseded_by": str, "tokens": int}


@dataclass(frozen=True, slots=True)
class Exported:
    """A run as exports see it: its manifest, and its records read anew each time."""

    folder: Path
    manifest: Mapping[str, Any]

    @classmethod
    def of(cls, folder: Path) -> Exported:
        return cls(folder, manifest_of(folder))

    @property
    def id(self) -> str:
        return self.folder.resolve().name

    @property
    def settings(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.manifest["settings"]
        return found

    @property
    def prompts_are_ours(self) -> bool:
        """Whether a prompt that is rendered now is the one that the run sent."""
        return bool(self.settings.get("prompts") == prompts_digest())

    def records(self) -> Iterator[Record]:
        return read_records(self.folder)

    def headline(self, record: Record) -> Score | None:
        """The first metric that the run declared."""
        return next((score for score in record.scores if score.metric == self.settings["metrics"][0]), None)


@dataclass(frozen=True, slots=True)
class Column:
    """A key of a record."""

    name: str
    kind: type | dict[str, type] | list[type]
    """Of the value: a scalar, a list of scalars, or a list of objects with these keys."""
    meaning: str
    value: Callable[[Exported, Record], Any]


def _calls(record: Record) -> list[CallRecord]:
    return [call for call in record.calls if call.source == "asked"]


COLUMNS = (
    Column("run", str, "id of the run", lambda run, _: run.id),
    Column("suite", str, "name of the suite", lambda _, r: r.query.suite),
    Column("id", str, "id of the question", lambda _, r: r.query.id),
    Column("history", str, "id of the history that it is about", lambda _, r: r.history),
    Column("question", str, "its text", lambda _, r: r.query.text),
    Column("type", str, "its type, empty where the suite has none", lambda _, r: r.query.task_type),
    Column("date", str, "when it is asked, as the source writes it", lambda _, r: r.query.date),
    Column("options", [str], "answers to choose from", lambda _, r: list(r.query.options)),
    Column("gold", [str], "right answers, any of which will do", lambda _, r: list(r.gold.answers)),
    Column("gold_option", str, "letter of the right option", lambda _, r: r.gold.option),
    Column("gold_rubric", [str], "criteria", lambda _, r: list(r.gold.rubric)),
    Column("gold_evidence", [str], "refs of the lines that hold the answer", lambda _, r: list(r.gold.evidence)),
    Column("abstention", bool, "whether right is to say that it is not there", lambda _, r: r.gold.abstention),
    Column("method", str, "the memory method", lambda run, _: run.settings["method"]),
    Column("switches", [str], "parts of it that were off", lambda run, _: list(run.settings["switches"])),
    Column("model", str, "the model, as it was named", lambda run, _: run.manifest["spec"]["model"]),
    Column("judge", str, "the judge, where another was named", lambda run, _: run.manifest["spec"]["judge"]),
    Column("budget", int, "tokens of the view", lambda run, _: run.settings["protocol"]["budget"]),
    Column("repeat", int, "which of several equal runs, from 0", lambda run, _: run.settings["repeat"]),
    Column("answer", str, "the final answer; null where there is none", lambda _, r: r.answer and r.answer.text),
    Column("outcome", str, "answered, empty or empty_length", lambda _, r: r.answer and str(r.answer.outcome)),
    Column("completed", bool, "answered, and every metric that applies has a value", lambda _, r: r.completed),
    Column("metric", str, "the headline metric", lambda run, _: run.settings["metrics"][0]),
    Column("value", float, "its value, 0 to 1", lambda run, r: (s := run.headline(r)) and s.value),
    Column(
        "scores",
        SCORE,
        "every metric; value is null where the verdict is invalid or excluded",
        lambda _, r: [
            {"metric": s.metric, "value": s.value, "verdict": str(s.verdict), "detail": s.detail} for s in r.scores
        ],
    ),
    Column("failure_stage", str, "where it failed", lambda _, r: r.failure and r.failure.stage),
    Column("failure_kind", str, "of what kind the failure is", lambda _, r: r.failure and r.failure.kind),
    Column("failure_message", str, "what was said of it", lambda _, r: r.failure and r.failure.message),
    Column(
        "view",
        ENTRY,
        "the entries that the answer model saw, in its order",
        lambda _, r: [
            {
                "id": packed.entry.id,
                "text": packed.entry.text,
                "status": str(packed.entry.status),
                "slot": packed.entry.slot,
                "superseded_by": packed.entry.superseded_by,
                "tokens": packed.cost,
            }
            for packed in (r.trace.view.packed if r.trace else ())
        ],
    ),
    Column("view_tokens", int, "their tokens", lambda _, r: r.trace and r.trace.view.tokens),
    Column("stored", int, "entries in memory", lambda _, r: r.trace and len(r.trace.memory.entries)),
    Column("calls", int, "requests to models for this question", lambda _, r: len(_calls(r))),
    Column("prompt_tokens", int, "their prompt tokens", lambda _, r: sum(c.usage.prompt for c in _calls(r))),
    Column("completion_tokens", int, "their reply tokens", lambda _, r: sum(c.usage.completion for c in _calls(r))),
)


def rows(run: Exported) -> Iterator[dict[str, Any]]:
    """The records of a run in the order of the suite."""
    for record in run.records():
        yield {column.name: encodable(column.value(run, record)) for column in COLUMNS}


def encodable(value: Any) -> Any:
    """A value whose texts can be written as UTF-8: half a surrogate pair, which models do send, becomes `?`."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {encodable(key): encodable(one) for key, one in value.items()}
    return [encodable(one) for one in value] if isinstance(value, list | tuple) else value


def kind_of(column: Column) -> str:
    """What a column holds, in words."""
    names = {str: "text", int: "whole number", float: "number", bool: "true or false"}
    if isinstance(column.kind, dict):
        return f"list of {{{', '.join(column.kind)}}}"
    return f"list of {names[column.kind[0]]}s" if isinstance(column.kind, list) else names[column.kind]


def schema() -> str:
    """The keys in words."""
    listed = (f"  {column.name:<18}{kind_of(column)}: {column.meaning}\n" for column in COLUMNS)
    return f"One record a question, in the order of the suite:\n{''.join(listed)}"
