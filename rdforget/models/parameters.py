"""How a language model is called: what it is named, what it accepts, how long it is waited for, what it costs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rdforget.calls.base import Call, Message
from rdforget.records import Usage
from rdforget.tokens import count_tokens

# Fields of the providers' request bodies that hold the prompt.
_NOT_PARAMETERS = {"model", "messages", "system", "contents", "system_instruction", "input", "prompt"}


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
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of litellm, for a provider whose requests it builds otherwise than OpenAI's (Ollama's options)."""


@dataclass(frozen=True, slots=True)
class Prices:
    """USD per million tokens."""

    input: float
    output: float
    cached: float | None = None
    """For prompt tokens read from the provider's cache; None charges them as `input`."""
    up_to: int | None = None
    """Prompt tokens above which the provider charges a call otherwise, by prices that are not known here."""

    def cost(self, usage: Usage) -> float:
        """USD of a usage. Cached tokens are part of its prompt and reasoning is part of its completion."""
        cached = self.input if self.cached is None else self.cached
        fresh = usage.prompt - usage.cached
        return (fresh * self.input + usage.cached * cached + usage.completion * self.output) / 1_000_000


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """One language model and how to call it; replies are shaped by what stands above `timeout`."""

    name: str
    model: str
    """litellm's name, `provider/model`."""
    api_base: str | None = None
    key_env: str | None = None
    """Environment variable with the key. None: a server at `api_base` needs none, else litellm finds its own."""
    parameters: Parameters = field(default_factory=Parameters)
    structured: Literal["json_schema", "json_object_schema", "tool", "json_object", "none"] = "none"
    """How the reply schema is asked for, beside the words of the prompt: as OpenAI has it, as llama-cpp-python's server
    wants it, as the arguments of a function that must be called, only as JSON, or not at all."""
    timeout: float = 120.0
    """Seconds for one attempt, from the request to the last byte."""
    deadline: float = 600.0
    """Seconds for one call: its attempts and the waits between them, without the wait for its turn at the gate."""
    attempts: int = 6
    parallel: int | None = None
    """Most requests that the server gets at once, for one that works them off in turn while their time runs."""
    settles: float = 0.0
    """Seconds for which the server goes on with a request that was given up; nothing else is sent meanwhile."""
    prices: Prices | None = None
    cache_marks: bool = False
    """Whether the provider wants to be told where the beginning ends that requests have in common, to cache it."""
    window: int | None = None
    """Tokens that a prompt and its reply may have together. Where it is known, what is asked is cut to fit: `fitted`.
    This and what follows shape the protocol, and are recorded there."""
    reply_limit: int | None = None
    """Most tokens of a reply, under the protocol's caps. None: a quarter of the window, where one is known."""
    supersession: Literal["model", "order"] = "model"
    """As in `Protocol`."""

    @property
    def provider(self) -> str:
        """Who is asked: calls to the same one share a limit."""
        return self.api_base or self.model.partition("/")[0]


def missing_key(config: ModelConfig) -> str | None:
    """What to tell a user whose key is not set; None when the model can be called."""
    if config.key_env is None or os.environ.get(config.key_env, "").strip():
        return None
    return f"Model {config.name} needs its API key in the environment variable {config.key_env}, which is not set."


def too_long(config: ModelConfig, call: Call) -> str | None:
    """Why a call cannot fit the window of a model behind an API, of which only o200k_base can count the tokens here.

    Few vocabularies need fewer: what is too long by it is not sent. What is too long by the model's own is left to the
    server to refuse.
    """
    if config.window is None:
        return None
    cap = call.max_output_tokens + config.parameters.reasoning_allowance
    # A token has a byte at least: most prompts are known to fit without being counted.
    if sum(len(one.content.encode()) for one in call.messages) + cap <= config.window:
        return None
    size = sum(count_tokens(one.content) for one in call.messages)
    if size + cap <= config.window:
        return None
    return f"a prompt of {size:,} tokens and a reply of up to {cap:,} exceed the window of {config.window:,}"


def messages(config: ModelConfig, call: Call) -> list[dict[str, Any]]:
    """The messages of a call in the form that litellm takes."""
    return [
        {"role": one.role, "content": _marked(one) if config.cache_marks and one.shared else one.content}
        for one in call.messages
    ]


def _marked(message: Message) -> list[dict[str, Any]]:
    """A message in two blocks, of which the first is marked as Anthropic wants it; litellm knows who else does."""
    beginning, rest = message.content[: message.shared], message.content[message.shared :]
    mark = {"cache_control": {"type": "ephemeral"}}
    return [{"type": "text", "text": beginning, **mark}, *([{"type": "text", "text": rest}] if rest else [])]


def asked(config: ModelConfig, call: Call) -> dict[str, Any]:
    """What litellm is asked to send for a call under the model's policy."""
    policy = config.parameters
    params = dict(call.sampling)
    if policy.temperature == "drop":
        params.pop("temperature", None)
    elif policy.temperature != "keep" and "temperature" in params:
        params["temperature"] = min(max(params["temperature"], policy.temperature.min), policy.temperature.max)
    params[policy.max_tokens_field] = call.max_output_tokens + policy.reasoning_allowance
    if call.schema is not None and config.structured == "json_object":
        params["response_format"] = {"type": "json_object"}
    elif call.schema is not None and config.structured == "json_schema":
        schema = {"name": call.role, "schema": dict(call.schema), "strict": True}
        params["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif call.schema is not None and config.structured == "json_object_schema":
        params["response_format"] = {"type": "json_object", "schema": dict(call.schema)}
    elif call.schema is not None and config.structured == "tool":
        told = "Takes the reply, in the form in which it is asked for."
        function = {"name": call.role, "description": told, "parameters": dict(call.schema)}
        params["tools"] = [{"type": "function", "function": function}]
        params["tool_choice"] = {"type": "function", "function": {"name": call.role}}
    params.update(policy.arguments)
    if policy.extra:
        params["extra_body"] = dict(policy.extra)
    return params


def as_sent(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters of a request body; of a response format its type and of a function its name, as the schema is
    known from the call."""
    params = {**body, **body.get("extra_body", {})}
    params.pop("extra_body", None)
    if isinstance(form := params.get("response_format"), Mapping):
        params["response_format"] = form.get("type")
    if params.pop("tools", None):
        params["tool_choice"] = params.get("tool_choice", {}).get("function", {}).get("name")
    return {name: value for name, value in params.items() if name not in _NOT_PARAMETERS}
