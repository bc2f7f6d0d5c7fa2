"""`rdf memory dilution`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runners.commands.options import Json


def dilution(
    sweep: Annotated[
        str, typer.Argument(help="A sweep folder, its id, the beginning of the id, or a name: its newest.")
    ] = "dilution",
    after: Annotated[float, typer.Option(min=0, help="Days from the last fact to the questions.")] = 30.0,
    out: Annotated[
        Path | None, typer.Option(file_okay=False, help="Also write Markdown, CSV and a figure here.")
    ] = None,
    results: Annotated[Path, typer.Option(help="Where runs and sweeps are kept.")] = Path("results"),
    json: Json = False,
) -> None:
    """Show what stale rows do to search and answers, from the runs of `rdf sweep dilution`; no model is asked."""
    from runners.console import print_json
    from runners.dilution import origin_of, read_points, rows_of, sheet_of, write
    from runners.output import show_sheet
    from runners.sweeps import find_sweep

    folder = find_sweep(sweep, results)
    points = read_points(folder, after)
    sheet = sheet_of(points, after)
    files = write(points, sheet, origin_of(folder), out) if out else []
    if json:
        print_json({"sweep": str(folder), "rows": list(rows_of(points)), "files": [str(file) for file in files]})
        return
    show_sheet(sheet)
    if files:
        print(f"written to {out}: {', '.join(file.name for file in files)}")
