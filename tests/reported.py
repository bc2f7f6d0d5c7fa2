"""Run folders with the questions that a test of the report wants."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rdforget.records import (
    Answer,
    AnswerOutcome,
    Entry,
    Gold,
    Memory,
    Packed,
    Query,
    Record,
    Score,
    Status,
    Trace,
    Verdict,
    View,
)
from runners import manifest
from runners.journal import Journal
from tests.builders import entry

SUITE = "mab-fc"
"""Its data is not at hand, so that no history is looked for."""
MEMORY = (
    entry("m1", "Ines lives in Metz", slot="ines|home|"),
    entry("m2", "Ines lives in Lyon", Status.SUPERSEDED, slot="ines|home|", superseded_by="m1"),
)


def asked(
    number: int,
    *,
    question: str = "Where does Ines live?",
    gold: str = "Metz",
    answer: str = "Metz",
    entries: Sequence[Entry] = MEMORY,
    **rest: Any,
) -> Record:
    """A question whose active entries are all in the view; it is right that says the gold."""
    right = answer == gold
    active = tuple(one for one in entries if one.status is Status.ACTIVE)
    ids = tuple(one.id for one in active)
    view = View(tuple(Packed(one, 7) for one in active), 2048)
    return Record(
        Query(f"q{number}", SUITE, question),
        Gold((gold,)),
        history=f"h{number}",
        trace=Trace(Memory(tuple(entries)), False, ids, ids, ids, False, 0, view),
        answer=Answer(answer, AnswerOutcome.ANSWERED),
        scores=(Score("rule", float(right), Verdict.CORRECT if right else Verdict.WRONG),),
        **rest,
    )


def made_run(folder: Path, records: Sequence[Record], *, off: Sequence[str] = (), items: int = 0, **more: Any) -> Path:
    """A run of the deterministic reader over `items` questions, of which it has asked those of the records."""
    folder.mkdir(parents=True)
    settings = {
        "suite": SUITE,
        "sources": {},
        "items": items or len(records),
        "method": "rd-forget",
        "switches": list(off),
        "protocol": {"budget": 2048, "judge_cap": 256},
        "model": {"backend": "rules"},
        "judge": None,
        "metrics": ["rule"],
        "scorer": 1,
        "repeat": 0,
        "uses_gold": False,
    }
    spec = {"suite": SUITE, "method": "rd-forget", "model": "rules", "switches": list(off), "limit": None}
    manifest.write(folder, {"id": folder.name, "spec": spec, "settings": settings | more, "suite_notes": []})
    add(folder, records)
    return folder


def add(folder: Path, records: Sequence[Record]) -> None:
    """More questions of a run, at the positions that their ids say."""
    with Journal(folder) as journal:
        for record in records:
            journal.add_record(int(record.query.id[1:]), record, 0.0)
