"""In which order requests go out, so that providers find in their caches what requests have in common.

A cache holds a beginning from the first reply on. So of the requests with one beginning the first goes out alone, and
while it is on its way the workers take up questions over other histories.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from rdforget.calls.base import Call, Reply
from rdforget.item import Ledger
from rdforget.models.base import Backend
from rdforget.records import Task

Piece = tuple[int, Task]


class Spread:
    """Tasks with their positions, as workers should take them up.

    A question over a history whose first question has no reply yet is put off while there is another. At most
    `window` tasks are looked ahead.
    """

    def __init__(self, pieces: Iterator[Piece], window: int) -> None:
        self._pieces = pieces
        self._window = window
        self._ahead: list[Piece] = []
        self._first: dict[str, Ledger] = {}
        self._ended: set[str] = set()

    def __iter__(self) -> Iterator[Piece]:
        return self

    def __next__(self) -> Piece:
        for at, (_, task) in enumerate(self._ahead):
            if not self._waiting(task.history.id):
                return self._ahead.pop(at)
        while len(self._ahead) < self._window and (piece := next(self._pieces, None)):
            if not self._waiting(piece[1].history.id):
                return piece
            self._ahead.append(piece)
        if not self._ahead:
            raise StopIteration
        return self._ahead.pop(0)

    def begun(self, history: str, ledger: Ledger) -> None:
        """A question over a history is in work; the first reply in its ledger makes way for others."""
        self._first.setdefault(history, ledger)

    def ended(self, history: str) -> None:
        self._ended.add(history)

    def _waiting(self, history: str) -> bool:
        first = self._first.get(history)
        return first is not None and history not in self._ended and not first.calls


class OneAhead:
    """A backend to which the first request of each beginning goes alone, up to its reply."""

    def __init__(self, backend: Backend) -> None:
        self.name = backend.name
        self._backend = backend
        self._first: dict[int, asyncio.Event] = {}

    async def answer(self, call: Call) -> Reply:
        """The backend's reply. Raises CallError."""
        beginning = shared_beginning(call)
        if beginning is None:
            return await self._backend.answer(call)
        if known := self._first.get(beginning):
            await known.wait()
            return await self._backend.answer(call)
        self._first[beginning] = asyncio.Event()
        try:
            return await self._backend.answer(call)
        finally:
            # After a failure too: the next would wait for nothing.
            self._first[beginning].set()

    async def close(self) -> None:
        await self._backend.close()


def shared_beginning(call: Call) -> int | None:
    """A hash of what a call has in common with those for other questions; None where that is not known."""
    for at in reversed(range(len(call.messages))):
        last = call.messages[at]
        if last.shared:
            return hash((call.role, *call.messages[:at], last.content[: last.shared]))
    return None
