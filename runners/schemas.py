"""The formats that users' files have, as `rdf data schema` prints them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rdforget.suites.keys import Key, listed
from rdforget.suites.own_schema import HISTORIES, LINE_KEYS, TASK_KEYS, TASKS
from rdforget.suites.own_schema import schema as own_schema
from runners.errata import KEYS as ERRATA_KEYS
from runners.exchange.answers import KEYS as ANSWER_KEYS
from runners.exchange.rows import COLUMNS, kind_of
from runners.exchange.rows import schema as export_schema


@dataclass(frozen=True, slots=True)
class Schema:
    words: str
    files: Mapping[str, Sequence[Mapping[str, Any]]]
    """Keys by file, for programs."""


def _keys(keys: Sequence[Key]) -> list[dict[str, Any]]:
    return [{"key": k.name, "kind": k.kind.name, "required": k.required, "meaning": k.meaning} for k in keys]


def _own() -> Schema:
    return Schema(own_schema(), {TASKS: _keys(TASK_KEYS), HISTORIES: _keys(LINE_KEYS)})


def _answers() -> Schema:
    words = f"JSON lines, an answer each; other keys are passed over:\n{listed(ANSWER_KEYS)}\n"
    return Schema(words, {"answers": _keys(ANSWER_KEYS)})


def _errata() -> Schema:
    words = f"JSON lines, or YAML with a list of mappings, a disputed gold each:\n{listed(ERRATA_KEYS)}\n"
    return Schema(words, {"errata": _keys(ERRATA_KEYS)})


def _export() -> Schema:
    rows = [{"key": c.name, "kind": kind_of(c), "required": True, "meaning": c.meaning} for c in COLUMNS]
    return Schema(export_schema(), {"export": rows})


SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    "own": _own,
    "answers": _answers,
    "errata": _errata,
    "export": _export,
}
