"""`rdf show`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runners.commands.options import DataDir, Json


def show(
    run: Annotated[str, typer.Argument(help="A run folder, its id, or the beginning of the id.")],
    item: Annotated[str | None, typer.Argument(help="A question by id, or by its number from 1.")] = None,
    results: Annotated[Path, typer.Option(help="Where runs and sweeps are kept.")] = Path("results"),
    data_dir: DataDir = None,
    all: Annotated[bool, typer.Option("--all", help="Every stored entry, also of a long memory.")] = False,
    json: Json = False,
) -> None:
    """Show a run's questions, or one question's way: source, stored, eligible, selected, packed, answer, scores.

    The lines of the source are shown where the suite's data is at hand.
    """
    from rdforget.plugins import nearest
    from runners.console import print_json
    from runners.errors import UserError
    from runners.journal import read_numbered
    from runners.output import item_payload, show_items
    from runners.runs import find_run

    folder = find_run(run, results)
    numbered = list(read_numbered(folder))
    records = [record for _, record in numbered]
    if item is None:
        if json:
            print_json({"items": [item_payload(record) for record in records]})
        else:
            show_items(records)
        return
    # An id goes before a number: the ids of own data may be numbers.
    by_name = {str(ordinal + 1): record for ordinal, record in numbered}
    by_name |= {record.query.id: record for record in records}
    if item not in by_name:
        raise UserError(nearest("item", item, [record.query.id for record in records[:5]]))
    record = by_name[item]
    if json:
        print_json(item_payload(record))
        return
    from runners.compare import manifest_of
    from runners.losses import histories_of
    from runners.show import show_item

    histories, lacking = histories_of(manifest_of(folder), data_dir)
    show_item(record, histories.get(record.history), lacking, whole=all)
