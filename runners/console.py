"""What a person sees: tables, messages and the live line. Results go to stdout, all else to stderr."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from rdforget.records import Record

_HIDDEN = {"Cc", "Cf", "Cs", "Co"}


def printable(text: str) -> str:
    """Text from data or a model as one line of text: control and direction marks are shown, never obeyed."""
    shown = (
        char.encode("unicode_escape").decode() if unicodedata.category(char) in _HIDDEN else char
        for char in text.replace("\n", " ").replace("\t", " ")
    )
    return "".join(shown)


def stdout() -> Console:
    return Console(highlight=False, emoji=False, markup=False, soft_wrap=not sys.stdout.isatty())


def print_json(payload: Any) -> None:
    """Exactly one JSON object; ASCII, so that no console encoding can break it."""
    sys.stdout.write(json.dumps(payload, allow_nan=False) + "\n")


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: Collection[str], spare: Sequence[str] = ()
) -> None:
    """A table whose cells are shown as they are; columns that are not in `left` are numbers.

    On a terminal that is too narrow the `spare` columns are left out, the first of them first.
    """
    console = stdout()
    widths = [max(map(cell_len, (name, *texts))) for name, *texts in zip(columns, *rows, strict=True)]
    for name in spare if console.is_terminal else ():
        if sum(widths) + 2 * len(widths) <= console.width:
            break
        if name in columns:
            at = columns.index(name)
            columns, rows = _without(columns, at), [_without(row, at) for row in rows]
            del widths[at]
    table = Table(header_style="bold", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="left" if column in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(value)) for value in row))
    if not console.is_terminal:
        console.width = 10_000  # a pipe wants one line a row
    console.print(table)


def _without(values: Sequence[str], at: int) -> tuple[str, ...]:
    return (*values[:at], *values[at + 1 :])


class Silent:
    """The watcher of `--quiet`, `--json` and pipes."""

    def begin(self, label: str, total: int) -> None: ...

    def started(self) -> None: ...

    def finished(self, record: Record) -> None: ...


class Live:
    """One line a run: done, accuracy so far, in flight, failures, time to go."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def begin(self, label: str, total: int) -> None:
        self._values: list[float] = []
        self._flying = self._failed = 0
        self._task = self._progress.add_task(label, total=total, state="")

    def started(self) -> None:
        self._flying += 1
        self._show()

    def finished(self, record: Record) -> None:
        self._flying -= 1
        if record.completed and record.scores:
            self._values.append(record.scores[0].value or 0.0)
        else:
            self._failed += 1
        self._progress.advance(self._task)
        self._show()

    def _show(self) -> None:
        accuracy = f"{100 * sum(self._values) / len(self._values):.1f} %" if self._values else "-"
        state = f"accuracy {accuracy}, {self._flying} in flight, {self._failed} failed"
        self._progress.update(self._task, state=state)


@contextmanager
def watching(quiet: bool) -> Iterator[Silent | Live]:
    """A live display on a terminal, silence elsewhere."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield Silent()
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        yield Live(progress)
