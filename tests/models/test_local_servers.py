"""Models of a user's own servers: what each kind is sent, and what it is spared."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from rdforget.calls import answer
from rdforget.calls.base import Message
from rdforget.models.base import CallError
from rdforget.models.gate import Gate
from rdforget.models.litellm_client import LiteLLM
from rdforget.models.parameters import ModelConfig, Parameters, as_sent, too_long
from runners.backends import model_config
from tests.loopback import Response, completion, failed, said, serve
from tests.models.client import CALL, CONFIG, Connect

ANSWER = '{"answer": "Metz"}'
OPENAI_SCHEMA = {"name": "answer", "schema": answer.SCHEMA, "strict": True}


def reply(request: dict[str, Any], n: int) -> Response:
    """As OpenAI's protocol has it, or Ollama's own."""
    if "messages" not in request:  # Ollama is asked what the model is
        return failed(404)
    if "options" not in request:
        return said(request, ANSWER)
    message = {"role": "assistant", "content": ANSWER}
    body = {"model": request["model"], "message": message, "done": True, "done_reason": "stop"}
    return Response(body=json.dumps(body | {"prompt_eval_count": 11, "eval_count": 5}).encode())


@pytest.mark.parametrize(
    ("name", "root", "path", "served", "asked"),
    [
        (
            "llama-server/qwen3-0.6b",
            "/v1",
            "/v1/chat/completions",
            "qwen3-0.6b",
            {"response_format": {"type": "json_schema", "json_schema": OPENAI_SCHEMA}},
        ),
        (
            "hosted_vllm/Qwen/Qwen3-0.6B",
            "/v1",
            "/v1/chat/completions",
            "Qwen/Qwen3-0.6B",
            {"response_format": {"type": "json_schema", "json_schema": OPENAI_SCHEMA}},
        ),
        (
            "llama-cpp-python/smollm2",
            "/v1",
            "/v1/chat/completions",
            "smollm2",
            {"response_format": {"type": "json_object", "schema": answer.SCHEMA}, "repeat_penalty": 1.0},
        ),
        ("ollama_chat/qwen3:0.6b", "", "/api/chat", "qwen3:0.6b", {"format": answer.SCHEMA}),
        ("openai/anything", "/v1", "/v1/chat/completions", "anything", {}),
    ],
)
async def test_a_server_is_asked_in_its_own_way_and_takes_any_key(
    name: str, root: str, path: str, served: str, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    with serve(reply) as server:
        backend = LiteLLM(model_config(name, server.url.removesuffix("/v1") + root))
        got = await backend.answer(CALL)
        await backend.close()
        sent = next(request for request in server.requests if "messages" in request.json)
    assert (got.text, sent.path, sent.json["model"]) == (ANSWER, path, served)
    assert sent.headers["authorization"] == "Bearer none"
    assert {key: value for key, value in sent.json.items() if key in asked} == asked
    assert ("response_format" in sent.json) is ("response_format" in asked)
    caps = sent.json.get("options", sent.json)
    assert caps.get("max_tokens", caps.get("num_predict")) == 256
    assert caps["temperature"] == 0


async def test_ollama_is_told_the_window_that_prompts_are_cut_to() -> None:
    config = model_config("ollama_chat/tiny")
    assert isinstance(config, ModelConfig)
    assert (config.window, config.api_base) == (16_384, "http://localhost:11434")
    with serve(reply) as server:
        backend = LiteLLM(replace(config, api_base=server.url.removesuffix("/v1")))
        await backend.answer(CALL)
        await backend.close()
        [options] = [request.json["options"] for request in server.requests if "options" in request.json]
    assert options["num_ctx"] == config.window


async def test_a_schema_can_be_asked_for_as_the_arguments_of_a_function(connect: Connect) -> None:
    def called(request: dict[str, Any], n: int) -> Response:
        function = {"name": request["tool_choice"]["function"]["name"], "arguments": ANSWER}
        calls = [{"id": "c1", "type": "function", "function": function}]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        return completion(request, [choice], {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13})

    client = connect(called, structured="tool")
    got = await client.answer()
    assert (got.text, got.finish_reason) == (ANSWER, "stop")
    assert client.sent["tools"][0]["function"]["parameters"] == answer.SCHEMA
    assert got.params == {"temperature": 0.0, "max_tokens": 256, "tool_choice": "answer"}
    words = connect(lambda request, n: said(request, ANSWER), structured="tool")
    assert (await words.answer()).text == ANSWER


def test_what_was_sent_is_kept_without_the_schema() -> None:
    assert as_sent({"response_format": {"type": "json_object", "schema": {}}}) == {"response_format": "json_object"}


# What a server is spared


@pytest.mark.parametrize(
    ("words", "cap", "window", "fits"),
    [(700, 256, 1_000, True), (800, 256, 1_000, False), (800, 100, 1_000, True), (5_000, 256, None, True)],
)
async def test_what_cannot_fit_the_window_is_not_sent(
    connect: Connect, words: int, cap: int, window: int | None, fits: bool
) -> None:
    call = replace(CALL, messages=(Message("user", "word " * words),), max_output_tokens=cap)
    client = connect(lambda request, n: said(request, ANSWER), window=window)
    if fits:
        assert (await client.answer(call)).text == ANSWER
        return
    with pytest.raises(CallError, match=r"model: context: a prompt of 80\d tokens and a reply of up to 256") as caught:
        await client.answer(call)
    assert (caught.value.kind, caught.value.attempts.sent, client.server.requests) == ("context", 0, [])


def test_thinking_takes_room_too() -> None:
    thinking = ModelConfig("m", "m", window=300, parameters=Parameters(reasoning_allowance=100))
    assert too_long(thinking, CALL)
    assert not too_long(replace(thinking, parameters=Parameters()), CALL)


async def test_after_a_timeout_nothing_is_sent_until_the_server_has_settled(connect: Connect) -> None:
    def slow_once(request: dict[str, Any], n: int) -> Response:
        return said(request, ANSWER, delay=0.0 if n else 30.0)

    client = connect(slow_once, timeout=0.2, settles=20.0)
    assert (await client.answer()).text == ANSWER
    assert sum(client.waits) == pytest.approx(20.0)  # the pause before the second attempt is part of it


async def test_no_more_requests_than_a_server_can_take_are_in_flight() -> None:
    gate = Gate(2)
    most = 0

    async def one() -> None:
        nonlocal most
        async with gate.passage():
            most = max(most, gate.flying)
            await asyncio.sleep(0)
        gate.succeeded()

    await asyncio.gather(*(one() for _ in range(12)))
    assert (most, gate.limit) == (2, 2)


async def test_a_limit_that_was_lowered_rises_to_it_again() -> None:
    gate = Gate(3)
    async with gate.passage() as sent:
        gate.refused(sent)
    assert gate.limit == 1
    for _ in range(12):
        gate.succeeded()
    assert gate.limit == 3


def test_a_model_that_names_no_limit_has_none() -> None:
    assert CONFIG.parallel is None
    assert LiteLLM(replace(CONFIG, api_base="http://127.0.0.1:1/unlimited"))._gate.limit is None
    assert LiteLLM(replace(CONFIG, api_base="http://127.0.0.1:1/one", parallel=1))._gate.limit == 1
