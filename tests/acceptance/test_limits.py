"""`--max-calls` and `--max-cost` stop before the limit is passed, and what was stopped goes on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rdforget.models.parameters import Prices
from rdforget.records import Usage
from runners.journal import read_records
from tests.acceptance.conftest import Done
from tests.acceptance.test_http_run import faithful, replied
from tests.loopback import Response, said, serve

Rdf = Callable[..., Done]
SUITE = "synthetic-fc:facts=100,questions=20,seed=5"
LUNA = Prices(input=0.20, cached=0.02, output=1.20)


def resumed(rdf: Rdf, done: Done, *more: object) -> Done:
    """What the printed command does."""
    [command] = re.findall(r"go on with: rdf (.*)", done.err)
    return rdf(*command.split(), *more)


def test_max_calls_is_never_passed_and_the_run_goes_on(rdf: Rdf) -> None:
    with serve(faithful) as server:
        model = ("--model", "openai/m", "--api-base", server.url)
        done = rdf("run", "--suite", SUITE, *model, "--workers", 4, "--max-calls", 25)
        assert len(server.requests) == 25
        assert done.code == 4
        assert "stopped at --max-calls 25: 25 calls spent" in done.err
        [folder] = Path("results/runs").iterdir()
        assert "missing" in (folder / "table.md").read_text("utf-8")
        assert not [record.failure for record in read_records(folder) if record.failure]
        again = resumed(rdf, done, "--max-calls", 25)  # earlier sessions count
        assert (again.code, len(server.requests)) == (4, 25)
        end = resumed(rdf, again, "--json")
    assert end.code == 0
    assert {cell["n_completed"] for cell in end.json["cells"]} == {20}
    assert Counter(str(request.json) for request in server.requests).total() == 3 * 20


@pytest.mark.parametrize("workers", [1, 16])
def test_max_cost_counts_what_is_in_flight_at_its_most(rdf: Rdf, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def script(request: dict[str, Any], n: int) -> Response:
        # As long a reply as may be: what the client has to reckon with.
        usage = {"prompt_tokens": 100, "completion_tokens": request["max_completion_tokens"]}
        return said(request, replied(request), usage=usage)

    def spent() -> float:
        asked = [Usage(prompt=100, completion=r.json["max_completion_tokens"]) for r in server.requests]
        return sum(LUNA.cost(usage) for usage in asked)

    with serve(script) as server:
        model = ("--model", "luna", "--api-base", server.url)
        done = rdf("run", "--suite", SUITE, *model, "--workers", workers, "--max-cost", 0.03)
        assert done.code == 4
        assert 0.015 < spent() <= 0.03
        assert f"stopped at --max-cost 0.03: {spent():.4f} USD" in done.err
        before = spent()
        again = resumed(rdf, done, "--max-cost", 0.05)
        assert again.code == 4
        assert before < spent() <= 0.05
        end = resumed(rdf, again, "--json")
    assert end.code == 0
    assert len(server.requests) == 3 * 20


def test_a_call_that_would_not_fit_beside_others_waits_for_them(rdf: Rdf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with serve(faithful) as server:  # replies are much shorter than their caps
        model = ("--model", "luna", "--api-base", server.url)
        done = rdf("run", "--suite", SUITE, *model, "--workers", 16, "--max-cost", 0.04, "--json")
    assert done.code == 0
    assert done.json["costs"]["usd_at_least"] < 0.04 < 16 * LUNA.cost(Usage(completion=4_096))


def test_an_unknown_price_is_refused_before_anything_is_asked(rdf: Rdf) -> None:
    with serve(faithful) as server:
        model = ("--model", "openai/m", "--api-base", server.url)
        done = rdf("run", "--suite", SUITE, *model, "--max-cost", 1)
        assert server.requests == []
    assert done.code == 2
    assert "openai/m" in done.err
    assert "configs/models.yaml" in done.err
    assert "--max-calls" in done.err
    assert not Path("results").exists()


def test_the_limit_of_a_sweep_is_over_all_its_runs_and_sessions(rdf: Rdf) -> None:
    with serve(faithful) as server:
        Path("mine.yaml").write_text(
            f"suites: ['{SUITE}']\nmodels: [openai/m]\nswitches: [[], [no-slot]]\napi_base: {server.url}\n", "utf-8"
        )
        done = rdf("sweep", "mine.yaml", "--workers", 2, "--max-calls", 70)
        assert (done.code, len(server.requests)) == (4, 70)
        [folder] = Path("results/sweeps").iterdir()
        assert "missing" in (folder / "table.md").read_text("utf-8")
        assert resumed(rdf, done, "--max-calls", 70).code == 4
        assert len(server.requests) == 70
        end = resumed(rdf, done, "--json")
    assert end.code == 0
    assert {cell["n_completed"] for cell in end.json["cells"]} == {20}
    assert Counter(str(request.json) for request in server.requests).most_common(1)[0][1] == 1


def test_a_reader_without_a_language_model_spends_nothing(rdf: Rdf) -> None:
    assert rdf("run", "--suite", SUITE, "--max-calls", 0, "--max-cost", 0).code == 0
    assert not Path("results/cache").exists()
