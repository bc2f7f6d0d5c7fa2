"""What `rdf memory` prints. Texts of memories are data of others: shown on one line, never obeyed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any

from rdforget.records import Status
from rdforget.store import Decision, Hit, Outcome, Row
from rdforget.store.counting import Stats
from rdforget.store.decay import Expired
from rdforget.store.erasing import Erasure, State
from runners.console import print_json, print_table, printable, stdout
from runners.stores import Erased

_STATES = {Status.ACTIVE: "open", Status.SUPERSEDED: "past", Status.DEPRECATED: "cold"}
_STATES_OF_ERASURE = {
    State.DONE: "done",
    State.NOTHING: "0 rows, there was nothing to erase",
    State.LEFT: "erased, but files hold something of it still",
    State.PENDING: "pending: somebody reads an earlier state; end that, then `rdf memory verify` finishes it",
}
_LISTED = 10


def say(text: str, payload: Mapping[str, Any], *, as_json: bool) -> None:
    """A sentence, or the same as JSON."""
    if as_json:
        print_json(payload)
    else:
        stdout().print(printable(text))


def fields_json(record: Row | Decision | Erasure) -> dict[str, Any]:
    """A record as JSON, times in ISO 8601."""
    return {field.name: _plain(getattr(record, field.name)) for field in fields(record)}


def told(decision: Decision) -> str:
    """What became of one memory."""
    match decision.outcome:
        case Outcome.SUPERSEDED:
            return f"added {decision.id}, which supersedes {decision.other}"
        case Outcome.LATE:
            return f"added {decision.id} as history: {decision.other or 'a later row'} holds after it"
        case Outcome.DUPLICATE:
            return f"nothing added: {decision.reason} as {decision.id}"
        case Outcome.REFUSED:
            return f"refused ({decision.reason}): nothing of it was stored"
    return f"added {decision.id}"


def show_decisions(decisions: Sequence[Decision], texts: Sequence[str], last: str) -> None:
    """What became of several memories, a line each, and how many of each."""
    rows = [(d.outcome, d.id or d.reason, text) for d, text in zip(decisions, texts, strict=True)]
    if rows:
        print_table(("outcome", "id", "text"), rows, left=("outcome", "id", "text"))
        stdout().print()
    stdout().print(printable(f"{counted(decisions)}; {last}"))


def counted(decisions: Sequence[Decision]) -> str:
    """How many memories there were of each outcome."""
    counts = Counter(decision.outcome for decision in decisions)
    return ", ".join(f"{counts[outcome]:,} {outcome}" for outcome in Outcome if counts[outcome]) or "no memories in it"


def show_hits(hits: Sequence[Hit], user: str, *, as_json: bool) -> None:
    """What a search found, with the terms of each score: relevance, recency and importance."""
    if as_json:
        numbers = ("score", "relevance", "recency", "importance")
        print_json({"hits": [{name: getattr(h, name) for name in numbers} | {"row": fields_json(h.row)} for h in hits]})
        return
    if not hits:
        stdout().print(printable(f"{user} has no memories to search there"))
        return
    past = any(hit.row.status is not Status.ACTIVE for hit in hits)
    columns = ("score", "rel.", "rec.", "imp.", "text", "since", *(("state",) if past else ()), "id")
    rows = [
        (
            *(f"{number:.2f}" for number in (hit.score, hit.relevance, hit.recency, hit.importance)),
            hit.row.text,
            _day(hit.row.valid_from),
            *((_STATES[hit.row.status],) if past else ()),
            hit.row.id,
        )
        for hit in hits
    ]
    print_table(columns, rows, left=("text", "since", "state", "id"), spare=("since",))


def show_history(rows: Sequence[Row], *, as_json: bool) -> None:
    """The versions of a memory, the oldest first, each with an arrow to where the next took its place."""
    if as_json:
        print_json({"versions": [fields_json(row) for row in rows]})
        return
    if not rows:
        stdout().print("there are no versions: the user has no such memory")
        return
    if rows[0].slot:
        stdout().print(f"{printable(rows[0].slot)} (times in UTC)")
    versions = [
        (
            _minute(row.valid_from),
            "→",
            _minute(row.valid_to) if row.valid_to else "cold" if row.status is Status.DEPRECATED else "now",
            row.text,
            _STATES[row.status] + (f", superseded by {row.superseded_by}" if row.superseded_by else ""),
            row.id,
        )
        for row in rows
    ]
    columns = ("from", "", "until", "text", "state", "id")
    print_table(columns, versions, left=columns, spare=("state",))


def show_expired(expired: Expired, days: float, *, applied: bool, as_json: bool) -> None:
    if as_json:
        print_json({"applied": applied, "rows": expired.rows, "ids": list(expired.ids)})
        return
    what = f"{expired.rows:,} {'episode' if expired.rows == 1 else 'episodes'} not accessed for more than {days:g} days"
    if applied:
        stdout().print(f"{what} went into cold storage")
        return
    stdout().print(f"{what} would go into cold storage" + (": --apply does it" if expired.rows else ""))
    if expired.ids:
        more = f" and {expired.rows - _LISTED:,} more" if expired.rows > _LISTED else ""
        stdout().print(", ".join(expired.ids[:_LISTED]) + more)


def show_stats(stats: Stats, folder: Path, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "store": str(folder),
                "rows": {str(c): {f.name: getattr(n, f.name) for f in fields(n)} for c, n in stats.rows.items()},
                "decisions": [
                    {"outcome": str(outcome), "reason": reason, "n": n}
                    for (outcome, reason), n in stats.decisions.items()
                ],
                "withheld": dict(stats.withheld),
                "text_bytes": stats.text_bytes,
                "vector_bytes": stats.vector_bytes,
                "file_bytes": stats.file_bytes,
            }
        )
        return
    rows = [(str(c), f"{n.open:,}", f"{n.closed:,}", f"{n.cold:,}") for c, n in stats.rows.items()]
    print_table(("memories", "open", "superseded", "cold"), rows, left=("memories",))
    console = stdout()
    decided = [f"{outcome}{f' ({reason})' if reason else ''} {n:,}" for (outcome, reason), n in stats.decisions.items()]
    console.print()
    console.print(printable(f"decisions: {', '.join(decided) or 'none'}"))
    console.print(
        printable(f"withheld: {', '.join(f'{kind} {n:,}' for kind, n in stats.withheld.items()) or 'nothing'}")
    )
    console.print(f"bytes: texts {stats.text_bytes:,}, vectors {stats.vector_bytes:,}, files {stats.file_bytes:,}")
    console.print(printable(str(folder)))


def show_erased(erased: Erased, what: str, searched: Sequence[Path], *, as_json: bool) -> None:
    """What an erasure did, what it searched, and what it cannot reach."""
    done = erased.erasure
    if as_json:
        print_json(fields_json(done) | {"waiting": list(erased.waiting)})
        return
    console = stdout()
    console.print(printable(f"{what}: {_STATES_OF_ERASURE[done.state]}"))
    if counts := ", ".join(f"{table} {n:,}" for table, n in done.counts.items() if n):
        console.print(f"erased: {counts}; out of everybody's reach after {done.commit_ms:.1f} ms")
    if done.files:
        places = ", ".join(str(path) for path in searched)
        console.print(printable(f"searched: {done.files:,} files, {done.bytes:,} bytes in {places}"))
    for path, n in done.leftovers.items():
        console.print(printable(f"left: {n:,} pieces of it in {path}: remove them there, then erase again"))
    for path in done.unread:
        console.print(printable(f"not searched: {path} cannot be read"))
    for sentence in erased.waiting:
        console.print(printable(f"waiting: {sentence}"))
    if done.id:
        console.print(f"proof: {done.id}, chained as {done.chain}")
    console.print(printable(done.beyond))


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def _minute(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M}" if time.year >= 1000 else time.isoformat(" ", "minutes")[:16]


def _day(time: datetime) -> str:
    return time.date().isoformat()
