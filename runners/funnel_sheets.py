"""The loss funnel of one or several runs as tables for readers and rows for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runners.console import printable
from runners.funnel import Stage
from runners.latex import Box, Sheet
from runners.losses import Change, Count, Funnel, counts

COVERAGE = {"memory": Stage.STORED, "view": Stage.PACKED}
"""Evidence coverage: questions whose evidence is whole in some entries, and in packed ones."""


def names_of(funnels: Sequence[Funnel]) -> list[str]:
    """What tells the runs apart, in as few words as will do."""
    parts = [
        [one.method for one in funnels],
        [" ".join(one.switches) or "full" for one in funnels],
        [one.model for one in funnels],
        [f"B {one.budget:,}" for one in funnels],
        [f"repeat {one.repeat}" for one in funnels],
    ]
    telling = [part for part in parts if len(set(part)) > 1] or parts[:2]
    names = [" ".join(words) for words in zip(*telling, strict=True)]
    return names if len(set(names)) == len(names) else [one.run for one in funnels]


def sheets_of(funnels: Sequence[Funnel], changed: Sequence[Change] = ()) -> list[Sheet]:
    """By stage, by outcome, by type of question where there are several, and what `changed` between two runs."""
    names = names_of(funnels)
    found = [counts(funnel) for funnel in funnels]
    whole = [of_run[0] for of_run in found]
    sheets = [_stages(funnels, names, whole), _ends(names, whole)]
    if any(len(of_run) > 1 for of_run in found):
        sheets.append(_types(names, found))
    if changed:
        sheets.append(_changes(names, changed))
    return sheets


def rows_of(funnels: Sequence[Funnel]) -> list[dict[str, Any]]:
    """A row for every run and type of question: counts of outcomes, and for every stage how much came there."""
    rows = []
    for funnel in funnels:
        for count in counts(funnel):
            row: dict[str, Any] = {name: getattr(funnel, name) for name in ("run", "suite", "method")}
            row |= {"switches": " ".join(funnel.switches), "model": funnel.model, "budget": funnel.budget}
            row |= {"repeat": funnel.repeat, "type": count.type, "selected": count.selected}
            row |= {"followed": count.followed, "kept": count.kept}
            row |= {name: sum(getattr(count, name).values()) for name in ("recovered", "lost")}
            row |= {name: getattr(count, name) for name in ("untraced", "abstention", "failed", "missing")}
            for stage, reach in count.reach.items():
                row |= {f"{stage}.{name}": getattr(reach, name) for name in ("known", "whole", "some", "share")}
                row |= {f"{stage}.lost": count.lost[stage], f"{stage}.recovered": count.recovered[stage]}
            rows.append(row)
    return rows


def ends_of(count: Count) -> dict[str, int]:
    """The categories of a count: every selected question is in one."""
    return {
        "kept": count.kept,
        **{f"recovered, lost at {stage}": n for stage, n in count.recovered.items()},
        **{f"lost at {stage}": n for stage, n in count.lost.items()},
        **{name: getattr(count, name) for name in ("untraced", "abstention", "failed", "missing")},
    }


def _stages(funnels: Sequence[Funnel], names: Sequence[str], found: Sequence[Count]) -> Sheet:
    rows = [_row("followed", [str(count.followed) for count in found], [count.followed for count in found])]
    for stage in Stage:
        wholes = [count.reach[stage].whole if count.reach[stage].known else None for count in found]
        rows.append(_row(stage, [_reached(count, stage) for count in found], wholes))
    for place, stage in COVERAGE.items():
        rows.append(_row(f"{place} coverage, %", [_coverage(count, stage) for count in found], [None, None]))
    notes = [
        "history to packed: questions with the whole evidence there; in brackets, where it differs, with some of it.",
        "answer: the gold stands in the answer as text. credit: full score by the headline metric; in brackets, some.",
        "coverage: whole evidence among stored entries (memory), and among packed ones (view); in brackets, where it "
        "differs, the mean share of the evidence.",
    ]
    for note in dict.fromkeys(note for one in funnels for note in one.notes):
        of = [name for name, one in zip(names, funnels, strict=True) if note in one.notes]
        notes.append(note if len(of) == len(names) else f"{', '.join(of)}: {note}")
    return Sheet("stages", f"Where the evidence is: {_shared(funnels)}", _columns("stage", names), rows, notes, left=1)


def _ends(names: Sequence[str], found: Sequence[Count]) -> Sheet:
    ends = [ends_of(count) for count in found]
    rows = []
    for name in ends[0]:
        values = [end[name] for end in ends]
        if any(values) or name == "kept":
            rows.append(_row(name, list(map(str, values)), values))
    rows.append(_row("selected", [str(count.selected) for count in found], [count.selected for count in found]))
    notes = [
        "kept: full score with the whole evidence in the view; recovered: full score without it; lost: less than full "
        "score, at the first stage without the whole evidence.",
        "lost at answer: the evidence was in the view and the gold is not in the answer; at credit: it is, and the "
        "scorer did not take it.",
        "untraced: no labels, and no gold that the history states as text; abstention: right is to say that it is not "
        "there; failed: no answer or no verdict.",
    ]
    return Sheet("outcomes", "Where answers were lost", _columns("outcome", names), rows, notes, left=1)


def _types(names: Sequence[str], found: Sequence[Sequence[Count]]) -> Sheet:
    rows = []
    for name, of_run in zip(names, found, strict=True):
        for count in of_run:
            lost = ", ".join(f"{stage} {n}" for stage, n in count.lost.items() if n)
            boxes: tuple[str, ...] = (
                name,
                printable(count.type) or "(none)",
                lost or "-",
                str(count.selected),
                str(count.followed),
            )
            boxes += (str(count.kept), str(sum(count.recovered.values())), str(sum(count.lost.values())))
            boxes += tuple(_coverage(count, stage) for stage in COVERAGE.values())
            rows.append([Box.of(box) for box in boxes])
    columns = ["run", "type", "lost at", "selected", "followed", "kept", "recovered", "lost", "memory, %", "view, %"]
    return Sheet("types", "By type of question", columns, rows, ["memory, view: coverage as above."], left=3)


def _changes(names: Sequence[str], changed: Sequence[Change]) -> Sheet:
    cells = ((one.item, one.a, one.b, one.a_answer, one.b_answer, one.gold, one.question) for one in changed)
    rows = [[Box.of(printable(part)) for part in parts] for parts in cells]  # a cell is one line of a file, too
    first, second = names
    columns = ["item", first, second, f"answer, {first}", f"answer, {second}", "gold", "question"]
    return Sheet("changes", f"{len(changed)} questions that end otherwise", columns, rows, (), left=len(columns))


def _columns(head: str, names: Sequence[str]) -> list[str]:
    return [head, *names, *(["difference"] if len(names) == 2 else [])]


def _row(name: str, shown: Sequence[str], values: Sequence[int | None]) -> list[Box]:
    """A row with a value a run; of two runs also the first less the second."""
    boxes = [name, *shown]
    if len(shown) == 2:
        a, b = values
        boxes.append("" if a is None or b is None else f"{a - b:+d}")
    return list(map(Box.of, boxes))


def _reached(count: Count, stage: Stage) -> str:
    reach = count.reach[stage]
    if not reach.known:
        return "unknown" if count.followed else "n/a"
    some = f" ({reach.some})" if reach.some != reach.whole else ""
    return f"{reach.whole}{some}" + (f" of {reach.known}" if reach.known < count.followed else "")


def _coverage(count: Count, stage: Stage) -> str:
    reach = count.reach[stage]
    if reach.share is None:
        return "n/a"
    whole, share = 100 * reach.whole / reach.known, 100 * reach.share
    return f"{whole:.1f}" + (f" ({share:.1f})" if reach.some != reach.whole else "")


def _shared(funnels: Sequence[Funnel]) -> str:
    """What the runs have in common."""
    first = funnels[0]
    own = (first.suite, first.method, first.model, f"B {first.budget:,}")
    of_all = [(one.suite, one.method, one.model, f"B {one.budget:,}") for one in funnels]
    return ", ".join(part for at, part in enumerate(own) if all(other[at] == part for other in of_all))
