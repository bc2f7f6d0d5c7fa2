"""The manifest of a run: what was measured, on what, with what."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import rdforget

FILE = "manifest.json"
_PACKAGES = ("litellm", "tiktoken", "datasets", "pydantic", "pandas", "snowballstemmer")


def fingerprint(settings: Mapping[str, Any]) -> str:
    """sha256 of the semantic settings: two runs with the same one measured the same thing."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def environment() -> dict[str, Any]:
    """Versions that a number may depend on."""
    return {
        "rdforget": rdforget.__version__,
        "git": _git_revision(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def write(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Put the manifest in its place whole: a process that is killed leaves the old one, or none."""
    part = folder / f"{FILE}.part"
    part.write_text(json.dumps(manifest, indent=2, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")
    part.replace(folder / FILE)


def read(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((folder / FILE).read_text("utf-8"))
    return manifest


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _git_revision() -> str | None:
    """The checkout's commit, with `+changes` where files differ from it; None outside a checkout."""
    root = Path(rdforget.__file__).parent.parent
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(
            [
                "git",
                "-C",
                str(root),
                "describe",
                "--always",
                "--abbrev=40",
                "--exclude=*",
                "--dirty=+changes",
            ],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
