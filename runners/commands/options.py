"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DataDir = Annotated[
    Path | None,
    typer.Option(
        envvar="RDF_DATA_DIR",
        exists=True,
        file_okay=False,
        help="Folder with the suites' official files; without it they come from the hub.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
Errata = Annotated[
    Path | None,
    typer.Option(
        exists=True, dir_okay=False, help="Disputed golds (suite, id, reason, source): a second score without them."
    ),
]
Quiet = Annotated[bool, typer.Option(help="No live display.")]
Out = Annotated[Path, typer.Option(help="Where the folder of the run is made.")]
Workers = Annotated[int, typer.Option(min=1, max=1024, help="Questions in flight at once.")]
MaxErrorRate = Annotated[
    float,
    typer.Option(min=0, max=1, help="Share of failed questions above which the result is invalid (exit code 4)."),
]
ChunkTokens = Annotated[
    int | None,
    typer.Option(
        min=50,
        help="Source tokens of a chunk that memories are built from, instead of the suite's; a model's window may make "
        "them fewer.",
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(min=0.001, help="Seconds for one attempt of a call; without it what the model's config says."),
]
Cache = Annotated[
    Path,
    typer.Option(envvar="RDF_CACHE", dir_okay=False, help="File of the replies that every run may use."),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Ask everything anew, and keep replies in the run alone.")]
MaxCost = Annotated[
    float | None,
    typer.Option(min=0, help="USD that may be spent, earlier sessions included; then stop (exit code 4), to resume."),
]
MaxCalls = Annotated[int | None, typer.Option(min=0, help="The same for calls to language models.")]
DryRun = Annotated[
    bool,
    typer.Option(
        help="Ask nobody: print calls, tokens and most that they may cost. With --from-manifest, whether the requests "
        "would be the same."
    ),
]
RUNS, SWEEPS, CACHE = Path("results/runs"), Path("results/sweeps"), Path("results/cache/replies.sqlite")


def given_again(context: typer.Context, *names: str) -> list[str]:
    """What stands on the command line for these parameters, in the form in which it can be given again."""
    words: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in names and getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE":
            value = context.params[name]
            for one in value if isinstance(value, list | tuple) else [value]:
                option = [parameter.opts[0]] if parameter.param_type_name == "option" else []
                words += option if one is True else [*option, str(one)]
    return words
