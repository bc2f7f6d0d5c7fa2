"""How sources, entries and questions look in a prompt: the same for every role and every method."""

from __future__ import annotations

from collections.abc import Iterable

from rdforget.records import Entry, Observation, Query
from rdforget.text import one_line


def source_lines(observations: Iterable[Observation]) -> list[str]:
    """One line an observation, each session headed by its date."""
    lines: list[str] = []
    session: tuple[str, str | None] = ("", None)
    for seen in observations:
        if (seen.session, seen.when) != session:
            session = (seen.session, seen.when)
            lines.append(f"--- {' | '.join(part for part in session if part)} ---")
        lines.append(seen.line)
    return lines


def entry_line(entry: Entry) -> str:
    """`[m1] ACTIVE: text`; slot, evidence and validity time stay out."""
    return f"[{entry.id}] {entry.status}: {one_line(entry.text)}"


def entry_lines(entries: Iterable[Entry]) -> str:
    """The entries a line each; an empty view is said in words, so that every policy makes the same calls."""
    return "\n".join(map(entry_line, entries)) or "(no memory entry)"


def details(query: Query) -> str:
    """What curation and selection see below the question: its date, type and options, where it has them (Sec. 4.2)."""
    parts = []
    if query.date:
        parts.append(f"Asked on: {query.date}")
    if query.task_type:
        parts.append(f"Kind of question: {query.task_type}")
    return "".join(f"\n{part}" for part in parts) + options(query)


def options(query: Query) -> str:
    """The options below the question: all that the answer model sees besides question and view (Sec. 3.5)."""
    return "\nOptions:\n" + "\n".join(query.options) if query.options else ""
