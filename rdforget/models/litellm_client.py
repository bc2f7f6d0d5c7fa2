"""Language models behind any API that litellm speaks.

litellm is imported at the first call, which costs seconds, and is kept quiet, offline and without retries of
its own: attempts are counted here, so that one call makes at most `attempts` requests.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import tenacity

from rdforget.calls.base import Call, Reply
from rdforget.models.base import RETRIED, CallError
from rdforget.models.gate import Gate, Sleep, gate_of
from rdforget.models.litellm_errors import kind_of, one_line, retry_after
from rdforget.models.parameters import ModelConfig, as_sent, asked, messages, missing_key, too_long
from rdforget.models.quiet import close_connections, quiet_litellm
from rdforget.records import Attempts, Usage

_MESSAGE_MAX = 300
_COUNT_MAX = 1_000_000_000  # a provider that counts more tokens than this in a call does not count
_JITTER = tenacity.wait_random_exponential(multiplier=1, max=60)
# What providers say of a reply that broke off; litellm reads it as the end of a whole one.
_BROKEN_OFF = {"error", "network_error", "abort"}
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Tally:
    """What one call has taken so far."""

    left: float
    """Seconds of its deadline."""
    attempts: Attempts = field(default_factory=lambda: Attempts(sent=0))
    seconds: float = 0.0
    """Of its requests alone."""

    def before_sleep(self, state: tenacity.RetryCallState) -> None:
        self.left -= state.upcoming_sleep
        _log.info("%s; attempt %d in %.1f s", _error_of(state), state.attempt_number + 1, state.upcoming_sleep)


class LiteLLM:
    """A backend for one configured model; safe for concurrent calls on one event loop."""

    def __init__(
        self,
        config: ModelConfig,
        *,
        gate: Gate | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """Calls go through the provider's gate. `clock` and `sleep` are for deadlines and waits; tests replace them."""
        self.name = config.name
        self.config = config
        self._gate = gate or gate_of(config.provider, config.parallel)
        self._clock = clock
        self._sleep = sleep

    async def answer(self, call: Call) -> Reply:
        """The reply, or CallError after the last attempt or the deadline; final kinds are not attempted again."""
        if problem := missing_key(self.config):
            raise CallError("auth", problem)
        if problem := too_long(self.config, call):
            raise CallError("context", f"{self.name}: context: {problem}")
        tally = _Tally(self.config.deadline)
        retrying = tenacity.AsyncRetrying(
            sleep=self._sleep,
            stop=lambda state: state.attempt_number >= self.config.attempts or state.upcoming_sleep >= tally.left,
            wait=_wait,
            retry=tenacity.retry_if_exception(_worth_another),
            before_sleep=tally.before_sleep,
            reraise=True,
        )
        try:
            reply: Reply = await retrying(self._attempt, call, tally)
        except CallError as error:
            error.attempts = tally.attempts
            raise
        return replace(reply, attempts=tally.attempts, seconds=round(tally.seconds, 3))

    async def close(self) -> None:
        """Close litellm's connections, which all models of a process share; a later call opens new ones."""
        await close_connections()

    async def _attempt(self, call: Call, tally: _Tally) -> Reply:
        """One request, in its turn, and what its outcome means for others."""
        self._gate.retries += tally.attempts.sent > 0
        async with self._gate.passage() as leave:
            began = self._clock()
            try:
                reply = await self._request(call, min(self.config.timeout, tally.left))
            except CallError as error:
                tally.attempts += error.attempts
                if error.kind == "rate_limit":
                    self._gate.refused(leave)
                if error.kind == "timeout" and self.config.settles:
                    self._gate.pause(self.config.settles)
                if error.retry_after and error.retry_after < tally.left:
                    self._gate.pause(error.retry_after)
                raise
            finally:
                took = self._clock() - began
                tally.left -= took
                tally.seconds += took
            tally.attempts += Attempts()
            self._gate.succeeded()
            return reply

    async def _request(self, call: Call, timeout: float) -> Reply:
        litellm = quiet_litellm()
        params = asked(self.config, call)
        sent: list[Mapping[str, Any]] = []
        try:
            # litellm's own timeout runs anew with every byte, so that a slow drip would never end.
            async with asyncio.timeout(timeout):
                response = await litellm.acompletion(
                    model=self.config.model,
                    messages=messages(self.config, call),
                    api_base=self.config.api_base,
                    api_key=self._key or ("none" if self.config.api_base else None),
                    timeout=timeout,
                    num_retries=0,
                    max_retries=0,
                    logger_fn=lambda event: sent.append(event.get("additional_args", {})),
                    **params,
                )
        except TimeoutError:
            raise self._error("timeout", f"no reply within {timeout:g} s") from None
        except Exception as error:
            # `from None`: the cause may quote the key.
            raise self._error(kind_of(error), str(error), retry_after=retry_after(error)) from None
        body = next((b for event in sent if isinstance(b := event.get("complete_input_dict"), Mapping)), params)
        return self._reply(response, as_sent(body))

    def _reply(self, response: Any, params: Mapping[str, Any]) -> Reply:
        counted = getattr(response, "usage", None)
        if not response.choices:
            raise self._error("server", "the reply holds no choice", lost=_usage(counted))
        choice = response.choices[0]
        text, thought = (
            choice.message.content or _arguments(choice.message),
            getattr(choice.message, "reasoning_content", None),
        )
        usage = _usage(counted, told=bool(text or thought))
        if choice.finish_reason == "content_filter" and not text:
            raise self._error("refused", "the provider's content filter withheld the reply", lost=usage)
        if (getattr(choice, "provider_specific_fields", None) or {}).get("native_finish_reason") in _BROKEN_OFF:
            raise self._error("server", "the provider broke off the reply", lost=usage)
        # A cap may leave nothing that is shown; a model that has nothing to say spends a token on it.
        if not (text or thought or usage.completion or choice.finish_reason == "length"):
            raise self._error("server", "the reply is empty", lost=usage)
        return Reply(
            text=text,
            finish_reason="stop" if choice.finish_reason == "tool_calls" else choice.finish_reason,
            usage=usage,
            model=response.model or self.config.model,
            params=params,
        )

    @property
    def _key(self) -> str | None:
        return os.environ[self.config.key_env].strip() if self.config.key_env else None

    def _error(
        self, kind: str, detail: str, *, retry_after: float | None = None, lost: Usage | None = None
    ) -> CallError:
        """The CallError of one attempt: one line without the key."""
        line = one_line(detail)
        if key := self._key:
            line = line.replace(key, "***")
        attempts = Attempts(limited=int(kind == "rate_limit"), lost=lost if lost and lost.prompt else None)
        message = f"{self.name}: {kind}: {line[:_MESSAGE_MAX]}"
        return CallError(kind, message, retry_after=retry_after, attempts=attempts)


def _arguments(message: Any) -> str:
    """What the function was called with that stands for the reply."""
    called = getattr(message, "tool_calls", None) or []
    return str(called[0].function.arguments or "") if called else ""


def _usage(counted: Any, *, told: bool = False) -> Usage:
    """Token counts. A prompt of 0 tokens, and a reply of 0 that has `told` something, are not counted but left out."""

    def count(holder: Any, name: str) -> int:
        found = getattr(holder, name, None)
        return found if isinstance(found, int) and 0 <= found <= _COUNT_MAX else 0

    prompt, completion = count(counted, "prompt_tokens"), count(counted, "completion_tokens")
    # Moonshot puts cached_tokens beside prompt_tokens, the others into prompt_tokens_details.
    cached = count(getattr(counted, "prompt_tokens_details", None), "cached_tokens") or count(counted, "cached_tokens")
    reasoning = count(getattr(counted, "completion_tokens_details", None), "reasoning_tokens")
    return Usage(
        prompt=prompt,
        cached=min(cached, prompt),
        completion=completion,
        reasoning=min(reasoning, completion),
        uncounted=int(not prompt or (told and not completion)),
    )


def _error_of(state: tenacity.RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


def _worth_another(error: BaseException) -> bool:
    return isinstance(error, CallError) and error.kind in RETRIED


def _wait(state: tenacity.RetryCallState) -> float:
    """Full jitter, or what the provider asks for where that is longer; seconds."""
    return max(_JITTER(state), getattr(_error_of(state), "retry_after", None) or 0.0)
