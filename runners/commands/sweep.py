"""`rdf sweep`"""

from __future__ import annotations

from typing import Annotated

import typer

from runners.commands.options import SWEEPS, DataDir, Json, MaxErrorRate, Out, Quiet, Workers


def sweep(
    sweep: Annotated[str, typer.Argument(help="A YAML file, or the name of a shipped sweep (configs/sweeps).")],
    model: Annotated[
        list[str] | None, typer.Option(help="Run it with this model instead of the file's. Repeatable.")
    ] = None,
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
    from runners.output import show_result
    from runners.runs import Limits, run_sweep

    path, blocks = sweep_config(sweep)
    if model:
        blocks = tuple(block.model_copy(update={"models": tuple(model)}) for block in blocks)
    with watching(quiet or json) as watcher:
        result = run_sweep(path.stem, blocks, data_dir, out, Limits(workers, max_error_rate), watcher)
    show_result(result, as_json=json)
    raise typer.Exit(int(result.code))
