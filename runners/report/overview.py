"""What the report opens with: results, figures, costs, faults, losses and manifests of its runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import rdforget
from runners.costs import cost_rows, merged, told
from runners.funnel_sheets import names_of, sheets_of
from runners.losses import counts
from runners.report.pairs import groups_of, pairs_of
from runners.report.payload import Table, sheet_table, table, visible
from runners.report.reading import PAGES, Read
from runners.tables import rows_of

_MEANING = (
    "Metrics are percent over completed evaluations, as the paper reports.",
    "bounds: the first metric with missing evaluations counted as wrong, and as right.",
)
_CALLS = (
    "Behind the calls their prompt + completion tokens, where the backend counts them.",
    "shared: they built a memory of several questions, and are spread over all of them.",
)


def index_of(reads: Sequence[Read], title: str, *, live: bool, figures: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """The one file that every page of the report needs."""
    groups = groups_of(reads)
    labels = _labels(reads, groups)
    costs = merged(cost for read in reads for cost in read.costs)
    return {
        "title": visible(title),
        "made": f"rdforget {rdforget.__version__}",
        "live": live,
        "pages": PAGES,
        "runs": [_run(read, label) for read, label in zip(reads, labels, strict=True)],
        "results": table(
            "Results",
            rows_of([read.outcome for read in reads]),
            left=("suite", "method", "switches", "model"),
            notes=_MEANING,
        ),
        "figures": list(figures),
        "costs": table("Costs by stage", cost_rows(costs), left=("stage", "model"), notes=[told(costs)])
        if costs
        else None,
        "calls": table("Calls a question, by stage", list(_calls(reads, labels)), left=("run",), notes=_CALLS),
        "notes": _notes(reads),
        "groups": [_group([reads[at] for at in group], group) for group in groups],
        "pairs": pairs_of(reads, groups),
    }


def _labels(reads: Sequence[Read], groups: Sequence[Sequence[int]]) -> list[str]:
    """What tells the runs apart, in as few words as will do."""
    labels = [""] * len(reads)
    for group in groups:
        for at, name in zip(group, names_of([reads[at].funnel for at in group]), strict=True):
            labels[at] = f"{reads[at].funnel.suite}: {name}" if len(groups) > 1 else name
    alone = len(set(labels)) == len(labels)
    return [visible(label if alone else read.measured.id) for label, read in zip(labels, reads, strict=True)]


def _run(read: Read, label: str) -> dict[str, Any]:
    cell, manifest = read.measured.cell, read.manifest
    return {
        "id": visible(read.measured.id),
        "label": label,
        "suite": visible(read.funnel.suite),
        "method": visible(cell.method) + (" (uses gold)" if cell.uses_gold else ""),
        "switches": " ".join(cell.switches) or "full",
        "model": visible(read.measured.label),
        "budget": cell.budget,
        "repeat": cell.repeat,
        "metric": visible(cell.metric),
        "score": cell.value,
        "selected": cell.n_total,
        "asked": cell.n_total - cell.n_missing,
        "created": visible(str(manifest.get("created", ""))),
        "settings": [[visible(name), visible(value)] for name, value in _flat(read.measured.settings)],
        "manifest": visible(json.dumps(manifest, indent=2, ensure_ascii=False, sort_keys=True)),
        **read.files,
    }


def _flat(settings: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for name, value in sorted(settings.items()):
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", json.dumps(value, ensure_ascii=False)


def _calls(reads: Sequence[Read], labels: Sequence[str]) -> Iterator[dict[str, str]]:
    stages = list(dict.fromkeys(name for read in reads for name in read.measured.stages))
    for read, label in zip(reads, labels, strict=True):
        row = {"run": label}
        for name in stages:
            stage = read.measured.stages.get(name)
            tokens = f"; {stage.tokens['prompt']:,.0f} + {stage.tokens['completion']:,.0f}" if stage else ""
            counted = tokens if stage and any(stage.tokens.values()) else ""
            row[name] = f"{stage.calls:.2f}{counted}{' (shared)' if stage.shared else ''}" if stage else "-"
        yield row


def _notes(reads: Sequence[Read]) -> list[str]:
    """What a reader has to know before the numbers are believed, each said once."""
    said = Counter(note for read in reads for note in read.notes)
    notes = [note if count == len(reads) else f"{note} ({count} of {len(reads)} runs)" for note, count in said.items()]
    if short := sum(bool(read.measured.cell.n_missing) for read in reads):
        notes.insert(0, f"{short} of {len(reads)} runs did not come to their end yet: their numbers are of a part")
    if invalid := sum(read.outcome.invalid for read in reads):
        notes.insert(0, f"INVALID: in {invalid} of {len(reads)} runs too many questions have no score")
    if judged := sum(any(cell.self_judged for cell in read.outcome.cells) for read in reads):
        notes.insert(0, f"in {judged} of {len(reads)} runs a model judges its own answers")
    return list(map(visible, notes))


def _group(reads: Sequence[Read], numbers: Sequence[int]) -> dict[str, Any]:
    """Runs over the same questions and where their answers were lost."""
    funnels = [read.funnel for read in reads]
    sheets: list[Table] = [sheet_table(sheet) for sheet in sheets_of(funnels)]
    return {
        "suite": visible(funnels[0].suite),
        "runs": list(numbers),
        "sheets": sheets,
        "counts": [_count(asdict(counts(funnel)[0])) for funnel in funnels],
    }


def _count(count: Mapping[str, Any]) -> dict[str, Any]:
    """A row a stage: name, known, whole, some, lost, recovered."""
    stages = [
        [str(stage), reach["known"], reach["whole"], reach["some"], count["lost"][stage], count["recovered"][stage]]
        for stage, reach in count["reach"].items()
    ]
    return {"followed": count["followed"], "stages": stages}
