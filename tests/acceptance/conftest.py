"""Whole commands, run in this process: arguments in, exit code and output out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runners.cli import main


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def rdf(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Done]:
    """`rdf("run", "--suite", ...)` in an empty working folder, without the caller's keys and data."""
    monkeypatch.chdir(tmp_path)
    for name in ("RDF_DATA_DIR", "OPENAI_API_KEY", "DASHSCOPE_API_KEY", "MINIMAX_API_KEY", "MOONSHOT_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    # Nothing is waited for between attempts; tests of the waits themselves have a clock of their own.
    monkeypatch.setattr("rdforget.models.litellm_client._JITTER", lambda state: 0.0)

    def call(*args: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["rdf", *map(str, args)])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return Done(int(stop.value.code or 0), printed.out, printed.err)

    return call
