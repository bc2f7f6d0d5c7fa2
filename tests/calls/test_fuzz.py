"""Whatever a model writes, every parser reads it and what comes of it can be kept; scripts/fuzz_parsers.py has more."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rdforget.calls.base import Call
from rdforget.item import Builds, Desk, Ledger, Setup, run_item
from rdforget.methods.registry import BUILDERS
from rdforget.models.scripted import Scripted
from rdforget.records import Gold, History, Query, Task
from runners.journal import Journal, read_records
from tests.fuzzing import PARSERS, UNITS, check, replies

METHODS = ("rd-forget", "ace", "reasoningbank", "mem0-style", "fademem-style", "memgpt-tiers", "generative-agents")


@pytest.mark.parametrize("role", PARSERS)
def test_no_reply_breaks_a_parser(role: str) -> None:
    found = {repr(check(role, text)) for text in replies(role, count=300, seed=1, large=False)}
    assert len(found) >= 3  # some can be read


@pytest.mark.parametrize("role", ["answer", "select", "curate", "distill"])
def test_a_fence_that_never_closes_is_read_once(role: str) -> None:
    check(role, "```" + "x" * 1_000_000)


@pytest.mark.parametrize("name", METHODS)
async def test_no_reply_breaks_a_question(name: str, tmp_path: Path) -> None:
    """From the first call to the journal, with every reply of every call a wild one."""
    setup = Setup(BUILDERS.get(name).build(name, {}), metrics=("rule", "judge", "rubric", "option"))
    streams = {role: replies(role, count=10_000, seed=2, large=False) for role in PARSERS}

    def script(call: Call) -> str:
        return next(streams[call.role])

    backend = Scripted(script)
    desk = Desk(lambda call, reply: None, lambda history, calls: None)
    records = []
    for number in range(25):
        history = History(str(number), UNITS, "A larger number is later.")
        query, gold = Query(str(number), "test", "Where does Mira work?"), Gold(("Beryl",), rubric=("x",), option="a")
        task = Task(query, history, gold)
        builds = Builds(setup, backend, desk)
        records.append(await run_item(task, setup, Ledger(backend, desk), Ledger(backend, desk), builds))
    assert Counter(record.failure for record in records) == {None: 25}
    with Journal(tmp_path) as journal:
        for number, record in enumerate(records):
            journal.add_record(number, record, 0.0)
    assert [record.answer for record in read_records(tmp_path)] == [record.answer for record in records]
