"""`rdf memory simulate` as tables, CSV and a figure: what a store holds after months, and what its reads do to that."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdforget.store.decay import recency
from rdforget.store.records import Policy
from rdforget.store.simulation import (
    Load,
    Queries,
    Rows,
    Sampled,
    Spread,
    course,
    half_for,
    mean_life,
    merge_for,
    sampled,
)
from runners.errors import UserError
from runners.latex import Box, Sheet, markdown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

READ_EVERY = (None, 365, 90, 60, 30, 14)
"""Days between two reads of a row."""
QUERIES = (0, 2, 6, 20, 60)
"""A day."""
HOURS = {"1 hour": 1, "1 day": 24, "7 days": 168, "30 days": 720, "90 days": 2160}


@dataclass(frozen=True)
class Simulation:
    """A load, and what else is asked about it."""

    load: Load = field(default_factory=Load)
    row_bytes: float = 3_320.0
    """Of an open or closed row; the text's 664 GB are 200 rows of a million users at this size."""
    cold_bytes: float | None = None
    """Of a cold row, which has no vector any more; None counts it like the others."""
    users: int = 1_000_000
    heavy: float = 200.0
    """Open rows of the user whose merge rate is sought."""
    seeds: int = 5

    @cached_property
    def courses(self) -> dict[str, list[Rows]]:
        """The load by day, and the loads that end at the heavy user's rows: by a fixed merge rate and a rising one."""
        found = {"this load": course(self.load)}
        fixed = replace(self.load, half=None)
        if self.heavy <= course(replace(fixed, merge=0.0))[-1].open:
            name = f"{self.heavy:,.0f} rows"
            found[f"{name}, fixed"] = course(replace(fixed, merge=merge_for(fixed, self.heavy)))
            found[f"{name}, rising"] = course(replace(fixed, half=half_for(fixed, self.heavy)))
        return found

    @cached_property
    def reads(self) -> list[tuple[float, float, float, Sampled]]:
        """Reads of a row a day, mean life of an episodic row in days, open rows expected and sampled."""
        found = []
        for days in READ_EVERY:
            load = replace(self.load, reads=1 / days if days else 0.0)
            life = mean_life(load.reads, load.expire_days)
            found.append((load.reads, life, course(load)[-1].open, sampled(load, Queries(), self.seeds)))
        return found

    @cached_property
    def budgets(self) -> dict[Spread, dict[int, Sampled]]:
        """By the spread of the reads and the queries a day."""
        load = replace(self.load, reads=0.0)
        return {
            spread: {queries: sampled(load, Queries(queries, spread), self.seeds) for queries in QUERIES}
            for spread in Spread
        }

    def size(self, rows: Rows, kind: str) -> float:
        """Bytes of one kind of rows, of all users."""
        cold = rows.cold if kind in ("cold", "disk") else 0.0
        cold_bytes = self.row_bytes if self.cold_bytes is None else self.cold_bytes
        others: float = getattr(rows, kind) - cold
        return self.users * (cold * cold_bytes + others * self.row_bytes)


def scaled(size: float, step: int, unit: str) -> str:
    """`14.34 TB`: three digits or more."""
    prefixes = iter(("", "k" if step == 1000 else "K", "M", "G", "T", "P", "E"))
    prefix = next(prefixes)
    while size >= step and prefix != "E":
        size, prefix = size / step, next(prefixes)
    text = f"{size:.2f}" if size < 100 else f"{size:,.0f}"
    return f"{text} {prefix}{unit if prefix else 'B'}"


_KINDS = {
    "append-only": "seen",
    "open": "open",
    "  of these lasting": "lasting",
    "  of these episodic": "hot",
    "closed": "closed",
    "cold": "cold",
    "on the disk": "disk",
}


def sheets(simulation: Simulation) -> list[Sheet]:
    """Every table of a simulation; numbers are rounded here and nowhere before."""
    return [_rows(simulation), _merging(simulation), _reads(simulation), _budgets(simulation), _recency()]


def _rows(simulation: Simulation) -> Sheet:
    load = simulation.load
    ends = {name: days[-1] for name, days in simulation.courses.items()}
    columns = ["rows"]
    for name in ends:
        columns += [name, "bytes"]
    rows = []
    for kind, name in _KINDS.items():
        boxes = [Box.of(kind)]
        for end in ends.values():
            size = simulation.size(end, name)
            boxes.append(Box.of(f"{getattr(end, name):,.0f}"))
            boxes.append(Box.of(f"{scaled(size, 1000, 'B')} ({scaled(size, 1024, 'iB')})"))
        rows.append(boxes)
    end = ends["this load"]
    return Sheet(
        "rows",
        f"Rows of one user after {load.months} months of {load.month_days} days, and bytes of "
        f"{simulation.users:,} users",
        columns,
        rows,
        [
            f"this load: {end.open:,.1f} open rows, {_rate(_saved(end.open, end))} fewer than append-only.",
            f"On the disk {_rate(_saved(end.disk, end))} fewer, and {_rate(_saved(end.disk - end.closed, end))} if no "
            "merge were an update.",
            f"{load.sessions:g} sessions a day with {load.candidates:g} candidates each; episodic: "
            f"{load.episodic:.0%} of the new rows, cold after {load.expire_days:g} days without a read; updates: "
            f"{load.updates:.1%} of the merges.",
            f"A row takes {simulation.row_bytes:,.0f} B{_of_cold(simulation)}.",
        ],
        left=1,
    )


def _of_cold(simulation: Simulation) -> str:
    size = simulation.cold_bytes
    return ", a closed or cold one too" if size is None else f", a cold one {size:,.0f} B"


def _saved(rows: float, end: Rows) -> float:
    return 1 - rows / end.seen if end.seen else 0.0


def _merging(simulation: Simulation) -> Sheet:
    rows = [
        [Box.of(name), *(Box.of(text) for text in (f"{end.open:,.1f}", _rate(end.merged), _rate(end.merge)))]
        for name, end in ((name, days[-1]) for name, days in simulation.courses.items())
    ]
    note = (
        "fixed: one rate for all days. rising: n / (n + half) at n open rows, half being the rows at which half of the "
        "candidates merge"
    )
    halves = [simulation.load.half] if simulation.load.half else []
    if len(rows) > 1:
        halves.append(half_for(replace(simulation.load, half=None), simulation.heavy))
    note += f": {' and '.join(f'{half:,.1f}' for half in halves)}." if halves else "."
    return Sheet("merging", "Merge rates", ("", "open rows", "average", "on the last day"), rows, [note], left=1)


def _rate(share: float) -> str:
    return f"{100 * share:.2f} %"


def _reads(simulation: Simulation) -> Sheet:
    rows = []
    for days, (_, life, expected, drawn) in zip(READ_EVERY, simulation.reads, strict=True):
        texts = (f"every {days} days" if days else "never", f"{life:,.0f} days", f"{expected:,.1f}")
        rows.append([Box.of(text) for text in (*texts, f"{drawn.open:,.0f} ± {drawn.open_error:.0f}")])
    notes = [
        "mean life: (e^(r w) - 1) / r at r reads a day and w days to expiry. sampled: mean of the seeds 0 to "
        f"{simulation.seeds - 1} and its standard error."
    ]
    columns = ("a row is read", "mean life, episodic", "open rows", "sampled")
    return Sheet("reads", "Expiry from the last access, reads by row", columns, rows, notes, left=1)


def _budgets(simulation: Simulation) -> Sheet:
    columns = ["queries a day"]
    for spread in Spread:
        columns += [f"{spread}: open", "of these episodic"]
    rows = []
    for queries in QUERIES:
        boxes = [Box.of(str(queries))]
        for found in simulation.budgets.values():
            drawn = found[queries]
            boxes.append(Box.of(f"{drawn.open:,.0f} ± {drawn.open_error:.0f}"))
            boxes.append(Box.of(f"{drawn.hot:,.0f} ± {drawn.hot_error:.0f}"))
        rows.append(boxes)
    notes = [
        f"Each query touches {Queries().top} open rows. even: any of them; heavy-tailed: in proportion to weights from "
        f"a Pareto distribution of shape 1. Means of {simulation.seeds} seeds and their standard errors."
    ]
    return Sheet("budgets", "Expiry from the last access, reads by query", columns, rows, notes, left=1)


def _recency() -> Sheet:
    decay = Policy().decay
    values = {name: f"{recency(hours, decay):.{4 if hours < 2_160 else 5}f}" for name, hours in HOURS.items()}
    rows = [[Box.of(name), Box.of(value)] for name, value in values.items()]
    return Sheet("recency", f"Recency, {decay}^(hours since the last access)", ("after", "recency"), rows, left=1)


def driven_sheet(simulation: Simulation, users: int, seed: int = 0) -> Sheet:
    """A real store that users of the load have written to, beside the formula. The store is gone afterwards."""
    from rdforget.store.driven import differences, drive

    with tempfile.TemporaryDirectory() as folder:
        driven = drive(simulation.load, users, Path(folder), seed)
    end = simulation.courses["this load"][-1]
    rows = []
    for found in differences(end, driven):
        texts = [f"{found.expected:,.1f}", f"{found.kept:,.1f}", f"{found.kept - found.expected:+,.1f}"]
        rows.append([Box.of(text) for text in ({"hot": "episodic"}.get(found.kind, found.kind), *texts)])
    disk = sum(rows.disk for rows in driven.users)
    notes = [
        "Shares are kept to as evenly as may be, so that little of a difference is chance; which rows are repeated or "
        f"updated is drawn with seed {seed}.",
        f"{driven.size:,} B of files, {driven.size / max(disk, 1):,.0f} B a row, with short texts and the built-in "
        f"vectors; {driven.seconds:,.0f} s.",
    ]
    columns = ("rows of a user", "expected", "kept", "difference")
    return Sheet("driven", f"A store that {users:,} users wrote to", columns, rows, notes, left=1)


def write(simulation: Simulation, made: Sequence[Sheet], folder: Path) -> list[Path]:
    """`simulation.md`, `course.csv` by month, `reads.csv`, and the figure; the files written."""
    from runners.figures import save

    files = [folder / name for name in ("simulation.md", "course.csv", "reads.csv")]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files[0].write_text(f"Made by `rdf memory simulate`.\n\n{markdown(made)}", "utf-8")
        for file, rows in zip(files[1:], (list(_monthly(simulation)), list(_read(simulation))), strict=True):
            with file.open("w", encoding="utf-8", newline="") as out:
                writer = csv.DictWriter(out, rows[0], lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
    except OSError as error:
        raise UserError(f"{folder} cannot hold the simulation ({error.strerror}): give another --out") from error
    return files + save(_figures(simulation), folder)


def payload(simulation: Simulation) -> dict[str, Any]:
    """The same for programs."""
    return {
        "load": {one.name: getattr(simulation.load, one.name) for one in fields(Load)},
        "row_bytes": simulation.row_bytes,
        "cold_bytes": simulation.cold_bytes,
        "users": simulation.users,
        "end": [row for row in _monthly(simulation) if row["month"] == simulation.load.months],
        "reads": list(_read(simulation)),
    }


def _monthly(simulation: Simulation) -> Iterator[dict[str, Any]]:
    for name, days in simulation.courses.items():
        for month, rows in enumerate(days[:: simulation.load.month_days]):
            row: dict[str, Any] = {"load": name, "month": month}
            row |= {kind.replace("of these", "").strip(): round(getattr(rows, at), 4) for kind, at in _KINDS.items()}
            for kind in ("open", "closed", "cold", "disk"):
                row[f"{kind} bytes"] = round(simulation.size(rows, kind))
            yield row | {"merge rate": round(rows.merge, 6), "merged": round(rows.merged, 6)}


def _read(simulation: Simulation) -> Iterator[dict[str, Any]]:
    def row(kind: str, reads: float, expected: float | None, drawn: Sampled) -> dict[str, Any]:
        values = {name.name: round(getattr(drawn, name.name), 4) for name in fields(Sampled)}
        missing = {name: None if value != value else value for name, value in values.items()}
        return {"reads": kind, "a day": round(reads, 6), "expected": expected and round(expected, 4), **missing}

    for reads, _, expected, drawn in simulation.reads:
        yield row("of a row", reads, expected, drawn)
    for spread, found in simulation.budgets.items():
        yield from (row(f"queries, {spread}", queries, None, drawn) for queries, drawn in found.items())


def _figures(simulation: Simulation) -> Iterator[tuple[str, Figure]]:
    from matplotlib.figure import Figure

    from runners.figures import GREY

    figure = Figure(figsize=(12.0, 4.2), layout="constrained")
    stored, merging, reading = figure.subplots(1, 3)
    _stored(stored, simulation)
    _rates(merging, simulation)
    _budget(reading, simulation)
    for axes in (stored, merging, reading):
        axes.grid(visible=True, axis="both")
        axes.yaxis.set_major_formatter("{x:,.0f}")
    load = simulation.load
    told = (
        f"{load.sessions:g} x {load.candidates:g} candidates a day, {load.episodic:.0%} of new rows episodic, cold "
        f"after {load.expire_days:g} days without a read, {load.updates:.0%} of merges are updates"
    )
    figure.supxlabel(told, fontsize=8, color=GREY)
    yield "simulation", figure


def _stored(axes: Axes, simulation: Simulation) -> None:
    """What the disk holds over the months, one layer on the other, below the line of an append-only store."""
    from runners.figures import BLUE, COLOURS

    days = simulation.courses["this load"]
    months = [day / simulation.load.month_days for day in range(len(days))]
    layers = {"lasting": BLUE, "hot": COLOURS[5], "cold": "#cccccc", "closed": "#999999"}
    names = {"lasting": "open, lasting", "hot": "open, episodic"}
    below = [0.0] * len(days)
    ends = {}
    for name, colour in layers.items():
        upto = [base + getattr(rows, name) for base, rows in zip(below, days, strict=True)]
        axes.fill_between(months, below, upto, color=colour, linewidth=0)
        ends[f"{names.get(name, name)} {getattr(days[-1], name):,.0f}"] = (below[-1] + upto[-1]) / 2
        below = upto
    axes.plot(months, [rows.seen for rows in days], color="black", linestyle="--", linewidth=1.2)
    ends[f"append-only {days[-1].seen:,.0f}"] = days[-1].seen
    for text, y in ends.items():
        axes.annotate(text, (months[-1], y), (4, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_xlim(0, months[-1])
    axes.set_ylim(bottom=0)
    axes.set_title("Rows on the disk, one user")
    axes.set_xlabel("month")


def _rates(axes: Axes, simulation: Simulation) -> None:
    """Merge rates over the months."""
    from runners.figures import COLOURS

    for at, (name, days) in enumerate(simulation.courses.items()):
        months = [day / simulation.load.month_days for day in range(len(days))]
        rates = [100 * rows.merge for rows in days]
        look: dict[str, Any] = {"color": COLOURS[at], "linestyle": ("-", "--", "-.")[at]}
        axes.plot(months, rates, label=f"{name}: {rates[-1]:.1f} % at the end", **look)
    axes.legend(loc="lower right", fontsize=8, frameon=False, handlelength=2.5)
    axes.set_xlim(0, months[-1])
    axes.set_ylim(0, 100)
    axes.set_title("Merge rate, %")
    axes.set_xlabel("month")


def _budget(axes: Axes, simulation: Simulation) -> None:
    """Open rows at the end over the queries of a day, between expiry from creation and no expiry."""
    from runners.figures import COLOURS, GREY, MARKERS

    for at, (spread, found) in enumerate(simulation.budgets.items()):
        means, errors = [drawn.open for drawn in found.values()], [drawn.open_error for drawn in found.values()]
        axes.errorbar(list(found), means, errors, color=COLOURS[at], marker=MARKERS[at], markersize=4, capsize=2)
        axes.annotate(spread, (QUERIES[-1], means[-1]), (4, 0), textcoords="offset points", va="center", fontsize=8)
    end = simulation.courses["this load"][-1]
    marks = {
        f"no row is read: {end.open:,.0f}": end.open,
        f"no row expires: {end.open + end.cold:,.0f}": end.open + end.cold,
    }
    for text, y in marks.items():
        axes.axhline(y, color=GREY, linewidth=0.8, linestyle=":")
        axes.annotate(
            text, (QUERIES[-1] / 2, y), (0, -9), textcoords="offset points", ha="center", fontsize=8, color=GREY
        )
    axes.set_title("Open rows, reads by query")
    axes.set_xlabel("queries a day")
