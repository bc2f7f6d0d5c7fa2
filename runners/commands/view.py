"""`rdf view`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runners.commands.options import DataDir


def view(
    run: Annotated[
        str | None, typer.Argument(help="A run or a sweep: folder, id, or the beginning of an id; else the newest.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port on 127.0.0.1; 0 for any free one.")] = 0,
    data_dir: DataDir = None,
    results: Annotated[Path, typer.Option(help="Where runs and sweeps are kept.")] = Path("results"),
    open: Annotated[bool, typer.Option("--open/--no-open", help="Also open it in the browser.")] = False,
) -> None:
    """Show the report in a browser while its runs go on; only this computer can see it. Ctrl-C ends it."""
    from runners.report.server import follow, following, serving
    from runners.report.site import folders_of, newest

    name = run or str(newest(results))
    with following(lambda: folders_of([name], results), data_dir) as followed, serving(followed, port) as address:
        try:
            print(f"{address} (Ctrl-C ends it)", flush=True)
            if open:
                import webbrowser

                webbrowser.open(address)
            follow(followed)
        except KeyboardInterrupt:
            print("stopped")
