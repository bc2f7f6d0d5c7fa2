"""A real store under the simulation's load: it keeps what the formula expects."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rdforget.store.driven import differences, drive
from rdforget.store.memory_store import MemoryStore
from rdforget.store.records import Outcome, StoreError
from rdforget.store.simulation import Load, course

SHORT = Load(expire_days=10, months=2, month_days=15)
"""Two months whose episodic rows go cold after ten days, so that a second tells as much as the text's two years."""


def test_a_store_keeps_what_the_formula_expects(tmp_path: Path) -> None:
    driven = drive(SHORT, 4, tmp_path, seed=1)
    expected = course(SHORT)[-1]
    found = {one.kind: one for one in differences(expected, driven)}
    assert set(found) == {"open", "lasting", "hot", "closed", "cold", "disk"}
    for one in found.values():
        # At first there is nothing to merge with, and shares come out to a row or two.
        assert one.kept == pytest.approx(one.expected, abs=4), one
    assert driven.size > 1_000 * sum(rows.disk for rows in driven.users)


def test_no_row_is_refused_or_taken_for_another(tmp_path: Path) -> None:
    driven = drive(SHORT, 1, tmp_path, seed=2)
    [rows] = driven.users
    with MemoryStore(tmp_path) as store:
        decisions = Counter(outcome for (outcome, _), n in store.stats().decisions.items() for _ in range(n))
    written = decisions[Outcome.ADDED] + decisions[Outcome.SUPERSEDED]
    assert written == rows.disk
    assert written + decisions[Outcome.DUPLICATE] == decisions.total() == rows.seen


def test_the_same_seed_drives_the_same_store(tmp_path: Path) -> None:
    load = Load(months=1, month_days=5)
    one, two, other = (drive(load, 2, tmp_path / name, seed) for name, seed in (("a", 3), ("b", 3), ("c", 4)))
    assert one.users == two.users != other.users


def test_without_merging_or_decay_every_candidate_is_a_row(tmp_path: Path) -> None:
    driven = drive(Load(merge=0.0, sessions=0.5, candidates=1.5, months=1, expire_days=90), 1, tmp_path, seed=0)
    [rows] = driven.users
    assert rows.open == 22  # of 15 sessions' 22.5


def test_a_rising_merge_rate(tmp_path: Path) -> None:
    [rows] = drive(Load(half=2.0, months=1), 1, tmp_path, seed=0).users
    assert rows.merge == pytest.approx(rows.open / (rows.open + 2), abs=0.1)


def test_reads_are_not_driven(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="give 0"):
        drive(Load(reads=0.1), 1, tmp_path, seed=0)
