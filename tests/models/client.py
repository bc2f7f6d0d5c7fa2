"""A client of a server on the loopback, for tests of the litellm backend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rdforget.calls import answer
from rdforget.calls.base import Call, Message, Reply
from rdforget.models.base import CallError
from rdforget.models.gate import Gate
from rdforget.models.litellm_client import LiteLLM
from rdforget.models.parameters import ModelConfig
from tests.loopback import Server

KEY = "sk-loopback-0123456789"
CALL = Call(
    role="answer",
    inputs=None,
    messages=(Message("system", "Answer shortly."), Message("user", "Where does Ines work?")),
    schema=answer.SCHEMA,
    max_output_tokens=256,
)
CONFIG = ModelConfig(name="model", model="openai/some-model", key_env="LOOPBACK_KEY", timeout=5.0)


class Client:
    """A backend whose waits between attempts are written down instead of slept; only they take time."""

    def __init__(self, server: Server, config: ModelConfig) -> None:
        self.server = server
        self.waits: list[float] = []
        self.clock: Callable[[], float] = lambda: sum(self.waits)
        self.gate = Gate(clock=lambda: self.clock(), sleep=self._sleep)
        config = replace(config, api_base=server.url)
        self._backend = LiteLLM(config, gate=self.gate, clock=lambda: self.clock(), sleep=self._sleep)

    async def answer(self, call: Call = CALL) -> Reply:
        return await self._backend.answer(call)

    async def failure(self) -> CallError:
        with pytest.raises(CallError) as caught:
            await self.answer()
        return caught.value

    @property
    def sent(self) -> dict[str, Any]:
        """Parameters of the last request as they arrived."""
        return {k: v for k, v in self.server.requests[-1].json.items() if k not in ("model", "messages")}

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


Connect = Callable[..., Client]
