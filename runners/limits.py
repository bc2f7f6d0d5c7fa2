"""What may be spent: `--max-cost` and `--max-calls`, checked before a call is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from rdforget.calls.base import Call, Reply
from rdforget.models.base import STOPS_RUN, Backend, CallError
from rdforget.models.parameters import ModelConfig
from rdforget.records import Usage
from rdforget.tokens import count_tokens
from runners.config import RulesConfig
from runners.errors import Exit, UserError
from runners.halt import Halt


def prompt_tokens(call: Call) -> int:
    """Tokens of a prompt by o200k_base, line by line, which is fast where prompts have lines in common."""
    return sum(count_tokens(line + "\n") for message in call.messages for line in message.content.splitlines())


@dataclass(slots=True)
class Purse:
    """What a run or sweep may spend, earlier sessions included, and has spent."""

    max_usd: float | None = None
    max_calls: int | None = None
    usd: float = 0.0
    calls: int = 0
    _promised: list[float] = field(default_factory=list)
    """The most that each call in flight may cost."""
    _settled: asyncio.Event | None = None

    async def take(self, most: float, halt: Halt) -> None:
        """Promise a call its most. Raises CallError, and halts, where it does not fit.

        What is in flight costs less than its most as a rule: a call that does not fit beside it waits.
        """
        while self.max_usd is not None and self.usd + sum(self._promised) + most > self.max_usd and not halt.reason:
            if not self._promised:
                raise halt.now(self._spent(f"--max-cost {self.max_usd:g}"))
            self._settled = self._settled or asyncio.Event()
            await self._settled.wait()
        if halt.reason:
            raise halt.now(halt.reason)
        if self.max_calls is not None and self.calls >= self.max_calls:
            raise halt.now(self._spent(f"--max-calls {self.max_calls}"))
        self.calls += 1
        self._promised.append(most)

    def settle(self, most: float, cost: float) -> None:
        """A call in flight has ended, and cost this."""
        self._promised.remove(most)
        self.usd += cost
        if self._settled:
            self._settled.set()
            self._settled = None

    def _spent(self, limit: str) -> UserError:
        money = f"{self.usd:.4f} USD and " if self.max_usd is not None else ""
        return UserError(f"stopped at {limit}: {money}{self.calls} calls spent, their replies are kept", Exit.ABORTED)


class Metered:
    """A language model that is asked only what the purse still allows, and not again once it refuses the key."""

    def __init__(self, backend: Backend, config: ModelConfig, purse: Purse, halt: Halt) -> None:
        self.name = backend.name
        self._backend = backend
        self._config = config
        self._prices = config.prices
        self._purse = purse
        self._halt = halt

    async def answer(self, call: Call) -> Reply:
        """The backend's reply. Raises CallError, of kind `stopped` where the call is not sent."""
        most = self._at_most(call)
        await self._purse.take(most, self._halt)
        cost = 0.0
        try:
            reply = await self._backend.answer(call)
            cost = self._cost(reply.usage, most) + self._cost(reply.attempts.lost, most)
        except CallError as error:
            if error.kind in STOPS_RUN:
                self._halt.now(UserError(f"stopped: {error}; what was answered so far is kept", Exit.ABORTED))
            # What timed out may have been charged.
            cost = most if error.kind == "timeout" else self._cost(error.attempts.lost, most)
            raise
        finally:
            self._purse.settle(most, cost)
        return reply

    async def close(self) -> None:
        await self._backend.close()

    def _at_most(self, call: Call) -> float:
        """USD of a call whose reply fills its cap."""
        if self._purse.max_usd is None or not self._prices:
            return 0.0
        prompt = prompt_tokens(call)
        if self._prices.up_to is not None and prompt > self._prices.up_to:
            told = (
                f"{self.name} charges otherwise above {self._prices.up_to:,} prompt tokens, and a call has {prompt:,}"
            )
            raise self._halt.now(UserError(f"--max-cost cannot be kept: {told}: use --max-calls", Exit.ABORTED))
        reply = call.max_output_tokens + self._config.parameters.reasoning_allowance
        return self._prices.cost(Usage(prompt=prompt, completion=reply))

    def _cost(self, usage: Usage | None, most: float) -> float:
        """USD of a usage; where the provider does not tell all of it, the most that it may have cost."""
        if not usage or not self._prices:
            return 0.0
        return most if usage.uncounted else self._prices.cost(usage)


def check_priced(configs: Iterable[RulesConfig | ModelConfig]) -> None:
    """UserError where `--max-cost` cannot be kept, as a model's price is not known."""
    for config in configs:
        if not isinstance(config, RulesConfig) and not config.prices:
            raise UserError(
                f"--max-cost needs the price of {config.name}, which is not known: "
                "set its prices in configs/models.yaml, or use --max-calls"
            )
