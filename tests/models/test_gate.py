"""The gate on a clock that only waiting moves: nothing here takes time."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable

import pytest

from rdforget.models.gate import Gate


class Time:
    """A clock that jumps to the next moment at which somebody wakes up."""

    def __init__(self) -> None:
        self.now = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self._count += 1
        waking = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now + seconds, self._count, waking))
        await waking

    async def run(self, work: Awaitable[object]) -> None:
        """Let the work go on until it ends, moving the clock whenever all of it waits."""
        task = asyncio.ensure_future(work)
        while not task.done():
            for _ in range(20):  # rounds of the loop in which work that need not wait gets on
                await asyncio.sleep(0)
            if self._sleepers and not task.done():
                self.now, _, waking = heapq.heappop(self._sleepers)
                waking.set_result(None)
        await task


class Provider:
    """Answers after `latency`, at most `slots` at once; above that it says 429 at once."""

    def __init__(self, time: Time, latency: float, slots: int, *, retry_after: float | None = None) -> None:
        self.slots, self.busy, self.most = slots, 0, 0
        self.refused: list[float] = []
        self.sent: list[float] = []
        self._time, self._latency, self._retry_after = time, latency, retry_after

    async def ask(self, gate: Gate) -> None:
        """One call with as many attempts as it takes."""
        while True:
            async with gate.passage() as leave:
                self.sent.append(self._time.now)
                if self.busy < self.slots:
                    self.busy += 1
                    self.most = max(self.most, self.busy)
                    await self._time.sleep(self._latency)
                    self.busy -= 1
                    gate.succeeded()
                    return
                self.refused.append(self._time.now)
                gate.refused(leave)
                if self._retry_after:
                    gate.pause(self._retry_after)
            await self._time.sleep(self._retry_after or self._latency)


async def work(gate: Gate, ask: Callable[[Gate], Awaitable[None]], items: int, calls: int, workers: int) -> None:
    """What a run does: workers that take up items, each of them several calls one after the other."""
    todo = iter(range(items))

    async def worker() -> None:
        for _ in todo:
            for _ in range(calls):
                await ask(gate)

    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(worker())


@pytest.mark.parametrize(("items", "calls", "slots"), [(200, 4, 16), (320, 3, 16), (100, 1, 10), (50, 3, 1)])
async def test_a_provider_that_never_complains_is_used_to_the_full(items: int, calls: int, slots: int) -> None:
    time = Time()
    gate, provider = Gate(clock=time.clock, sleep=time.sleep), Provider(time, 0.05, slots)
    await time.run(work(gate, provider.ask, items, calls, workers=slots))
    assert provider.refused == []
    assert gate.limit is None
    assert time.now <= 1.1 * items * calls * 0.05 / slots


async def test_a_provider_with_fewer_slots_than_workers_is_found_out() -> None:
    time = Time()
    gate, provider = Gate(clock=time.clock, sleep=time.sleep), Provider(time, 1.0, 4)
    await time.run(work(gate, provider.ask, items=400, calls=1, workers=32))
    assert provider.most == 4
    assert gate.limit is not None
    assert gate.limit <= 6
    # 28 at the start, and from then on a few each time that the limit has grown past what there is.
    assert len(provider.refused) < 28 + 0.25 * 400
    assert time.now <= 1.6 * 400 / 4


async def test_a_burst_of_refusals_halves_once() -> None:
    gate = Gate()
    async with asyncio.timeout(5):
        passes = [gate.passage() for _ in range(16)]
        leaves = [await one.__aenter__() for one in passes]
        for leave in leaves:
            gate.refused(leave)
        assert (gate.limit, gate.limited) == (8, 16)
        for one in passes:
            await one.__aexit__(None, None, None)
        later = [gate.passage() for _ in range(8)]
        leaves = [await one.__aenter__() for one in later]
        gate.refused(leaves[0])
        gate.refused(leaves[1])
        assert gate.limit == 4
        for one in later:
            await one.__aexit__(None, None, None)


async def test_the_limit_grows_by_one_a_round_of_successes_and_never_falls_below_one() -> None:
    gate = Gate()
    for _ in range(3):
        async with gate.passage() as leave:
            gate.refused(leave)
    grown = []
    for _ in range(6):
        async with gate.passage():
            gate.succeeded()
        grown.append(gate.limit)
    assert grown == [2, 2, 3, 3, 3, 4]


async def test_nothing_is_sent_before_retry_after_has_passed() -> None:
    time = Time()
    gate, provider = Gate(clock=time.clock, sleep=time.sleep), Provider(time, 1.0, 2, retry_after=30.0)
    await time.run(work(gate, provider.ask, items=20, calls=1, workers=8))
    for refused in provider.refused:
        assert not [at for at in provider.sent if refused < at < refused + 30.0]


async def test_first_come_first_served() -> None:
    gate = Gate()
    async with gate.passage() as leave:
        gate.refused(leave)
    order: list[int] = []

    async def one(number: int) -> None:
        async with gate.passage():
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*map(one, range(10)))
    assert order == list(range(10))


async def test_cancelled_calls_leave_no_hole() -> None:
    gate = Gate()
    async with gate.passage() as leave:
        gate.refused(leave)
    inside, release = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with gate.passage():
            inside.set()
            await release.wait()

    holder = asyncio.create_task(hold())
    await inside.wait()
    waiting = [asyncio.create_task(hold()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()  # while it waits
    await asyncio.sleep(0)
    holder.cancel()  # lets the second in, which is cancelled before it notices
    await asyncio.sleep(0)
    waiting[1].cancel()
    await asyncio.gather(holder, *waiting[:2], return_exceptions=True)
    release.set()
    await asyncio.wait_for(waiting[2], 5)
    assert gate.flying == 0
