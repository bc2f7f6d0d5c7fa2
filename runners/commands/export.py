"""`rdf export`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runners.commands.options import Json


def export(
    run: Annotated[str, typer.Argument(help="A run folder, its id, or the beginning of the id.")],
    to: Annotated[str, typer.Option(help="inspect (a log of inspect-ai), jsonl, parquet, or hf (a data set folder).")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File, or folder for hf; without it, under results/exports.")
    ] = None,
    results: Annotated[Path, typer.Option(help="Where runs and sweeps are kept.")] = Path("results"),
    json: Json = False,
) -> None:
    """Write a run in the format of other tools. `rdf data schema export` names the keys."""
    from rdforget.plugins import nearest
    from runners.console import print_json
    from runners.errors import UserError
    from runners.exchange.files import Format
    from runners.exchange.files import export as write
    from runners.runs import find_run

    formats = [str(one) for one in Format]
    if to not in formats:
        raise UserError(nearest("format", to, formats))
    target, count = write(find_run(run, results), Format(to), out)
    if json:
        print_json({"file": str(target), "questions": count})
    else:
        typer.echo(f"{count} questions written to {target}")
