"""Lookup of suites by name, and what is said of each before anything is read."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from rdforget import plugins
from rdforget.suites.base import DataError, Source, Suite
from rdforget.suites.registry import REGISTRY, SUITES, SuiteSpec, is_ready, load_suite


def load_foreign(variant: str, data_dir: Path | None) -> Suite:
    return Suite(f"foreign:{variant}", lambda: iter(()), (Source("none", "0"),))


FOREIGN = SuiteSpec("Of another package", f"{__name__}:load_foreign", "package elsewhere", "MIT")


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("foreign", f"{__name__}:FOREIGN", "rdforget.suites")
    shadow = EntryPoint("mab-fc", f"{__name__}:FOREIGN", "rdforget.suites")

    def entry_points(*, group: str, name: str | None = None) -> list[EntryPoint]:
        return [p for p in (point, shadow) if group == p.group and name in (None, p.name)]

    monkeypatch.setattr(plugins, "entry_points", entry_points)


@pytest.mark.parametrize("name", SUITES)
def test_every_loader_exists_and_reports_missing_data(name: str, tmp_path: Path) -> None:
    if SUITES[name].files:
        with pytest.raises(DataError, match=str(tmp_path)):
            load_suite(name, tmp_path)
    else:
        assert next(load_suite(name, None).tasks()).query.suite == name


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("mabfc", "'mab-fc'"), ("MAB-FC", "'mab-fc'"), ("synthetic:facts=9", "'synthetic-fc'"), ("", "mab-fc")],
)
def test_unknown_name(name: str, nearest: str) -> None:
    for ask in (load_suite, is_ready):
        with pytest.raises(DataError, match=nearest):
            ask(name, None)


@pytest.mark.usefixtures("foreign")
def test_suite_of_another_package() -> None:
    assert REGISTRY.names() == [*SUITES, "foreign"]
    assert load_suite("foreign:a:b", None).name == "foreign:a:b"
    assert is_ready("foreign", None) == "package elsewhere"
    assert REGISTRY.get("mab-fc") is SUITES["mab-fc"], "a built-in name cannot be taken over"


def test_is_ready(tmp_path: Path) -> None:
    assert is_ready("synthetic-fc:facts=9", None) == "generated"
    assert is_ready("mab-fc", None) == is_ready("mab-fc:sh_6k", tmp_path) == "needs --data-dir or network"
    (tmp_path / "mab").mkdir()
    (tmp_path / "mab" / "Conflict_Resolution.json.gz").touch()
    assert is_ready("mab-fc", tmp_path) == "local: Conflict_Resolution.json.gz"
