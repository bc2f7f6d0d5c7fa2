"""`rdf import`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runners.commands.options import (
    CACHE,
    RUNS,
    Cache,
    DataDir,
    Json,
    MaxErrorRate,
    NoCache,
    Out,
    Quiet,
    Timeout,
    Workers,
)


def take_in(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSON lines: suite, id, answer.")],
    suite: Annotated[str, typer.Option(help="The suite that the answers are for; a name or a folder.")],
    name: Annotated[
        str | None, typer.Option(help="The system that made them, as tables show it; without it the file's name.")
    ] = None,
    judge: Annotated[str | None, typer.Option(help="Also score with this model as a judge.")] = None,
    api_base: Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible server.")] = None,
    data_dir: DataDir = None,
    out: Out = RUNS,
    workers: Workers = 8,
    max_error_rate: MaxErrorRate = 0.2,
    cache: Cache = CACHE,
    no_cache: NoCache = False,
    timeout: Timeout = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Score answers that another system made. The result is a run like any other, without a trace.

    A question without an answer counts as failed. `rdf data schema answers` names the keys.
    """
    from runners.console import watching
    from runners.exchange.answers import import_answers
    from runners.means import Limits
    from runners.output import show_result

    limits = Limits(workers, max_error_rate, None if no_cache else cache, timeout=timeout)
    with watching(quiet or json) as watcher:
        result = import_answers(file, suite, name or file.stem, judge, api_base, data_dir, out, limits, watcher)
    show_result(result, as_json=json)
    raise typer.Exit(int(result.code))
