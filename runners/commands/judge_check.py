"""`rdf judge-check`"""

from __future__ import annotations

from typing import Annotated

import typer

from runners.commands.options import CACHE, Cache, DataDir, Json, NoCache, Timeout, Workers


def judge_check(
    judge: Annotated[str, typer.Option(help="The judging model: a name from `rdf models`, or a litellm string.")],
    suite: Annotated[
        str, typer.Option(help="Whose questions and golds the answers are made from; a name or a folder.")
    ] = "synthetic-chat",
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N questions that can be judged.")] = None,
    api_base: Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible server.")] = None,
    data_dir: DataDir = None,
    workers: Workers = 8,
    cache: Cache = CACHE,
    no_cache: NoCache = False,
    timeout: Timeout = None,
    json: Json = False,
) -> None:
    """Give a judge right, vague, wrong, hedged, refused and injected answers, and count its mistakes.

    Six requests a question at most. A mistaken judge is a result: exit code 0, or 4 where it gave no verdict at all.
    """
    from runners.console import print_json
    from runners.judge_check import check, show
    from runners.means import Limits

    limits = Limits(workers, cache=None if no_cache else cache, timeout=timeout)
    checked = check(judge, suite, limit, api_base, data_dir, limits)
    if json:
        print_json(checked.payload())
    else:
        show(checked)
    raise typer.Exit(int(checked.code))
