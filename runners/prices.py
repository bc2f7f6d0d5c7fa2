"""What models charge that configs/models.yaml does not name: the price table that litellm carries."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rdforget.models.parameters import Prices

_MILLION = 1_000_000
_WANTED = re.compile("cost|litellm_provider")
_TIER = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")


@cache
def listed_prices(model: str) -> Prices | None:
    """Of a litellm string `provider/model` at the provider's own address; None where the table has no plain price."""
    provider, _, name = model.partition("/")
    found = _table().get(model) or _table().get(name, {})
    if found.get("litellm_provider") != provider or not {"input_cost_per_token", "output_cost_per_token"} <= set(found):
        return None
    cached = found.get("cache_read_input_token_cost")
    tiers = [1_000 * int(tier[1]) for field in found if (tier := _TIER.fullmatch(field))]
    return Prices(
        input=_per_million(found["input_cost_per_token"]),
        output=_per_million(found["output_cost_per_token"]),
        cached=None if cached is None else _per_million(cached),
        up_to=min(tiers, default=None),
    )


def _per_million(usd: float) -> float:
    return round(usd * _MILLION, 9)  # 2e-07 a token is 0.2, not 0.19999999999999998


def _table() -> Mapping[str, Mapping[str, Any]]:
    """litellm's table from its file, in 40 ms: importing litellm for it would take seconds. It is not kept: few of its
    3,000 models are ever asked for, and the memory is wanted.
    """
    spec = find_spec("litellm")
    assert spec is not None
    assert spec.submodule_search_locations
    path = Path(spec.submodule_search_locations[0]) / "model_prices_and_context_window_backup.json"
    table: Mapping[str, Mapping[str, Any]] = json.loads(path.read_text("utf-8"), object_hook=_wanted)
    return table


def _wanted(fields: dict[str, Any]) -> dict[str, Any]:
    """Of what the table says of a model the provider and the prices."""
    return {name: value for name, value in fields.items() if isinstance(value, dict) or _WANTED.search(name)}
