"""From a `--model` name to a backend, and whether it is ready to use."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from rdforget.models import embedded
from rdforget.models.base import Backend
from rdforget.models.gguf import TIMEOUT, Gguf, GgufConfig, missing_runtime, runtime
from rdforget.models.gguf_file import Weights, weights
from rdforget.models.litellm_client import LiteLLM
from rdforget.models.parameters import ModelConfig, Prices, missing_key
from rdforget.models.replay import Replay, ReplayConfig
from rdforget.models.rules import Rules
from rdforget.plugins import nearest
from rdforget.reader import reader_digest
from runners.config import GgufEntry, RulesConfig, ServerEntry, model_configs, server_configs
from runners.errors import UserError
from runners.prices import listed_prices
from runners.recordings import REPLAY, replay_config

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
_NOT_SEMANTIC = {
    *("timeout", "deadline", "attempts", "parallel", "settles", "prices", "cache_marks", "label", "path", "threads"),
}
_IN_PROTOCOL = {"window", "reply_limit", "supersession"}
"""Settings of a model that shape the protocol, where they are recorded."""
_GGUF = "gguf:"
_OPENAI_BASES = ("OPENAI_BASE_URL", "OPENAI_API_BASE")


def model_config(name: str, api_base: str | None = None) -> RulesConfig | ModelConfig:
    """A named model of configs/models.yaml, any model file as `gguf:PATH`, a recorded run as `replay:PATH`, or any
    litellm string `provider/model`."""
    named = model_configs().get(name)
    if isinstance(named, RulesConfig):
        return named
    if isinstance(named, GgufEntry):
        return _gguf(name, named)
    if name.startswith(_GGUF):
        path = Path(name.removeprefix(_GGUF)).expanduser()
        return _gguf(name, GgufEntry(backend="gguf", label=path.stem, path=path))
    if name.startswith(REPLAY):
        return replay_config(name)
    if named is None and name in server_configs():
        return _served(name, server_configs()[name], "", api_base)
    if named is None and "/" not in name:
        message = nearest("model", name, model_configs())
        raise UserError(
            f"{message}; a model file has the form gguf:PATH, a recording replay:PATH, a litellm string provider/model"
        )
    provider, _, served = name.partition("/")
    if server := server_configs().get(provider):
        return _served(name, server, served, api_base)
    client = named.client if named else ModelConfig(name=name, model=name, key_env=_KEYS.get(provider))
    if api_base:
        # A key of a provider is not for somebody else's server; a model that names both wants both.
        return replace(client, api_base=api_base, key_env=named.client.key_env if named else None)
    if client.model.startswith("openai/") and not client.api_base:
        # litellm would follow these by itself, and nothing would tell which endpoint was measured.
        client = replace(client, api_base=next((os.environ[v] for v in _OPENAI_BASES if os.environ.get(v)), None))
    if client.api_base or client.prices:  # what another server charges, litellm's table does not say
        return client
    return replace(client, prices=listed_prices(client.model))


def semantic(config: RulesConfig | ModelConfig) -> dict[str, Any]:
    """The part of a model's settings that shapes replies. It names the key's variable, never the key."""
    if isinstance(config, ReplayConfig):  # replies are those of the recorded model, and of this file
        model = {"model": config.recorded["model"]} if "model" in config.recorded else {}
        return {"name": "replay", "replay_of": dict(config.recorded), "recording": config.sha256, **model}
    data: dict[str, Any] = TypeAdapter(type(config)).dump_python(config, mode="json")
    data = {name: value for name, value in data.items() if name not in _NOT_SEMANTIC | _IN_PROTOCOL}
    if isinstance(config, GgufConfig):  # what it is called may hold a path; replies hang on the window too
        return data | {"name": config.model, "window": config.window}
    return data | {"reader": reader_digest()} if isinstance(config, RulesConfig) else data


def unready(config: RulesConfig | ModelConfig) -> str | None:
    """What to tell a user before the model can be asked; None where it can."""
    if isinstance(config, RulesConfig):
        return None
    return missing_runtime(config) if isinstance(config, GgufConfig) else missing_key(config)


def make_backend(name: str, api_base: str | None = None, timeout: float | None = None) -> Backend:
    """The backend of a model; a missing key is one clear line before any work.

    `timeout` stands in for the model's own; its deadline leaves room for one attempt at least.
    """
    config = model_config(name, api_base)
    if isinstance(config, RulesConfig):
        return Rules()
    if problem := unready(config):
        raise UserError(problem)
    if timeout:
        config = replace(config, timeout=timeout, deadline=max(config.deadline, timeout))
    return backend_of(config)


def backend_of(config: ModelConfig) -> Backend:
    """Who answers for a model that is ready."""
    if isinstance(config, ReplayConfig):
        return Replay(config)
    return Gguf(config) if isinstance(config, GgufConfig) else LiteLLM(config)


def _served(name: str, server: ServerEntry, served: str, api_base: str | None) -> ModelConfig:
    """A model of a user's own server, which takes any key."""
    if not served:
        raise UserError(f"model {name!r} names a kind of server: name its model too, as {name.rstrip('/')}/MODEL")
    model = f"{server.provider}/{served}"
    return replace(server.client, name=name, model=model, api_base=api_base or server.client.api_base)


def _gguf(name: str, entry: GgufEntry) -> GgufConfig:
    """A model file as it is called. The weights of the package are known where they are not installed."""
    path = entry.path or embedded.weights_file()
    expected = None if entry.path else embedded.SHA256
    found = weights(path) if path else Weights(Path(embedded.FILE), embedded.SHA256, embedded.WINDOW)
    if expected and found.sha256 != expected:
        raise UserError(f"{path} has the sha256 {found.sha256}, not {expected}: reinstall {embedded.PACKAGE}")
    return GgufConfig(
        name=name,
        model=f"{_GGUF}{found.path.name}",
        structured="json_schema",
        timeout=entry.timeout or TIMEOUT,
        prices=Prices(input=0.0, output=0.0),
        window=min(entry.window, found.window),
        reply_limit=entry.reply_limit,
        supersession=entry.supersession,
        path=path,
        sha256=found.sha256,
        runtime=runtime(),
        threads=entry.threads,
    )
