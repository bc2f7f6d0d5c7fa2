"""Stores with a clock that tests set, and ids that count."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from rdforget.store import MemoryStore
from tests.store.clocks import SetClock


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def open_store(tmp_path: Path, clock: SetClock) -> Iterator[Callable[..., MemoryStore]]:
    """Opens the store of a name, or another session of it; all are closed with the test."""
    ids = (f"{number:016x}" for number in itertools.count(1))
    with ExitStack() as stack:

        def open_one(name: str = "store", **options: Any) -> MemoryStore:
            options = {"clock": clock, "ids": ids.__next__} | options
            return stack.enter_context(MemoryStore(tmp_path / name, **options))

        yield open_one


@pytest.fixture
def store(open_store: Callable[..., MemoryStore]) -> MemoryStore:
    return open_store()
