"""What a run would ask and cost, before anything is asked: `--dry-run`.

The deterministic reader stands in for the model and the calls are counted, so that builders whose calls depend on
what they read are planned too. Prompts are counted by o200k_base, line by line; a provider counts a little otherwise.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from rdforget.calls.base import Call, Reply
from rdforget.item import Builds, Desk, Ledger, run_item
from rdforget.models.parameters import ModelConfig
from rdforget.models.rules import Rules
from rdforget.records import Usage
from rdforget.scoring.metrics import JUDGED
from runners.backends import model_config
from runners.engine import Run, RunSpec
from runners.limits import prompt_tokens


@dataclass(frozen=True, slots=True)
class Stage:
    """The calls of one role in one run."""

    role: str
    model: str
    calls: int
    prompt_tokens: int
    cap_tokens: int
    """Most that the replies may have: the output caps, summed."""
    usd: float | None
    """Most that they may cost; None where the model's price is not known, and for a model that costs nothing 0."""


def plan(run: Run) -> list[Stage]:
    """The stages of a run in the order of its calls. Nothing is asked or written.

    Calls that an unreadable or cut-off reply would make necessary are not in it.
    """
    calls: dict[str, list[tuple[int, int]]] = {}

    def note(call: Call, reply: Reply) -> None:
        calls.setdefault(call.role, []).append((prompt_tokens(call), call.max_output_tokens))

    asyncio.run(_ask_nobody(run, Desk(note, lambda history, built: None)))
    stages = []
    for role, sizes in calls.items():
        model = run.spec.judge if role in JUDGED and run.spec.judge else run.spec.model
        prompt, cap = (sum(column) for column in zip(*sizes, strict=True))
        cap += len(sizes) * _allowance(model)
        stages.append(Stage(role, model, len(sizes), prompt, cap, _usd(model, run.spec, prompt, cap)))
    return stages


async def _ask_nobody(run: Run, desk: Desk) -> None:
    reader = Rules()
    builds = Builds(run.setup, reader, desk)
    for task in itertools.islice(run.suite.tasks(), run.total):
        await run_item(task, run.setup, Ledger(reader, desk), Ledger(reader, desk), builds)


def _allowance(model: str) -> int:
    """Tokens of thinking that a model may add to each reply."""
    config = model_config(model)
    return config.parameters.reasoning_allowance if isinstance(config, ModelConfig) else 0


def _usd(model: str, spec: RunSpec, prompt: int, cap: int) -> float | None:
    config = model_config(model, spec.api_base if model == spec.model else None)
    if not isinstance(config, ModelConfig):
        return 0.0
    return config.prices.cost(Usage(prompt=prompt, completion=cap)) if config.prices else None


def totals(stages: Sequence[Stage]) -> list[Stage]:
    """Stages of several runs, added up by role and model."""
    added: dict[tuple[str, str], Stage] = {}
    for stage in stages:
        key = stage.role, stage.model
        known = added.get(key, Stage(*key, 0, 0, 0, 0.0))
        usd = None if known.usd is None or stage.usd is None else known.usd + stage.usd
        added[key] = Stage(
            *key,
            known.calls + stage.calls,
            known.prompt_tokens + stage.prompt_tokens,
            known.cap_tokens + stage.cap_tokens,
            usd,
        )
    return list(added.values())
