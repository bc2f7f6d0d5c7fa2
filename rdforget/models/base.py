"""The contract of a backend, and the kinds in which a call can fail.

CallError
├── retried: rate_limit, timeout, connection, server
└── final:   auth, quota, bad_request, refused, context, internal, unrecorded (of a replay)
"""

from __future__ import annotations

from typing import Protocol

from rdforget.calls.base import Call, Reply
from rdforget.records import Attempts

RETRIED = frozenset({"rate_limit", "timeout", "connection", "server"})
STOPS_RUN = frozenset({"auth", "quota"})
"""A key that is refused, an account without credit: every other call would fail alike."""


class CallError(Exception):
    """A call that brought no reply; `kind` is what tables count."""

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retry_after: float | None = None,
        attempts: Attempts | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after
        """Seconds that the provider asks to wait."""
        self.attempts = attempts or Attempts(sent=0)
        self.stage = ""
        """Role of the call that failed."""


class Backend(Protocol):
    """Answers calls. Deterministic backends answer from `call.inputs`, language models from `call.messages`."""

    name: str

    async def answer(self, call: Call) -> Reply:
        """The reply, or CallError."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...
