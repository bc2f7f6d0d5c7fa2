"""`--model replay:PATH`: a recorded run had again from its replies, and what is said where it cannot be."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runners import manifest
from runners.journal import read_records
from tests.acceptance.conftest import Done
from tests.acceptance.test_http_run import Faulty, faithful, replied
from tests.loopback import Response, failed, role_of, said, serve

Rdf = Callable[..., Done]
SUITE = "synthetic-fc:facts=100,questions=8,seed=2"
FILE = "run.jsonl.gz"


def recorded(rdf: Rdf, script: Callable[[dict[str, Any], int], Response] = faithful, *more: object) -> Path:
    """The folder of a run whose replies are now in FILE; its server is gone."""
    with serve(script) as server:
        model = ("--model", "openai/m", "--api-base", server.url)
        done = rdf("run", "--suite", SUITE, *model, "--max-error-rate", 1, "--json", *more)
    folder = Path(done.json["run_dir"])
    assert rdf("cache", "export", FILE, "--run", folder).code == 0
    return folder


def replayed(rdf: Rdf, *more: object) -> tuple[Path, Done]:
    done = rdf("run", "--model", f"replay:{FILE}", "--max-error-rate", 1, "--json", *more)
    return Path(done.json["run_dir"]), done


@pytest.mark.parametrize("script", [faithful, Faulty()], ids=["faithful", "faulty"])
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--method", "ace", "--limit", 4),
        ("--ablation", "no-qc", "--budget", 300, "--chunk-tokens", 600),
        ("--judge", "openai/m"),
    ],
    ids=lambda options: "-".join(map(str, options)) or "default",
)
def test_a_replay_ends_in_the_records_of_the_recorded_run(rdf: Rdf, script: Any, options: tuple[object, ...]) -> None:
    before = recorded(rdf, script, *options)
    after, done = replayed(rdf)
    assert list(read_records(after)) == list(read_records(before))
    [note] = [note for note in done.json["notes"] if note.startswith("replay:")]
    assert note.endswith(f"have the same record as in the run {before.name}")
    assert note.split()[1] == note.split()[3]
    assert done.json["costs"]["usd_at_least"] == 0
    assert not Path("results/cache/replies.sqlite").exists() or rdf("cache", "stats", "--json").json["by"] != []


def test_what_failed_fails_again(rdf: Rdf) -> None:
    def script(request: dict[str, Any], n: int) -> Response:
        if role_of(request) == "answer" and "ACTIVE" in request["messages"][-1]["content"] and n % 2:
            return failed(400, "too long for this model")
        return said(request, replied(request))

    before = recorded(rdf, script)
    failures = [record.failure for record in read_records(before)]
    assert any(failures)
    after, done = replayed(rdf)
    assert [record.failure for record in read_records(after)] == failures
    assert list(read_records(after)) == list(read_records(before))
    assert done.code == 3


def test_the_manifest_says_that_it_was_a_replay_and_of_what(rdf: Rdf) -> None:
    before = recorded(rdf)
    after, _ = replayed(rdf)
    then, now = manifest.read(before), manifest.read(after)
    assert now["spec"]["model"] == f"replay:{FILE}"
    assert now["settings"]["model"]["name"] == "replay"
    assert now["settings"]["model"]["replay_of"] == then["settings"]["model"]
    assert len(now["settings"]["model"]["recording"]) == 64
    assert now["fingerprint"] != then["fingerprint"]
    assert {k: v for k, v in now["settings"].items() if k != "model"} == {
        k: v for k, v in then["settings"].items() if k != "model"
    }


def test_nothing_of_a_replay_gets_into_the_cache_of_replies(rdf: Rdf) -> None:
    recorded(rdf, faithful, "--no-cache")
    replayed(rdf)
    assert not Path("results/cache/replies.sqlite").exists()
    taken = rdf("cache", "import", FILE, "--json").json
    assert (taken["new"], taken["left_out"]) == (3 * 8, 0)


def test_part_of_a_recording_can_be_replayed(rdf: Rdf) -> None:
    before = recorded(rdf)
    after, done = replayed(rdf, "--limit", 3)
    assert list(read_records(after)) == list(read_records(before))[:3]
    assert f"replay: 3 of 3 questions have the same record as in the run {before.name}" in done.json["notes"]


@pytest.mark.parametrize(
    ("options", "stage", "differs"),
    [
        (("--suite", "synthetic-fc:facts=100,questions=8,seed=3"), "curate", "sources, suite"),
        (("--budget", 40), "answer", "protocol"),
        (("--method", "bm25"), "select", "method"),
    ],
)
def test_a_request_that_is_not_recorded_is_a_typed_failure_that_names_it(
    rdf: Rdf, options: tuple[object, ...], stage: str, differs: str
) -> None:
    recorded(rdf)
    after, done = replayed(rdf, *options)
    failures = [record.failure for record in read_records(after) if record.failure]
    assert failures
    assert {(failure.kind, failure.stage) for failure in failures} == {("unrecorded", stage)}
    assert failures[0].message.startswith(
        f"replay:{FILE}: unrecorded: the recording of openai/m on {SUITE} by rd-forget holds no reply to this {stage} "
    )
    assert done.code in (3, 4)
    assert f"differs in {differs}" in " ".join(done.json["notes"])


def rewritten(change: Callable[[list[Any]], list[Any]]) -> None:
    lines = [json.loads(line) for line in gzip.decompress(Path(FILE).read_bytes()).splitlines()]
    Path(FILE).write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in change(lines)).encode()))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda lines: lines[1:], "does not say which run its replies are of"),
        (lambda lines: [{"recording": 9}, *lines[1:]], "is a recording of version 9, this rdf reads 1"),
        (lambda lines: [{"recording": 1}, *lines[1:]], "the first line of run.jsonl.gz is not whole"),
        (lambda lines: [lines[0] | {"records": 3}, *lines[1:]], "the first line of run.jsonl.gz is not whole"),
        (lambda lines: [lines[0] | {"spec": {"suite": 3}}, *lines[1:]], "the first line of run.jsonl.gz is not whole"),
        (
            lambda lines: [
                lines[0]
                | {"settings": lines[0]["settings"] | {"protocol": lines[0]["settings"]["protocol"] | {"budget": "x"}}},
                *lines[1:],
            ],
            "the first line of run.jsonl.gz is not whole",
        ),
        (lambda lines: [lines[0], lines[1] | {"call": "0"}], "line 2: the key is not that of its model and call"),
        (lambda lines: [*lines[:2], {}], "line 3 is not a reply with its key"),
        (
            lambda lines: [
                lines[0] | {"settings": lines[0]["settings"] | {"model": {"model": "openai/other"}}},
                *lines[1:],
            ],
            "line 2 is a reply of another model than the recorded one",
        ),
    ],
)
def test_a_file_that_is_no_whole_recording_is_refused_in_a_sentence(rdf: Rdf, change: Any, told: str) -> None:
    recorded(rdf)
    rewritten(change)
    done = rdf("run", "--model", f"replay:{FILE}")
    assert done.code == 2
    assert told in done.err
    assert len(done.err.splitlines()) == 1


def test_a_recording_that_is_not_there(rdf: Rdf) -> None:
    done = rdf("run", "--suite", SUITE, "--model", "replay:none.jsonl")
    assert done.code == 2
    assert done.err.startswith("rdf: none.jsonl cannot be read (No such file or directory): give a recorded run as ")
    Path("text.jsonl").write_text("not JSON\n", "utf-8")
    assert "text.jsonl line 1 is not JSON" in rdf("run", "--model", "replay:text.jsonl").err
