"""Figures of a sweep as PNG and SVG: ablations (the paper's Figure 3), accuracy over budgets, paired differences.

The same sweep gives the same SVG byte for byte. Colours are Okabe and Ito's, told apart by colour-blind readers, and
no mark is told by its colour alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.figure import Figure

from rdforget.records import Protocol
from runners.errors import UserError
from runners.paper import ABLATIONS, INTENT, MAIN, METHODS, Compared, Estimate, Measured, Value
from runners.paper_reference import ABLATED_MODEL, reference

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, VERMILION, GREY = "#0072B2", "#D55E00", "#666666"
COLOURS = (BLUE, VERMILION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vPX"
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
    files = []
    # From the defaults: a reader's own matplotlibrc must not change the bytes.
    style: dict[Any, Any] = {key: value for key, value in matplotlib.rcParamsDefault.items() if key != "backend"}
    with matplotlib.rc_context({**style, **_STYLE}):
        for name, figure in _figures(runs, compared, against):
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
        budget = min(budgets) if len(budgets) == 1 else Protocol().budget
        if ablations := _ablations(cells, label, budget):
            yield f"figure3-{re.sub(r'[^a-z0-9.]+', '-', label.lower()).strip('-')}", _figure3(ablations, label, budget)
    if len(budgets) > 1:
        yield "rate-distortion", _rate_distortion(cells)
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
    grid = figure.subplots(2, len(suites), squeeze=False, height_ratios=(len(rows), len(rows) - 1))
    paper = False
    for at, (suite, values) in enumerate(suites.items()):
        scores, losses = grid[0][at], grid[1][at]
        scores.set_title(_title(suite))
        estimates = {row: values[row].estimate for row in values}
        marks = {row: _paper_score(row, suite) for row in values}
        _bars(scores, rows, estimates, marks)
        scores.set_xlabel("score, %")
        drops = {row: values["Full"].less(values[row]) for row in values if row != "Full"}
        marks = {row: reference().deficit(row, MAIN.get(suite, "")) for row in drops}
        _dots(losses, rows[1:], drops, marks)
        losses.set_xlabel("points lost against Full")
        paper |= any(mark is not None for mark in marks.values())
        for axes in (scores, losses) if at else ():
            axes.set_yticklabels([])
    figure.suptitle(f"Ablations of RD-Forget with {label}, B = {budget:,}")
    told = "bars and dots: measured, with 95 % intervals (of losses: paired)"
    if paper:
        other = "" if label == ABLATED_MODEL else ", another model"
        told += f"; diamonds and numbers in brackets: the paper's {ABLATED_MODEL}{other}"
    figure.supxlabel(told, fontsize=8, color=GREY)
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
            axes.plot([value.low, value.high], [y, y], color=BLUE, linewidth=1.5)
            axes.plot(value.value, y, "o", color=BLUE, markerfacecolor="white" if tie else BLUE, markersize=5)
            _beside(axes, y, f"{value.value:+.1f}", marks[row])
    axes.axvline(0, color="black", linewidth=0.8)
    _rows(axes, rows, marks)


def _rows(axes: Axes, rows: Sequence[str], marks: Mapping[str, float | None]) -> None:
    """Names of the rows from top to bottom, and the paper's values as diamonds."""
    for row, mark in marks.items():
        if mark is not None:
            axes.plot(mark, rows.index(row), "D", color=VERMILION, markeredgecolor="white", markersize=5.5)
    axes.set_yticks(range(len(rows)), [row.replace("-", "\N{MINUS SIGN}") for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=True, axis="x")


def _beside(axes: Axes, y: float, text: str, mark: float | None = None) -> None:
    """A number at the right edge, where no interval runs through it."""
    shown = text.replace("-", "\N{MINUS SIGN}") + (f" ({mark:.1f})" if mark is not None else "")
    axes.text(1.02, y, shown, transform=axes.get_yaxis_transform(), va="center", fontsize=8)


def _rate_distortion(cells: Mapping[_Key, Value]) -> Figure:
    """Accuracy over the budget, and below it how much of the budget the view uses; one column a suite."""
    lines: dict[str, dict[tuple[str, ...], dict[int, Value]]] = {}
    for (key, budget), value in sorted(cells.items(), key=lambda cell: cell[0][1]):
        lines.setdefault(key[1], {}).setdefault((*key[2:], key[0]), {})[budget] = value
    one_model = len({key[0] for key, _ in cells}) == 1
    budgets = sorted({budget for _, budget in cells})
    figure = Figure(figsize=(1.0 + 4.6 * len(lines), 6.0), layout="constrained")
    grid = figure.subplots(2, len(lines), squeeze=False, height_ratios=(3, 2), sharex=True)
    for at, (suite, methods) in enumerate(lines.items()):
        scores, tokens = grid[0][at], grid[1][at]
        ends: tuple[list[tuple[float, float, str, str]], ...] = ([], [])
        for number, (name, values) in enumerate(methods.items()):
            colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            estimates = {budget: one for budget, value in values.items() if (one := value.estimate)}
            used = {budget: value.suites[0][0].summary.view_tokens for budget, value in values.items()}
            heights = [one.value for one in estimates.values()]
            scores.plot(list(estimates), heights, color=colour, marker=marker, markersize=5, linewidth=1.5)
            low, high = [one.low for one in estimates.values()], [one.high for one in estimates.values()]
            scores.fill_between(list(estimates), low, high, color=colour, alpha=0.12, linewidth=0)
            tokens.plot(list(used), list(used.values()), color=colour, marker=marker, markersize=5, linewidth=1.5)
            text = " ".join(name[:-1] if one_model else name)
            ends[0].append((max(estimates), heights[-1], text, colour))
            ends[1].append((max(used), used[max(used)], text, colour))
        scores.set(title=_title(suite), ylim=(0, 100), ylabel="score, %")
        scores.set_xscale("log", base=2)
        tokens.plot(budgets, budgets, color=GREY, linestyle=":", linewidth=1)
        tokens.set(xlabel="budget B, tokens of the view", ylabel="mean view tokens used", yscale="log")
        ends[1].append((budgets[-1], budgets[-1], "B", GREY))
        tokens.set_xticks(budgets, [_short(budget) for budget in budgets], minor=False)
        tokens.minorticks_off()
        tokens.set_yscale("log", base=2)
        tokens.set_yticks(budgets, [_short(budget) for budget in budgets])
        for axes, labels in zip((scores, tokens), ends, strict=True):
            _label_ends(axes, labels)
            axes.grid(visible=True, axis="both")
    figure.suptitle("Score over the budget" + ("" if not one_model else f", {next(iter(cells))[0][0]}"))
    figure.supxlabel("bands: 95 % intervals", fontsize=8, color=GREY)
    return figure


def _label_ends(axes: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Names at the right edge, at the height of their line's end and never over one another."""
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [(float(to_axes.transform((x, y))[1]), text, colour) for x, y, text, colour in ends]
    gap, last = 0.055 if axes.get_yscale() == "linear" else 0.085, -1.0
    placed = {}
    for height, text, colour in sorted(heights):
        last = placed[text, colour] = max(height, last + gap)
    over = max(0.0, last - 1.0)
    for (text, colour), height in placed.items():
        axes.text(1.02, height - over, text, color=colour, transform=axes.transAxes, va="center", fontsize=8)


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
    figure = Figure(figsize=(width, 1.5 + 0.24 * len(rows)), layout="constrained")
    grid = figure.subplots(1, len(suites), squeeze=False, sharey=True)[0]
    for axes, suite in zip(grid, suites, strict=True):
        for one in compared:
            if one.run.cell.suite != suite:
                continue
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
    figure.suptitle(f"Paired differences to {against}")
    told = "right of 0: better; filled: told from 0 (Holm); hollow: a tie or unsettled; lines: 95 % intervals"
    figure.supxlabel(told, fontsize=8, color=GREY)
    return figure


def _title(suite: str) -> str:
    return {**MAIN, **INTENT}.get(suite, suite.partition(":")[0])


def _short(budget: int) -> str:
    return f"{budget // 1024}k" if budget % 1024 == 0 else f"{budget:,}"
