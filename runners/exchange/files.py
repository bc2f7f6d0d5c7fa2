"""`rdf export`: a run as JSON lines, Parquet, a Hugging Face data set, or a log of inspect-ai."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runners.errors import UserError
from runners.exchange.inspect_log import eval_log, short_id
from runners.exchange.rows import COLUMNS, Exported, encodable, rows
from runners.folders import safe_name

if TYPE_CHECKING:
    import pyarrow as pa

EXPORTS = Path("results/exports")


class Format(StrEnum):
    INSPECT = "inspect"
    JSONL = "jsonl"
    PARQUET = "parquet"
    HF = "hf"


def export(folder: Path, to: Format, out: Path | None) -> tuple[Path, int]:
    """Write a run to `out`, or to a name of its own under `results/exports`; where, and how many questions.

    UserError where there is something already: nothing is overwritten.
    """
    run = Exported.of(folder)
    target = out or EXPORTS / _name(run, to)
    if target.exists():
        raise UserError(f"{target} is there already: give another --out")
    part = target.with_name(f".{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        count = _WRITERS[to](run, part)
        part.rename(target)
    except OSError as error:
        raise UserError(f"{target} cannot be written ({error.strerror or error}): give another --out") from error
    return target, count


def _name(run: Exported, to: Format) -> str:
    if to is Format.INSPECT:  # `inspect view` lists a .json file by this shape of its name
        when = run.manifest["created"][:19].replace(":", "-")
        told = safe_name(f"{run.settings['suite']}-{run.settings['method']}-{run.manifest['spec']['model']}")
        return f"{when}_{told.replace('_', '-')}_{short_id(run)}.json"
    return run.id if to is Format.HF else f"{run.id}.{to}"


def _jsonl(run: Exported, target: Path) -> int:
    count = 0
    with target.open("w", encoding="utf-8") as file:
        for row in rows(run):
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
            count += 1
    return count


def _parquet(run: Exported, target: Path) -> int:
    import pyarrow.parquet as pq

    table = _table(run)
    pq.write_table(table, target)
    return int(table.num_rows)


def _hf(run: Exported, target: Path) -> int:
    import datasets

    table = _table(run)
    bars = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        datasets.Dataset(table).save_to_disk(target)
    finally:
        if not bars:
            datasets.enable_progress_bars()
    return int(table.num_rows)


def _inspect(run: Exported, target: Path) -> int:
    log = encodable(eval_log(run))
    # inspect-ai writes a score without a value as NaN, and reads it so.
    target.write_text(json.dumps(log, ensure_ascii=False, indent=1), "utf-8")
    return len(log["samples"])


_WRITERS: dict[Format, Callable[[Exported, Path], int]] = {
    Format.INSPECT: _inspect,
    Format.JSONL: _jsonl,
    Format.PARQUET: _parquet,
    Format.HF: _hf,
}


def _table(run: Exported) -> pa.Table:
    """The records with a type for every column, also for those that are empty throughout."""
    import pyarrow as pa

    scalars = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}

    def arrow(kind: Any) -> Any:
        if isinstance(kind, dict):
            return pa.list_(pa.struct([(name, scalars[one]) for name, one in kind.items()]))
        return pa.list_(scalars[kind[0]]) if isinstance(kind, list) else scalars[kind]

    fields = [pa.field(c.name, arrow(c.kind), metadata={"description": c.meaning}) for c in COLUMNS]
    return pa.Table.from_pylist(list(rows(run)), schema=pa.schema(fields))
