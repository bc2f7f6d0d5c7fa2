"""What the README shows works as it stands there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.conftest import Done

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
SECTIONS = {part.partition("\n")[0]: part for part in README.split("\n## ")}


def blocks(section: str, language: str = "") -> list[str]:
    """The code blocks of a section."""
    return re.findall(rf"```{language}\n(.*?)```", SECTIONS[section], re.DOTALL)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The README's method as an installed package of somebody else."""
    [module] = blocks("Adding a method", "python")
    [entry] = blocks("Adding a method", "toml")
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


def run(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "runners", *args]
    return subprocess.run(command, cwd=folder.parent, env=env, capture_output=True, text=True, check=False)


def test_the_method_of_the_readme_runs_from_outside_the_package(package: Path) -> None:
    listed = run(package, "methods")
    assert "newest 100" in listed.stdout
    done = run(package, "run", "--suite", "synthetic-fc", "--method", "newest", "--limit", "10", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert "newest" in done.stdout
    refused = run(package, "run", "--suite", "synthetic-fc", "--method", "newst")
    assert "'newest'" in refused.stderr


@pytest.mark.parametrize("command", re.findall(r"\.venv/bin/rdf (suites|models|methods)\b", README))
def test_the_lists_of_the_readme(tmp_path: Path, command: str) -> None:
    (tmp_path / "site").mkdir()
    assert run(tmp_path / "site", command).returncode == 0


def test_the_commands_on_a_memory_store(
    rdf: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDF_STORE", "memories")
    monkeypatch.setenv("RDF_ERASURE_KEY", "ab" * 32)
    (tmp_path / "logs").mkdir()
    (tmp_path / "chat.txt").write_text("Ines: I moved to Berlin last week.\nAssistant: Nice!\n", "utf-8")
    lines = blocks("The memory store")[0].splitlines()
    assert len(lines) == 10
    for line in lines:
        program, *args = shlex.split(line, comments=True)
        done = rdf(*args)
        assert (program, done.code, done.err) == (".venv/bin/rdf", 0, ""), line
    assert done.out.startswith("ines: done\n")


def test_the_memory_store_in_python(tmp_path: Path) -> None:
    [code] = blocks("The memory store", "python")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "memories").is_dir()
