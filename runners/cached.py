"""A backend before which stands the cache: what anybody was told already, or is being told now, is not asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Mapping
from typing import Any

from rdforget.calls.base import Call, Reply
from rdforget.models.base import Backend
from runners.cache import LAPSE, Entry, ReplyCache, identity, key_of, whole
from runners.errors import UserError
from runners.halt import Halt

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
"""Seconds between looks for a reply that another process is waiting for."""


class Cached:
    """Every reply of `answer` must be passed to `keep`, at once and after the run's own journal has it.

    Replies of a model that are not whole are given on and not kept: who waited for one asks for itself.
    """

    def __init__(
        self,
        backend: Backend,
        settings: Mapping[str, Any],
        cache: ReplyCache,
        halt: Halt,
        *,
        anew: Container[str] = (),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`settings` are the model's semantic ones. Calls with keys in `anew` are asked, whatever is known: nothing
        could be made of the reply. `sleep` waits for other processes, tests replace it.
        """
        self.name = backend.name
        self._backend = backend
        self._model = identity(settings)
        self._cache = cache
        self._halt = halt
        self._anew = anew
        self._sleep = sleep
        self._asking: dict[str, asyncio.Event] = {}
        self._renewal: asyncio.TimerHandle | None = None

    async def answer(self, call: Call) -> Reply:
        """The reply that is known, marked as such, or that of the backend. Raises CallError."""
        key = key_of(self._model, call.key)
        try:
            if known := await self._known(key, known=call.key not in self._anew):
                return known
        except UserError as error:
            raise self._halt.now(error) from error
        self._asking[key] = asyncio.Event()
        try:
            return await self._backend.answer(call)
        except BaseException:
            self._done(key, None)
            raise

    def keep(self, call: Call, reply: Reply) -> None:
        """Store what was asked for, for everybody."""
        if reply.source == "asked":
            entry = Entry(self._model, call.key, call.role, reply)
            self._done(entry.key, entry if whole(reply) else None)

    async def close(self) -> None:
        if self._renewal:
            self._renewal.cancel()
        await self._backend.close()

    async def _known(self, key: str, *, known: bool) -> Reply | None:
        """The reply to a request, if a known one will do; None once it is claimed, so that the caller has to ask."""
        pause = _FIRST_PAUSE
        while True:
            if key in self._asking:
                await self._asking[key].wait()
            elif known and (found := self._cache.find(key)):
                return found
            elif self._cache.claim(key, anew=not known):
                self._renew_later()
                return None
            else:
                await self._sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _done(self, key: str, entry: Entry | None) -> None:
        waiting = self._asking.pop(key)
        try:
            if entry:
                self._cache.keep(entry)
            else:
                self._cache.release(key)
        except UserError as error:
            self._halt.now(error)
        waiting.set()

    def _renew_later(self) -> None:
        if not self._renewal:
            self._renewal = asyncio.get_running_loop().call_later(LAPSE / 3, self._renew)

    def _renew(self) -> None:
        self._renewal = None
        if self._asking:
            try:
                self._cache.renew()
            except UserError as error:
                self._halt.now(error)
            self._renew_later()
