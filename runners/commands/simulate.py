"""`rdf memory simulate`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runners.commands.options import Json


def simulate(
    sessions: Annotated[float, typer.Option(min=0, help="Sessions a day.")] = 2.0,
    candidates: Annotated[float, typer.Option(min=0, help="Candidates a session.")] = 3.0,
    merge: Annotated[float, typer.Option(min=0, max=1, help="Share of the candidates that merge.")] = 0.45,
    half: Annotated[
        float | None,
        typer.Option(help="A merge rate that rises with the store instead: open rows at which half merge."),
    ] = None,
    updates: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the merges that close a row and write another.")
    ] = 1 / 3,
    episodic: Annotated[float, typer.Option(min=0, max=1, help="Share of the new rows.")] = 0.4,
    expire_days: Annotated[
        float, typer.Option(min=1, help="Days without a read after which an episodic row goes cold.")
    ] = 90.0,
    reads: Annotated[float, typer.Option(min=0, help="Reads of a row a day.")] = 0.0,
    months: Annotated[int, typer.Option(min=1)] = 24,
    month_days: Annotated[int, typer.Option(min=1, help="Days of a month.")] = 30,
    row_bytes: Annotated[float, typer.Option(min=0, help="Bytes of a row.")] = 3_320.0,
    cold_bytes: Annotated[
        float | None, typer.Option(min=0, help="Bytes of a cold row, which has no vector; else those of a row.")
    ] = None,
    users: Annotated[int, typer.Option(min=1)] = 1_000_000,
    heavy: Annotated[float, typer.Option(min=1, help="Open rows of the user whose merge rate is sought.")] = 200.0,
    seeds: Annotated[int, typer.Option(min=2, help="Samples of each number that is drawn.")] = 5,
    drive: Annotated[
        int | None, typer.Option(min=1, help="Also let so many users write to a real store: half a minute each.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(file_okay=False, help="Also write the tables, CSV and a figure here.")
    ] = None,
    json: Json = False,
) -> None:
    """Rows and bytes of a memory store after months of use: by formula, and sampled where reads keep rows alive."""
    from rdforget.store.simulation import Load
    from runners.console import print_json
    from runners.output import show_sheet
    from runners.simulation import Simulation, driven_sheet, payload, sheets, write

    load = Load(sessions, candidates, merge, half, updates, episodic, expire_days, reads, months, month_days)
    simulation = Simulation(load, row_bytes, cold_bytes, users, heavy, seeds)
    made = sheets(simulation)
    if drive:
        made.append(driven_sheet(simulation, drive))
    files = write(simulation, made, out) if out else []
    if json:
        driven = [dict(zip(made[-1].columns, row, strict=True)) for row in made[-1].plain()] if drive else []
        print_json({**payload(simulation), "driven": driven, "files": [str(file) for file in files]})
        return
    for sheet in made:
        show_sheet(sheet)
    if files:
        print(f"written to {out}: {', '.join(file.name for file in files)}")
