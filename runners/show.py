"""One question on the terminal: what is stored, what is used, and where its evidence went."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console

from rdforget.records import Entry, History, Record, Status, Trace
from runners.console import print_table, printable, stdout
from runners.funnel import EVIDENCE, Basis, Outcome, Stage, Stages, funnel_of
from runners.lines import by_ref, stating

_LONG_MEMORY = 40
_LONG_SOURCE = 8
_BAR = 40


def show_item(record: Record, history: History | None, lacking: str, *, whole: bool) -> None:
    """A question's way from its source over the stored entries to the view, the answer and the score.

    `lacking` says why there is no history; `whole` shows every entry and line of a long memory.
    """
    console, stages = stdout(), funnel_of(record, history)
    console.print(f"{printable(record.query.id)}  {printable(record.query.text)}", style="bold")
    told = [f"gold: {printable(' or '.join(record.gold.answers) or record.gold.option or 'none')}"]
    told += [f"type: {printable(record.query.task_type)}"] if record.query.task_type else []
    console.print("; ".join(told))
    _source(console, record, stages, history, lacking, whole=whole)
    if record.trace:
        _memory(console, record.trace, stages, whole=whole)
        _view(console, record.trace)
    if record.answer:
        console.print(f"\nanswer: {printable(record.answer.text)} ({record.answer.outcome})")
    console.print(f"scores: {scores_of(record)}")
    console.print(_way(stages))
    if record.failure:
        failure = record.failure
        console.print(f"failed in {failure.stage}: {failure.kind}: {printable(failure.message)}")


def scores_of(record: Record) -> str:
    """Every score of a question in words."""
    shown = (f"{s.metric} {'-' if s.value is None else f'{s.value:g}'} ({s.verdict})" for s in record.scores)
    return ", ".join(map(printable, shown)) or "none"


def _source(
    console: Console, record: Record, stages: Stages, history: History | None, lacking: str, *, whole: bool
) -> None:
    """The lines of the history that hold the evidence."""
    if not history:
        console.print(f"\nSOURCE  {printable(lacking or 'its history is not in the data at hand')}")
        return
    if stages.basis is Basis.LABELS:
        found = [(ref, by_ref(history).get(ref)) for ref in stages.units]
    else:
        found = [(seen.ref, seen) for seen in stating(history, record.gold)] if stages.units else []
    what = {Basis.LABELS: "labelled as evidence", Basis.GOLD: "that hold the gold", Basis.NONE: "known as evidence"}
    console.print(f"\nSOURCE  lines {what[stages.basis]}: {len(found)} of {len(history.observations)}")
    rows = [(ref, seen.when or "", seen.line) if seen else (ref, "", "(not visible)") for ref, seen in found]
    if rows:
        shown = rows if whole else rows[:_LONG_SOURCE]
        columns = ("line", "date", "text")
        print_table(columns, shown, left=columns, spare=("date",))
        _say_more(console, len(rows) - len(shown), "such lines")


def _memory(console: Console, trace: Trace, stages: Stages, *, whole: bool) -> None:
    """The entries, status by status: what supersedes what, and how far each came."""
    entries = trace.memory.entries
    console.print(
        f"\nMEMORY  stored {len(entries)} entries, eligible {len(trace.eligible)}, candidates {len(trace.candidates)}, "
        f"selected {len(trace.selected)}, packed {len(trace.view.packed)}, rescued {trace.rescues}"
    )
    notes = [f"asks about the past: {'yes' if trace.history_intent else 'no'}"]
    notes += [f"{name.replace('_', ' ')}: {value}" for name, value in trace.memory.stats.items() if value]
    if trace.selector_fallback:
        notes.append("the selector named no usable id: candidate order stands in")
    console.print(printable("; ".join(notes)))
    telling = _telling(trace, stages)
    for status in Status:
        if of_status := [entry for entry in entries if entry.status is status]:
            shown = [entry for entry in of_status if whole or len(entries) <= _LONG_MEMORY or entry.id in telling]
            console.print(f"\n{status} ({len(of_status)}), {_eligibility(of_status[0], trace)}")
            if shown:
                _entries(shown, trace, stages)
            _say_more(console, len(of_status) - len(shown), "entries without evidence that were not selected")


def _telling(trace: Trace, stages: Stages) -> set[str]:
    """What is shown of a long memory: selected entries, carriers of evidence, and what supersedes either."""
    telling = {*trace.selected, *stages.carriers}
    ends = {entry.id: entry.superseded_by for entry in trace.memory.entries if entry.superseded_by}
    return telling | {end for name in telling if (end := ends.get(name))}


def _entries(entries: Sequence[Entry], trace: Trace, stages: Stages) -> None:
    place = {name: str(at) for at, name in enumerate(trace.candidates, start=1)}
    chosen = {name: str(at) for at, name in enumerate(trace.selected, start=1)}
    costs = {packed.entry.id: f"{packed.cost:,}" for packed in trace.view.packed}
    columns: dict[str, Callable[[Entry], str]] = {
        "entry": lambda entry: f"{entry.id} -> {entry.superseded_by}" if entry.superseded_by else entry.id,
        "evidence": lambda entry: " ".join(unit for unit in stages.units if unit in stages.carriers.get(entry.id, ())),
        "rank": lambda entry: place.get(entry.id, ""),
        "selected": lambda entry: chosen.get(entry.id, ""),
        "packed": lambda entry: costs.get(entry.id, "no room" if entry.id in chosen else ""),
        "text": lambda entry: entry.text,
        "slot": lambda entry: entry.slot or "",
    }
    rows = [[cell(entry) for cell in columns.values()] for entry in entries]
    print_table(tuple(columns), rows, left=("entry", "evidence", "text", "slot"), spare=("slot",))


def _eligibility(entry: Entry, trace: Trace) -> str:
    """Whether a status may be used for this question, and why not (eq. 5)."""
    if entry.id in trace.eligible:
        return "eligible"
    if entry.status is Status.SUPERSEDED and not trace.history_intent:
        return "not eligible: the question does not ask about the past"
    return "not eligible: rescue is off"


def _view(console: Console, trace: Trace) -> None:
    view = trace.view
    if view.budget is None:
        console.print(f"\nVIEW  {view.tokens:,} tokens, packed without a budget")
        return
    full = min(_BAR, round(_BAR * view.tokens / view.budget)) or int(view.tokens > 0)
    console.print(f"\nVIEW  [{'#' * full}{'.' * (_BAR - full)}] {view.tokens:,} of {view.budget:,} tokens")


def _way(stages: Stages) -> str:
    """The stages one after the other, and how it ended."""
    if not stages.units:
        return f"evidence: {stages.outcome}"
    parts = [f"{stage} {_portion(stages, stage)}" for stage in EVIDENCE]
    answer = {None: "unknown", 1.0: "yes"}.get(stages.shares[Stage.ANSWER], "no")
    credit = stages.shares[Stage.CREDIT]
    parts += [f"answer {answer}", f"credit {'none' if credit is None else f'{credit:g}'}"]
    end = {Outcome.LOST: f"LOST at {stages.lost}", Outcome.RECOVERED: f"recovered, though lost at {stages.lost}"}
    return f"evidence: {' > '.join(parts)}: {end.get(stages.outcome, stages.outcome)}"


def _portion(stages: Stages, stage: Stage) -> str:
    share = stages.shares[stage]
    if share is None:
        return "unknown"
    return {0.0: "none", 1.0: "whole"}.get(share, f"{round(share * len(stages.units))} of {len(stages.units)}")


def _say_more(console: Console, count: int, what: str) -> None:
    if count:
        console.print(f"... and {count} {what} (--all shows them)")
