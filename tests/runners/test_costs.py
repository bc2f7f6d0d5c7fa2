"""What a run has spent, from its calls."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from rdforget.calls.base import Reply
from rdforget.models.parameters import ModelConfig, Prices
from rdforget.records import Attempts, CallRecord, Usage
from runners.backends import model_config
from runners.config import RulesConfig
from runners.costs import cost_rows, costs_of, money, payload, told, write_costs

PRICED = ModelConfig("priced", "openai/priced", prices=Prices(input=1.0, cached=0.1, output=4.0, up_to=50_000))
UNPRICED = ModelConfig("unpriced", "openai/unpriced")
USAGE = Usage(prompt=1000, cached=800, completion=100, reasoning=60)
REPLY = Reply("text", usage=USAGE, seconds=1.5)
CALL = CallRecord("answer", "k", "m", "stop", USAGE, {})


def test_cached_and_reasoning_tokens_are_charged_once_and_a_cache_hit_not_at_all() -> None:
    hit = replace(REPLY, source="cache", attempts=Attempts(sent=3, limited=2))
    [cost] = costs_of([("answer", REPLY), ("answer", hit)], [], lambda role: PRICED)
    assert cost.usd == pytest.approx(0.000680)
    assert (cost.calls, cost.from_cache, cost.attempts, cost.usage) == (2, 1, Attempts(), USAGE)
    assert cost.seconds == REPLY.seconds
    assert (cost.retries, cost.unpriced, money([cost])) == (0, 0, "0.000680 USD")


@pytest.mark.parametrize(
    ("reply", "config"),
    [
        (REPLY, UNPRICED),
        (replace(REPLY, usage=Usage(uncounted=1)), PRICED),
        (replace(REPLY, usage=Usage(prompt=60_000, completion=1)), PRICED),
    ],
)
def test_what_is_not_known_is_not_nothing(reply: Reply, config: ModelConfig) -> None:
    asked = [("answer", reply), ("judge", REPLY)]
    costs = costs_of(asked, [], lambda role: PRICED if role == "judge" else config)
    assert sum(cost.unpriced for cost in costs) == 1
    assert money(costs).startswith("at least 0.0")
    assert money(costs).endswith(" USD, 1 call unpriced")
    assert cost_rows(costs)[0]["USD"].startswith("at least ")
    assert cost_rows(costs)[1]["USD"] == "0.000680"


def test_failed_attempts_are_counted_and_what_they_cost() -> None:
    retried = replace(REPLY, attempts=Attempts(sent=4, limited=2, lost=Usage(prompt=1000)))
    failed = replace(CALL, usage=Usage(), finish_reason="timeout", attempts=Attempts(sent=6, limited=1))
    [cost] = costs_of([("answer", retried)], [failed], lambda role: PRICED)
    assert cost.usd == pytest.approx(0.000680 + 0.001)
    assert (cost.calls, cost.failed, cost.retries, cost.attempts.limited) == (2, 1, 8, 3)
    assert cost.usage.prompt == 2000
    assert told([cost]) == ("2 calls; 8 retries (3 rate-limited); 2,000 prompt and 100 completion tokens; 0.001680 USD")


def test_the_reader_without_a_language_model_costs_nothing_and_is_left_out(tmp_path: Path) -> None:
    assert costs_of([("answer", REPLY)], [CALL], lambda role: RulesConfig(backend="rules")) == []
    write_costs(tmp_path, [])
    assert list(tmp_path.iterdir()) == []
    assert payload([]) == {"usd_at_least": 0.0, "unpriced_calls": 0, "uncounted_calls": 0, "stages": []}


def test_costs_on_disk(tmp_path: Path) -> None:
    write_costs(tmp_path, costs_of([("answer", REPLY), ("judge", REPLY)], [], lambda role: PRICED))
    with (tmp_path / "costs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["stage"], row["prompt"], row["cached"], row["seconds"], row["usd"]) for row in rows] == [
        ("answer", "1000", "800", "1.5", "0.00068"),
        ("judge", "1000", "800", "1.5", "0.00068"),
    ]
    markdown = (tmp_path / "costs.md").read_text("utf-8")
    assert "| total " in markdown
    assert markdown.endswith("0.001360 USD\n")


def test_prices_come_from_the_configs_first_and_then_from_litellm() -> None:
    def prices(name: str, api_base: str | None = None) -> Prices | None:
        config = model_config(name, api_base)
        assert isinstance(config, ModelConfig)
        return config.prices

    assert prices("luna") == Prices(input=0.20, cached=0.02, output=1.20, up_to=272_000)
    assert prices("openai/gpt-4o-mini") == Prices(input=0.15, cached=0.075, output=0.6)
    assert prices("anthropic/claude-sonnet-4-5") == Prices(input=3.0, cached=0.3, output=15.0)
    assert prices("qwen") is None
    assert prices("openai/no-such-model") is None
    # What somebody else's server charges for a model of that name is not known.
    assert prices("openai/gpt-4o-mini", "http://localhost:1/v1") is None
    assert prices("luna", "http://localhost:1/v1") == prices("luna")
