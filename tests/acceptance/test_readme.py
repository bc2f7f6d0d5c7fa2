"""What the README shows works as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The README's method as an installed package of somebody else."""
    module = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]
    entry = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)[0]
    assert len(module.splitlines()) <= 30
    folder = tmp_path / "site"
    info = folder / "newest-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "newest.py").write_text(module, "utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: newest\nVersion: 1.0\n", "utf-8")
    group, line = entry.strip().splitlines()
    name = re.search(r'"(.+)"', group)
    assert name
    (info / "entry_points.txt").write_text(f"[{name[1]}]\n{line.replace(chr(34), '')}\n", "utf-8")
    return folder


def rdf(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "runners", *args]
    return subprocess.run(command, cwd=folder.parent, env=env, capture_output=True, text=True, check=False)


def test_the_method_of_the_readme_runs_from_outside_the_package(package: Path) -> None:
    listed = rdf(package, "methods")
    assert "newest 100" in listed.stdout
    done = rdf(package, "run", "--suite", "synthetic-fc", "--method", "newest", "--limit", "10", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert "newest" in done.stdout
    refused = rdf(package, "run", "--suite", "synthetic-fc", "--method", "newst")
    assert "'newest'" in refused.stderr


@pytest.mark.parametrize("command", re.findall(r"\.venv/bin/rdf (suites|models|methods)\b", README))
def test_the_lists_of_the_readme(tmp_path: Path, command: str) -> None:
    (tmp_path / "site").mkdir()
    assert rdf(tmp_path / "site", command).returncode == 0
