"""`rdf show`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runners.commands.options import Json


def show(
    run: Annotated[str, typer.Argument(help="A run folder, its id, or the beginning of the id.")],
    item: Annotated[str | None, typer.Argument(help="A question by id, or by its number from 1.")] = None,
    results: Annotated[Path, typer.Option(help="Where runs and sweeps are kept.")] = Path("results"),
    all: Annotated[bool, typer.Option("--all", help="Every stored entry, also of a long memory.")] = False,
    json: Json = False,
) -> None:
    """Show a run's questions, or one question's way: stored, eligible, selected, packed, answer, scores."""
    from rdforget.plugins import nearest
    from runners.console import print_json
    from runners.errors import UserError
    from runners.journal import read_numbered
    from runners.output import item_payload, show_item, show_items
    from runners.runs import find_run

    numbered = list(read_numbered(find_run(run, results)))
    records = [record for _, record in numbered]
    if item is None:
        if json:
            print_json({"items": [item_payload(record) for record in records]})
        else:
            show_items(records)
        return
    by_name = {record.query.id: record for record in records} | {
        str(ordinal + 1): record for ordinal, record in numbered
    }
    if item not in by_name:
        raise UserError(nearest("item", item, [record.query.id for record in records[:5]]))
    if json:
        print_json(item_payload(by_name[item]))
    else:
        show_item(by_name[item], whole=all)
