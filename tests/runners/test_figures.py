"""Figures are drawn where a sweep has their data, and the same sweep gives the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.errors import UserError
from runners.figures import draw
from runners.sweeps import against
from tests.runners.test_paper import Maker


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    made = Maker(tmp_path / "20260101-000000-made")
    made.run("mab-fc", (70, 100))
    return made


def drawn(make: Maker, folder: Path) -> list[str]:
    folder.mkdir()
    runs = make.read().runs
    return [file.name for file in draw(runs, against(runs, "rd-forget"), "rd-forget", folder)]


def test_one_run_alone_has_no_figure(make: Maker, tmp_path: Path) -> None:
    assert drawn(make, tmp_path / "out") == []


def test_ablations_methods_and_budgets(make: Maker, tmp_path: Path) -> None:
    make.run("mab-fc", (40, 100), off=["no-forget"])
    make.run("lme-ku", (60, 78))
    make.run("lme-ku", (60, 78), off=["no-slot"])
    make.run("mab-fc", (50, 100), method="ace")
    make.run("mab-fc", (0, 100), method="ace", budget=32, tokens=0)
    make.run("mab-fc", (10, 100), budget=32, tokens=20)
    make.run("synthetic-fc", (10, 10), model="rules")
    make.run("synthetic-fc", (9, 10), model="rules", off=["no-qc"])
    names = drawn(make, tmp_path / "one")
    stems = ["figure3-gpt-5.6-luna", "rate-distortion-gpt-5.6-luna", "figure3-rules-no-llm", "forest"]
    assert names == [f"{stem}.{kind}" for stem in stems for kind in ("png", "svg")]
    drawn(make, tmp_path / "two")
    for name in names:
        first, second = ((tmp_path / folder / name).read_bytes() for folder in ("one", "two"))
        assert first == second, name
        assert len(first) > 5_000
        assert first.startswith(b"\x89PNG" if name.endswith("png") else b"<?xml")
        assert b"<dc:date>" not in first


def test_a_run_without_a_score_is_not_drawn(make: Maker, tmp_path: Path) -> None:
    make.run("mab-fc", [None] * 3, off=["no-forget"])
    assert drawn(make, tmp_path / "out") == []


def test_a_folder_that_takes_no_file_is_said(make: Maker, tmp_path: Path) -> None:
    make.run("mab-fc", (40, 100), off=["no-forget"])
    runs = make.read().runs
    with pytest.raises(UserError, match="another --out"):
        draw(runs, against(runs, "rd-forget"), "rd-forget", tmp_path / "nowhere")
