"""How results, tables and single questions are printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rdforget.records import Record
from runners.console import print_json, print_table, printable, stdout
from runners.costs import cost_rows, told
from runners.errors import Exit
from runners.latex import Sheet
from runners.plan import Stage
from runners.replay import Replayed
from runners.runs import Result
from runners.show import scores_of
from runners.tables import rows_of

_SPARE = (
    *(
        "failures",
        "fallbacks",
        "rescues",
        "packed",
        "view tokens",
        "excluded",
        "selected",
        "rule_upstream",
        "option_strict",
        "B",
    ),
    *("rule_strict", "model", "bounds", "suite"),
)
_SPARE_COSTS = ("reasoning", "cached", "from cache", "uncounted", "failed", "model")


def show_result(result: Result, *, as_json: bool) -> None:
    """The table of a run or sweep, and what qualifies it."""
    if as_json:
        print_json(result.payload())
        return
    rows = rows_of(result.outcomes)
    print_table(
        tuple(rows[0]),
        [tuple(row.values()) for row in rows],
        left=("suite", "method", "switches", "model", "failures"),
        spare=_SPARE,
    )
    console = stdout()
    console.print(
        "\nMetrics are percent over completed evaluations, as the paper reports; "
        "bounds: the first of them with missing evaluations counted as wrong, and as right."
    )
    if len(result.outcomes) == 1:
        summary = result.outcomes[0].summary
        counts = {n.replace("_", " "): v for n, v in asdict(summary).items() if v} | {"failures": summary.failed}
        console.print("; ".join(f"{name}: {value}" for name, value in counts.items() if value))
    if result.costs:
        rows = cost_rows(result.costs)
        console.print()
        print_table(tuple(rows[0]), [tuple(row.values()) for row in rows], left=("stage", "model"), spare=_SPARE_COSTS)
        console.print(f"\nspent: {told(result.costs)}")
    for note in result.notes:
        console.print(f"note: {printable(note)}")
    if result.code is Exit.ABORTED:
        console.print("INVALID: too many questions have no score; see the failures in the run folder.")
    console.print(f"{result.seconds:.1f} s, written to {result.folder}")


SECONDS_A_CALL = 5.0
"""What a call takes at a provider, for an idea of the time: the true figure is between one and thirty."""


def show_plan(stages: Sequence[Stage], *, runs: int, workers: int, as_json: bool) -> None:
    """What would be asked, a row a stage, the most that it may cost, and about how long it may take."""
    calls = sum(stage.calls for stage in stages if stage.usd != 0.0)
    hours = calls * SECONDS_A_CALL / workers / 3_600
    unknown = sorted({stage.model for stage in stages if stage.usd is None})
    usd = sum(stage.usd or 0.0 for stage in stages)
    if as_json:
        rows = [asdict(stage) for stage in stages]
        print_json(
            {
                "runs": runs,
                "stages": rows,
                "usd_at_most": None if unknown else usd,
                "unpriced": unknown,
                "hours_at_5_s_a_call": round(hours, 2),
            }
        )
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
    if calls:
        at_once = f"{workers} question{'s' if workers > 1 else ''} at once"
        console.print(f"at {SECONDS_A_CALL:g} s a call and {at_once} (--workers): {hours:,.1f} h")
    console.print(
        "Planned with the rules reader in the model's place, without calls asked again; "
        "prices: configs/models.yaml, else litellm's table."
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


def show_sheet(sheet: Sheet) -> None:
    """A sheet on the terminal; a wide one in two halves under the same names."""
    console, rows = stdout(), sheet.plain()
    console.print(printable(sheet.title))
    names, width = range(sheet.left), len(sheet.columns)
    middle = sheet.columns.index("verdict") + 1 if "verdict" in sheet.columns else width
    for part in (range(middle), (*names, *range(middle, width))) if middle < width else (range(width),):
        columns = [sheet.columns[at] for at in part]
        print_table(columns, [[row[at] for at in part] for row in rows], left=columns[: sheet.left])
        console.print()
    for note in sheet.notes:
        console.print(f"note: {printable(note)}")
    console.print()


def show_items(records: list[Record]) -> None:
    """A run's questions, a line each."""
    rows = [
        (
            record.query.id,
            scores_of(record),
            record.answer.text if record.answer else f"failed: {record.failure.kind if record.failure else ''}",
            " or ".join(record.gold.answers),
            record.query.text,
        )
        for record in records
    ]
    columns = ("item", "scores", "answer", "gold", "question")
    print_table(columns, rows, left=columns)


def item_payload(record: Record) -> dict[str, Any]:
    """A record as JSON, as the journal holds it."""
    payload = asdict(record)
    payload["completed"] = record.completed
    return payload
