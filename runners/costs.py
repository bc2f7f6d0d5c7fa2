"""What a run has spent: requests, tokens and money, by stage and model."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from rdforget.calls.base import Reply
from rdforget.models.parameters import ModelConfig
from rdforget.records import Attempts, CallRecord, Usage
from rdforget.scoring.metrics import JUDGED
from runners.config import RulesConfig
from runners.journal import read_calls
from runners.latex import cell

if TYPE_CHECKING:
    from runners.engine import Run

NAME = "costs"
ConfigOf = Callable[[str], RulesConfig | ModelConfig]
"""The model that a role asks."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The calls of one role to one language model, all sessions of a run together."""

    stage: str
    model: str
    calls: int = 0
    from_cache: int = 0
    """Calls that were answered from the cache of replies: they cost nothing, their tokens are not counted."""
    failed: int = 0
    """Calls that brought no reply."""
    attempts: Attempts = field(default_factory=lambda: Attempts(sent=0))
    usage: Usage = field(default_factory=Usage)
    """With the replies that could not be used."""
    seconds: float = 0.0
    """How long the requests of the calls with a reply were under way, added up as if one had followed the other."""
    usd: float = 0.0
    """Of what is priced: a lower bound where `unpriced` is not 0."""
    unpriced: int = 0
    """Replies whose price is not known, or whose tokens are not."""

    @property
    def retries(self) -> int:
        return self.attempts.sent - (self.calls - self.from_cache)

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.stage,
            self.model,
            self.calls + other.calls,
            self.from_cache + other.from_cache,
            self.failed + other.failed,
            self.attempts + other.attempts,
            self.usage + other.usage,
            self.seconds + other.seconds,
            self.usd + other.usd,
            self.unpriced + other.unpriced,
        )


def costs_of(answered: Iterable[tuple[str, Reply]], failed: Iterable[CallRecord], config_of: ConfigOf) -> list[Cost]:
    """Costs by stage and model in the order of first use, from roles with their replies and from calls without one.

    Those of the reader without a language model are left out.
    """
    costs = [
        _answered(role, reply, config) for role, reply in answered if isinstance(config := config_of(role), ModelConfig)
    ]
    costs += [_failed(call, config) for call in failed if isinstance(config := config_of(call.role), ModelConfig)]
    return merged(costs)


def costs_in(folder: Path, run: Run) -> list[Cost]:
    """The costs that the journal of a run tells of."""
    if isinstance(run.config, RulesConfig) and isinstance(run.judge_config, RulesConfig):
        return []
    return costs_of(*read_calls(folder), lambda role: run.judge_config if role in JUDGED else run.config)


def merged(costs: Iterable[Cost]) -> list[Cost]:
    """Costs added up by stage and model."""
    added: dict[tuple[str, str], Cost] = {}
    for cost in costs:
        key = cost.stage, cost.model
        added[key] = added[key] + cost if key in added else cost
    return list(added.values())


def money(costs: Sequence[Cost]) -> str:
    """The total in words: `0.012300 USD`, or `at least 0.012300 USD, 3 calls unpriced`."""
    usd, unpriced = sum(cost.usd for cost in costs), sum(cost.unpriced for cost in costs)
    return f"at least {usd:.6f} USD, {_calls(unpriced)} unpriced" if unpriced else f"{usd:.6f} USD"


def told(costs: Sequence[Cost]) -> str:
    """One line about all costs."""
    total = _total(costs)
    words = [f"{_calls(total.calls)}" + (f", {total.from_cache:,} of them from the cache" if total.from_cache else "")]
    if total.retries > 0:
        words.append(f"{total.retries:,} retries ({total.attempts.limited:,} rate-limited)")
    least = f"at least ({_calls(total.usage.uncounted)} uncounted) " if total.usage.uncounted else ""
    words.append(f"{least}{total.usage.prompt:,} prompt and {total.usage.completion:,} completion tokens")
    return "; ".join([*words, money(costs)])


def cost_rows(costs: Sequence[Cost]) -> list[dict[str, str]]:
    """A row a stage and model, and the total where there are several."""
    shown = [*costs, *([_total(costs)] if len(costs) > 1 else [])]
    return [
        {
            "stage": cost.stage,
            "model": cost.model,
            "calls": f"{cost.calls:,}",
            "from cache": f"{cost.from_cache:,}",
            "failed": f"{cost.failed:,}",
            "retries": f"{cost.retries:,}",
            "429s": f"{cost.attempts.limited:,}",
            "prompt": f"{cost.usage.prompt:,}",
            "cached": f"{cost.usage.cached:,}",
            "completion": f"{cost.usage.completion:,}",
            "reasoning": f"{cost.usage.reasoning:,}",
            "uncounted": f"{cost.usage.uncounted:,}",
            "seconds": f"{cost.seconds:,.1f}",
            "USD": ("at least " if cost.unpriced else "") + f"{cost.usd:.6f}",
        }
        for cost in shown
    ]


def payload(costs: Sequence[Cost]) -> dict[str, Any]:
    """The same for programs."""
    total = _total(costs)
    return {
        "usd_at_least": round(total.usd, 9),
        "unpriced_calls": total.unpriced,
        "uncounted_calls": total.usage.uncounted,
        "stages": [_flat(cost) for cost in costs],
    }


def write_costs(folder: Path, costs: Sequence[Cost], name: str = NAME) -> None:
    """`<name>.md` and `<name>.csv` in a run or sweep folder, where a language model was asked."""
    if not costs:
        return
    shown = [{column: cell(value) for column, value in row.items()} for row in cost_rows(costs)]
    markdown = tabulate(shown, headers="keys", tablefmt="github", disable_numparse=True)
    (folder / f"{name}.md").write_text(f"{markdown}\n\n{told(costs)}\n", "utf-8")
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [_flat(cost) for cost in costs]
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _flat(cost: Cost) -> dict[str, Any]:
    usage, attempts = cost.usage, cost.attempts
    return {
        "stage": cost.stage,
        "model": cost.model,
        "calls": cost.calls,
        "from_cache": cost.from_cache,
        "failed": cost.failed,
        "attempts": attempts.sent,
        "retries": cost.retries,
        "rate_limited": attempts.limited,
        "prompt": usage.prompt,
        "cached": usage.cached,
        "completion": usage.completion,
        "reasoning": usage.reasoning,
        "uncounted": usage.uncounted,
        "seconds": round(cost.seconds, 3),
        "usd": round(cost.usd, 9),
        "unpriced": cost.unpriced,
    }


def _calls(number: int) -> str:
    return f"{number:,} call{'' if number == 1 else 's'}"


def _answered(role: str, reply: Reply, config: ModelConfig) -> Cost:
    if reply.source == "cache":
        return Cost(role, config.name, calls=1, from_cache=1)
    usage, prices = reply.usage + (reply.attempts.lost or Usage()), config.prices
    known = prices and not usage.uncounted and not (prices.up_to and reply.usage.prompt > prices.up_to)
    return Cost(
        role,
        config.name,
        calls=1,
        attempts=reply.attempts,
        usage=usage,
        seconds=reply.seconds,
        usd=prices.cost(usage) if prices else 0.0,
        unpriced=int(not known),
    )


def _failed(call: CallRecord, config: ModelConfig) -> Cost:
    usage = call.attempts.lost or Usage()
    usd = config.prices.cost(usage) if config.prices else 0.0
    unpriced = int(not config.prices and usage != Usage())
    return Cost(
        call.role,
        config.name,
        calls=1,
        failed=1,
        attempts=call.attempts,
        usage=usage,
        usd=usd,
        unpriced=unpriced,
    )


def _total(costs: Sequence[Cost]) -> Cost:
    return sum(costs, Cost("total", ""))
