"""From a `--model` name to a backend, and whether it is ready to use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from rdforget.models.base import Backend
from rdforget.models.litellm_client import LiteLLM, ModelConfig, missing_key
from rdforget.plugins import nearest
from runners.config import RulesConfig, model_configs
from runners.errors import UserError


def model_config(name: str, api_base: str | None = None) -> RulesConfig | ModelConfig:
    """A named model of configs/models.yaml, or any litellm string `provider/model`."""
    named = model_configs().get(name)
    if isinstance(named, RulesConfig):
        return named
    if named is None and "/" not in name:
        message = nearest("model", name, model_configs())
        raise UserError(f"{message}; a litellm string has the form provider/model")
    client = named.client if named else ModelConfig(name=name, model=name)
    return replace(client, api_base=api_base or client.api_base)


def semantic(config: RulesConfig | ModelConfig) -> dict[str, Any]:
    """The part of a model's settings that shapes replies. It names the key's variable, never the key."""
    data: dict[str, Any] = TypeAdapter(type(config)).dump_python(config, mode="json")
    return {name: value for name, value in data.items() if name not in ("timeout", "attempts", "prices")}


def make_backend(name: str, api_base: str | None = None) -> Backend:
    """The backend of a model; a missing key is one clear line before any work."""
    config = model_config(name, api_base)
    if isinstance(config, RulesConfig):
        from rdforget.models.rules import Rules

        return Rules()
    if problem := missing_key(config):
        raise UserError(problem)
    return LiteLLM(config)
