"""One run read for the report: its questions go into data files, what they add up to stays."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from rdforget.models.parameters import ModelConfig
from rdforget.records import Record
from rdforget.scoring.metrics import JUDGED
from runners.backends import model_config
from runners.compare import manifest_of
from runners.config import model_configs
from runners.costs import Cost, costs_of
from runners.errors import Exit, UserError
from runners.funnel import Stages, funnel_of
from runners.journal import read_builds, read_calls, read_numbered, read_replies
from runners.losses import Funnel, histories_of, read_funnel
from runners.means import Limits
from runners.report.items import entry_of, page_of, row_of, texts_of
from runners.report.payload import Numbering, visible
from runners.runs import exit_code
from runners.stats import scored
from runners.sweeps import Measured, stages_of, unread_of
from runners.tables import Outcome, cells_of, summary_of

Write = Callable[[str, Any], str]
"""Puts a value into the data file of a name, and tells a digest of it."""
ROWS = 2_000
"""Positions of the list in one file."""
PAGES = 20
"""Questions whose pages are in one file."""


@dataclass(frozen=True, slots=True)
class Read:
    """A run without its questions."""

    folder: Path
    manifest: Mapping[str, Any]
    outcome: Outcome
    funnel: Funnel
    measured: Measured
    costs: Sequence[Cost]
    notes: Sequence[str]
    files: Mapping[str, Any]
    """How the page finds and reads the run's data files."""


def read_run(number: int, folder: Path, data_dir: Path | None, write: Write) -> Read:
    """Read a run and write the data files of its questions, `rows-`, `texts-`, `pages-` and `memory-<number>-...`."""
    manifest = manifest_of(folder)
    settings, model = manifest["settings"], manifest["spec"]["model"]
    numbered = list(read_numbered(folder))
    records = [record for _, record in numbered]
    funnel, (histories, _) = read_funnel(folder, data_dir), histories_of(manifest, data_dir)
    followed = {question.item: question.stages for question in funnel.questions}
    ways = [followed.get(r.query.id) or funnel_of(r, histories.get(r.history)) for r in records]
    builds, types, faults = read_builds(folder), Numbering(), Numbering()
    rows, texts = [], []
    for (at, record), way in zip(numbered, ways, strict=True):
        rows.append(row_of(at, record, way, types, faults))
        if rows[-1][-1]:
            texts.append([at, *texts_of(record)])
    files = {
        "rows": _chunks(f"rows-{number}", rows, write),
        "texts": _chunks(f"texts-{number}", texts, write),
        "types": types.texts,
        "faults": faults.texts,
        "faulty": sorted(Counter(fault for row in rows for fault in row[7]).items()),
    }
    _write_pages(number, folder, numbered, ways, histories, builds, write)
    cells, summary = cells_of(records, settings, model), summary_of(records)
    invalid = exit_code(cells, Limits().max_error_rate) is Exit.ABORTED
    measured = Measured(
        id=folder.resolve().name,
        settings=settings,
        notes=manifest.get("suite_notes", []),
        cell=cells[0],
        label=model_configs()[model].label if model in model_configs() else model,
        summary=summary,
        evaluations=scored(records, cells[0].metric),
        stages=stages_of(records, builds) if records else {},
        unread=unread_of(records, builds, summary),
    )
    costs, note = _costs(folder, manifest)
    notes = [*measured.notes, *([note] if note else [])]
    return Read(folder, manifest, Outcome(cells, summary, invalid), funnel, measured, costs, notes, files)


def _chunks(name: str, rows: Iterable[Sequence[Any]], write: Write) -> list[list[Any]]:
    """Rows in files by their position in the suite, so that a run that goes on changes few of them."""
    return [
        [f"{name}-{number}", write(f"{name}-{number}", list(of_file))]
        for number, of_file in groupby(rows, lambda row: row[0] // ROWS)
    ]


def _write_pages(
    number: int,
    folder: Path,
    numbered: Sequence[tuple[int, Record]],
    ways: Sequence[Stages],
    histories: Mapping[str, Any],
    builds: Mapping[str, Any],
    write: Write,
) -> None:
    """What the pages of single questions draw; a memory that questions share is in a file of its own."""
    replies, shared = read_replies(folder), dict[str, str]()
    together = zip(numbered, ways, strict=True)
    for of_file, questions in groupby(together, lambda one: one[0][0] // PAGES):
        pages = []
        for (at, record), way in questions:
            memory: Any = [entry_of(entry) for entry in record.trace.memory.entries] if record.trace else None
            if memory and record.history in builds:
                digest = hashlib.sha256(json.dumps(memory).encode()).hexdigest()
                if digest not in shared:
                    shared[digest] = f"memory-{number}-{len(shared)}"
                    write(shared[digest], memory)
                memory = shared[digest]
            pages.append(page_of(at, record, way, histories.get(record.history), replies, memory))
        write(f"pages-{number}-{of_file}", pages)


def _costs(folder: Path, manifest: Mapping[str, Any]) -> tuple[list[Cost], str]:
    """Costs by stage with the prices of today's configuration, and why there are none."""
    spec = manifest["spec"]
    try:
        asked = model_config(spec["model"], spec.get("api_base"))
        judge = model_config(spec["judge"]) if spec.get("judge") else asked
    except UserError as error:
        return [], visible(f"costs are not shown: {error}")
    if not any(isinstance(config, ModelConfig) for config in (asked, judge)):
        return [], ""
    return costs_of(*read_calls(folder), lambda role: judge if role in JUDGED else asked), ""
