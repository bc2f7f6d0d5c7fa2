"""`rdf funnel`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runners.commands.options import DataDir, Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runners.latex import Sheet
    from runners.losses import Funnel


def funnel(
    runs: Annotated[
        list[str], typer.Argument(help="Runs over the same questions: folders, ids, or the beginnings of ids.")
    ],
    data_dir: DataDir = None,
    out: Annotated[
        Path | None, typer.Option(file_okay=False, help="Also write Markdown, CSV and a figure into this folder.")
    ] = None,
    results: Annotated[Path, typer.Option(help="Where runs and sweeps are kept.")] = Path("results"),
    json: Json = False,
) -> None:
    """Show where answers were lost: which stage the evidence did not come through; of two runs, what changed."""
    from dataclasses import asdict

    from runners.console import print_json, print_table
    from runners.funnel_sheets import sheets_of
    from runners.losses import changes, payload, read_funnels
    from runners.output import show_sheet
    from runners.runs import find_run

    funnels = read_funnels([find_run(run, results) for run in runs], data_dir)
    changed = changes(*funnels) if len(funnels) == 2 else []
    sheets = sheets_of(funnels, changed)
    files = _write(out, funnels, sheets) if out else []
    if json:
        found = {"runs": [payload(one) for one in funnels], "changed": [asdict(one) for one in changed]}
        print_json({**found, "files": [str(file) for file in files]})
        return
    for sheet in sheets[:-1] if changed else sheets:
        show_sheet(sheet)
    if changed:  # texts of any length: what does not fit is left out
        print(sheets[-1].title)
        columns = sheets[-1].columns
        print_table(columns, sheets[-1].plain(), left=columns, spare=("question", "gold", *columns[3:5]))
    if files:
        print(f"written to {out}: {', '.join(file.name for file in files)}")


def _write(folder: Path, funnels: Sequence[Funnel], sheets: Sequence[Sheet]) -> list[Path]:
    """`<suite>.md`, `.csv`, `.png` and `.svg` in a folder that is made if need be."""
    import csv

    from runners.errors import UserError
    from runners.figures import save
    from runners.folders import safe_name
    from runners.funnel_figure import figures
    from runners.funnel_sheets import rows_of
    from runners.latex import markdown

    name = safe_name(funnels[0].suite)
    files = [folder / f"{name}.md", folder / f"{name}.csv"]
    rows = rows_of(funnels)
    runs = f"{', '.join(one.run for one in funnels)}, run with {', '.join(dict.fromkeys(f.revision for f in funnels))}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files[0].write_text(f"Made by `rdf funnel` from the journals of {runs}.\n\n{markdown(sheets)}", "utf-8")
        with files[1].open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    except OSError as error:
        raise UserError(f"{folder} cannot hold the tables ({error.strerror}): give another --out") from error
    return files + save(figures(funnels, name), folder)
