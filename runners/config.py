"""What can be run, as data: `configs/` and sweep files, validated; an unknown key names the nearest valid one."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from rdforget.models.parameters import ModelConfig
from rdforget.plugins import nearest
from rdforget.records import SWITCHES, Protocol
from runners.errors import UserError

SWITCH_NAMES = tuple(f"no-{name}" for name in SWITCHES)
IMPORTED = "imported:"
"""How the method's name begins where a run's answers were made elsewhere."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SuiteConfig(_Strict):
    metrics: tuple[str, ...] = Field(min_length=1)
    protocol: Protocol = Protocol()


class MethodConfig(_Strict):
    builder: str
    options: dict[str, Any] = {}


class RulesConfig(_Strict):
    backend: Literal["rules"]
    label: str = "rules"


class LiteLLMConfig(_Strict):
    backend: Literal["litellm"]
    label: str
    client: ModelConfig


class GgufEntry(_Strict):
    """A model file run in this process; `rdforget.models.gguf.GgufConfig` is what becomes of it."""

    backend: Literal["gguf"]
    label: str
    path: Path | None = None
    """None: the weights that install with the extra `embedded`."""
    window: Annotated[int, Field(gt=0)] = 8_192
    """Most tokens of the model's own window that are used: memory and time grow with it."""
    reply_limit: Annotated[int, Field(gt=0)] | None = None
    supersession: Literal["model", "order"] = "order"
    threads: Annotated[int, Field(gt=0)] | None = None
    timeout: Annotated[float, Field(gt=0)] | None = None


class ServerEntry(_Strict):
    """A kind of server that runs a user's own models, and what it can do: `--model KIND/NAME`."""

    backend: Literal["server"]
    label: str
    provider: str
    """litellm's name of the protocol that it speaks."""
    client: ModelConfig
    """With the address at which it listens unless it is told otherwise."""


ModelEntry = Annotated[RulesConfig | LiteLLMConfig | GgufEntry | ServerEntry, Field(discriminator="backend")]


class SweepConfig(_Strict):
    """A block of a sweep: every combination of its lists."""

    suites: tuple[str, ...] = Field(min_length=1)
    methods: tuple[str, ...] = ("rd-forget",)
    models: tuple[str, ...] = ("rules",)
    switches: tuple[tuple[Literal["no-forget", "no-rescue", "no-slot", "no-closure", "no-qc"], ...], ...] = ((),)
    budgets: tuple[Annotated[int, Field(gt=0)], ...] = (Protocol().budget,)
    repeats: Annotated[int, Field(gt=0)] = 1
    """Equal runs, each with requests of its own: for models that sample."""
    limit: Annotated[int, Field(gt=0)] | None = None
    chunk_tokens: Annotated[int, Field(ge=50)] | None = None
    """As in `RunSpec`."""
    judge: str | None = None
    api_base: str | None = None
    """Base URL of an OpenAI-compatible server, for every model of the sweep that is not `rules`."""


def config_dir() -> Path:
    """The shipped `configs/`: inside the installed wheel, or at the top of a checkout."""
    installed = Path(__file__).parent / "configs"
    return installed if installed.is_dir() else Path(__file__).parent.parent / "configs"


@cache
def suite_configs() -> Mapping[str, SuiteConfig]:
    keys = {*SuiteConfig.model_fields, *(field.name for field in fields(Protocol))}
    found: dict[str, SuiteConfig] = _load(config_dir() / "suites.yaml", dict[str, SuiteConfig], keys)
    return found


@cache
def method_configs() -> Mapping[str, MethodConfig]:
    found: dict[str, MethodConfig] = _load(
        config_dir() / "methods.yaml", dict[str, MethodConfig], {*MethodConfig.model_fields}
    )
    return found


@cache
def model_configs() -> Mapping[str, RulesConfig | LiteLLMConfig | GgufEntry]:
    """The named models."""
    return {name: entry for name, entry in _entries().items() if not isinstance(entry, ServerEntry)}


@cache
def server_configs() -> Mapping[str, ServerEntry]:
    """The kinds of servers, by what stands before the slash of `KIND/NAME`."""
    return {name: entry for name, entry in _entries().items() if isinstance(entry, ServerEntry)}


@cache
def _entries() -> Mapping[str, RulesConfig | LiteLLMConfig | GgufEntry | ServerEntry]:
    """All of configs/models.yaml; keys of ModelConfig stand beside `backend` and `label` in the file."""
    path = config_dir() / "models.yaml"
    raw = _read(path)
    client_keys = {field.name for field in fields(ModelConfig)}
    for name, entry in raw.items():
        if not isinstance(entry, dict) or entry.get("backend") not in ("litellm", "server"):
            continue
        client = {"name": name, **({"model": name} if entry["backend"] == "server" else {})}
        client |= {key: entry.pop(key) for key in list(entry) if key in client_keys}
        raw[name] = {**entry, "client": client}
    own_keys = {*GgufEntry.model_fields, "provider"}
    found: dict[str, RulesConfig | LiteLLMConfig | GgufEntry | ServerEntry] = _validate(
        path, raw, dict[str, ModelEntry], {"backend", "label", *client_keys, *own_keys}
    )
    return found


def sweep_config(path_or_name: str) -> tuple[Path, tuple[SweepConfig, ...]]:
    """A sweep file by path, or a shipped one by name.

    A file is one block, or holds several under `blocks`; keys beside it stand for every block that lacks them.
    """
    shipped = shipped_sweeps()
    path = Path(path_or_name)
    if not path.is_file():
        if path_or_name not in shipped:
            raise UserError(nearest("sweep file or shipped sweep", path_or_name, shipped))
        path = shipped[path_or_name]
    raw = _read(path)
    blocks = raw.pop("blocks", [{}])
    if not isinstance(blocks, list) or not blocks or not all(isinstance(block, dict) for block in blocks):
        raise UserError(f"{path}: blocks must be a list of mappings of keys to values")
    keys = {*SweepConfig.model_fields, "blocks"}
    return path, tuple(_validate(path, {**raw, **block}, SweepConfig, keys) for block in blocks)


def shipped_sweeps() -> Mapping[str, Path]:
    """The files in `configs/sweeps` by name."""
    return {path.stem: path for path in sorted((config_dir() / "sweeps").glob("*.yaml"))}


def _load(path: Path, kind: Any, keys: Collection[str]) -> Any:
    return _validate(path, _read(path), kind, keys)


def _read(path: Path) -> dict[str, Any]:
    try:
        raw = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(raw, dict):
        raise UserError(f"{path} must hold a mapping of keys to values")
    return raw


def _validate(path: Path, raw: Mapping[str, Any], kind: Any, keys: Collection[str]) -> Any:
    """`raw` as `kind`; `keys` are the valid ones, to name the nearest of them."""
    try:
        return TypeAdapter(kind).validate_python(raw)
    except ValidationError as error:
        raise UserError(f"{path}: {_explain(error, keys)}") from error


def _explain(error: ValidationError, keys: Collection[str]) -> str:
    """The first complaint in one sentence; for an unknown key or word with the nearest valid one."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{nearest('key', str(first['loc'][-1]), sorted(keys))} (at {where})"
    if first["type"] == "literal_error":
        words = re.findall(r"'([^']+)'", first["ctx"]["expected"])
        return f"{nearest('value', str(first['input']), words)} (at {where})"
    return f"{where}: {first['msg'].lower()}, not {first['input']!r}"
