"""Figures of a sweep as PNG and SVG: ablations (the paper's Figure 3), accuracy over budgets, paired differences.

The same sweep gives the same SVG byte for byte. Colours are Okabe and Ito's, told apart by colour-blind readers, and
no mark is told by its colour alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import nan
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from rdforget.records import Protocol
from runners.errors import UserError
from runners.paper import ABLATIONS, INTENT, MAIN, METHODS, Estimate, Value
from runners.paper_reference import ABLATED_MODEL, reference
from runners.sweeps import Compared, Measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, VERMILION, GREY = "#0072B2", "#D55E00", "#666666"
COLOURS = (BLUE, VERMILION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vPX"
_LETTERS = 15
"""What an inch of a figure's width holds of the small text below it."""
_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # matplotlib brings it
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.grid.axis": "x",
    "grid.color": "#dddddd",
    "axes.axisbelow": True,
    "figure.titlesize": 11,
    "savefig.dpi": 160,
    "svg.hashsalt": "rdforget",
}
_METADATA: Mapping[str, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


def draw(runs: Sequence[Measured], compared: Sequence[Compared], against: str, folder: Path) -> list[Path]:
    """Every figure that the runs have the data of; the files written. UserError where the folder takes none."""
    return save(_figures(runs, compared, against), folder)


def save(figures: Iterable[tuple[str, Figure]], folder: Path) -> list[Path]:
    """Figures by name as PNG and SVG, in one style if they are made as they are asked for; the files written."""
    files = []
    # From the defaults: a reader's own matplotlibrc must not change the bytes.
    style: dict[Any, Any] = {key: value for key, value in matplotlib.rcParamsDefault.items() if key != "backend"}
    with matplotlib.rc_context({**style, **_STYLE}):
        for name, figure in figures:
            for kind, metadata in _METADATA.items():
                files.append(folder / f"{name}.{kind}")
                try:
                    figure.savefig(files[-1], metadata=metadata)
                except OSError as error:
                    raise UserError(f"{folder} cannot hold figures ({error.strerror}): give another --out") from error
    return files


def _figures(runs: Sequence[Measured], compared: Sequence[Compared], against: str) -> Iterator[tuple[str, Figure]]:
    values: dict[_Key, list[Measured]] = {}
    for run in runs:
        if run.evaluations:
            key = (run.label, run.cell.suite, run.cell.method, *run.cell.switches), run.cell.budget
            values.setdefault(key, []).append(run)
    cells = {key: Value([repeats]) for key, repeats in values.items()}
    budgets = {budget for _, budget in cells}
    for label in dict.fromkeys(run.label for run in runs):
        of_label = re.sub(r"[^a-z0-9.]+", "-", label.lower()).strip("-")
        budget = min(budgets) if len(budgets) == 1 else Protocol().budget
        if ablations := _ablations(cells, label, budget):
            yield f"figure3-{of_label}", _figure3(ablations, label, budget)
        if curves := _curves(cells, label):
            yield f"rate-distortion-{of_label}", _rate_distortion(curves, label)
    if compared:
        yield "forest", _forest(compared, against)


_Key = tuple[tuple[str, ...], int]
"""Model, suite, method and switches; budget."""


def _ablations(cells: Mapping[_Key, Value], label: str, budget: int) -> dict[str, dict[str, Value]]:
    """For every suite that has the full method and an ablation of it, the values by the paper's names."""
    found: dict[str, dict[str, Value]] = {}
    for suite in dict.fromkeys(key[1] for key, _ in cells):
        rows = {
            row: value
            for row, off in ABLATIONS.items()
            if (value := cells.get(((label, suite, METHODS["RD"], *off), budget)))
        }
        if "Full" in rows and len(rows) > 1:
            found[suite] = rows
    return found


def _figure3(suites: Mapping[str, Mapping[str, Value]], label: str, budget: int) -> Figure:
    """Scores of the full method and its ablations, and below what each ablation loses; one column a suite."""
    rows = [row for row in ABLATIONS if any(row in values for values in suites.values())]
    figure = Figure(figsize=(1.3 + 3.1 * len(suites), 1.5 + 0.5 * len(rows)), layout="constrained")
    grid = figure.subplots(2, len(suites), squeeze=False, sharex="row", height_ratios=(len(rows), len(rows) - 1))
    paper = False
    for at, (suite, values) in enumerate(suites.items()):
        scores, losses = grid[0][at], grid[1][at]
        scores.set_title(_title(suite))
        estimates = {row: values[row].estimate for row in values}
        _bars(scores, rows, estimates, {row: _paper_score(row, suite) for row in values})
        scores.set_xlabel("score, %")
        drops = {row: values["Full"].less(values[row]) for row in values if row != "Full"}
        marks = {row: reference().deficit(row, MAIN.get(suite, "")) for row in drops}
        _dots(losses, rows[1:], drops, marks)
        losses.set_xlabel("points lost against Full")
        paper |= any(mark is not None for mark in marks.values())
        if at:
            scores.set_yticklabels([])
            losses.set_yticklabels([])
    figure.suptitle(f"Ablations of RD-Forget with {label}, B = {budget:,}")
    told = "bars and dots: measured, with 95 % intervals (of losses: paired); hollow: a tie"
    if paper:
        other = "" if label == ABLATED_MODEL else ", another model"
        told += f"; diamonds and numbers in brackets: the paper's {ABLATED_MODEL}{other}"
    figure.supxlabel(fill(told, int(_LETTERS * figure.get_figwidth())), fontsize=8, color=GREY)
    return figure


def _paper_score(row: str, suite: str) -> float | None:
    stated = reference().cell(2, ABLATED_MODEL, row, MAIN[suite]) if suite in MAIN else None
    return stated.value if stated else None


def _bars(
    axes: Axes, rows: Sequence[str], values: Mapping[str, Estimate | None], marks: Mapping[str, float | None]
) -> None:
    for y, row in enumerate(rows):
        if value := values.get(row):
            axes.barh(y, value.value, color=BLUE if row == "Full" else "#9ecae1", height=0.7)
            axes.plot([value.low, value.high], [y, y], color="black", linewidth=1)
            _beside(axes, y, f"{value.value:.1f}", marks[row])
    axes.set_xlim(0, 100)
    _rows(axes, rows, marks)


def _dots(
    axes: Axes, rows: Sequence[str], values: Mapping[str, Estimate | None], marks: Mapping[str, float | None]
) -> None:
    for y, row in enumerate(rows):
        if value := values.get(row):
            tie = value.low <= 0 <= value.high
            at = y - 0.12  # above the paper's diamond, which may have the same value
            axes.plot([value.low, value.high], [at, at], color=BLUE, linewidth=1.5)
            axes.plot(value.value, at, "o", color=BLUE, markerfacecolor="white" if tie else BLUE, markersize=5)
            _beside(axes, y, f"{value.value:+.1f}", marks[row])
    axes.axvline(0, color="black", linewidth=0.8)
    _rows(axes, rows, marks)


def _rows(axes: Axes, rows: Sequence[str], marks: Mapping[str, float | None]) -> None:
    """Names of the rows from top to bottom, and the paper's values as diamonds."""
    for row, mark in marks.items():
        if mark is not None:
            axes.plot(mark, rows.index(row) + 0.2, "D", color=VERMILION, markeredgecolor="white", markersize=5)
    axes.set_yticks(range(len(rows)), [row.replace("-", "\N{MINUS SIGN}") for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=True, axis="x")


def _beside(axes: Axes, y: float, text: str, mark: float | None = None) -> None:
    """A number at the right edge, where no interval runs through it."""
    shown = text.replace("-", "\N{MINUS SIGN}") + (f" ({mark:.1f})" if mark is not None else "")
    axes.text(1.02, y, shown, transform=axes.get_yaxis_transform(), va="center", fontsize=8)


_Curves = dict[str, dict[str, dict[int, Value]]]
"""By suite and method the values over the budget, which ascends."""


def _curves(cells: Mapping[_Key, Value], label: str) -> _Curves:
    """One model's methods that were run with several budgets."""
    found: _Curves = {}
    for (key, budget), value in cells.items():
        if key[0] == label:
            found.setdefault(key[1], {}).setdefault(" ".join(key[2:]), {})[budget] = value
    several = {
        suite: {name: dict(sorted(values.items())) for name, values in methods.items() if len(values) > 1}
        for suite, methods in found.items()
    }
    return {suite: methods for suite, methods in several.items() if methods}


def _rate_distortion(suites: _Curves, label: str) -> Figure:
    """Score over the budget, and below it how much of the budget the view uses; one column a suite."""
    budgets = sorted({budget for methods in suites.values() for values in methods.values() for budget in values})
    names = list(dict.fromkeys(name for methods in suites.values() for name in methods))
    looks = {
        name: {
            "color": COLOURS[number % len(COLOURS)],
            "marker": MARKERS[(number + number // len(COLOURS)) % len(MARKERS)],
            # The first is drawn widest, so that lines that coincide are all seen.
            "markersize": max(4.0, 8 - 1.3 * number),
            "linewidth": max(1.0, 3 - 0.6 * number),
        }
        for number, name in enumerate(names)
    }
    figure = Figure(figsize=(1.0 + 4.6 * len(suites), 6.0), layout="constrained")
    grid = figure.subplots(2, len(suites), squeeze=False, height_ratios=(3, 2), sharex=True)
    for at, (suite, methods) in enumerate(suites.items()):
        scores, tokens = grid[0][at], grid[1][at]
        ends: dict[Axes, dict[str, float]] = {scores: {}, tokens: {}}
        for name, values in methods.items():
            estimates = [value.estimate for value in values.values() if value.estimate]
            # An empty view has no place on a logarithmic scale.
            used = [value.suites[0][0].summary.view_tokens or nan for value in values.values()]
            scores.plot(list(values), [one.value for one in estimates], **looks[name])
            low, high = [one.low for one in estimates], [one.high for one in estimates]
            scores.fill_between(list(values), low, high, color=looks[name]["color"], alpha=0.1, linewidth=0)
            tokens.plot(list(values), used, **looks[name])
            ends[scores][name] = estimates[-1].value
            ends[tokens] |= {name: used[-1]} if used[-1] > 0 else {}
        scores.set(title=_title(suite), ylim=(-2, 102), ylabel="score, %")
        scores.set_xscale("log", base=2)
        tokens.plot(budgets, budgets, color=GREY, linestyle=":", linewidth=1)
        tokens.annotate("B", (budgets[-1], budgets[-1]), (4, 0), textcoords="offset points", color=GREY, va="center")
        tokens.set_yscale("log", base=2)
        tokens.set(xlabel="budget B, tokens of the view", ylabel="mean view tokens used")
        tokens.set_xticks(budgets, [_short(budget) for budget in budgets])
        tokens.set_yticks(budgets, [_short(budget) for budget in budgets])
        for axes, heights in ends.items():
            _label_ends(axes, heights, looks)
            axes.grid(visible=True, axis="both")
    figure.suptitle(f"Score over the budget, {label}")
    figure.supxlabel("bands: 95 % intervals", fontsize=8, color=GREY)
    return figure


def _label_ends(axes: Axes, ends: Mapping[str, float], looks: Mapping[str, dict[str, Any]]) -> None:
    """Names at the right edge as near as may be to where their lines end, and never over one another."""
    to_axes = axes.transData + axes.transAxes.inverted()
    gap = 0.055 if axes.get_yscale() == "linear" else 0.085
    blocks: list[tuple[float, list[str]]] = []
    for height, name in sorted((float(to_axes.transform((1, end))[1]), name) for name, end in ends.items()):
        blocks.append((height, [name]))
        # Two blocks that would touch become one, around the middle of both.
        while len(blocks) > 1 and blocks[-1][0] - blocks[-2][0] < gap * len(blocks[-1][1] + blocks[-2][1]) / 2:
            (upper, above), (lower, below) = blocks.pop(), blocks.pop()
            weighted = upper * len(above) + lower * len(below)
            blocks.append((weighted / len(above + below), below + above))
    for middle, block in blocks:
        for place, name in enumerate(block):
            y = middle + gap * (place - (len(block) - 1) / 2)
            axes.plot(1.08, y, transform=axes.transAxes, clip_on=False, **looks[name])
            axes.text(1.11, y, name, color=looks[name]["color"], transform=axes.transAxes, va="center", fontsize=8)


def _forest(compared: Sequence[Compared], against: str) -> Figure:
    """Paired differences with their intervals and the line of no difference; one column a suite."""
    labels = {one.run.label for one in compared}
    budgets, repeats = ({getattr(one.run.cell, name) for one in compared} for name in ("budget", "repeat"))

    def named(run: Measured) -> str:
        parts = [run.name, *([run.label] if len(labels) > 1 else [])]
        parts += [f"B {run.cell.budget:,}"] if len(budgets) > 1 else []
        return ", ".join(parts + ([f"repeat {run.cell.repeat}"] if len(repeats) > 1 else []))

    rows = list(dict.fromkeys(named(one.run) for one in compared))
    suites = list(dict.fromkeys(one.run.cell.suite for one in compared))
    width = 0.6 + 0.07 * max(map(len, rows)) + 3.0 * len(suites)
    layout = ConstrainedLayoutEngine(w_pad=0.12)  # inches: the numbers of a column are not the names of the next
    figure = Figure(figsize=(width, 1.5 + 0.24 * len(rows)), layout=layout)
    grid = figure.subplots(1, len(suites), squeeze=False, sharex=True, sharey=True)[0]
    for axes, suite in zip(grid, suites, strict=True):
        for one in (one for one in compared if one.run.cell.suite == suite):
            y, paired = rows.index(named(one.run)), one.paired
            colour = {"better": BLUE, "worse": VERMILION}.get(one.verdict, GREY)
            face = colour if one.verdict in ("better", "worse") else "white"
            axes.plot([paired.low, paired.high], [y, y], color=colour, linewidth=1.5)
            marker = {"better": ">", "worse": "<"}.get(one.verdict, "o")
            axes.plot(paired.difference, y, marker, color=colour, markerfacecolor=face, markersize=5.5)
            _beside(axes, y, f"{paired.difference:+.1f}")
        axes.set_title(_title(suite))
        axes.set_xlabel("points")
        axes.axvline(0, color="black", linewidth=0.8)
        _rows(axes, rows, {})
        axes.set_yticks(range(len(rows)), rows)
        axes.spines["left"].set_visible(False)
    figure.suptitle(f"Paired differences to {against}")
    told = "right of 0: better; filled: told from 0 (Holm); hollow: a tie or unsettled; lines: 95 % intervals"
    figure.supxlabel(told, fontsize=8, color=GREY)
    return figure


def _title(suite: str) -> str:
    return {**MAIN, **INTENT}.get(suite, suite.partition(":")[0])


def _short(budget: int) -> str:
    return f"{budget // 1024}k" if budget % 1024 == 0 else f"{budget:,}"
