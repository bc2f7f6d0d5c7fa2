"""`rdf memory dilution`: points from the journals of a sweep, and what is printed and written."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import yaml

from rdforget.suites.synthetic_fc import Parameters
from runners.commands.dilution import dilution
from runners.config import sweep_config
from runners.console import Silent
from runners.dilution import read_points
from runners.errors import UserError
from runners.means import Limits
from runners.runs import run_sweep


def swept(folder: Path, *suites: str) -> Path:
    file = folder / "stale.yaml"
    sweep = {"suites": list(suites), "methods": ["append-only", "lifecycle"], "models": ["rules"]}
    file.write_text(yaml.safe_dump(sweep))
    return run_sweep("stale", sweep_config(str(file))[1], None, folder / "sweeps", Limits(), Silent()).folder


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    suites = (
        f"synthetic-fc:facts={12 * (at + 1)},updates={at},revisions=0,hops=1,questions=10,historical=0,evolution=0"
        for at in (0, 2)
    )
    return swept(tmp_path_factory.mktemp("dilution"), *suites)


def test_two_stale_rows_leave_one_of_three_right(sweep: Path) -> None:
    points = {(point.method, point.updates): point for point in read_points(sweep, after=30)}
    assert list(points) == [("append-only", 0), ("append-only", 2), ("lifecycle", 0), ("lifecycle", 2)]
    hoard, kept = points["append-only", 2], points["lifecycle", 2]
    assert (hoard.open_rows, hoard.stale_rows) == (36, 24)
    assert (kept.open_rows, kept.stale_rows) == (12, 0)
    assert hoard.precision
    assert kept.precision
    assert hoard.precision.value == pytest.approx(100 / 3, abs=12)
    assert kept.precision.value == kept.accuracy.value == 100
    assert hoard.accuracy.value < 80
    assert points["append-only", 0].precision == points["lifecycle", 0].precision


def test_what_is_shown_and_written(sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dilution(str(sweep), out=tmp_path / "one")
    shown = capsys.readouterr().out
    assert "append-only: open (stale)" in shown
    assert "36 (24)" in shown
    dilution(str(sweep), out=tmp_path / "two", json=True)
    payload = json.loads(capsys.readouterr().out)
    assert len(payload["rows"]) == 4
    for name in ("dilution.md", "dilution.csv", "dilution.png", "dilution.svg"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    with (tmp_path / "one" / "dilution.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["method"], row["updates"]) for row in rows][-1] == ("lifecycle", "2")
    with pytest.raises(UserError, match="another --out"):
        dilution(str(sweep), out=tmp_path / "one" / "dilution.csv")


def test_another_sweep_is_told_apart(tmp_path: Path) -> None:
    folder = swept(tmp_path, "synthetic-chat:chats=1,questions=4")
    with pytest.raises(UserError, match="give the sweep `dilution`"):
        read_points(folder, after=30)


def test_the_shipped_sweep_differs_in_updates_alone() -> None:
    [block] = sweep_config("dilution")[1]
    found = [Parameters.parse(suite.partition(":")[2]) for suite in block.suites]
    assert [one.updates for one in found] == list(range(11))
    assert {one.facts // (one.updates + 1) for one in found} == {60}
    assert {(one.hops, one.questions, one.historical, one.evolution) for one in found} == {(1, 50, 0.0, 0.0)}
