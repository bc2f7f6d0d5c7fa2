"""`rdf models check`: what it finds of servers that can do much or little, before money is spent."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.acceptance.conftest import Done
from tests.loopback import Response, failed, no_choices, role_of, said, serve

Rdf = Callable[..., Done]
Script = Callable[[dict[str, Any], int], Response]
REPLIES = {
    "curate": {"active": [{"text": "Ines lives in Metz.", "subject": "Ines", "relation": "home"}], "replaced": []},
    "select": {"ids": ["m1"]},
    "answer": {"answer": "Metz"},
    "judge": {"verdict": "correct"},
    "rubric": {"grade": 1},
}


def counted(request: dict[str, Any], completed: int, cached: int = 0) -> dict[str, Any]:
    prompt = sum(len(message["content"]) for message in request["messages"]) // 4
    return {
        "prompt_tokens": prompt,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens": completed,
        "total_tokens": prompt + completed,
    }


def able(request: dict[str, Any], n: int) -> Response:
    """A server that does all that it is asked for."""
    if request["messages"][0]["role"] == "system":
        return said(request, json.dumps(REPLIES[role_of(request)]))
    if "response_format" in request:
        return said(request, '{"answer": "A body of salt water."}')
    if "Count" in request["messages"][-1]["content"]:
        cap = request["max_tokens"]
        return said(request, "1 2 3 4 5", finish_reason="length", usage=counted(request, cap))
    return said(request, "110", usage=counted(request, 2, cached=640 if n == 8 else 0))


def no_usage(request: dict[str, Any], n: int) -> Response:
    whole = able(request, n)
    return replace(whole, body=json.dumps({**json.loads(whole.body), "usage": None}).encode())


def ignores_schema(request: dict[str, Any], n: int) -> Response:
    if "response_format" in request and request["messages"][0]["role"] != "system":
        return said(request, "The sea is a body of salt water.")
    return able(request, n)


def ignores_cap(request: dict[str, Any], n: int) -> Response:
    if "Count" in request["messages"][-1]["content"]:
        return said(request, " ".join(map(str, range(1, 301))))
    return able(request, n)


def ignores_cap_uncounted(request: dict[str, Any], n: int) -> Response:
    whole = ignores_cap(request, n)
    return replace(whole, body=json.dumps({**json.loads(whole.body), "usage": None}).encode())


def refuses_schema(request: dict[str, Any], n: int) -> Response:
    return failed(400, "response_format is not supported") if "response_format" in request else able(request, n)


def rambles(request: dict[str, Any], n: int) -> Response:
    if request["messages"][0]["role"] == "system" and role_of(request) == "judge":
        return said(request, "It depends.")
    return able(request, n)


def check(
    rdf: Rdf, script: Script, *more: object, model: str = "llama-server/tiny"
) -> tuple[Done, list[dict[str, Any]]]:
    with serve(script) as server:
        done = rdf("models", "check", model, "--api-base", server.url, *more)
        return done, [request.json for request in server.requests]


ABLE = {
    **{f"role {name}": "usable" for name in REPLIES},
    "reply schema": "honoured",
    "output cap": "honoured",
    "prompt cache": "used",
    "usage": "told",
    "speed": "measured",
    "price": "known",
}

UNTOLD = {"usage": "not told", "prompt cache": "not reported", "speed": "not told"}


@pytest.mark.parametrize(
    ("script", "differs", "code"),
    [
        (able, {}, 0),
        (ignores_schema, {"reply schema": "ignored"}, 0),
        (ignores_cap, {"output cap": "ignored"}, 0),
        (no_usage, UNTOLD, 0),
        (ignores_cap_uncounted, {**UNTOLD, "output cap": "ignored"}, 0),
        (rambles, {"role judge": "not usable"}, 3),
        (refuses_schema, {**{f"role {name}": "failed" for name in REPLIES}, "reply schema": "failed"}, 3),
        (
            lambda request, n: no_choices(request),
            {**dict.fromkeys(ABLE, "failed"), "usage": "not told", "speed": "not told", "price": "known"},
            3,
        ),
    ],
    ids=["able", "schema", "cap", "usage", "uncounted cap", "role", "refused", "empty"],
)
def test_what_a_server_can_do_is_found(rdf: Rdf, script: Script, differs: dict[str, str], code: int) -> None:
    done, asked = check(rdf, script, "--json")
    found = {finding["what"]: finding["outcome"] for finding in done.json["findings"]}
    assert found == ABLE | differs
    assert (done.code, done.json["fit"], len(asked)) == (code, code == 0, 9)
    assert done.json["usd_at_most"] == 0


def test_it_reads_as_a_table_that_begins_with_the_cost(rdf: Rdf) -> None:
    done, asked = check(rdf, able)
    lines = done.out.splitlines()
    assert lines[0] == "llama-server/tiny: 9 calls, 0.0000 USD at most"
    assert lines[1].split() == ["what", "outcome", "detail"]
    [cached] = [line for line in lines if line.startswith("prompt cache")]
    assert "used      640 of 1," in cached
    assert "asked for as json_schema, against a prompt that asks for prose" in done.out
    assert [one["max_tokens"] for one in asked] == [256, 64, 64, 64, 64, 64, 16, 16, 16]
    assert asked[-1]["messages"] == asked[-2]["messages"]


def test_a_model_of_which_nothing_is_known_is_asked_for_no_schema(rdf: Rdf) -> None:
    done, asked = check(rdf, able, model="openai/m")
    assert "9 calls, at an unknown price" in done.out
    assert "not asked for" in done.out
    assert "not known" in done.out
    assert not any("response_format" in one for one in asked)


def test_without_a_key_nothing_is_asked(rdf: Rdf) -> None:
    done = rdf("models", "check", "luna")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "OPENAI_API_KEY, which is not set" in done.err
    planned = rdf("models", "check", "luna", "--dry-run", "--json").json
    assert planned["calls"] == 9
    assert 0 < planned["usd_at_most"] < 0.01


@pytest.mark.parametrize(
    ("status", "told"), [(401, "auth"), (402, "auth"), (403, "insufficient_quota")], ids=["key", "payment", "credit"]
)
def test_a_refused_key_ends_the_check_in_a_sentence(rdf: Rdf, status: int, told: str) -> None:
    done, asked = check(rdf, lambda request, n: failed(status, "insufficient_quota: no"))
    assert (done.code, len(done.err.splitlines()), len(asked)) == (4, 1, 1)
    assert told in done.err
    assert done.err.endswith(": nothing more is tried\n")


def test_a_server_that_is_not_there(rdf: Rdf) -> None:
    done = rdf("models", "check", "hosted_vllm/m", "--api-base", "http://127.0.0.1:9/v1")
    assert done.code == 4
    assert "connection" in done.err


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("rules", "rules is no language model that could be asked"),
        ("lunar", "there is no model 'lunar': did you mean 'luna'?"),
        ("llama-server", "name its model too, as llama-server/MODEL"),
        ("gguf:none.gguf", "none.gguf cannot be read"),
    ],
)
def test_what_cannot_be_checked(rdf: Rdf, name: str, told: str) -> None:
    done = rdf("models", "check", name)
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert told in done.err


def test_the_list_of_models_stays(rdf: Rdf) -> None:
    rows = {row["model"]: row for row in rdf("models", "--json").json["models"]}
    assert rows["rules"]["ready"] == "ready"
    assert rows["ollama_chat/NAME"]["calls"] == "ollama_chat/NAME at http://localhost:11434"
    assert "check" in rdf("models", "--help").out
