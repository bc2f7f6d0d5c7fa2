"""`rdf compare`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runners.commands.options import Errata, Json


def compare(
    a: Annotated[str, typer.Argument(help="A run folder, its id, or the beginning of the id.")],
    b: Annotated[str, typer.Argument(help="The run to hold against it.")],
    metric: Annotated[str | None, typer.Option(help="Which metric; without it the headline of A.")] = None,
    errata: Errata = None,
    results: Annotated[Path, typer.Option(help="Where runs and sweeps are kept.")] = Path("results"),
    json: Json = False,
) -> None:
    """Compare two runs on the same questions: difference, interval, test, and the questions that flipped."""
    from runners.compare import compare as compare_runs
    from runners.compare import show
    from runners.console import print_json
    from runners.errata import read_errata
    from runners.runs import find_run

    overlay = read_errata(errata) if errata else None
    comparison = compare_runs(find_run(a, results), find_run(b, results), metric, overlay)
    if json:
        print_json(comparison.payload())
    else:
        show(comparison)
