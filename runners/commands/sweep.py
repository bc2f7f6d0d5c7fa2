"""`rdf sweep`"""

from __future__ import annotations

from typing import Annotated

import typer

from runners.commands.options import SWEEPS, DataDir, DryRun, Json, MaxErrorRate, Out, Quiet, Workers


def sweep(
    sweep: Annotated[str, typer.Argument(help="A YAML file, or the name of a shipped sweep (configs/sweeps).")],
    model: Annotated[
        list[str] | None, typer.Option(help="Run it with this model instead of the file's. Repeatable.")
    ] = None,
    dry_run: DryRun = False,
    data_dir: DataDir = None,
    out: Out = SWEEPS,
    workers: Workers = 8,
    max_error_rate: MaxErrorRate = 0.2,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run every combination that a YAML file lists, and print one table."""
    from runners.config import sweep_config
    from runners.console import watching
    from runners.output import show_plan, show_result
    from runners.plan import plan, totals
    from runners.runs import Limits, prepare_all, run_sweep

    path, blocks = sweep_config(sweep)
    if model:
        blocks = tuple(block.model_copy(update={"models": tuple(model)}) for block in blocks)
    if dry_run:
        runs = prepare_all(blocks, data_dir, ask=False)
        show_plan(totals([stage for run in runs for stage in plan(run)]), runs=len(runs), as_json=json)
        return
    with watching(quiet or json) as watcher:
        result = run_sweep(path.stem, blocks, data_dir, out, Limits(workers, max_error_rate), watcher)
    show_result(result, as_json=json)
    raise typer.Exit(int(result.code))
