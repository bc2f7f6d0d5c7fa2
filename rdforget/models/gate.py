"""How many requests a provider gets at once: all calls of a process to it go through one gate.

It stands open until the provider says 429. Then half as many as were under way are let through, and one more for
every round of them that succeeds (additive increase, multiplicative decrease).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Pass:
    """Leave to send one request."""

    reductions: int
    """How often the limit had been lowered when the request was sent."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """What has gone through gates."""

    retries: int = 0
    limited: int = 0
    """Requests that were answered 429."""

    def __sub__(self, earlier: Traffic) -> Traffic:
        return Traffic(self.retries - earlier.retries, self.limited - earlier.limited)


class Gate:
    """Lets requests through, first come first served. For the calls of one event loop at a time."""

    def __init__(
        self, most: int | None = None, *, clock: Callable[[], float] = time.monotonic, sleep: Sleep = asyncio.sleep
    ) -> None:
        """`most` requests at once at any time. `clock` and `sleep` are for pauses; tests replace them."""
        self.limit: int | None = most
        """Requests at once; None without `most` until the provider has complained."""
        self._most = most
        self.flying = 0
        self.retries = self.limited = 0
        self._clock = clock
        self._sleep = sleep
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._closed_until = 0.0
        self._reductions = 0
        self._successes = 0

    @asynccontextmanager
    async def passage(self) -> AsyncIterator[Pass]:
        """Wait for a turn, and keep others out of it while the request is under way."""
        await self._enter()
        try:
            while (rest := self._closed_until - self._clock()) > 0:
                await self._sleep(rest)
            yield Pass(self._reductions)
        finally:
            self.flying -= 1
            self._let_in()

    def succeeded(self) -> None:
        """The provider has answered."""
        if self.limit is None:
            return
        self._successes += 1
        if self._successes >= self.limit and (self._most is None or self.limit < self._most):
            self._successes = 0
            self.limit += 1
            self._let_in()

    def refused(self, sent: Pass) -> None:
        """The provider has answered 429. Of requests sent before the limit was last lowered it says nothing new."""
        self.limited += 1
        if sent.reductions == self._reductions:
            self._reductions += 1
            self._successes = 0
            self.limit = max(1, self.flying // 2)

    def pause(self, seconds: float) -> None:
        """Send nothing for a while, as the provider asks."""
        self._closed_until = max(self._closed_until, self._clock() + seconds)

    async def _enter(self) -> None:
        if not self._waiting and self._has_room():
            self.flying += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._waiting.remove(turn)
            else:  # it was let in at the same moment
                self.flying -= 1
                self._let_in()
            raise

    def _let_in(self) -> None:
        while self._waiting and self._has_room():
            turn = self._waiting.popleft()
            self.flying += 1
            turn.set_result(None)

    def _has_room(self) -> bool:
        return self.limit is None or self.flying < self.limit


_GATES: dict[str, Gate] = {}


def gate_of(provider: str, most: int | None = None) -> Gate:
    """The gate of a provider in this process; `most` is that of the model which is made first."""
    if provider not in _GATES:
        _GATES[provider] = Gate(most)
    return _GATES[provider]


def traffic() -> Traffic:
    """What has gone through the gates of this process so far."""
    return Traffic(sum(gate.retries for gate in _GATES.values()), sum(gate.limited for gate in _GATES.values()))
