"""A backend that answers what a function says, for tests of methods, suites and runs without a model."""

from __future__ import annotations

from collections.abc import Callable

from rdforget.calls.base import Call, Reply


class Scripted:
    """`Scripted(lambda call: "Orla")`. A text is a finished reply; an exception is raised."""

    def __init__(self, script: Callable[[Call], Reply | str | Exception], *, name: str = "scripted") -> None:
        self.name = name
        self._script = script

    async def answer(self, call: Call) -> Reply:
        """What the script says to this call."""
        said = self._script(call)
        if isinstance(said, Exception):
            raise said
        return Reply(said, model=self.name) if isinstance(said, str) else said

    async def close(self) -> None:
        """Nothing to give back."""
