"""What the paper says of each cell of its tables: `results/paper_reference.yaml`, compiled from its running text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

FILE = "paper_reference.yaml"
ABLATED_MODEL = "GPT-5.6-Luna"
"""The one model of Table 2, and the one shown beside models that the paper does not have."""

Table = Literal[1, 2, 3]
_BOUND = re.compile(r"(?:^|; |, so )([<>])= (\d+(?:\.\d+)?)")
"""A bound on the cell itself: at the start of a clause, not behind the name of another cell."""


@dataclass(frozen=True, slots=True)
class Stated:
    """One number of the paper, in percent or points."""

    status: str
    """`stated` in the text; `derived` from what is; `unique` among the counts that fit; `bounded` or `unknown`."""
    value: float | None = None
    """None where the text does not fix it."""
    bound: str = ""
    """Where it must lie, if the text says so much: `at most 86.05`."""

    @property
    def text(self) -> str:
        if self.value is None:
            return f"not stated, {self.bound}" if self.bound else "not stated"
        return f"{self.value:.2f}" + ("" if self.status == "stated" else f" ({self.status})")


class Reference:
    """Lookup by the paper's own names: models by label, rows RD, ACE, RB, gain, Full, -FORGET, columns by suite."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._content = content

    def models(self, table: Table) -> tuple[str, ...]:
        """The models that a table of the paper has."""
        if table == 2:
            return (ABLATED_MODEL,)
        return tuple(name for name in self._content["table1"] if name not in ("ranges", "ordering"))

    def questions(self, suite: str) -> int:
        """How many questions the paper asks."""
        return int(self._content["suites"][suite]["n"])

    def cell(self, table: Table, model: str, row: str, column: str) -> Stated | None:
        """What the paper says of a cell; None where it has no such model in that table."""
        if model not in self.models(table):
            return None
        if table == 2:
            return _stated(self._content["table2_luna_ablations"][row].get(column))
        if table == 3:
            return _stated(self._content["table3"][column][model].get(row))
        rows = self._content["table1"][model]
        if row != "gain":
            return _stated(rows[row].get(column))
        over_models = self._content["table1"]["ranges"].get(column)
        known = rows["gain_over_better_baseline"].get(column)
        if known or not over_models:
            return _stated(known)
        return Stated("bounded", bound=f"{over_models['min']:.2f} to {over_models['max']:.2f} over its models")

    def deficit(self, ablation: str, suite: str) -> float | None:
        """Points that the full method of Table 2 stands above an ablation."""
        deficit: float | None = self._content["table2_luna_ablations"].get(ablation, {}).get(suite, {}).get("deficit")
        return deficit


@cache
def reference() -> Reference:
    """The shipped reference: inside the installed wheel, or in the `results` folder of a checkout."""
    installed = Path(__file__).parent / "results" / FILE
    path = installed if installed.is_file() else Path(__file__).parent.parent / "results" / FILE
    return Reference(yaml.safe_load(path.read_text("utf-8")))


def _stated(entry: Mapping[str, Any] | None) -> Stated:
    if entry is None:
        return Stated("unknown")
    told = entry.get("how") or entry.get("note") or ""
    bound = _BOUND.search(told) if "value" not in entry else None
    words = {"<": "at most", ">": "at least"}
    return Stated(entry["status"], entry.get("value"), f"{words[bound[1]]} {float(bound[2]):.2f}" if bound else "")
