"""`rdf run`"""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runners.commands.options import (
    CACHE,
    RUNS,
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

if TYPE_CHECKING:
    from runners.engine import RunSpec


def run(
    context: typer.Context,
    suite: Annotated[
        str | None,
        typer.Option(help="Suite, with a variant after a colon: mab-fc, mab-fc:sh_6k; or a folder of own data."),
    ] = None,
    model: Annotated[
        str, typer.Option(help="A name from `rdf models`, gguf:PATH, replay:PATH, or any litellm string.")
    ] = "rules",
    method: Annotated[str, typer.Option(help="A name from `rdf methods`.")] = "rd-forget",
    ablation: Annotated[
        list[str] | None,
        typer.Option(help="Turn a part off: no-forget, no-rescue, no-slot, no-closure, no-qc. Repeatable."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N questions.")] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="Tokens of the view; the paper's is 2,048.")] = None,
    chunk_tokens: ChunkTokens = None,
    judge: Annotated[str | None, typer.Option(help="Also score with this model as a judge.")] = None,
    api_base: Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible server.")] = None,
    resume: Annotated[
        str | None, typer.Option(help="Go on with this run: what is missing or failed, and nothing twice.")
    ] = None,
    from_manifest: Annotated[
        str | None, typer.Option(help="Run again what this run measured; refuses if that is not to be had any more.")
    ] = None,
    dry_run: DryRun = False,
    data_dir: DataDir = None,
    out: Out = RUNS,
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
    """Run a method on a suite with a model and score it."""
    from rdforget.tokens import load_vocabulary

    load_vocabulary()  # before what follows is imported
    from runners.console import watching
    from runners.engine import RunSpec, prepare
    from runners.errors import UserError
    from runners.means import Limits, resume_command
    from runners.output import show_plan, show_replay, show_result
    from runners.plan import plan
    from runners.recordings import REPLAY, compared, recorded_spec
    from runners.replay import replay
    from runners.runs import find_run, repeat_one, resume_one, run_one

    more = given_again(context, "data_dir", "workers", "max_error_rate", "cache", "no_cache", "timeout", "quiet")
    limits = Limits(
        workers=workers,
        max_error_rate=max_error_rate,
        cache=None if no_cache else cache,
        max_usd=max_cost,
        max_calls=max_calls,
        timeout=timeout,
        again=lambda folder: f"{resume_command(folder)} {shlex.join(more)}".strip(),
    )
    switches = tuple(sorted(set(ablation or ())))
    spec = RunSpec(suite or "", method, model, switches, budget, limit, judge, api_base, chunk_tokens=chunk_tokens)
    if model.startswith(REPLAY) and not (resume or from_manifest):
        spec = recorded_spec(model, _given(context, spec))
    with watching(quiet or json) as watcher:
        if resume:
            result = resume_one(find_run(resume, out), _given(context, spec), data_dir, limits, watcher)
        elif from_manifest and dry_run:
            show_replay(replay(find_run(from_manifest, out), data_dir), as_json=json)
            return
        elif from_manifest:
            result = repeat_one(find_run(from_manifest, out), data_dir, out, limits, watcher)
        elif not spec.suite:
            raise UserError("run needs --suite NAME (see `rdf suites`), --resume RUN or --from-manifest RUN")
        elif dry_run:
            show_plan(plan(prepare(spec, data_dir, ask=False)), runs=1, workers=workers, as_json=json)
            return
        else:
            result = run_one(spec, data_dir, out, limits, watcher)
            if model.startswith(REPLAY):
                result.notes.extend(compared(model, result.folder))
    show_result(result, as_json=json)
    raise typer.Exit(int(result.code))


def _given(context: typer.Context, spec: RunSpec) -> dict[str, Any]:
    """The settings that stand on the command line, by their name in the spec."""
    options = {"switches": "ablation"}
    return {
        name: value
        for name, value in asdict(spec).items()
        if getattr(context.get_parameter_source(options.get(name, name)), "name", "") == "COMMANDLINE"
    }
