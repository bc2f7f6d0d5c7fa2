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
Quiet = Annotated[bool, typer.Option(help="No live display.")]
Out = Annotated[Path, typer.Option(help="Where the folder of the run is made.")]
Workers = Annotated[int, typer.Option(min=1, max=1024, help="Questions in flight at once.")]
MaxErrorRate = Annotated[
    float,
    typer.Option(min=0, max=1, help="Share of failed questions above which the result is invalid (exit code 4)."),
]
DryRun = Annotated[
    bool,
    typer.Option(
        help="Ask nobody: print calls, tokens and most that they may cost. With --from-manifest, whether the requests "
        "would be the same."
    ),
]
RUNS, SWEEPS = Path("results/runs"), Path("results/sweeps")
