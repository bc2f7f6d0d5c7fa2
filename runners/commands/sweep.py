"""`rdf sweep`"""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from runners.commands.options import (
    CACHE,
    SWEEPS,
    Cache,
    ChunkTokens,
    DataDir,
    DryRun,
    Json,
    MaxCalls,
    MaxCost,
    MaxErrorRate,
    NoCache,
    Out,
    Quiet,
    Timeout,
    Workers,
    given_again,
)


def sweep(
    context: typer.Context,
    sweep: Annotated[str, typer.Argument(help="A YAML file, or the name of a shipped sweep (configs/sweeps).")],
    model: Annotated[
        list[str] | None, typer.Option(help="Run it with this model instead of the file's. Repeatable.")
    ] = None,
    chunk_tokens: ChunkTokens = None,
    dry_run: DryRun = False,
    data_dir: DataDir = None,
    out: Out = SWEEPS,
    workers: Workers = 8,
    max_error_rate: MaxErrorRate = 0.2,
    cache: Cache = CACHE,
    no_cache: NoCache = False,
    max_cost: MaxCost = None,
    max_calls: MaxCalls = None,
    timeout: Timeout = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run every combination that a YAML file lists, and print one table."""
    from rdforget.tokens import load_vocabulary

    load_vocabulary()  # before what follows is imported
    from runners.config import sweep_config
    from runners.console import watching
    from runners.means import Limits
    from runners.output import show_plan, show_result
    from runners.plan import plan, totals
    from runners.runs import prepare_all, run_sweep

    path, blocks = sweep_config(sweep)
    if model:
        blocks = tuple(block.model_copy(update={"models": tuple(model)}) for block in blocks)
    if chunk_tokens:
        blocks = tuple(block.model_copy(update={"chunk_tokens": chunk_tokens}) for block in blocks)
    if dry_run:
        runs = prepare_all(blocks, data_dir, ask=False)
        show_plan(totals([stage for run in runs for stage in plan(run)]), runs=len(runs), workers=workers, as_json=json)
        return
    what, how = ("sweep", "model", "chunk_tokens"), ("workers", "max_error_rate", "timeout", "quiet")
    again = shlex.join(["rdf", "sweep", *given_again(context, *what, "data_dir", "out", "cache", "no_cache", *how)])
    limits = Limits(
        workers=workers,
        max_error_rate=max_error_rate,
        cache=None if no_cache else cache,
        max_usd=max_cost,
        max_calls=max_calls,
        timeout=timeout,
        again=lambda _: again,
    )
    with watching(quiet or json) as watcher:
        result = run_sweep(path.stem, blocks, data_dir, out, limits, watcher)
    show_result(result, as_json=json)
    raise typer.Exit(int(result.code))
