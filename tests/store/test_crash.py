"""Killed at any moment, a store loses nothing that it confirmed. `scripts/store_crash.py` is the same at full scale."""

from __future__ import annotations

from pathlib import Path

from tests.store.crash import crash


def test_processes_that_are_killed_leave_a_sound_store(tmp_path: Path) -> None:
    result = crash(tmp_path / "store", processes=4, kills=5)
    assert result.kills == 20
    assert (result.errors, result.lost, result.torn, result.problems) == ([], [], [], [])
    assert result.rows >= result.acknowledged > 20
