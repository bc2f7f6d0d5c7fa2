"""`rdf report`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runners.commands.options import DataDir, Json


def report(
    runs: Annotated[
        list[str], typer.Argument(help="Runs or sweeps: folders, ids, the beginnings of ids, or a sweep's name.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The folder of the report; an earlier report there is replaced.")
    ],
    data_dir: DataDir = None,
    results: Annotated[Path, typer.Option(help="Where runs and sweeps are kept.")] = Path("results"),
    json: Json = False,
) -> None:
    """Write a report to open in a browser: results, where answers were lost, every question, runs side by side.

    It is a folder of files that need no server and no network. With the suites' data at hand it also shows the lines
    of the source that hold the evidence.
    """
    from runners.console import print_json
    from runners.report.site import check_place, folders_of, write_report

    check_place(out)
    folders = folders_of(runs, results)
    write_report(folders, data_dir, out)
    page = out / "index.html"
    if json:
        print_json({"report": str(page), "runs": [str(folder) for folder in folders]})
    else:
        print(f"open {page}: {len(folders)} run{'' if len(folders) == 1 else 's'}")
