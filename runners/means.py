"""What a command gives a run to work with, and the way that requests go from a run to its models."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rdforget.calls.base import Call, Reply
from rdforget.item import Desk
from rdforget.models.base import Backend
from rdforget.models.parameters import ModelConfig
from rdforget.models.replay import ReplayConfig
from runners.backends import semantic
from runners.cache import ReplyCache
from runners.cached import Cached
from runners.config import RulesConfig
from runners.costs import costs_in
from runners.halt import Halt
from runners.journal import FILE as JOURNAL
from runners.limits import Metered, Purse, check_priced
from runners.schedule import OneAhead

if TYPE_CHECKING:
    from runners.engine import Run


def resume_command(folder: Path) -> str:
    return shlex.join(["rdf", "run", "--resume", str(folder)])


@dataclass(frozen=True, slots=True)
class Limits:
    """How a run is run, not what it measures."""

    workers: int = 8
    max_error_rate: float = 0.2
    """Share of failed items above which a result is invalid."""
    cache: Path | None = None
    """The file of the cache of replies."""
    max_usd: float | None = None
    max_calls: int | None = None
    timeout: float | None = None
    """Seconds for one attempt of a call; None leaves it to the model's configuration."""
    again: Callable[[Path], str] = resume_command
    """The command line that goes on with a run in a folder."""


@dataclass(frozen=True, slots=True)
class Means:
    """Shared by the runs of a sweep."""

    cache: ReplyCache | None = None
    purse: Purse = field(default_factory=Purse)
    again: Callable[[Path], str] = resume_command
    """As in `Limits`."""


@dataclass(frozen=True, slots=True)
class Way:
    """A model as a run asks it, and where its replies are written down."""

    backend: Backend
    desk: Desk


def way_to(
    backend: Backend,
    config: RulesConfig | ModelConfig,
    desk: Desk,
    means: Means,
    halt: Halt,
    anew: Container[str] = (),
) -> Way:
    """The way to a model: the run's own journal first, then the cache, the order of requests, the purse, the model.

    `desk` writes to the journal, before the cache has the reply: what this run paid for is this run's. The reader
    without a language model is asked directly, it is faster than the cache; and so is a recording, of which nothing
    gets into the cache. Calls with keys in `anew` are not answered from the cache.
    """
    if isinstance(config, RulesConfig | ReplayConfig):
        return Way(backend, desk)
    backend = OneAhead(Metered(backend, config, means.purse, halt))
    if means.cache is None:
        return Way(backend, desk)
    cached = Cached(backend, semantic(config), means.cache, halt, anew=anew)

    def keep_both(call: Call, reply: Reply) -> None:
        try:
            desk.on_reply(call, reply)
        finally:
            cached.keep(call, reply)

    return Way(cached, replace(desk, on_reply=keep_both))


@contextmanager
def given(limits: Limits, runs: Sequence[Run]) -> Iterator[Means]:
    """The means of runs. UserError, before anything is asked, where a limit cannot be kept or the cache not be used."""
    configs = [config for run in runs for config in (run.config, run.judge_config)]
    if limits.max_usd is not None:
        check_priced(configs)
    with opened(limits.cache, configs) as cache:
        yield Means(cache, Purse(limits.max_usd, limits.max_calls), limits.again)


@contextmanager
def opened(path: Path | None, configs: Iterable[RulesConfig | ModelConfig]) -> Iterator[ReplyCache | None]:
    """The cache, where there is one and a language model to use it."""
    if path is None or all(isinstance(config, RulesConfig | ReplayConfig) for config in configs):
        yield None
        return
    cache = ReplyCache(path)
    try:
        yield cache
    finally:
        cache.close()


def count_spent(means: Means, run: Run, folder: Path) -> None:
    """Take what earlier sessions of a run asked from the purse."""
    if (means.purse.max_usd, means.purse.max_calls) != (None, None) and (folder / JOURNAL).is_file():
        for cost in costs_in(folder, run):
            means.purse.usd += cost.usd
            means.purse.calls += cost.calls - cost.from_cache
