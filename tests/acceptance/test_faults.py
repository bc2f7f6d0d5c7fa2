"""A provider of whose answers three in ten go wrong: every question ends right or as a failure of a known kind."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rdforget.models.base import RETRIED
from rdforget.models.gate import Gate
from rdforget.models.litellm_client import LiteLLM
from rdforget.models.parameters import ModelConfig
from rdforget.records import Record
from runners.console import Silent
from runners.engine import RunSpec, begin, execute, prepare
from runners.journal import read_records
from tests.acceptance.conftest import Done
from tests.acceptance.test_http_run import replied, run
from tests.loopback import FAULTS, Faults, Response, Script, failed, role_of, said, serve

# litellm makes a coroutine and awaits it later: a timeout in between leaves it as it is.
pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
Rdf = Callable[..., Done]
MODEL = "openai/some-model"
SUITE = "synthetic-fc:facts=300,questions=100,seed=5"


def right(request: dict[str, Any], n: int) -> Response:
    """Always the same reply to a request; of the verdicts, half are `correct`."""
    if role_of(request) != "judge":
        return said(request, replied(request))
    odd = hashlib.sha256(request["messages"][-1]["content"].encode()).digest()[0] % 2
    return said(request, json.dumps({"verdict": "correct" if odd else "wrong"}))


def records_of(folder: Path, script: Script, attempts: int, timeout: float) -> list[Record]:
    """A run of which waits between attempts take no time."""
    with serve(script) as server:
        run = prepare(RunSpec(SUITE, model=MODEL, judge=MODEL, api_base=server.url), None)
        assert isinstance(run.config, ModelConfig)
        config = replace(run.config, timeout=timeout, attempts=attempts)
        model = LiteLLM(config, gate=Gate(), sleep=lambda seconds: asyncio.sleep(0))
        begin(run, folder, 16)
        execute(replace(run, backend=model, judge=model), folder, workers=16, watcher=Silent())
    return list(read_records(folder))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Record]:
    records = records_of(tmp_path_factory.mktemp("right"), right, 1, timeout=60.0)
    assert all(record.completed for record in records)
    return {record.query.id: record for record in records}


@pytest.mark.parametrize(("attempts", "completed"), [(ModelConfig("", "").attempts, 0.99), (1, 0.2)])
def test_three_faults_in_ten(attempts: int, completed: float, undisturbed: dict[str, Record], tmp_path: Path) -> None:
    faults = Faults(right, share=0.3)
    records = records_of(tmp_path, faults, attempts, timeout=1.0)
    assert len(records) == len(undisturbed)
    assert set(faults.seen) == {"", *FAULTS}
    assert 0.25 < 1 - faults.seen[""] / faults.seen.total() < 0.35
    kinds: Counter[str] = Counter()
    for record in records:
        calm = undisturbed[record.query.id]
        if record.completed:
            assert (record.answer, record.scores, record.trace) == (calm.answer, calm.scores, calm.trace)
        else:
            kinds[_kind(record)] += 1
    assert set(kinds) <= RETRIED
    assert len(records) - kinds.total() >= completed * len(records)
    sent = sum(call.attempts.sent for record in records for call in (*record.calls, *record.unanswered))
    assert sent >= faults.seen.total()  # more where this machine is slow: a request may time out before it is sent
    uncounted = sum(call.usage.uncounted for record in records for call in record.calls)
    assert 0 < uncounted <= faults.seen["no usage"]


def _kind(record: Record) -> str:
    """Of a failed question, or of the verdict that it lacks."""
    if record.failure:
        return record.failure.kind
    [detail] = [score.detail for score in record.scores if score.value is None]
    return detail.partition(":")[0]


def test_retries_are_counted_and_nothing_of_them_is_on_stdout(rdf: Rdf) -> None:
    with serve(lambda request, n: failed(503) if n % 5 == 4 else right(request, n)) as server:
        done = run(rdf, server.url, "--limit", 10, "--workers", 1, "--no-cache")
    assert done.code == 0
    stages = {stage["stage"]: stage for stage in done.json["costs"]["stages"]}
    assert {stage["calls"] for stage in stages.values()} == {10}
    assert sum(stage["retries"] for stage in stages.values()) == 9
    assert done.err == ""


@pytest.mark.parametrize(("status", "code"), [(401, None), (429, "insufficient_quota")])
def test_what_every_call_would_meet_stops_the_run(rdf: Rdf, status: int, code: str | None) -> None:
    def script(request: dict[str, Any], n: int) -> Response:
        return right(request, n) if n < 8 else failed(status, "no credit", code=code)

    with serve(script) as server:
        done = run(rdf, server.url, "--workers", 1, "--no-cache")
        asked = len(server.requests)
    assert (done.code, asked) == (4, 9)
    assert done.json["error"].startswith(f"stopped: {MODEL}: {'quota' if code else 'auth'}: no credit")


def test_a_server_that_never_answers_ends_as_timeouts(rdf: Rdf) -> None:
    with serve(lambda request, n: Response(delay=60)) as server:
        done = run(rdf, server.url, "--limit", 2, "--timeout", 0.1, "--no-cache")
    assert done.code == 4
    assert done.json["invalid"] is True
    assert done.json["summaries"][0]["failures"] == {"curate: timeout": 2}
    assert done.json["costs"]["stages"][0]["attempts"] == 2 * ModelConfig("", "").attempts
