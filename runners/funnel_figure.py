"""The loss funnel as a figure: a panel a run, a bar a stage, and beside it what was lost there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from runners.figures import BLUE, GREY
from runners.funnel import Stage
from runners.funnel_sheets import names_of
from runners.losses import Count, Funnel, counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ACROSS = 3
_SOME = "#9ecae1"


def figures(funnels: Sequence[Funnel], name: str) -> Iterator[tuple[str, Figure]]:
    """The one figure of some runs, made when it is asked for, as `runners.figures.save` wants it."""
    yield name, _figure(funnels)


def _figure(funnels: Sequence[Funnel]) -> Figure:
    """Of the followed questions of each run, how many come to every stage with their evidence."""
    across = min(_ACROSS, len(funnels))
    down = ceil(len(funnels) / across)
    figure = Figure(figsize=(max(4.6, 1.2 + 2.9 * across), 1.1 + 2.3 * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for axes in panels.flat[len(funnels) :]:
        axes.set_visible(False)
    for at, (axes, name, funnel) in enumerate(zip(panels.flat, names_of(funnels), funnels, strict=False)):
        _panel(axes, counts(funnel)[0])
        axes.set_title(name)
        if at + across >= len(funnels):  # nothing below it
            axes.set_xlabel("% of followed questions")
            axes.tick_params(labelbottom=True)
    first = funnels[0]
    figure.suptitle(f"Where evidence and answers are lost: {first.suite.partition(':')[0]}, {first.model}")
    told = "dark: the whole evidence, or full score; light: some of it\n"
    told += "right: questions that are lost at the stage, + those credited all the same"
    figure.supxlabel(told, fontsize=8, color=GREY)
    return figure


def _panel(axes: Axes, count: Count) -> None:
    for y, (stage, reach) in enumerate(count.reach.items()):
        if not reach.known:
            axes.text(2, y, "unknown", va="center", fontsize=8, color=GREY)
            continue
        axes.barh(y, 100 * reach.some / reach.known, color=_SOME, height=0.75)
        axes.barh(y, 100 * reach.whole / reach.known, color=BLUE, height=0.75)
        axes.text(2, y, str(reach.whole), va="center", fontsize=8, color="white" if reach.whole else "black")
        if lost := _lost(count, stage):
            axes.text(1.02, y, lost, transform=axes.get_yaxis_transform(), va="center", fontsize=8)
    axes.set_xlim(0, 100)
    axes.set_yticks(range(len(Stage)), [str(stage) for stage in Stage])
    axes.set_ylim(len(Stage) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def _lost(count: Count, stage: Stage) -> str:
    lost, recovered = count.lost[stage], count.recovered[stage]
    if not lost and not recovered:
        return ""
    return f"\N{MINUS SIGN}{lost}" + (f" +{recovered}" if recovered else "")
