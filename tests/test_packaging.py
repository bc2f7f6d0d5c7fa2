"""The wheel holds what a user needs, and the lock is what the README promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PINS = re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", (ROOT / "requirements.lock").read_text("utf-8"), re.MULTILINE)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the contents of the wheel and nothing of the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("sweep", "demo"), 6 * ["rd-forget"]),
        (("run", "--model", "replay:embedded"), ["4 of 4 questions have the same"]),
    ],
)
def test_a_run_works_from_the_wheel_alone(
    installed: Path, tmp_path: Path, command: tuple[str, ...], said: list[str]
) -> None:
    code = "import runners.cli, sys; assert sys.argv.pop(1) in runners.cli.__file__; runners.cli.main()"
    words = [sys.executable, "-P", "-c", code, str(installed), *command, "--quiet"]
    env = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(said[0]) == len(said)


def test_the_report_has_its_page_in_the_wheel(installed: Path) -> None:
    ours, theirs = (folder / "runners" / "report" / "assets" for folder in (ROOT, installed))
    assert {path.name for path in theirs.iterdir()} == {path.name for path in ours.iterdir()} >= {"index.html"}


def test_the_lock_pins_with_hashes_and_names_no_host() -> None:
    text = (ROOT / "requirements.lock").read_text("utf-8")
    assert "://" not in text
    assert text.count("==") - text.count("python_full_version ==") >= len(PINS) > 50
    blocks = re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in block for block in blocks)


def test_the_lock_holds_every_dependency_at_or_above_its_lower_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pins = {name.lower().replace("_", "-"): version for name, version in PINS}
    wanted = project["dependencies"] + project["optional-dependencies"]["dev"]
    for requirement in wanted:
        name, least = re.match(r"([A-Za-z0-9._-]+)>=([\d.]+)", requirement).groups()  # type: ignore[union-attr]
        assert numbers(pins[name.lower().replace("_", "-")]) >= numbers(least), requirement


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))
