"""What a person sees: tables, messages and the live line. Results go to stdout, all else to stderr."""

from __future__ import annotations

import json
import sys
import time
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Table
from rich.text import Text

from rdforget.models.gate import traffic
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

    def begin(self, label: str, total: int, done: Collection[Record] = ()) -> None: ...

    def started(self) -> None: ...

    def finished(self, record: Record) -> None: ...

    def tell(self, message: str) -> None:
        print(message, file=sys.stderr)


class Live:
    """One line a run: done, accuracy so far, in flight, failures, retries, rate limits, time to go."""

    def __init__(self, progress: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self._progress = progress
        self._clock = clock

    def begin(self, label: str, total: int, done: Collection[Record] = ()) -> None:
        self._sum = 0.0
        self._scored = self._flying = self._failed = self._finished = 0
        self._total = total - len(done)
        self._began, self._before = self._clock(), traffic()
        for record in done:
            self._count(record)
        self._task = self._progress.add_task(label, total=total, completed=len(done), state=self.state)

    def started(self) -> None:
        self._flying += 1

    def finished(self, record: Record) -> None:
        self._flying -= 1
        self._finished += 1
        self._count(record)
        self._progress.advance(self._task)

    def tell(self, message: str) -> None:
        self._progress.console.print(Text(message))

    def state(self) -> str:
        """What stands behind the bar; asked for at every refresh, since retries happen while nothing ends."""
        accuracy = f"{100 * self._sum / self._scored:.1f} %" if self._scored else "-"
        now = traffic() - self._before
        return (
            f"accuracy {accuracy}, {self._flying} in flight, {self._failed} failed, {now.retries} retries, "
            f"{now.limited} 429s, {self._left()} left"
        )

    def _count(self, record: Record) -> None:
        if record.completed and record.scores:
            self._sum += record.scores[0].value or 0.0
            self._scored += 1
        else:
            self._failed += 1

    def _left(self) -> str:
        """Time to go at the mean pace of this session: what was done before took none of it."""
        if not self._finished:
            return "-"
        seconds = (self._clock() - self._began) / self._finished * (self._total - self._finished)
        return str(timedelta(seconds=round(seconds)))


class _State(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(task.fields["state"]())


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
        _State(),
    )
    with Progress(*columns, console=console) as progress:
        yield Live(progress)
