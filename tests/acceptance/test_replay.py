"""A manifest leads to the same requests again, and to a refusal where it cannot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rdforget.calls.base import PROMPTS, load_prompt, prompts_digest
from runners.journal import read_records
from tests.acceptance.conftest import Done
from tests.acceptance.test_http_run import faithful
from tests.loopback import serve

Rdf = Callable[..., Done]
SUITE = "synthetic-fc:facts=100,questions=8,seed=2"


@pytest.mark.parametrize("switch", [None, "no-qc"])
def test_replaying_a_manifest_gives_identical_request_keys(rdf: Rdf, switch: str | None) -> None:
    ablation = ["--ablation", switch] if switch else []
    with serve(faithful) as server:
        model = ("--model", "openai/m", "--api-base", server.url, "--judge", "openai/m")
        run = rdf("run", "--suite", SUITE, *model, *ablation, "--json").json["run_dir"]
        asked = len(server.requests)
        done = rdf("run", "--from-manifest", run, "--dry-run", "--json")
        assert len(server.requests) == asked
    assert done.code == 0
    assert done.json["identical"] is True
    assert len(done.json["request_keys"]) == asked
    assert "identical" in rdf("run", "--from-manifest", run, "--dry-run").out


def test_a_run_can_be_had_again_from_its_manifest(rdf: Rdf) -> None:
    first = rdf("run", "--suite", SUITE, "--budget", 100, "--json").json["run_dir"]
    second = rdf("run", "--from-manifest", first, "--json").json["run_dir"]
    assert first != second
    assert list(read_records(Path(first))) == list(read_records(Path(second)))


def test_another_prompt_is_seen(rdf: Rdf, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = rdf("run", "--suite", SUITE, "--json").json["run_dir"]
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    for path in PROMPTS.glob("*.txt"):
        (prompts / path.name).write_text(
            path.read_text("utf-8").replace("Answer as shortly", "Answer at length"), "utf-8"
        )
    monkeypatch.setattr("rdforget.calls.base.PROMPTS", prompts)
    load_prompt.cache_clear()
    prompts_digest.cache_clear()
    try:
        done = rdf("run", "--from-manifest", run, "--dry-run", "--json")
        refused = rdf("run", "--from-manifest", run)
    finally:
        load_prompt.cache_clear()
        prompts_digest.cache_clear()
    assert done.json["identical"] is False
    assert len(done.json["missing"]) == 8  # every answer
    assert (refused.code, "prompts:" in refused.err) == (2, True)
