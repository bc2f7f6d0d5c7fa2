"""The live line."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from rdforget.models import gate
from rdforget.records import Failure, Gold, Record, Score, Verdict
from runners.console import Live
from tests.builders import query

BASE = Record(query("?"), Gold(("x",)))
RIGHT = replace(BASE, scores=(Score("rule", 1.0, Verdict.CORRECT),))
FAILED = replace(BASE, failure=Failure("timeout", "answer", "no reply in 120 s"))


@pytest.fixture
def own_gates(monkeypatch: pytest.MonkeyPatch) -> dict[str, gate.Gate]:
    gates: dict[str, gate.Gate] = {}
    monkeypatch.setattr(gate, "_GATES", gates)
    return gates


def test_what_the_line_says(own_gates: dict[str, gate.Gate]) -> None:
    seconds = [0.0]
    provider = gate.gate_of("provider")
    provider.retries, provider.limited = 7, 5  # of an earlier run
    live = Live(Progress(TextColumn(""), console=Console(file=io.StringIO())), lambda: seconds[0])
    live.begin("suite", 104, [RIGHT, RIGHT, RIGHT, FAILED])
    assert live.state() == "accuracy 100.0 %, 0 in flight, 1 failed, 0 retries, 0 429s, - left"
    for _ in range(8):
        live.started()
    provider.retries, provider.limited = 10, 6
    seconds[0] = 60.0
    for _ in range(4):
        live.finished(replace(BASE, scores=(Score("rule", 0.0, Verdict.WRONG),)))
    live.finished(FAILED)
    # 5 of 100 in a minute: what was done before took none of it.
    assert live.state() == "accuracy 42.9 %, 3 in flight, 2 failed, 3 retries, 1 429s, 0:19:00 left"
