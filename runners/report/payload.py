"""Data as scripts that a page from a folder can load: a browser gives `fetch` no file, but it runs a script tag."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from runners.console import printable
from runners.latex import Sheet

Table = dict[str, Any]
"""`title`, `columns`, `rows` of text, `notes`, and how many columns from the left are names."""


def script(name: str, value: Any) -> str:
    """A script that hands `value` to the page under `name`.

    ASCII without `<`, so that no text of a model can end a script or a line, or reorder what a reader sees.
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return f'rdf.take("{name}",{text.replace("<", chr(92) + "u003c")});\n'


def visible(text: str) -> str:
    """Text as the page shows it: lines stay lines, other control and direction marks are shown, never obeyed."""
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


def table(
    title: str, rows: Sequence[dict[str, str]], *, left: Sequence[str] = (), notes: Sequence[str] = ()
) -> Table | None:
    """Rows of one kind as a table; None without rows. Columns of `left` are names and not numbers."""
    if not rows:
        return None
    columns = list(rows[0])
    return {
        "title": title,
        "columns": columns,
        "left": [at for at, name in enumerate(columns) if name in left],
        "rows": [[visible(row[name]) for name in columns] for row in rows],
        "notes": list(map(visible, notes)),
    }


def sheet_table(sheet: Sheet) -> Table:
    return {
        "title": visible(sheet.title),
        "columns": list(map(visible, sheet.columns)),
        "left": list(range(sheet.left)),
        "rows": [list(map(visible, row)) for row in sheet.plain()],
        "notes": list(map(visible, sheet.notes)),
    }


class Numbering:
    """Texts that recur, each by a number, in the order of first use."""

    def __init__(self, shown: Callable[[str], str] = visible) -> None:
        self._numbers: dict[str, int] = {}
        self._shown = shown

    def of(self, text: str) -> int:
        return self._numbers.setdefault(self._shown(text), len(self._numbers))

    @property
    def texts(self) -> list[str]:
        return list(self._numbers)
