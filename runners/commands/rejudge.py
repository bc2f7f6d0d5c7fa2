"""`rdf rejudge`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runners.commands.options import CACHE, Cache, Json, MaxErrorRate, NoCache, Quiet, Timeout, Workers


def rejudge(
    run: Annotated[str, typer.Argument(help="A run folder, its id, or the beginning of the id.")],
    judge: Annotated[str, typer.Option(help="The judging model: a name from `rdf models`, or a litellm string.")],
    api_base: Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible server.")] = None,
    results: Annotated[Path, typer.Option(help="Where runs and sweeps are kept.")] = Path("results"),
    workers: Workers = 8,
    max_error_rate: MaxErrorRate = 0.2,
    cache: Cache = CACHE,
    no_cache: NoCache = False,
    timeout: Timeout = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Score a run's stored answers with another judge; no answer is asked for again, both scores stay.

    How far the judges agree is counted, with Cohen's kappa. Verdicts that this judge could not give before are asked
    for again; once it has judged every answer, a further round is one of its own.
    """
    from runners.agreement import show
    from runners.console import print_json, watching
    from runners.means import Limits
    from runners.output import show_result
    from runners.rejudge import rejudge as judge_again
    from runners.runs import find_run

    folder = find_run(run, results)
    limits = Limits(workers, max_error_rate, None if no_cache else cache, timeout=timeout)
    with watching(quiet or json) as watcher:
        rejudged = judge_again(folder, judge, api_base, limits, watcher)
    if json:
        print_json(rejudged.payload())
    else:
        show_result(rejudged.result, as_json=False)
        show(rejudged.agreements)
    raise typer.Exit(int(rejudged.result.code))
