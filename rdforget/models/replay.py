"""Backend `replay`: answers from a recorded run, so that it can be had again without a key, a model or a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rdforget.calls.base import Call, Reply
from rdforget.models.base import CallError
from rdforget.models.parameters import ModelConfig
from rdforget.records import Attempts


@dataclass(frozen=True, slots=True)
class Missed:
    """A call that brought no reply when the run was recorded."""

    kind: str
    message: str
    attempts: Attempts = field(default_factory=Attempts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayConfig(ModelConfig):
    """A recording in the place of a model."""

    recorded: Mapping[str, Any]
    """Semantic settings of the model that gave the replies."""
    of: str
    """What was recorded, in words: `embedded on synthetic-fc by rd-forget`."""
    sha256: str
    """Of the file."""
    limits: Mapping[str, Any]
    """Fields of the recorded protocol that were cut to the model, as `fitting.fitted` cuts them."""
    replies: Mapping[str, Reply] = field(repr=False)
    """By `Call.key`."""
    missed: Mapping[str, Missed] = field(default_factory=dict, repr=False)


class Replay:
    """A backend that says again what was said, failures included."""

    def __init__(self, config: ReplayConfig) -> None:
        self.name = config.name
        self._config = config

    async def answer(self, call: Call) -> Reply:
        """The recorded reply; CallError as recorded, or of the kind `unrecorded`."""
        if reply := self._config.replies.get(call.key):
            return reply
        if missed := self._config.missed.get(call.key):
            raise CallError(missed.kind, missed.message, attempts=missed.attempts)
        told = f"the recording of {self._config.of} holds no reply to this {call.role} request ({call.key[:12]})"
        raise CallError("unrecorded", f"{self.name}: unrecorded: {told}: run what was recorded, or ask a model")

    async def close(self) -> None:
        """Nothing to give back."""
