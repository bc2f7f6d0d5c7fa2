"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Time is measured by scripts/bench.py; a deadline here would only catch the vocabulary being loaded.
settings.register_profile("rdforget", deadline=None)
settings.load_profile("rdforget")

os.environ["HF_HUB_OFFLINE"] = "1"  # no test looks for the hub
DATA_DIR = os.environ.get("RDF_DATA_DIR")  # read before a test hides it from the command that it runs


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the suites' official files; `RDF_REQUIRE_DATA=1` makes its absence a failure."""
    if DATA_DIR and Path(DATA_DIR).is_dir():
        return Path(DATA_DIR)
    reason = f"RDF_DATA_DIR ({DATA_DIR!r}) names no folder with the suites' files"
    if os.environ.get("RDF_REQUIRE_DATA") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
