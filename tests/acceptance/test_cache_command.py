"""The cache of replies over whole commands: who is served by it, and `rdf cache`."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runners.journal import read_records
from tests.acceptance.conftest import Done
from tests.acceptance.test_http_run import faithful, replied
from tests.loopback import Response, Server, role_of, said, serve

Rdf = Callable[..., Done]
SUITE = "synthetic-fc:facts=100,questions=6,seed=2"
KEY = "sk-thekeythatnobodymaysee"


def run(rdf: Rdf, server: Server, *more: object, model: str = "openai/m") -> Done:
    return rdf("run", "--suite", SUITE, "--model", model, "--api-base", server.url, "--json", *more)


def roles(server: Server) -> Counter[str]:
    return Counter(role_of(request.json) for request in server.requests)


def test_variants_of_a_sweep_share_the_calls_that_they_have_in_common(rdf: Rdf) -> None:
    with serve(faithful) as server:
        Path("mine.yaml").write_text(
            f"suites: ['{SUITE}']\nmodels: [openai/m]\nswitches: [[], [no-rescue]]\napi_base: {server.url}\n", "utf-8"
        )
        done = rdf("sweep", "mine.yaml", "--json")
        asked = roles(server)
    assert done.code == 0
    assert asked["curate"] == 6
    assert Counter(str(request.json) for request in server.requests).most_common(1)[0][1] == 1
    [whole, variant] = sorted(Path(done.json["run_dir"]).glob("0*"))
    assert {call.source for record in read_records(whole) for call in record.calls} == {"asked"}
    curations = [call for record in read_records(variant) for call in record.calls if call.role == "curate"]
    assert {call.source for call in curations} == {"cache"}


def test_a_second_run_costs_nothing_and_a_run_is_whole_without_the_cache(
    rdf: Rdf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with serve(faithful) as server:
        first = run(rdf, server, model="luna")
        second = run(rdf, server, model="luna")
        assert len(server.requests) == 3 * 6
        assert first.json["cells"] == second.json["cells"]
        assert first.json["costs"]["usd_at_least"] > 0
        assert second.json["costs"]["usd_at_least"] == 0
        assert sum(stage["from_cache"] for stage in second.json["costs"]["stages"]) == 3 * 6
        Path("results/cache/replies.sqlite").unlink()
        replayed = rdf("run", "--from-manifest", second.json["run_dir"], "--dry-run", "--json")
        resumed = rdf("run", "--resume", second.json["run_dir"], "--json")
        assert len(server.requests) == 3 * 6
        run(rdf, server, "--no-cache", model="luna")
        assert len(server.requests) == 2 * 3 * 6
    assert replayed.json["identical"] is True
    assert resumed.json["costs"]["usd_at_least"] == 0


def test_two_models_over_one_cache_never_meet(rdf: Rdf) -> None:
    with serve(faithful) as server:
        for model in ("openai/a", "openai/b"):
            run(rdf, server, "--cache", "one.sqlite", model=model)
        assert Counter(request.json["model"] for request in server.requests) == {"a": 18, "b": 18}
    stats = rdf("cache", "stats", "--cache", "one.sqlite", "--json").json
    assert stats["replies"] == 36
    assert {(row["model"], row["role"]): row["replies"] for row in stats["by"]} == {
        (model, role): 6 for model in ("openai/a", "openai/b") for role in ("answer", "curate", "select")
    }


def test_repeats_are_asked_anew_and_kept_apart(rdf: Rdf) -> None:
    with serve(faithful) as server:
        Path("mine.yaml").write_text(
            f"suites: ['{SUITE}']\nmodels: [openai/m]\nrepeats: 3\napi_base: {server.url}\n", "utf-8"
        )
        rdf("sweep", "mine.yaml")
        assert len(server.requests) == 3 * 3 * 6
    assert rdf("cache", "stats", "--json").json["replies"] == 3 * 3 * 6


def test_a_further_round_of_a_judge_asks_anew_and_one_that_was_cut_short_goes_on(rdf: Rdf) -> None:
    broken = True

    def script(request: dict[str, Any], n: int) -> Response:
        if role_of(request) == "judge" and broken and judged["judge"] == 2:
            return Response(401, b'{"error": {"message": "bad key"}}')
        judged[role_of(request)] += 1
        return said(request, replied(request))

    judged: Counter[str] = Counter()
    with serve(script) as server:
        folder = run(rdf, server).json["run_dir"]
        judge = ("rejudge", folder, "--judge", "openai/j", "--api-base", server.url, "--workers", 1, "--json")
        assert rdf(*judge).code == 4
        broken = False
        assert {c["metric"] for c in rdf(*judge).json["cells"]} >= {"judge[openai/j]"}
        assert judged["judge"] == 6
        assert {c["metric"] for c in rdf(*judge).json["cells"]} >= {"judge[openai/j]", "judge[openai/j#2]"}
        assert judged["judge"] == 12


@pytest.mark.parametrize("name", ["replies.jsonl", "replies.jsonl.gz"])
def test_replies_go_from_one_cache_into_another(rdf: Rdf, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serve(faithful) as server:
        run(rdf, server, model="luna")
        assert rdf("cache", "export", name, "--json").json["replies"] == 18
        assert rdf("cache", "import", name, "--cache", "other.sqlite", "--json").json == {
            "new": 18,
            "known": 0,
            "left_out": 0,
        }
        assert rdf("cache", "import", name, "--cache", "other.sqlite", "--json").json["known"] == 18
        run(rdf, server, "--cache", "other.sqlite", model="luna")
        assert len(server.requests) == 18
    raw = Path(name).read_bytes()
    text = gzip.decompress(raw) if name.endswith(".gz") else raw
    for held in (text, *(path.read_bytes() for path in (*Path("results/cache").iterdir(), Path("other.sqlite")))):
        assert KEY.encode() not in held
        assert b"OPENAI_API_KEY" not in held
        assert b"Question:" not in held  # no prompts
    refused = rdf("cache", "export", name)
    assert (refused.code, "exists" in refused.err) == (2, True)
    erased = rdf("cache", "clear", "--json").json["erased"]
    assert (erased, rdf("cache", "stats", "--json").json["replies"]) == (18, 0)


def test_a_run_is_exported_from_its_own_journal(rdf: Rdf) -> None:
    def script(request: dict[str, Any], n: int) -> Response:
        cut = role_of(request) == "answer" and "m1" in request["messages"][-1]["content"]
        return said(request, replied(request), finish_reason="length" if cut else "stop")

    with serve(script) as server:
        folder = run(rdf, server, "--judge", "openai/j").json["run_dir"]
    rdf("cache", "clear")
    assert rdf("cache", "export", "run.jsonl", "--run", folder, "--json").json["replies"] == 24
    head, *lines = (json.loads(line) for line in Path("run.jsonl").read_text("utf-8").splitlines())
    assert head["id"] == Path(folder).name
    calls = [call for record in read_records(Path(folder)) for call in record.calls]
    assert {line["call"] for line in lines} == {call.key for call in calls}
    assert {(line["role"], line["model"]["model"]) for line in lines} >= {
        ("answer", "openai/m"),
        ("judge", "openai/j"),
    }
    cut = sum(line["reply"]["finish_reason"] == "length" for line in lines)
    assert cut
    taken = rdf("cache", "import", "run.jsonl", "--json").json
    assert taken == {"new": 24 - cut, "known": 0, "left_out": cut}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda line: line.replace('"text": "', '"text": 7, "x": "'), "line 2 is not a reply with its key"),
        (lambda line: line.replace("openai/m", "openai/n"), "line 2: the key is not that of its model and call"),
        (lambda line: line[: len(line) // 2], "line 2 is not JSON"),
        (lambda line: "[1, 2]", "line 2 is not a reply with its key"),
    ],
)
def test_a_changed_file_is_refused_whole(rdf: Rdf, change: Callable[[str], str], told: str) -> None:
    with serve(faithful) as server:
        run(rdf, server)
    rdf("cache", "export", "replies.jsonl")
    lines = Path("replies.jsonl").read_text("utf-8").splitlines()
    Path("replies.jsonl").write_text("\n".join([lines[0], change(lines[1]), *lines[2:]]), "utf-8")
    done = rdf("cache", "import", "replies.jsonl", "--cache", "other.sqlite")
    assert done.code == 2
    assert told in done.err
    assert rdf("cache", "stats", "--cache", "other.sqlite", "--json").json["replies"] == 0


def test_what_is_no_cache_is_one_sentence(rdf: Rdf) -> None:
    Path("damaged").write_bytes(b"\x00" * 9_000)
    Path("text.jsonl.gz").write_text("not compressed", "utf-8")
    for command, told in [
        (("cache", "stats"), "there is no cache results/cache/replies.sqlite"),
        (("cache", "stats", "--cache", "damaged"), "the cache damaged cannot be used"),
        (("cache", "clear", "--cache", "damaged"), "the cache damaged cannot be used"),
        (("cache", "export", "x.jsonl", "--run", "nothing"), "there is no run 'nothing'"),
        (("cache", "import", "missing.jsonl"), "missing.jsonl cannot be read"),
        (("cache", "import", "text.jsonl.gz"), "text.jsonl.gz cannot be read"),
        (
            (
                "run",
                "--suite",
                SUITE,
                "--model",
                "openai/m",
                "--api-base",
                "http://127.0.0.1:9/v1",
                "--cache",
                "damaged",
            ),
            "the cache damaged cannot be used",
        ),
    ]:
        done = rdf(*command)
        assert done.code in (2, 4)
        assert told in done.err
        assert done.err.count("\n") == 1
    assert not Path("results/runs").exists()
