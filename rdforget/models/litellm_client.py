"""Language models behind any API that litellm speaks.

litellm is imported at the first call, which costs seconds, and is kept quiet, offline and without retries of
its own: attempts are counted here, so that one call makes at most `attempts` requests.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import warnings
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import tenacity

from rdforget.calls.base import Call, Reply
from rdforget.models.base import RETRIED, CallError
from rdforget.records import Usage

LONGEST_WAIT = 120.0  # seconds; a provider that asks for more is not waited for
_MESSAGE_MAX = 300
_JITTER = tenacity.wait_random_exponential(multiplier=1, max=60)
_PREFIX = re.compile(r"^(?:litellm\.\w+: )+(?:\w*Error: |Timeout Error: )*(?:\w+Exception - )?")
# Fields of the providers' request bodies that hold the prompt.
_NOT_PARAMETERS = {"model", "messages", "system", "contents", "system_instruction", "input", "prompt"}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Clamp:
    """A range that a provider accepts, ends included."""

    min: float
    max: float


@dataclass(frozen=True, slots=True)
class Parameters:
    """How a provider wants to be told what a call asks for."""

    temperature: Literal["keep", "drop"] | Clamp = "keep"
    """`drop` leaves it to the provider, for models that refuse any value."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    reasoning_allowance: int = 0
    """Tokens added to the output cap, for models whose thinking is counted in it and cannot be turned off."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the request body, sent as they are."""


@dataclass(frozen=True, slots=True)
class Prices:
    """USD per million tokens."""

    input: float
    output: float
    cached: float | None = None
    """For prompt tokens read from the provider's cache; None charges them as `input`."""

    def cost(self, usage: Usage) -> float:
        """USD of a usage. Cached tokens are part of its prompt and reasoning is part of its completion."""
        cached = self.input if self.cached is None else self.cached
        fresh = usage.prompt - usage.cached
        return (fresh * self.input + usage.cached * cached + usage.completion * self.output) / 1_000_000


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """One language model and how to call it; everything but `timeout`, `attempts` and `prices` shapes replies."""

    name: str
    model: str
    """litellm's name, `provider/model`."""
    api_base: str | None = None
    key_env: str | None = None
    """Environment variable with the key. None: a server at `api_base` needs none, else litellm finds its own."""
    parameters: Parameters = field(default_factory=Parameters)
    structured: Literal["json_schema", "json_object", "none"] = "none"
    """How the reply schema is asked for, beside the words of the prompt."""
    timeout: float = 120.0
    """Seconds for one attempt, from the request to the last byte."""
    attempts: int = 5
    prices: Prices | None = None


def missing_key(config: ModelConfig) -> str | None:
    """What to tell a user whose key is not set; None when the model can be called."""
    if config.key_env is None or os.environ.get(config.key_env, "").strip():
        return None
    return f"Model {config.name} needs its API key in the environment variable {config.key_env}, which is not set."


class LiteLLM:
    """A backend for one configured model; safe for concurrent calls on one event loop."""

    def __init__(self, config: ModelConfig, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """`sleep` waits between attempts; tests replace it."""
        self.name = config.name
        self.config = config
        self._sleep = sleep

    async def answer(self, call: Call) -> Reply:
        """The reply, or CallError after the last attempt; final kinds are not attempted again."""
        if problem := missing_key(self.config):
            raise CallError("auth", problem)
        retrying = tenacity.AsyncRetrying(
            sleep=self._sleep,
            stop=tenacity.stop_after_attempt(self.config.attempts),
            wait=_wait,
            retry=tenacity.retry_if_exception(_worth_another),
            before_sleep=tenacity.before_sleep_log(_log, logging.INFO),
            reraise=True,
        )
        return await retrying(self._attempt, call)

    async def close(self) -> None:
        """Close litellm's connections, which all models of a process share; a later call opens new ones."""
        if not _litellm.cache_info().currsize:
            return
        from litellm.llms.custom_httpx.async_client_cleanup import close_litellm_async_clients

        await close_litellm_async_clients()
        _litellm().in_memory_llm_clients_cache.flush_cache()

    async def _attempt(self, call: Call) -> Reply:
        """One request."""
        litellm = _litellm()
        asked = _parameters(self.config, call)
        sent: list[Mapping[str, Any]] = []
        try:
            # litellm's own timeout runs anew with every byte, so that a slow drip would never end.
            async with asyncio.timeout(self.config.timeout):
                response = await litellm.acompletion(
                    model=self.config.model,
                    messages=[{"role": m.role, "content": m.content} for m in call.messages],
                    api_base=self.config.api_base,
                    api_key=self._key or ("none" if self.config.api_base else None),
                    timeout=self.config.timeout,
                    num_retries=0,
                    max_retries=0,
                    logger_fn=lambda event: sent.append(event.get("additional_args", {})),
                    **asked,
                )
        except TimeoutError:
            raise self._error("timeout", f"no reply within {self.config.timeout:g} s") from None
        except Exception as error:
            # `from None`: the cause may quote the key.
            raise self._error(_kind(error), str(error), _retry_after(error)) from None
        body = next((b for event in sent if isinstance(b := event.get("complete_input_dict"), Mapping)), asked)
        return self._reply(response, _as_sent(body))

    def _reply(self, response: Any, params: Mapping[str, Any]) -> Reply:
        if not response.choices:
            raise self._error("server", "the reply holds no choice")
        choice = response.choices[0]
        text = choice.message.content or ""
        if choice.finish_reason == "content_filter" and not text:
            raise self._error("refused", "the provider's content filter withheld the reply")
        return Reply(
            text=text,
            finish_reason=choice.finish_reason,
            usage=_usage(getattr(response, "usage", None)),
            model=response.model or self.config.model,
            params=params,
        )

    @property
    def _key(self) -> str | None:
        return os.environ[self.config.key_env].strip() if self.config.key_env else None

    def _error(self, kind: str, detail: str, retry_after: float | None = None) -> CallError:
        """A CallError of one line without litellm's prefixes and without the key."""
        line = _PREFIX.sub("", detail.strip().partition("\n")[0])
        if key := self._key:
            line = line.replace(key, "***")
        return CallError(kind, f"{self.name}: {kind}: {line[:_MESSAGE_MAX]}", retry_after=retry_after)


@cache
def _litellm() -> Any:
    """litellm, imported once and made quiet."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else the import fetches a price table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import litellm

        litellm.suppress_debug_info = True
        litellm.telemetry = False
        logging.getLogger("LiteLLM").setLevel(logging.ERROR)  # it reports odd replies, which are ours to report
        litellm.disable_aiohttp_transport = True  # so that httpx names what broke; see _kind
        # The first completion imports more, with warnings that could not be contained in an `await`.
        litellm.completion(
            model="openai/none", messages=[{"role": "user", "content": "-"}], mock_response="-", api_key="none"
        )
    return litellm


def _parameters(config: ModelConfig, call: Call) -> dict[str, Any]:
    """What litellm is asked to send for a call under the model's policy."""
    policy = config.parameters
    asked = dict(call.sampling)
    if policy.temperature == "drop":
        asked.pop("temperature", None)
    elif policy.temperature != "keep" and "temperature" in asked:
        asked["temperature"] = min(max(asked["temperature"], policy.temperature.min), policy.temperature.max)
    asked[policy.max_tokens_field] = call.max_output_tokens + policy.reasoning_allowance
    if call.schema is not None and config.structured == "json_object":
        asked["response_format"] = {"type": "json_object"}
    elif call.schema is not None and config.structured == "json_schema":
        schema = {"name": call.role, "schema": dict(call.schema), "strict": True}
        asked["response_format"] = {"type": "json_schema", "json_schema": schema}
    if policy.extra:
        asked["extra_body"] = dict(policy.extra)
    return asked


def _as_sent(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters of a request body; of a response format its type, as the schema is known from the call."""
    params = {**body, **body.get("extra_body", {})}
    params.pop("extra_body", None)
    if isinstance(form := params.get("response_format"), Mapping):
        params["response_format"] = form.get("type")
    return {name: value for name, value in params.items() if name not in _NOT_PARAMETERS}


def _usage(counted: Any) -> Usage:
    """Token counts, 0 where the provider gives none."""

    def count(holder: Any, name: str) -> int:
        return getattr(holder, name, None) or 0

    # Moonshot puts cached_tokens beside prompt_tokens, the others into prompt_tokens_details.
    cached = count(getattr(counted, "prompt_tokens_details", None), "cached_tokens") or count(counted, "cached_tokens")
    return Usage(
        prompt=count(counted, "prompt_tokens"),
        cached=cached,
        completion=count(counted, "completion_tokens"),
        reasoning=count(getattr(counted, "completion_tokens_details", None), "reasoning_tokens"),
    )


def _kind(error: Exception) -> str:
    """The kind of what litellm raised.

    The class is asked only where it says more than the status: litellm raises one class for statuses as
    different as 402, 403 and 520, and an internal server error for a broken connection or a key not found.
    """
    import httpx
    import openai

    known = _litellm().exceptions
    if isinstance(error, known.ContextWindowExceededError):
        return "context"
    if isinstance(error, known.ContentPolicyViolationError):
        return "refused"
    if isinstance(error, known.Timeout):
        return "timeout"
    causes = list(_causes(error))
    if isinstance(error, known.APIConnectionError) or any(isinstance(c, httpx.TransportError) for c in causes):
        return "connection"
    status = getattr(error, "status_code", None)
    if status in (401, 402) or any(type(c) is openai.OpenAIError for c in causes):
        return "auth"
    if status == 429:
        return "rate_limit"
    if not isinstance(status, int):
        return "internal"
    return "server" if status >= 500 else "bad_request"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _retry_after(error: Exception) -> float | None:
    """Seconds of a Retry-After header; None without one, and for the form that names a date."""
    headers = getattr(error, "litellm_response_headers", None) or {}
    try:
        return float(headers.get("retry-after", ""))
    except ValueError:
        return None


def _worth_another(error: BaseException) -> bool:
    return isinstance(error, CallError) and error.kind in RETRIED and (error.retry_after or 0) <= LONGEST_WAIT


def _wait(state: tenacity.RetryCallState) -> float:
    """Full jitter, or what the provider asks for where that is longer; seconds."""
    error = state.outcome.exception() if state.outcome else None
    return max(_JITTER(state), getattr(error, "retry_after", None) or 0.0)
