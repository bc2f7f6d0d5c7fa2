"""`rdf tables`"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runners.commands.options import Errata as ErrataFile
from runners.commands.options import Json

if TYPE_CHECKING:
    from runners.errata import Disputes
    from runners.latex import Sheet
    from runners.stats import Scored
    from runners.sweeps import Compared, Measured, Stage, Sweep

DISPUTED = "without disputed golds"
_BOUNDS = ("value", "low", "high")


def tables(
    sweep: Annotated[
        str, typer.Argument(help="A sweep folder, its id, the beginning of the id, or a name: its newest.")
    ],
    paper: Annotated[bool, typer.Option("--paper", help="The paper's Tables 1 to 3, with its values beside.")] = False,
    against: Annotated[
        str | None, typer.Option(help="The method that paired differences are taken to; rd-forget unless named.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(file_okay=False, help="Where files go; without it, into the sweep folder.")
    ] = None,
    errata: ErrataFile = None,
    results: Annotated[Path, typer.Option(help="Where runs and sweeps are kept.")] = Path("results"),
    json: Json = False,
) -> None:
    """Make tables (Markdown, CSV, LaTeX) and figures (PNG, SVG) of a sweep from its journals; no model is asked."""
    from rdforget.plugins import nearest
    from runners.console import print_json
    from runners.errors import UserError
    from runners.figures import draw
    from runners.output import show_sheet
    from runners.paper import paper_tables
    from runners.sweeps import against as compare_with
    from runners.sweeps import find_sweep, read_sweep

    folder = find_sweep(sweep, results)
    read = read_sweep(folder)
    methods = sorted({run.cell.method for run in read.runs})
    if against and against not in methods:
        raise UserError(nearest("method in this sweep", against, methods))
    against = against or "rd-forget"
    compared = compare_with(read.runs, against)
    disputes = _disputes(errata, read) if errata else None
    if paper and errata:
        raise UserError("the paper's tables have no column without disputed golds: leave --paper or --errata out")
    if paper:
        made = paper_tables(read)
        if not made:
            raise UserError(f"{folder.name} has no cell of the paper's tables: leave --paper out")
        sheets = [table.sheet for table in made]
        rows = [cell for table in made for cell in table.cells]
    else:
        sheets = [sheet_of(read, compared, against, disputes)]
        rows = rows_of(read.runs, compared, disputes)
    target = out or folder
    files = _write(target, "paper" if paper else "tables", _origin(read), sheets, rows)
    files += draw(read.runs, compared, against, target)
    if json:
        notes = [note for sheet in sheets for note in sheet.notes]
        print_json({"sweep": str(folder), "rows": rows, "notes": notes, "files": [str(file) for file in files]})
        return
    for sheet in sheets:
        show_sheet(sheet)
    print(f"written to {target}: {', '.join(file.name for file in files)}")


def sheet_of(sweep: Sweep, compared: Sequence[Compared], against: str, disputes: Disputes | None = None) -> Sheet:
    """A row a run: score, paired difference, calls and tokens by stage, and what fills the view."""
    from runners.latex import Box, Sheet

    by_run = {one.run.id: one for one in compared}
    stages = _stages(sweep.runs)
    repeats = any(run.cell.repeat for run in sweep.runs)
    head = ["suite", "method", "model", "B", *(["repeat"] if repeats else []), "metric", "score"]
    head += [*([DISPUTED] if disputes else []), "completed"]
    head += [f"less {against}", "p", "verdict", *stages, "view tokens", "packed", "rescues", "fallbacks", "unread"]
    rows = []
    for run in sweep.runs:
        cell, one = run.cell, by_run.get(run.id)
        boxes: list[tuple[str, ...]] = [(cell.suite,), (run.name,), (run.label,), (str(cell.budget),)]
        boxes += [(str(cell.repeat),)] if repeats else []
        boxes += [(cell.metric,), _score(run.evaluations)]
        boxes += [_score(disputes.without(run.id, run.evaluations))] if disputes else []
        boxes += [(f"{cell.n_completed} of {cell.n_total - cell.n_excluded}",)]
        boxes += _difference(one)
        boxes += [_stage(run.stages.get(stage)) for stage in stages]
        summary = run.summary
        boxes += [(f"{summary.view_tokens:.1f}",), (f"{summary.packed:.1f}",)]
        boxes += [(str(summary.rescues),), (str(summary.fallbacks),)]
        boxes.append((", ".join(f"{stage} {count}" for stage, count in run.unread.items()) or "0",))
        rows.append([Box(lines) for lines in boxes])
    notes = _notes(sweep, compared, against) + (disputes.notes if disputes else [])
    return Sheet("sweep", f"Sweep {sweep.folder.resolve().name}", head, rows, notes, left=3)


def rows_of(
    runs: Sequence[Measured], compared: Sequence[Compared], disputes: Disputes | None = None
) -> list[dict[str, Any]]:
    """The same for programs, a row a run; stages as `curate.calls`, `curate.prompt` and so on, a question."""
    from dataclasses import asdict

    from runners.stats import interval_of

    by_run = {one.run.id: one for one in compared}
    stages = _stages(runs)
    rows = []
    for run in runs:
        bounds, one, summary = interval_of(run.evaluations), by_run.get(run.id), asdict(run.summary)
        row: dict[str, Any] = {"run": run.id, "label": run.label, **asdict(run.cell)}
        row["switches"] = " ".join(run.cell.switches)
        row |= {"interval_low": bounds and round(bounds.low, 2), "interval_high": bounds and round(bounds.high, 2)}
        if disputes:
            bounds = interval_of(disputes.without(run.id, run.evaluations))
            row |= {f"undisputed_{name}": bounds and round(getattr(bounds, name), 2) for name in _BOUNDS}
            row |= {"undisputed_n": bounds.n if bounds else 0, "errata_sha256": disputes.sha256}
        for name in ("difference", "low", "high", "wins", "losses", "ties"):
            row[f"paired_{name}"] = getattr(one.paired, name) if one else None
        row |= {"p": one.paired.p if one else None, "p_holm": one.p if one else None}
        row["verdict"] = one.verdict if one else None
        for name in stages:
            stage = run.stages.get(name)
            row[f"{name}.calls"] = round(stage.calls, 4) if stage else 0
            row |= {f"{name}.{kind}": round(n, 2) for kind, n in stage.tokens.items()} if stage else {}
            row[f"{name}.shared"] = stage.shared if stage else False
        failures = summary.pop("failures")
        row |= {**summary, "failures": "; ".join(f"{kind} {count}" for kind, count in failures.items())}
        row |= {f"unread.{stage}": run.unread.get(stage, 0) for stage in ("memory", "select", "judge")}
        rows.append(row)
    return rows


def _score(evaluations: Mapping[str, Scored]) -> tuple[str, ...]:
    from runners.stats import interval_of

    bounds = interval_of(evaluations)
    return (f"{bounds.value:.2f}", f"{bounds.low:.2f} to {bounds.high:.2f}") if bounds else ("n/a",)


def _disputes(path: Path, sweep: Sweep) -> Disputes:
    from runners import manifest
    from runners.errata import asked_by, disputes_of, read_errata
    from runners.journal import read_outcomes

    folders = [sweep.folder / run.id for run in sweep.runs]
    asked = {path.name: asked_by(manifest.read(path), read_outcomes(path).values()) for path in folders}
    return disputes_of(read_errata(path), asked)


def _difference(one: Compared | None) -> list[tuple[str, ...]]:
    if not one:
        return [("",), ("",), ("",)]
    paired = one.paired
    return [
        (f"{paired.difference:+.2f}", f"{paired.low:+.2f} to {paired.high:+.2f}"),
        (f"{one.p:.2g}",),
        (one.verdict,),
    ]


def _stages(runs: Sequence[Measured]) -> list[str]:
    """Every role that was asked, those that build memories before those that every method shares."""
    shared = ("select", "answer", "judge", "rubric")
    found = dict.fromkeys(stage for run in runs for stage in run.stages)
    return sorted(found, key=lambda stage: shared.index(stage) if stage in shared else -1)


def _stage(stage: Stage | None) -> tuple[str, ...]:
    if not stage:
        return ("",)
    calls = f"{stage.calls:.2f} calls{'*' if stage.shared else ''}"
    tokens = stage.tokens
    if not tokens["prompt"] and not tokens["completion"]:
        return (calls,)
    least = "at least " if tokens["uncounted"] else ""
    return calls, f"{least}{tokens['prompt']:,.0f} in", f"{least}{tokens['completion']:,.0f} out"


def _notes(sweep: Sweep, compared: Sequence[Compared], against: str) -> list[str]:
    used = [stage for run in sweep.runs for stage in run.stages.values()]
    notes = [
        "score: percent over completed evaluations by the headline metric of the suite, and its 95 % interval.",
        f"less {against}: paired difference in points to the whole {against} on the same questions, with the same "
        "model and B. tie: its 95 % interval covers 0.",
        f"p: exact McNemar, or sign flips where scores are graded, adjusted by Holm over the {len(compared)} "
        "comparisons of this table; unsettled: the interval leaves 0 out and p is above 0.05.",
        "Calls and tokens by stage are a question. unread: replies with nothing usable in them, those for a memory "
        "that questions share counted once.",
    ]
    if any(stage.shared for stage in used):
        notes.append("*: with calls for memories that several questions share, spread over the questions asked.")
    if silent := {run.label for run in sweep.runs if not any(s.tokens["prompt"] for s in run.stages.values())}:
        notes.append(f"{', '.join(sorted(silent))}: no tokens are counted.")
    notes += dict.fromkeys(f"{run.cell.suite}: {note}" for run in sweep.runs for note in run.notes)
    if unfinished := [run.id for run in sweep.runs if run.cell.n_missing]:
        notes.append(f"not ended: {', '.join(unfinished)}")
    return [*notes, *(f"not begun: {run}" for run in sweep.absent)]


def _origin(sweep: Sweep) -> str:
    environment = sweep.manifest.get("environment", {})
    return (
        f"Made by `rdf tables` from the journals of sweep {sweep.folder.resolve().name}, run with rdforget "
        f"{environment.get('rdforget')} (git {environment.get('git') or 'unknown'})."
    )


def _write(
    folder: Path, name: str, origin: str, sheets: Sequence[Sheet], rows: Sequence[Mapping[str, Any]]
) -> list[Path]:
    """`<name>.md`, `.tex` and `.csv` in a folder that is made if need be."""
    import csv

    from runners.errors import UserError
    from runners.latex import latex, markdown

    files = [folder / f"{name}.{kind}" for kind in ("md", "tex", "csv")]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files[0].write_text(f"{origin}\n\n{markdown(sheets)}", "utf-8")
        files[1].write_text(f"% {origin}\n{latex(sheets)}", "utf-8")
        with files[2].open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, dict.fromkeys(key for row in rows for key in row))
            writer.writeheader()
            writer.writerows(rows)
    except OSError as error:
        raise UserError(f"{folder} cannot hold the tables ({error.strerror}): give another --out") from error
    return files
