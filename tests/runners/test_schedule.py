"""The order in which requests go out, by a clock that a test turns."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdforget.calls.base import Call, Reply
from rdforget.models.base import CallError
from rdforget.records import Gold, History, Observation, Query, Task
from rdforget.suites.base import Suite
from runners.console import Silent
from runners.engine import RunSpec, begin, execute, prepare
from runners.schedule import OneAhead, shared_beginning

LATENCY, SLOTS = 1.0, 8
REPLIES = {
    "curate": {"active": [{"text": "Orla is in Metz", "subject": "Orla", "relation": "city", "scope": ""}]},
    "select": {"ids": ["m1"]},
    "answer": {"answer": "Metz"},
    "judge": {"verdict": "correct"},
}


class Turned(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to whatever is due next."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self.now = max(self.now, self._scheduled[0]._when)  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


class Server:
    """Answers after a fixed time, a fixed number of requests at once."""

    name = "server"

    def __init__(self) -> None:
        self.sent: defaultdict[int | None, list[float]] = defaultdict(list)
        self.calls = 0
        self._slots = asyncio.Semaphore(SLOTS)

    async def answer(self, call: Call) -> Reply:
        self.calls += 1
        self.sent[shared_beginning(call)].append(asyncio.get_running_loop().time())
        async with self._slots:
            await asyncio.sleep(LATENCY)
        return Reply(json.dumps(REPLIES[call.role]), model="m")

    async def close(self) -> None: ...


def suite(histories: int, questions: int) -> Suite:
    def tasks() -> Iterator[Task]:
        for number in range(histories):
            history = History(f"h{number}", (Observation("#1", f"{number}. Orla is in Metz."),))
            for n in range(questions):
                yield Task(Query(f"{number}.{n}", "synthetic-fc", f"Where is Orla? ({n})"), history, Gold(("Metz",)))

    return Suite("synthetic-fc", tasks, (), histories * questions)


@pytest.mark.parametrize(("histories", "questions"), [(1, 200), (4, 50), (20, 10), (200, 1)])
def test_the_first_question_of_a_history_goes_ahead_without_slowing_the_run(
    histories: int, questions: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, server = Turned(), Server()
    monkeypatch.setattr("asyncio.events.new_event_loop", lambda: loop)
    monkeypatch.setattr("runners.engine.make_backend", lambda *_: server)
    spec = RunSpec("synthetic-fc", model="openai/m", judge="openai/m", api_base="http://127.0.0.1:9/v1")
    run = prepare(spec, None, suite(histories, questions))
    begin(run, tmp_path, SLOTS)
    execute(run, tmp_path, workers=SLOTS, watcher=Silent())
    assert server.calls == 4 * histories * questions
    assert loop.now <= 1.1 * server.calls * LATENCY / SLOTS
    curations = [sorted(times) for beginning, times in server.sent.items() if beginning is not None]
    assert len(curations) == histories
    assert all(later >= times[0] + LATENCY for times in curations for later in times[1:])


def test_a_first_request_that_fails_makes_way_too() -> None:
    from rdforget.calls.curate import build
    from rdforget.records import Protocol, Switches

    calls = [
        build(
            (Observation("#1", "Orla is in Metz."),), "", Query(str(n), "test", f"Where? {n}"), Switches(), Protocol()
        )
        for n in range(3)
    ]
    asked: list[str] = []

    class Failing:
        name = "failing"

        async def answer(self, call: Call) -> Reply:
            asked.append(call.key)
            await asyncio.sleep(0)
            if len(asked) == 1:
                raise CallError("server", "500")
            return Reply("{}")

        async def close(self) -> None: ...

    async def together() -> list[Reply | BaseException]:
        backend = OneAhead(Failing())
        return await asyncio.gather(*(backend.answer(call) for call in calls), return_exceptions=True)

    outcomes = asyncio.run(together())
    assert [isinstance(outcome, Reply) for outcome in outcomes] == [False, True, True]
    assert shared_beginning(calls[0]) == shared_beginning(calls[1])
