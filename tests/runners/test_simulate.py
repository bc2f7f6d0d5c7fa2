"""`rdf memory simulate`: what it prints and writes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from rdforget.store.simulation import Load
from runners.commands.simulate import simulate
from runners.errors import UserError
from runners.simulation import Simulation, scaled, sheets, write


def test_the_numbers_of_the_text_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    simulate()
    shown = " ".join(capsys.readouterr().out.split())
    for part in (
        "append-only 4,320 14.34 TB",
        "open 1,544 5.13 TB (4.66 TiB) 200 664 GB",
        "closed 648 2.15 TB (1.96 TiB) 1,337",
        "cold 832",
        "on the disk 3,024",
        "64.25 % fewer than append-only",
        "30.00 % fewer, and 45.00 % if no merge were an update",
        "200 rows, fixed 200.0 92.88 % 92.88 %",
        "200 rows, rising 200.0 92.65 % 95.78 %",
        "every 30 days 573 days 1,998.8",
        "1 hour 0.9950",
        "1 day 0.8867",
        "7 days 0.4308",
        "30 days 0.0271",
        "90 days 0.00002",
    ):
        assert part in shown


def test_files(tmp_path: Path) -> None:
    simulation = Simulation(Load(months=3), seeds=2)
    made = sheets(simulation)
    one, two = (write(simulation, made, tmp_path / name) for name in ("one", "two"))
    names = ["simulation.md", "course.csv", "reads.csv", "simulation.png", "simulation.svg"]
    assert [file.name for file in one] == names
    for first, second in zip(one, two, strict=True):
        assert first.read_bytes() == second.read_bytes()
    with (tmp_path / "one" / "course.csv").open() as file:
        months = list(csv.DictReader(file))
    assert {row["load"] for row in months} == {"this load", "200 rows, fixed", "200 rows, rising"}
    assert [row["month"] for row in months[:4]] == ["0", "1", "2", "3"]
    assert float(months[3]["episodic"]) == pytest.approx(118.8)
    with pytest.raises(UserError, match="another --out"):
        write(simulation, made, one[0])


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    simulate(json=True, seeds=2)
    payload = json.loads(capsys.readouterr().out)
    [this, fixed, rising] = payload["end"]
    assert (this["open"], this["open bytes"], fixed["open"]) == (1544.4, round(1544.4 * 3320e6), 200)
    assert rising["merge rate"] > fixed["merge rate"]
    assert len(payload["reads"]) == 16


def test_a_store_too_small_for_the_heavy_user_is_shown_alone() -> None:
    simulation = Simulation(Load(months=1, half=50.0), seeds=2)
    assert list(simulation.courses) == ["this load"]
    assert [len(sheet.columns) for sheet in sheets(simulation)] == [3, 4, 4, 5, 2]


@pytest.mark.parametrize(
    ("size", "step", "unit", "shown"),
    [
        (0, 1000, "B", "0.00 B"),
        (664e9, 1000, "B", "664 GB"),
        (14.3424e12, 1000, "B", "14.34 TB"),
        (14.3424e12, 1024, "iB", "13.04 TiB"),
        (2048, 1024, "iB", "2.00 KiB"),
        (5e21, 1000, "B", "5,000 EB"),
    ],
)
def test_sizes(size: float, step: int, unit: str, shown: str) -> None:
    assert scaled(size, step, unit) == shown
