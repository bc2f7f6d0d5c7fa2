"""From a `--model` name to a backend, and whether it is ready to use."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from rdforget.models.litellm_client import LiteLLM, ModelConfig, missing_key

from rdforget.models.base import Backend
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
    return TypeAdapter(ModelConfig).validate_python(vars_of(client) | {"api_base": api_base or client.api_base})


def vars_of(config: RulesConfig | ModelConfig) -> dict[str, Any]:
    """A model's settings as plain data: part of what a run measured. It names the key's variable, never the key."""
    data: dict[str, Any] = TypeAdapter(type(config)).dump_python(config, mode="json")
    return data


def make_backend(name: str, api_base: str | None = None) -> Backend:
    """The backend of a model; a missing key is one clear line before any work."""
    config = model_config(name, api_base)
    if isinstance(config, RulesConfig):
        from rdforget.models.rules import Rules

        return Rules()
    if problem := missing_key(config):
        raise UserError(problem)
    return LiteLLM(config)
