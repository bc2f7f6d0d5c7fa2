"""`rdf memory dilution`: what stale rows do to a store that keeps every row open, and to one that closes them.

Runs of a sweep over `synthetic-fc` with growing `updates` are read from their journals. The open rows that a method
left are put into a store, a day apart, and each question is asked of it: precision at 3 is the share of current values
among those of the first three rows that are about what is asked. Answer accuracy is what the run measured through the
shared selector, packer and answerer.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdforget.calls.units import undated
from rdforget.records import Memory, Record, Status
from rdforget.store.memory_store import MemoryStore
from rdforget.suites.synthetic_fc import NAME, Parameters, build_world
from runners import manifest
from runners.errors import UserError
from runners.journal import FILE as JOURNAL
from runners.journal import read_records
from runners.latex import Box, Sheet, markdown
from runners.stats import Interval, interval, interval_of, scored

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TOP = 3
_USER = "reader"
_BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
"""Between two rows in the order of their facts."""


@dataclass(frozen=True, slots=True)
class Point:
    """One method after so many updates of every fact."""

    method: str
    model: str
    updates: int
    open_rows: int
    stale_rows: int
    """Open rows whose fact a later one replaced."""
    precision: Interval | None
    """Of the first three rows those about what is asked: percent that hold the current value, mean of the questions
    that find any."""
    found: Interval | None
    """Percent of questions whose current value is among the first three."""
    accuracy: Interval


def read_points(folder: Path, after: float) -> list[Point]:
    """A point a run, methods in their order in the sweep; questions are asked `after` days after the last fact.

    UserError where a run has nothing to say of updates.
    """
    points = [_point(path.parent, timedelta(days=after)) for path in sorted(folder.glob(f"*/{JOURNAL}"))]
    order = list(dict.fromkeys((point.method, point.model) for point in points))
    return sorted(points, key=lambda point: (order.index((point.method, point.model)), point.updates))


def _point(folder: Path, after: timedelta) -> Point:
    own = manifest.read(folder)
    suite, _, variant = own["spec"]["suite"].partition(":")
    records = [record for record in read_records(folder) if record.trace]
    if suite != NAME or not records:
        raise UserError(f"{folder.name} is no finished run of {NAME} with `updates`: give the sweep `dilution`")
    parameters = Parameters.parse(variant)
    trace = records[0].trace
    assert trace is not None
    versions = {f"#{slot.serials[-1]}": slot.serials for slot in build_world(parameters).slots.values()}
    precisions, found = [], []
    for record, hits in zip(records, _searched(trace.memory, records, after), strict=True):
        current = record.gold.evidence[-1]
        about = [ref for ref in hits if int(ref.removeprefix("#")) in versions[current]]
        found.append(float(current in hits))
        if about:
            precisions.append(about.count(current) / len(about))
    open_refs = [entry.meta["refs"][-1] for entry in trace.memory.entries if entry.status is Status.ACTIVE]
    accuracy = interval_of(scored(records, own["settings"]["metrics"][0]))
    if not accuracy:
        raise UserError(f"{folder.name} has no scored question: go on with it by `rdf run --resume {folder.name}`")
    return Point(
        own["spec"]["method"],
        own["spec"]["model"],
        parameters.updates,
        len(open_refs),
        sum(ref not in versions for ref in open_refs),
        _interval(precisions),
        _interval(found),
        accuracy,
    )


def _interval(values: Sequence[float]) -> Interval | None:
    """The questions are about slots of one world, each about another: they are the units."""
    return interval(values, ["one"] * len(values))


def _searched(memory: Memory, records: Sequence[Record], after: timedelta) -> Iterator[list[str]]:
    """For each question the refs of the first three open rows."""
    opened = [entry for entry in memory.entries if entry.status is Status.ACTIVE]
    opened.sort(key=lambda entry: int(entry.meta["refs"][-1].removeprefix("#")))
    now = _BEGIN
    refs: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder), clock=lambda: now) as store:
        for entry in opened:
            now += _DAY
            decision = store.add(_USER, undated(entry.text), force=True)
            refs.setdefault(decision.id or "", entry.meta["refs"][-1])
        now += after
        for record in records:
            yield [refs[hit.row.id] for hit in store.search(_USER, record.query.text, top=TOP, touch=False)]


def sheet_of(points: Sequence[Point], after: float) -> Sheet:
    """A row an update count, with the methods side by side."""
    methods = list(dict.fromkeys((point.method, point.model) for point in points))
    models = {model for _, model in methods}
    columns = ["updates of each fact"]
    for method, model in methods:
        name = method if len(models) == 1 else f"{method}, {model}"
        columns += [f"{name}: open (stale)", "precision at 3", "found in 3", "accuracy"]
    rows = []
    for updates in sorted({point.updates for point in points}):
        boxes = [Box.of(str(updates))]
        for key in methods:
            boxes += _boxes(next((p for p in points if (p.method, p.model, p.updates) == (*key, updates)), None))
        rows.append(boxes)
    first = points[0]
    notes = [
        "stale: open rows whose fact a later one replaced. precision at 3: the share of current values among those of "
        "the first three rows of the store's search that are about what is asked, mean of the questions; found in 3: "
        "questions whose current value is among the three. Rows are a day apart; the questions are asked "
        f"{after:g} days after the last.",
        f"accuracy: percent of {first.accuracy.n} questions right through the harness's selector, packer and "
        f"answerer. In the second line of a cell its 95 % interval. Model: {', '.join(sorted(models))}.",
    ]
    return Sheet("dilution", "Stale rows, precision and accuracy", columns, rows, notes, left=1)


def _boxes(point: Point | None) -> list[Box]:
    if point is None:
        return [Box.of("")] * 4
    shares = (point.precision, point.found, point.accuracy)
    texts = [Box.of(f"{one.value:.1f}", f"{one.low:.1f} to {one.high:.1f}") if one else Box.of("") for one in shares]
    return [Box.of(f"{point.open_rows:,} ({point.stale_rows:,})"), *texts]


def write(points: Sequence[Point], sheet: Sheet, origin: str, folder: Path) -> list[Path]:
    """`dilution.md`, `.csv`, `.png` and `.svg`; the files written."""
    from runners.figures import save

    files = [folder / "dilution.md", folder / "dilution.csv"]
    rows = list(rows_of(points))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files[0].write_text(f"{origin}\n\n{markdown([sheet])}", "utf-8")
        with files[1].open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    except OSError as error:
        raise UserError(f"{folder} cannot hold the tables ({error.strerror}): give another --out") from error
    return files + save(_figures(points), folder)


def origin_of(folder: Path) -> str:
    """One sentence that says what made the numbers."""
    environment = manifest.read(folder).get("environment", {})
    return (
        f"Made by `rdf memory dilution` from the journals of sweep {folder.resolve().name}, run with rdforget "
        f"{environment.get('rdforget')} (git {environment.get('git') or 'unknown'})."
    )


def rows_of(points: Sequence[Point]) -> Iterator[dict[str, Any]]:
    """The same for programs, a row a point."""
    for point in points:
        row = asdict(point)
        for name in ("precision", "found", "accuracy"):
            measured = row.pop(name) or {}
            row |= {name: measured.get("value")} | {f"{name}_{end}": measured.get(end) for end in ("low", "high")}
        yield row


def _figures(points: Sequence[Point]) -> Iterator[tuple[str, Figure]]:
    from matplotlib.figure import Figure

    from runners.figures import GREY

    figure = Figure(figsize=(12.0, 3.8), layout="constrained")
    precision, found, accuracy = figure.subplots(1, 3, sharex=True, sharey=True)
    _lines(precision, points, "precision", "Precision at 3, %")
    _lines(found, points, "found", "Current value among the first 3, %")
    _lines(accuracy, points, "accuracy", "Answer accuracy, %")
    precision.legend(loc="center right", bbox_to_anchor=(1, 0.62), fontsize=8, frameon=False)
    figure.supxlabel("updates of each fact; bands: 95 % intervals", fontsize=8, color=GREY)
    yield "dilution", figure


def _lines(axes: Axes, points: Sequence[Point], value: str, title: str) -> None:
    from runners.figures import COLOURS, MARKERS

    for at, key in enumerate(dict.fromkeys((point.method, point.model) for point in points)):
        mine = [point for point in points if (point.method, point.model) == key]
        measured: list[tuple[int, Interval]] = [(p.updates, share) for p in mine if (share := getattr(p, value))]
        updates, shares = [at for at, _ in measured], [share for _, share in measured]
        look: dict[str, Any] = {"color": COLOURS[at], "marker": MARKERS[at], "markersize": 4.5}
        axes.plot(updates, [one.value for one in shares], label=key[0], **look)
        low, high = [one.low for one in shares], [one.high for one in shares]
        axes.fill_between(updates, low, high, color=COLOURS[at], alpha=0.12, linewidth=0)
    axes.set_title(title)
    axes.set_ylim(0, 103)
    axes.grid(visible=True, axis="both")
