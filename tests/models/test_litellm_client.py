"""The litellm client over real HTTP, against a server on the loopback."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ConfigDict, TypeAdapter

from rdforget.calls import answer
from rdforget.calls.base import Message
from rdforget.models.base import CallError
from rdforget.models.litellm_client import LiteLLM
from rdforget.models.parameters import Clamp, ModelConfig, Parameters, Prices, missing_key
from rdforget.records import AnswerOutcome, Usage
from tests.loopback import failed, said
from tests.models.client import CALL, CONFIG, KEY, Connect

SHIPPED = yaml.safe_load((Path(__file__).parents[2] / "configs" / "models.yaml").read_text("utf-8"))


def shipped(name: str) -> ModelConfig:
    entry = {key: value for key, value in SHIPPED[name].items() if key not in ("backend", "label")}
    forbid = TypeAdapter(dict[str, ModelConfig], config=ConfigDict(extra="forbid"))
    return replace(forbid.validate_python({name: {"name": name} | entry})[name], key_env="LOOPBACK_KEY")


def test_importing_the_module_does_not_import_litellm() -> None:
    code = "import sys, rdforget.models.litellm_client; sys.exit('litellm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_key_is_named_without_importing_litellm() -> None:
    code = (
        "import sys; from rdforget.models.parameters import ModelConfig, missing_key;"
        "print(missing_key(ModelConfig('qwen', 'dashscope/qwen', key_env='NO_SUCH_KEY')));"
        "sys.exit('litellm' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        "Model qwen needs its API key in the environment variable NO_SUCH_KEY, which is not set."
    )


@pytest.mark.parametrize("value", ["", "  \n"])
async def test_a_blank_key_is_a_missing_key(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPBACK_KEY", value)
    assert missing_key(CONFIG) is not None
    with pytest.raises(CallError, match="LOOPBACK_KEY") as caught:
        await LiteLLM(CONFIG).answer(CALL)
    assert caught.value.kind == "auth"


async def test_a_reply_with_its_usage(connect: Connect) -> None:
    usage = {
        "prompt_tokens": 1000,
        "prompt_tokens_details": {"cached_tokens": 800},
        "completion_tokens": 100,
        "completion_tokens_details": {"reasoning_tokens": 60},
        "total_tokens": 1100,
    }
    client = connect(lambda request, n: said(request, "Orla", usage=usage))
    reply = await client.answer()
    assert (reply.text, reply.finish_reason, reply.model) == ("Orla", "stop", "some-model")
    assert reply.usage == Usage(prompt=1000, cached=800, completion=100, reasoning=60)
    assert [m["content"] for m in client.server.requests[0].json["messages"]] == [
        "Answer shortly.",
        "Where does Ines work?",
    ]
    assert client.server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_cached_tokens_beside_the_prompt_tokens_count(connect: Connect) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105, "cached_tokens": 80}
    reply = await connect(lambda request, n: said(request, "Orla", usage=usage)).answer()
    assert reply.usage == Usage(prompt=100, cached=80, completion=5)


def test_cost_charges_cached_and_reasoning_tokens_once() -> None:
    usage = Usage(prompt=1000, cached=800, completion=100, reasoning=60)
    assert Prices(input=1.0, cached=0.1, output=4.0).cost(usage) == pytest.approx(0.000680)
    assert Prices(input=1.0, output=4.0).cost(usage) == pytest.approx(0.001400)


async def test_thinking_that_fills_the_cap_is_an_empty_reply(connect: Connect) -> None:
    usage = {
        "prompt_tokens": 40,
        "completion_tokens": 256,
        "completion_tokens_details": {"reasoning_tokens": 256},
        "total_tokens": 296,
    }
    client = connect(
        lambda request, n: said(request, None, finish_reason="length", reasoning="Ines moved, so", usage=usage)
    )
    reply = await client.answer()
    assert (reply.text, reply.finish_reason) == ("", "length")
    assert (reply.usage.completion, reply.usage.reasoning) == (256, 256)
    assert answer.parse(reply).outcome is AnswerOutcome.EMPTY_LENGTH
    assert len(client.server.requests) == 1


@pytest.mark.parametrize(
    ("parameters", "sent"),
    [
        (Parameters(), {"temperature": 0.0, "max_tokens": 256}),
        (Parameters(temperature="drop"), {"max_tokens": 256}),
        (Parameters(temperature=Clamp(0.01, 1.0)), {"temperature": 0.01, "max_tokens": 256}),
        (
            Parameters(max_tokens_field="max_completion_tokens", reasoning_allowance=1000),
            {"temperature": 0.0, "max_completion_tokens": 1256},
        ),
        (
            Parameters(extra={"thinking": {"type": "disabled"}}),
            {"temperature": 0.0, "max_tokens": 256, "thinking": {"type": "disabled"}},
        ),
    ],
)
async def test_the_parameter_policy_decides_what_is_sent(
    parameters: Parameters, sent: dict[str, Any], connect: Connect
) -> None:
    client = connect(lambda request, n: said(request, "Orla"), parameters=parameters)
    reply = await client.answer()
    assert client.sent == sent
    assert reply.params == sent


async def test_a_temperature_above_the_range_is_clamped(connect: Connect) -> None:
    client = connect(lambda request, n: said(request, "Orla"), parameters=Parameters(temperature=Clamp(0.01, 1.0)))
    await client.answer(replace(CALL, sampling={"temperature": 1.5, "top_p": 0.9}))
    assert client.sent == {"temperature": 1.0, "top_p": 0.9, "max_tokens": 256}


async def test_a_temperature_that_is_not_asked_for_is_not_sent(connect: Connect) -> None:
    client = connect(lambda request, n: said(request, "Orla"), parameters=Parameters(temperature=Clamp(0.01, 1.0)))
    await client.answer(replace(CALL, sampling={}))
    assert client.sent == {"max_tokens": 256}


async def test_a_reply_schema_is_asked_for_as_configured(connect: Connect) -> None:
    client = connect(lambda request, n: said(request, "Orla"), structured="json_schema")
    reply = await client.answer()
    form = {"name": "answer", "schema": answer.SCHEMA, "strict": True}
    assert client.sent["response_format"] == {"type": "json_schema", "json_schema": form}
    assert reply.params["response_format"] == "json_schema"


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        (
            "qwen",
            {
                "temperature": 0.0,
                "max_tokens": 256,
                "enable_thinking": False,
                "response_format": {"type": "json_object"},
            },
        ),
        (
            "luna",
            {
                "max_completion_tokens": 256,
                "reasoning_effort": "none",
                "response_format": {"type": "json_object"},
            },
        ),
        ("minimax", {"temperature": 0.01, "max_completion_tokens": 4352, "reasoning_split": True}),
        (
            "kimi",
            {
                "max_tokens": 256,
                "thinking": {"type": "disabled"},
                "response_format": {"type": "json_object"},
            },
        ),
    ],
)
async def test_the_shipped_models_send_what_they_say(name: str, sent: dict[str, Any], connect: Connect) -> None:
    client = connect(lambda request, n: said(request, "Orla"), shipped(name))
    reply = await client.answer()
    assert client.sent == sent
    form = {"response_format": sent["response_format"]["type"]} if "response_format" in sent else {}
    assert reply.params == sent | form
    assert client.server.requests[0].json["model"] == SHIPPED[name]["model"].partition("/")[2]


async def test_a_parameter_that_litellm_drops_is_reported_as_not_sent(connect: Connect) -> None:
    """litellm leaves out the temperature for this model without a word."""
    client = connect(lambda request, n: said(request, "Orla"), model="moonshot/kimi-k2.5")
    reply = await client.answer()
    assert "temperature" not in client.sent
    assert reply.params == client.sent


async def test_what_litellm_refuses_by_itself_is_a_bad_request(connect: Connect) -> None:
    client = connect(lambda request, n: said(request, "Orla"), model="nosuchprovider/model")
    assert (await client.failure()).kind == "bad_request"
    assert client.server.requests == []


async def test_a_key_that_nobody_has_is_an_auth_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(CallError, match="OPENAI_API_KEY") as caught:
        await LiteLLM(ModelConfig(name="m", model="openai/some-model")).answer(CALL)
    assert caught.value.kind == "auth"


async def test_a_server_of_ones_own_needs_no_key_and_gets_none(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    client = connect(lambda request, n: said(request, "Orla"), key_env=None)
    assert (await client.answer()).text == "Orla"
    assert KEY not in str(client.server.requests[0].headers)


async def test_a_backend_can_be_used_again_after_closing(connect: Connect) -> None:
    client = connect(lambda request, n: said(request, "Orla"))
    await client.answer()
    await LiteLLM(CONFIG).close()
    assert (await client.answer()).text == "Orla"


async def test_many_calls_at_once(connect: Connect) -> None:
    client = connect(lambda request, n: said(request, request["messages"][1]["content"]))
    calls = [replace(CALL, messages=(CALL.messages[0], Message("user", f"question {n}"))) for n in range(32)]
    replies = await asyncio.gather(*map(client.answer, calls))
    assert [reply.text for reply in replies] == [f"question {n}" for n in range(32)]


async def test_nothing_is_printed(connect: Connect, capfd: pytest.CaptureFixture[str]) -> None:
    client = connect(lambda request, n: said(request, "Orla") if n else failed(500), attempts=2)
    await client.answer()
    await connect(lambda request, n: failed(401)).failure()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("marks", [True, False])
async def test_the_shared_beginning_is_marked_for_providers_that_want_it(connect: Connect, marks: bool) -> None:
    call = replace(CALL, messages=(Message("system", "s"), Message("user", "history question", shared=7)))
    model = "openrouter/anthropic/claude-sonnet-4.5"  # litellm takes the mark away where a provider does not know it
    client = connect(lambda request, n: said(request, "ok"), model=model, cache_marks=marks)
    await client.answer(call)
    first = {"type": "text", "text": "history", "cache_control": {"type": "ephemeral"}}
    expected = [first, {"type": "text", "text": " question"}] if marks else "history question"
    assert [message["content"] for message in client.server.requests[0].json["messages"]] == ["s", expected]
