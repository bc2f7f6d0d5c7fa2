"""Eligibility: which statuses a question may use (Sec. 3.4, eq. 5)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import yaml

from rdforget.records import Entry, Query, Status

CUES = Path(__file__).parent / "history_cues.yaml"


@cache
def _cues() -> tuple[re.Pattern[str], frozenset[str]]:
    data = yaml.safe_load(CUES.read_text("utf-8"))
    pattern = re.compile(rf"\b(?:{'|'.join(data['patterns'])})\b", re.IGNORECASE)
    return pattern, frozenset(data["task_types"])


def history_intent(query: Query) -> bool:
    """`h(q)`: the question asks about the past, by its words or by its task type."""
    pattern, task_types = _cues()
    return query.task_type in task_types or bool(pattern.search(query.text))


def eligible(entries: Iterable[Entry], *, history_intent: bool, rescue: bool) -> tuple[Entry, ...]:
    """`A`, with `D` if rescue is on, with `S` if rescue is on and h(q) holds (eq. 5); order is kept."""
    usable = {Status.ACTIVE}
    if rescue:
        usable.add(Status.DEPRECATED)
        if history_intent:
            usable.add(Status.SUPERSEDED)
    return tuple(entry for entry in entries if entry.status in usable)
