"""`rdf run`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runners.commands.options import RUNS, DataDir, Json, MaxErrorRate, Out, Quiet, Workers


def run(
    suite: Annotated[str, typer.Option(help="Suite, with a variant after a colon: mab-fc, mab-fc:sh_6k.")],
    model: Annotated[str, typer.Option(help="A name from `rdf models`, or any litellm string.")] = "rules",
    method: Annotated[str, typer.Option(help="A name from `rdf methods`.")] = "rd-forget",
    ablation: Annotated[
        list[str] | None,
        typer.Option(help="Turn a part off: no-forget, no-rescue, no-slot, no-closure, no-qc. Repeatable."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N questions.")] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="Tokens of the view; the paper's is 2,048.")] = None,
    judge: Annotated[str | None, typer.Option(help="Also score with this model as a judge.")] = None,
    api_base: Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible server.")] = None,
    data_dir: DataDir = None,
    out: Out = RUNS,
    workers: Workers = 8,
    max_error_rate: MaxErrorRate = 0.2,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run a method on a suite with a model and score it."""
    from runners.console import watching
    from runners.engine import RunSpec
    from runners.output import show_result
    from runners.runs import Limits, run_one

    spec = RunSpec(suite, method, model, tuple(sorted(set(ablation or ()))), budget, limit, judge, api_base)
    with watching(quiet or json) as watcher:
        result = run_one(spec, data_dir, Path(out), Limits(workers, max_error_rate), watcher)
    show_result(result, as_json=json)
    raise typer.Exit(int(result.code))
