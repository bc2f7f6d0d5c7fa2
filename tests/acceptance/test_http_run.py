"""The whole path over real HTTP: all four roles against an OpenAI-compatible server on loopback."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rdforget.tokens import count_tokens
from runners.journal import read_records, read_roles
from tests.acceptance.conftest import Done
from tests.loopback import Response, failed, role_of, said, serve

Rdf = Callable[..., Done]
GENERATED = "synthetic-fc:facts=300,questions=100,seed=5"


def replied(request: dict[str, Any]) -> str:
    """What a simple-minded model would say, in valid JSON."""
    user = request["messages"][-1]["content"]
    role = role_of(request)
    if role == "curate":
        asked = set(re.findall(r"\w{4,}", user.rsplit("Question:", 1)[-1]))
        lines = [line for line in user.splitlines() if re.match(r"\d+\. ", line)]
        best = sorted(lines, key=lambda line: -len(asked & set(re.findall(r"\w{4,}", line))))[:8]
        items = [{"text": line, "subject": line[:20], "relation": "r", "scope": ""} for line in best]
        return json.dumps({"active": items, "replaced": items[:1]})
    if role == "select":
        return json.dumps({"ids": re.findall(r"^\[(m\d+)\]", user, re.MULTILINE)[::-1]})
    if role == "answer":
        return json.dumps({"answer": re.findall(r"ACTIVE: (.*)", user)[0]})
    return json.dumps({"verdict": "wrong"})


def faithful(request: dict[str, Any], n: int) -> Response:
    return said(request, replied(request))


class Faulty:
    """Of each role's replies one in ten is cut off, empty, fenced, or names ids that are not there, in turn."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def __call__(self, request: dict[str, Any], n: int) -> Response:
        role, text = role_of(request), replied(request)
        self.seen[role] += 1
        turn, off = divmod(self.seen[role], 10)
        if off:
            return said(request, text)
        if turn % 4 == 0:
            return said(request, text[: len(text) // 2], finish_reason="length")
        if turn % 4 == 1:
            return said(request, None, finish_reason="length", reasoning="Let me think about " + text)
        if turn % 4 == 2:
            return said(request, f"Here you are:\n```json\n{text}\n```\nAnything else?")
        return said(request, '{"ids": ["m999", "x", 0]}' if role == "select" else text)


def run(rdf: Rdf, url: str, *more: object, suite: str = GENERATED) -> Done:
    model = "openai/some-model"
    return rdf("run", "--suite", suite, "--model", model, "--judge", model, "--api-base", url, "--json", *more)


@pytest.fixture(params=["generated", "mab-fc"])
def suite(request: pytest.FixtureRequest) -> tuple[str, tuple[object, ...]]:
    if request.param == "generated":
        return GENERATED, ()
    return "mab-fc", ("--data-dir", request.getfixturevalue("data_dir"))


def test_all_four_roles_of_a_hundred_questions(rdf: Rdf, suite: tuple[str, tuple[object, ...]]) -> None:
    with serve(faithful) as server:
        done = run(rdf, server.url, *suite[1], suite=suite[0])
        roles = Counter(role_of(request.json) for request in server.requests)
    assert done.code == 0
    assert roles == {"curate": 100, "select": 100, "answer": 100, "judge": 100}
    assert {(c["n_completed"], c["n_total"]) for c in done.json["cells"]} == {(100, 100)}
    assert [c["metric"] for c in done.json["cells"]] == ["rule", "rule_strict", "rule_upstream", "judge"]
    for record in read_records(Path(done.json["run_dir"])):
        assert [call.role for call in record.calls] == ["curate", "select", "answer", "judge"]
        assert all(call.usage.prompt > 0 and call.usage.completion > 0 for call in record.calls)
        assert all(call.params["temperature"] == 0.0 for call in record.calls)


def test_with_one_reply_in_ten_damaged_every_question_still_completes(rdf: Rdf) -> None:
    with serve(Faulty()) as server:
        done = run(rdf, server.url, "--workers", 1)
    cells = {cell["metric"]: cell for cell in done.json["cells"]}
    assert (cells["rule"]["n_completed"], cells["rule"]["n_total"]) == (100, 100)
    records = list(read_records(Path(done.json["run_dir"])))
    assert not any(record.failure for record in records)
    parsed = Counter(status for r in records if r.trace for status in r.trace.memory.stats["parse"])
    assert parsed["salvaged"]
    assert parsed["none"]
    assert done.json["summaries"][0]["fallbacks"] >= parsed["none"]
    assert done.json["summaries"][0]["selector_fallbacks"]
    assert not any("Let me think" in (record.answer.text if record.answer else "") for record in records)


def test_a_failing_item_is_counted_and_the_exit_code_says_so(rdf: Rdf) -> None:
    def script(request: dict[str, Any], n: int) -> Response:
        return failed(400, "no such thing") if n == 6 else said(request, replied(request))

    with serve(script) as server:
        done = run(rdf, server.url, "--workers", 1, "--limit", 10)
    assert done.code == 3
    cell = done.json["cells"][0]
    assert (cell["n_completed"], cell["n_failed"], cell["n_total"]) == (9, 1, 10)
    assert cell["low"] <= cell["value"] <= cell["high"]
    assert cell["high"] - cell["low"] == pytest.approx(10)
    assert list(done.json["summaries"][0]["failures"].values()) == [1]


def test_too_many_failures_make_the_result_invalid(rdf: Rdf) -> None:
    with serve(lambda request, n: failed(400, "always")) as server:
        done = run(rdf, server.url, "--limit", 10)
    assert done.code == 4
    assert done.json["invalid"] is True
    assert {cell["value"] for cell in done.json["cells"]} == {None}


def test_a_refused_key_stops_the_run_at_once(rdf: Rdf) -> None:
    with serve(lambda request, n: failed(401, "bad key")) as server:
        done = run(rdf, server.url, "--workers", 2)
        asked = len(server.requests)
    assert done.code == 4
    assert asked <= 4
    assert "Traceback" not in done.err


@pytest.mark.parametrize("patient", [True, False], ids=["waits", "at once"])
def test_an_interrupted_run_keeps_its_records_and_exits_130(tmp_path: Path, patient: bool) -> None:
    """The first Ctrl-C lets in what is on its way; the second does not wait for it."""
    reached, released = threading.Event(), threading.Event()

    def script(request: dict[str, Any], n: int) -> Response:
        if n >= 40:
            reached.set()
            released.wait(60)
        return said(request, replied(request))

    with serve(script) as server:
        command = [sys.executable, "-m", "runners", "run", "--suite", GENERATED, "--quiet", "--workers", "2"]
        process = subprocess.Popen(
            [*command, "--model", "openai/some-model", "--api-base", server.url],
            cwd=tmp_path,
            env={**os.environ, "OPENAI_API_KEY": "none"},
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        assert reached.wait(60)
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline().startswith("interrupted: waiting up to 10 s for replies on their way")
        if patient:
            released.set()
        else:
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        released.set()
    assert process.returncode == 130
    [folder] = (tmp_path / "results" / "runs").iterdir()
    assert "interrupted" in err
    assert "Traceback" not in err
    assert f"go on with: rdf run --resume {folder.relative_to(tmp_path)} --workers 2 --quiet\n" in err
    assert len(list(read_records(folder))) >= 10
    replies, asked = len(list(read_roles(folder))), len(server.requests)
    assert replies == asked if patient else 40 <= replies < asked


def test_questions_over_one_history_are_asked_so_that_a_provider_can_cache_it(
    rdf: Rdf, suite: tuple[str, tuple[object, ...]]
) -> None:
    """At least 95 % of curation's prompt tokens were in a request that had been answered before."""
    texts: list[str] = []
    early: list[str] = []
    answered = threading.Event()

    def script(request: dict[str, Any], n: int) -> Response:
        if role_of(request) == "curate":
            texts.append("".join(message["content"] for message in request["messages"]))
            if len(texts) == 1:
                answered.wait(0.3)  # time for others to come too early
                early.extend(texts[1:])
                answered.set()
        return said(request, replied(request))

    with serve(script) as server:
        assert run(rdf, server.url, *suite[1], "--workers", 16, suite=suite[0]).code == 0
    assert early == []
    beginnings = [os.path.commonprefix([texts[0], text]) for text in texts[1:]]  # noqa: RUF071  # no paths
    shared = sum(map(count_tokens, beginnings))
    assert shared >= 0.95 * sum(map(count_tokens, texts))
