"""`--chunk-tokens`: sources in smaller pieces, as part of what is measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from runners import manifest
from runners.journal import read_records
from tests.acceptance.conftest import Done

Rdf = Callable[..., Done]
SUITE = "synthetic-fc:facts=120,questions=2,seed=2"


def curations(folder: Path) -> int:
    return sum(call.role == "curate" for record in read_records(folder) for call in record.calls)


def test_a_run_asks_about_smaller_chunks_and_is_another_measurement(rdf: Rdf) -> None:
    whole, cut = (
        Path(rdf("run", "--suite", SUITE, "--json", *more).json["run_dir"]) for more in ((), ("--chunk-tokens", 500))
    )
    assert curations(whole) == 2 < curations(cut)
    assert manifest.read(whole)["settings"]["protocol"]["chunk_tokens"] is None
    assert manifest.read(cut)["settings"]["protocol"]["chunk_tokens"] == 500
    assert manifest.read(whole)["fingerprint"] != manifest.read(cut)["fingerprint"]
    refused = rdf("run", "--resume", whole, "--chunk-tokens", 500)
    assert (refused.code, "protocol.chunk_tokens: None then, 500 now" in refused.err) == (2, True)
    again = Path(rdf("run", "--from-manifest", cut, "--json").json["run_dir"])
    assert list(read_records(again)) == list(read_records(cut))


def test_a_sweep_takes_it_from_its_file_or_the_command_line(rdf: Rdf, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(f"suites: ['{SUITE}']\nchunk_tokens: 600\n", "utf-8")
    for more, tokens in (((), 600), (("--chunk-tokens", 500), 500)):
        folder = Path(rdf("sweep", "mine.yaml", "--json", *more).json["run_dir"])
        [cell] = folder.glob("0*")
        assert manifest.read(cell)["settings"]["protocol"]["chunk_tokens"] == tokens
    assert rdf("sweep", "mine.yaml", "--chunk-tokens", 3).code == 2


def test_it_is_planned_with(rdf: Rdf) -> None:
    def planned(*more: object) -> int:
        stages = rdf("run", "--suite", SUITE, "--model", "luna", "--dry-run", "--json", *more).json["stages"]
        return next(int(stage["calls"]) for stage in stages if stage["role"] == "curate")

    assert planned() == 2 < planned("--chunk-tokens", 500)
