"""How results and single questions are printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rdforget.records import Record, Status
from runners.console import print_json, print_table, printable, stdout
from runners.errors import Exit
from runners.plan import Stage
from runners.replay import Replayed
from runners.runs import Result
from runners.tables import rows_of

_LONG_MEMORY = 40
_SPARE = (
    *("fallbacks", "rescues", "packed", "view tokens", "excluded", "selected", "rule_upstream", "option_strict", "B"),
    *("rule_strict", "model", "bounds", "suite"),
)


def show_result(result: Result, *, as_json: bool) -> None:
    """The table of a run or sweep, and what qualifies it."""
    if as_json:
        print_json(result.payload())
        return
    rows = rows_of(result.outcomes)
    print_table(
        tuple(rows[0]),
        [tuple(row.values()) for row in rows],
        left=("suite", "method", "switches", "model"),
        spare=_SPARE,
    )
    console = stdout()
    console.print(
        "\nMetrics are percent over completed evaluations, as the paper reports; "
        "bounds: the first of them with missing evaluations counted as wrong, and as right."
    )
    if len(result.outcomes) == 1:
        told = {n.replace("_", " "): v for n, v in asdict(result.outcomes[0].summary).items() if v}
        console.print("; ".join(f"{name}: {value}" for name, value in told.items()))
    for note in result.notes:
        console.print(f"note: {printable(note)}")
    if result.code is Exit.ABORTED:
        console.print("INVALID: too many questions have no score; see the failures in the run folder.")
    console.print(f"{result.seconds:.1f} s, written to {result.folder}")


def show_plan(stages: Sequence[Stage], *, runs: int, as_json: bool) -> None:
    """What would be asked, a row a stage, and the most that it may cost."""
    unknown = sorted({stage.model for stage in stages if stage.usd is None})
    usd = sum(stage.usd or 0.0 for stage in stages)
    if as_json:
        rows = [asdict(stage) for stage in stages]
        print_json({"runs": runs, "stages": rows, "usd_at_most": None if unknown else usd, "unpriced": unknown})
        return
    rows = [
        {
            "stage": stage.role,
            "model": stage.model,
            "calls": f"{stage.calls:,}",
            "prompt tokens": f"{stage.prompt_tokens:,}",
            "reply tokens, at most": f"{stage.cap_tokens:,}",
            "USD, at most": "unknown" if stage.usd is None else f"{stage.usd:,.2f}",
        }
        for stage in stages
    ]
    print_table(tuple(rows[0]), [tuple(row.values()) for row in rows], left=("stage", "model"))
    console = stdout()
    known = f"{usd:,.2f} USD at most" + (f", and what {', '.join(unknown)} costs" if unknown else "")
    console.print(f"\n{runs} run{'s' if runs > 1 else ''}, {sum(stage.calls for stage in stages):,} calls, {known}")
    console.print(
        "Planned with the rules reader in the model's place, without calls asked again; prices: configs/models.yaml."
    )


def show_replay(replayed: Replayed, *, as_json: bool) -> None:
    """Whether a manifest still leads to the requests of its run."""
    missing, new = replayed.then - replayed.now, replayed.now - replayed.then
    if as_json:
        print_json(
            {
                "identical": replayed.identical,
                "request_keys": sorted(replayed.now.elements()),
                "missing": sorted(missing.elements()),
                "new": sorted(new.elements()),
            }
        )
    elif replayed.identical:
        stdout().print(f"identical: the same {replayed.now.total()} requests")
    else:
        stdout().print(f"different: of {replayed.then.total()} requests {missing.total()} are not made any more")


def show_items(records: list[Record]) -> None:
    """A run's questions, a line each."""
    rows = [
        (
            record.query.id,
            _scores(record),
            record.answer.text if record.answer else f"failed: {record.failure.kind if record.failure else ''}",
            " or ".join(record.gold.answers),
            record.query.text,
        )
        for record in records
    ]
    columns = ("item", "scores", "answer", "gold", "question")
    print_table(columns, rows, left=columns)


def show_item(record: Record, *, whole: bool) -> None:
    """One question's way from what is stored to what is used."""
    console = stdout()
    console.print(f"{printable(record.query.id)}  {printable(record.query.text)}")
    console.print(f"gold: {printable(' or '.join(record.gold.answers))}")
    if trace := record.trace:
        view = trace.view
        console.print(
            f"stored {len(trace.memory.entries)} entries, eligible {len(trace.eligible)}, candidates "
            f"{len(trace.candidates)}, selected {len(trace.selected)}, packed {len(view.packed)} "
            f"({view.tokens} of {view.budget or 'unlimited'} tokens), rescued {trace.rescues}"
        )
        notes = [f"asks about the past: {'yes' if trace.history_intent else 'no'}"]
        notes += [f"{name.replace('_', ' ')}: {value}" for name, value in trace.memory.stats.items() if value]
        if trace.selector_fallback:
            notes.append("the selector named no usable id: candidate order stands in")
        console.print("; ".join(notes) + "\n")
        rows = _entry_rows(record)
        shown = rows if whole or len(rows) <= _LONG_MEMORY else [row for row in rows if row[4] or row[5]]
        columns = ("id", "status", "eligible", "rank", "selected", "cost", "text", "slot", "superseded by")
        print_table(columns, shown, left=("id", "status", "eligible", "text", "slot", "superseded by"))
        if len(shown) < len(rows):
            console.print(f"... and {len(rows) - len(shown)} entries that were not selected (--all shows them)")
    if record.answer:
        console.print(f"\nanswer: {printable(record.answer.text)} ({record.answer.outcome})")
    console.print(f"scores: {_scores(record)}")
    if record.failure:
        failure = record.failure
        console.print(f"failed in {failure.stage}: {failure.kind}: {printable(failure.message)}")


def item_payload(record: Record) -> dict[str, Any]:
    """A record as JSON, as the journal holds it."""
    payload = asdict(record)
    payload["completed"] = record.completed
    return payload


def _entry_rows(record: Record) -> list[tuple[str, ...]]:
    assert record.trace is not None
    trace = record.trace
    ranks = {name: str(place) for place, name in enumerate(trace.candidates, start=1)}
    chosen = {name: str(place) for place, name in enumerate(trace.selected, start=1)}
    costs = {packed.entry.id: str(packed.cost) for packed in trace.view.packed}
    return [
        (
            entry.id,
            entry.status if entry.status is Status.ACTIVE else str(entry.status).lower(),
            "yes" if entry.id in trace.eligible else "no",
            ranks.get(entry.id, ""),
            chosen.get(entry.id, ""),
            costs.get(entry.id, ""),
            entry.text,
            entry.slot or "",
            entry.superseded_by or "",
        )
        for entry in trace.memory.entries
    ]


def _scores(record: Record) -> str:
    return (
        ", ".join(f"{s.metric} {'-' if s.value is None else f'{s.value:g}'} ({s.verdict})" for s in record.scores)
        or "none"
    )
