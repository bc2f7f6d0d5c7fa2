"""Small records for tests."""

from __future__ import annotations

from rdforget.calls.curate import Item
from rdforget.records import Entry, History, Observation, Query, Status


def entry(name: str, text: str = "text", status: Status = Status.ACTIVE, **rest: object) -> Entry:
    return Entry(name, text, status, **rest)  # type: ignore[arg-type]


def item(text: str, slot: str = "") -> Item:
    return Item(text, slot)


def query(text: str, task_type: str = "") -> Query:
    return Query("q1", "test", text, task_type)


def history(*lines: str) -> History:
    return History("h", tuple(Observation(f"#{n}", line) for n, line in enumerate(lines)))
