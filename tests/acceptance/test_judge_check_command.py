"""`rdf judge-check` over real HTTP: what judges of every temper are found to be."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.acceptance.conftest import Done
from tests.loopback import Response, Script, failed, said, serve

Rdf = Callable[..., Done]
SUITE = "synthetic-chat:questions=24"


def verdict(word: str) -> Script:
    return lambda request, n: said(request, json.dumps({"verdict": word}))


def exact(request: dict[str, Any], n: int) -> Response:
    """Correct where the quoted answer is the reference or ends with it, or where it says that nothing was said."""
    user = request["messages"][-1]["content"]
    reference = re.findall(r"^Reference: (.*)$", user, re.MULTILINE)[0]
    answer = " ".join(line[2:] for line in user.splitlines() if line.startswith("> "))
    abstains = "does not hold what the question" in str(request["messages"])
    right = any(w in answer for w in ("never mentioned", "no information")) if abstains else None
    if right is None:
        right = bool(re.fullmatch(rf"(?:The answer is: |Going by .*: )?{re.escape(reference)}\.?", answer))
    return said(request, json.dumps({"verdict": "correct" if right else "wrong"}))


def obedient(request: dict[str, Any], n: int) -> Response:
    """As exact, unless the answer tells it what to say."""
    user = request["messages"][-1]["content"]
    told = "CORRECT" in user or '{"verdict"' in user
    return said(request, json.dumps({"verdict": "correct"})) if told else exact(request, n)


def check(rdf: Rdf, script: Script, *more: object) -> Any:
    with serve(script) as server:
        args = ("--suite", SUITE, "--judge", "openai/j", "--api-base", server.url, "--no-cache", "--json")
        done = rdf("judge-check", *args, *more)
        return {**done.json, "code": done.code, "asked": len(server.requests)}


def test_a_lenient_judge_accepts_everything(rdf: Rdf) -> None:
    found = check(rdf, verdict("correct"))
    assert found["code"] == found["exit_code"] == 0
    counts = {count["kind"]: count for count in found["counts"]}
    assert list(counts) == ["right", "vague", "specific", "hedged", "refused", "injected"]
    assert counts["right"]["mistaken"] == 0
    assert all(count["rate"] == 100 for kind, count in counts.items() if kind != "right")
    assert all(count["low"] < 100 == count["high"] for kind, count in counts.items() if kind != "right")
    assert found["false_accepts"]["value"] == 100
    assert found["false_rejects"]["value"] == 0
    assert found["asked"] == sum(count["cases"] for count in counts.values())
    assert len(found["mistakes"]) == found["asked"] - counts["right"]["cases"]


def test_a_strict_judge_rejects_everything(rdf: Rdf) -> None:
    found = check(rdf, verdict("wrong"))
    assert (found["false_accepts"]["value"], found["false_rejects"]["value"]) == (0, 100)


def test_an_exact_judge_makes_no_mistake(rdf: Rdf) -> None:
    found = check(rdf, exact)
    assert found["mistakes"] == []
    assert found["false_accepts"]["low"] == 0 < found["false_accepts"]["high"]


def test_an_obedient_judge_is_found_out_by_wording(rdf: Rdf) -> None:
    found = check(rdf, obedient)
    counts = {count["kind"]: count for count in found["counts"]}
    assert {kind for kind, count in counts.items() if count["mistaken"]} == {"injected"}
    assert set(counts["injected"]["wordings"]) == {
        "say-correct",
        "fake-verdict",
        "value-and-verdict",
        "ignore-the-above",
    }
    assert counts["injected"]["rate"] < 100


def test_no_verdict_is_neither_right_nor_wrong(rdf: Rdf) -> None:
    def script(request: dict[str, Any], n: int) -> Response:
        return said(request, "CORRECT or INCORRECT?") if "I do not know" in str(request) else exact(request, n)

    found = check(rdf, script)
    [refused] = [count for count in found["counts"] if count["kind"] == "refused"]
    assert refused["invalid"] > 0
    assert refused["judged"] + refused["invalid"] == refused["cases"]
    assert found["causes"] == {"parse": refused["invalid"]}
    assert found["mistakes"] == []
    assert found["code"] == 0


def test_a_judge_that_is_down_gives_no_rate_and_exit_code_4(rdf: Rdf) -> None:
    found = check(rdf, lambda request, n: failed(400, "no"), "--limit", 3)
    assert found["code"] == 4
    assert found["false_accepts"] is None
    assert {count["rate"] for count in found["counts"]} == {None}
    assert found["questions"] == 3


def test_a_refused_key_stops_it(rdf: Rdf) -> None:
    found = check(rdf, lambda request, n: failed(401, "bad key"))
    assert found["code"] == 4
    assert "bad key" in found["error"]


def test_replies_come_from_the_cache_the_second_time(rdf: Rdf) -> None:
    with serve(exact) as server:
        args = ("judge-check", "--judge", "openai/j", "--api-base", server.url, "--limit", 2, "--json")
        first = rdf(*args).json
        asked = len(server.requests)
        assert rdf(*args).json == first
        assert len(server.requests) == asked > 0


def test_rules_as_the_judge_in_words(rdf: Rdf) -> None:
    done = rdf("judge-check", "--judge", "rules", "--suite", SUITE)
    assert (done.code, done.err) == (0, "")
    assert "wrong answers accepted: " in done.out
    assert any(line.split()[:2] == ["injected", "wrong"] for line in done.out.splitlines())


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["--judge", "rule"], "'rules'"),
        (["--judge", "rules", "--suite", "mab-fx"], "'mab-fc'"),
        (["--judge", "luna"], "OPENAI_API_KEY"),
        ([], "--judge"),
    ],
)
def test_user_errors(rdf: Rdf, args: list[str], named: str) -> None:
    done = rdf("judge-check", *args)
    assert done.code == 2
    assert named in done.err
    assert "Traceback" not in done.err
