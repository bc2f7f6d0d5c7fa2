"""What the README shows works as it stands there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rdforget.models.parameters import ModelConfig
from runners.backends import model_config
from runners.config import server_configs, shipped_sweeps, sweep_config
from runners.journal import read_records
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


def test_the_commands_that_look_into_a_run(rdf: Callable[..., Done], tmp_path: Path) -> None:
    suite = "synthetic-fc:facts=60,questions=12,seed=5"
    (tmp_path / "table1.yaml").write_text(f'suites: ["{suite}"]\nswitches: [[], [no-forget]]\n', "utf-8")
    sweep = rdf("sweep", "table1.yaml", "--json").json["run_dir"]
    runs = sorted(str(path.parent) for path in Path(sweep).glob("*/manifest.json"))
    ids = [record.query.id for record in read_records(Path(runs[0]))]
    answers = [{"id": name, "answer": "Orla"} for name in ids]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(one) + "\n" for one in answers), "utf-8")
    errata = {"suite": suite, "id": ids[0], "reason": "a test", "source": "a test"}
    (tmp_path / "errata.jsonl").write_text(json.dumps(errata) + "\n", "utf-8")
    lines = blocks("See where an answer was lost")[0].splitlines()
    assert len(lines) == 10
    for line in lines:
        program, *args = shlex.split(line, comments=True)
        if args[0] == "view":
            continue  # it serves until it is interrupted: tests/acceptance/test_report_command.py
        names = iter(runs)
        stands_for = {"luna": "rules", "mab-fc": suite}
        done = rdf(*(next(names) if arg == "RUN" else stands_for.get(arg, arg) for arg in args))
        assert (program, done.code, done.err) == (".venv/bin/rdf", 0, ""), line
    assert (tmp_path / "site" / "index.html").is_file()


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


def test_the_commands_without_a_key(rdf: Callable[..., Done], tmp_path: Path) -> None:
    lines = [shlex.split(line, comments=True) for line in blocks("A language model without a key")[0].splitlines()]
    [replay] = [line[1:] for line in lines if "replay:embedded" in line]
    done = rdf(*replay)
    assert (done.code, done.err) == (0, "")
    assert re.search(r"replay: (\d+) of \1 questions have the same record", done.out)
    [run] = (tmp_path / "results" / "runs").iterdir()
    [export] = [line[1:] for line in lines if "export" in line]
    assert rdf(*(run if word == "RUN" else word for word in export)).code == 0
    assert (tmp_path / "mine.jsonl.gz").is_file()
    [check] = [line[1:] for line in lines if "check" in line]
    assert rdf(*check, "--dry-run").out.startswith("llama-server/NAME: 9 calls, 0.0000 USD at most")


def test_the_servers_of_the_readme_are_those_of_the_table_of_models() -> None:
    rows = re.findall(r"`([\w-]+)/NAME`, at `(\S+)` \|", SECTIONS["A language model without a key"])
    assert dict(rows) == {name: server.client.api_base for name, server in server_configs().items()}


def test_the_commands_that_reproduce_the_paper() -> None:
    [block] = blocks("Reproduce the paper")
    swept = re.findall(r"rdf sweep (\w+)", block)
    assert swept == ["table1", "table2", "table3"]
    assert {*swept} <= {*shipped_sweeps()}
    [models] = re.findall(r"for model in ([\w ]+);", block)
    asked = {model for name in swept for one in sweep_config(name)[1] for model in one.models}
    assert {*models.split()} == asked
    named = {config.key_env for name in asked if isinstance(config := model_config(name), ModelConfig)}
    assert {*re.findall(r"(\w+)=\.\.\.", block)} == named
