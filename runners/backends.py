"""From a `--model` name to a backend, and whether it is ready to use."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from rdforget.models.base import Backend
from rdforget.models.litellm_client import LiteLLM, ModelConfig, missing_key
from rdforget.models.rules import Rules
from rdforget.plugins import nearest
from rdforget.reader import reader_digest
from runners.config import RulesConfig, model_configs
from runners.errors import UserError

_KEYS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "dashscope": "DASHSCOPE_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "groq": "GROQ_API_KEY",
    "minimax": "MINIMAX_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "moonshot": "MOONSHOT_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "xai": "XAI_API_KEY",
}
"""Variables of keys by litellm's provider prefix, so that a key that is missing is said before any work."""
_OPENAI_BASES = ("OPENAI_BASE_URL", "OPENAI_API_BASE")


def model_config(name: str, api_base: str | None = None) -> RulesConfig | ModelConfig:
    """A named model of configs/models.yaml, or any litellm string `provider/model`."""
    named = model_configs().get(name)
    if isinstance(named, RulesConfig):
        return named
    if named is None and "/" not in name:
        message = nearest("model", name, model_configs())
        raise UserError(f"{message}; a litellm string has the form provider/model")
    provider = name.partition("/")[0]
    client = named.client if named else ModelConfig(name=name, model=name, key_env=_KEYS.get(provider))
    if api_base:
        # A key of a provider is not for somebody else's server; a model that names both wants both.
        return replace(client, api_base=api_base, key_env=named.client.key_env if named else None)
    if client.model.startswith("openai/") and not client.api_base:
        # litellm would follow these by itself, and nothing would tell which endpoint was measured.
        return replace(client, api_base=next((os.environ[v] for v in _OPENAI_BASES if os.environ.get(v)), None))
    return client


def semantic(config: RulesConfig | ModelConfig) -> dict[str, Any]:
    """The part of a model's settings that shapes replies. It names the key's variable, never the key."""
    data: dict[str, Any] = TypeAdapter(type(config)).dump_python(config, mode="json")
    data = {name: value for name, value in data.items() if name not in ("timeout", "attempts", "prices", "label")}
    return data | {"reader": reader_digest()} if isinstance(config, RulesConfig) else data


def make_backend(name: str, api_base: str | None = None) -> Backend:
    """The backend of a model; a missing key is one clear line before any work."""
    config = model_config(name, api_base)
    if isinstance(config, RulesConfig):
        return Rules()
    if problem := missing_key(config):
        raise UserError(problem)
    return LiteLLM(config)
