"""A table for readers as Markdown and LaTeX: cells of several lines, and what has to be said under it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{char: f"\\{char}" for char in "&%$#_{}"},
}


@dataclass(frozen=True, slots=True)
class Box:
    """One cell: lines from top to bottom."""

    lines: tuple[str, ...]
    strong: bool = False
    """The first line is what the eye should find."""

    @classmethod
    def of(cls, *lines: str) -> Box:
        return cls(lines)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table with its title and notes. A row whose first cell is empty belongs to the row above it."""

    name: str
    """Part of file names."""
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Box]]
    notes: Sequence[str] = field(default=())
    left: int = 2
    """Columns from the left that are names and not numbers."""

    def plain(self) -> list[list[str]]:
        """Cells of one line each, for a terminal."""
        return [["; ".join(box.lines) for box in row] for row in self.rows]


def markdown(sheets: Iterable[Sheet]) -> str:
    """GitHub's Markdown, sheet after sheet."""

    def shown(box: Box) -> str:
        lines = [cell(line) for line in box.lines]
        return "<br>".join([f"**{lines[0]}**", *lines[1:]] if box.strong else lines)

    parts = []
    for sheet in sheets:
        rule = ["---" if at < sheet.left else "---:" for at in range(len(sheet.columns))]
        rows = [list(map(cell, sheet.columns)), rule]
        rows += [[shown(box) for box in row] for row in sheet.rows]
        table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        notes = "".join(f"- {_inert(note)}\n" for note in sheet.notes)
        parts.append(f"## {_inert(sheet.title)}\n\n{table}\n\n{notes}")
    return "\n".join(parts)


def cell(text: str) -> str:
    """Text of a model or of data in a cell of a Markdown table."""
    return _inert(text).replace("|", r"\|")


def _inert(text: str) -> str:
    """No HTML, no link and no image, which Markdown would make of it."""
    return escape(text, quote=False).replace("](", r"]\(")


def latex(sheets: Iterable[Sheet]) -> str:
    """Tables for a paper, no wider than its text; they need `booktabs`, `graphicx` and `makecell`."""

    def shown(box: Box) -> str:
        lines = [escaped(line) for line in box.lines]
        if box.strong:
            lines[0] = rf"\textbf{{{lines[0]}}}"
        return lines[0] if len(lines) == 1 else r"\makecell[tr]{" + r" \\ ".join(lines) + "}"

    return "% needs \\usepackage{booktabs,graphicx,makecell}\n" + "\n".join(_latex(sheet, shown) for sheet in sheets)


def escaped(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return re.sub(r"[\\~^<>&%$#_{}]", lambda found: _SPECIAL[found[0]], text)


def _latex(sheet: Sheet, shown: Callable[[Box], str]) -> str:
    layout = "l" * sheet.left + "r" * (len(sheet.columns) - sheet.left)
    lines = [
        r"\begin{table}",
        r"\centering\footnotesize",
        rf"\caption{{{escaped(sheet.title)}}}",
        rf"\label{{tab:{sheet.name}}}",
        r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{layout}}}",
        r"\toprule",
        " & ".join(map(escaped, sheet.columns)) + r" \\",
        r"\midrule",
    ]
    for at, row in enumerate(sheet.rows):
        if at and row[0].lines[0]:
            lines.append(r"\midrule")
        lines.append(" & ".join(map(shown, row)) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}}"]
    lines += [rf"\par\smallskip\raggedright\scriptsize {escaped(note)}" for note in sheet.notes]
    return "\n".join([*lines, r"\end{table}", ""])
