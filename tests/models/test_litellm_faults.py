"""What can go wrong with a call, over real HTTP: kinds, attempts, waits, and what is counted of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from rdforget.models.litellm_errors import retry_after
from rdforget.records import Attempts, Usage
from tests.loopback import Response, completion, failed, no_choices, said
from tests.models.client import KEY, Connect


@pytest.mark.parametrize(
    ("status", "kind", "attempts"),
    [
        (400, "bad_request", 1),
        (401, "auth", 1),
        (402, "auth", 1),
        (403, "bad_request", 1),
        (404, "bad_request", 1),
        (405, "bad_request", 1),
        (408, "timeout", 3),
        (413, "bad_request", 1),
        (422, "bad_request", 1),
        (429, "rate_limit", 3),
        (500, "server", 3),
        (502, "server", 3),
        (503, "server", 3),
        (504, "timeout", 3),
        (529, "server", 3),
    ],
)
@pytest.mark.parametrize("model", ["openai/some-model", "minimax/some-model"])
async def test_a_status_becomes_a_kind_and_retries_do_not_multiply(
    model: str, status: int, kind: str, attempts: int, connect: Connect
) -> None:
    """The two providers take different ways through litellm."""
    client = connect(lambda request, n: failed(status, f"no luck with {KEY}"), model=model, attempts=3)
    error = await client.failure()
    assert error.kind == kind
    assert "no luck" in str(error)
    assert KEY not in str(error)
    assert len(client.server.requests) == attempts
    assert len(client.waits) == attempts - 1


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (failed(400, "This model's maximum context length is 8192 tokens.", code="context_length_exceeded"), "context"),
        (failed(400, "invalid_request_error content_policy_violation", code="content_policy_violation"), "refused"),
        (Response(body=b"<html>busy</html>"), "server"),
        (Response(body=b'{"choices": ['), "server"),
        (Response(body=b"[]"), "server"),
        (Response(body=b""), "server"),
        (Response(body=b'{"error": {"message": "overloaded", "code": 529}}'), "server"),
        (Response(reset=True), "connection"),
    ],
)
async def test_a_broken_reply_becomes_a_kind(response: Response, kind: str, connect: Connect) -> None:
    client = connect(lambda request, n: response, attempts=1)
    assert (await client.failure()).kind == kind


async def test_empty_choices_are_a_server_error_that_is_tried_again(connect: Connect) -> None:
    client = connect(lambda request, n: said(request, "Orla") if n else no_choices(request))
    assert (await client.answer()).text == "Orla"
    assert len(client.server.requests) == 2


async def test_a_withheld_reply_is_refused(connect: Connect) -> None:
    client = connect(lambda request, n: said(request, None, finish_reason="content_filter"))
    assert (await client.failure()).kind == "refused"
    assert len(client.server.requests) == 1


async def test_no_server_is_a_connection_error(connect: Connect) -> None:
    client = connect(lambda request, n: said(request, "Orla"), attempts=2)
    client.server.stop()
    assert (await client.failure()).kind == "connection"
    assert len(client.waits) == 1


async def test_a_server_that_never_answers_is_a_timeout(connect: Connect) -> None:
    client = connect(lambda request, n: said(request, "late", delay=60), timeout=0.2, attempts=2)
    assert (await client.failure()).kind == "timeout"
    assert len(client.server.requests) == 2


async def test_a_server_that_drips_is_a_timeout(connect: Connect) -> None:
    client = connect(lambda request, n: replace(said(request, "late"), pace=0.05), timeout=0.3, attempts=1)
    assert (await client.failure()).kind == "timeout"


async def test_cancelling_passes_through(connect: Connect) -> None:
    client = connect(lambda request, n: said(request, "late", delay=60))
    task = asyncio.create_task(client.answer())
    while not (client.server.requests or task.done()):
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(client.server.requests) == 1


@pytest.mark.parametrize("model", ["openai/some-model", "minimax/some-model"])
async def test_retry_after_is_honoured(model: str, connect: Connect) -> None:
    client = connect(lambda request, n: said(request, "Orla") if n else failed(429, retry_after=90), model=model)
    assert (await client.answer()).text == "Orla"
    assert client.waits == [90.0]


async def test_jitter_stands_where_retry_after_asks_for_less(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rdforget.models.litellm_client._JITTER", lambda state: 20.0)
    client = connect(lambda request, n: said(request, "Orla") if n else failed(503, retry_after=1))
    await client.answer()
    assert client.waits == [20.0]


async def test_a_wait_beyond_patience_ends_the_call(connect: Connect) -> None:
    client = connect(lambda request, n: failed(429, retry_after=3600))
    error = await client.failure()
    assert (error.kind, error.retry_after) == ("rate_limit", 3600.0)
    assert len(client.server.requests) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", "date": "Wed, 21 Oct 2026 07:26:30 GMT"}, 90.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", "date": "Wed, 21 Oct 2026 09:00:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", "date": "today"}, None),
    ],
)
def test_retry_after_in_seconds_and_as_a_date(headers: dict[str, str], seconds: float | None) -> None:
    error = Exception()
    error.litellm_response_headers = headers  # type: ignore[attr-defined]
    assert retry_after(error) == seconds


@pytest.mark.parametrize(
    ("status", "code", "model", "kind"),
    [
        (429, "insufficient_quota", "openai/some-model", "quota"),
        (429, "insufficient_quota", "minimax/some-model", "quota"),
        (429, "exceeded_current_quota_error", "moonshot/some-model", "quota"),
        (400, "Arrearage", "dashscope/some-model", "quota"),
        # DashScope has one code for an empty account and for too many tokens a minute.
        (429, "insufficient_quota", "dashscope/some-model", "rate_limit"),
        (429, "rate_limit_exceeded", "openai/some-model", "rate_limit"),
    ],
)
async def test_an_account_without_credit_is_not_asked_again(
    status: int, code: str, model: str, kind: str, connect: Connect
) -> None:
    message = "You exceeded your current quota, please check your plan and billing details."
    client = connect(lambda request, n: failed(status, message, code=code), model=model, attempts=2)
    assert (await client.failure()).kind == kind
    assert len(client.server.requests) == (1 if kind == "quota" else 2)


async def test_a_call_ends_with_its_deadline(connect: Connect) -> None:
    client = connect(lambda request, n: failed(429, retry_after=40), deadline=100.0, attempts=50)
    error = await client.failure()
    assert (error.kind, client.waits) == ("rate_limit", [40.0, 40.0])
    assert error.attempts == Attempts(sent=3, limited=3)


async def test_a_server_that_never_answers_ends_with_the_deadline(connect: Connect) -> None:
    """Here time passes, as it is that of the attempts that counts."""
    client = connect(lambda request, n: said(request, "late", delay=60), timeout=0.3, deadline=0.5, attempts=50)
    loop = asyncio.get_running_loop()
    client.clock = loop.time
    began = loop.time()
    assert (await client.failure()).kind == "timeout"
    assert loop.time() - began < 5
    assert len(client.server.requests) <= 2


async def test_attempts_and_rate_limits_are_counted(connect: Connect) -> None:
    script = [failed(429, retry_after=1), failed(503), failed(429, retry_after=1)]
    client = connect(lambda request, n: script[n] if n < 3 else said(request, "Orla"))
    assert (await client.answer()).attempts == Attempts(sent=4, limited=2)
    assert (client.gate.retries, client.gate.limited) == (3, 2)


async def test_the_time_of_a_call_is_that_of_its_requests_alone(connect: Connect) -> None:
    now = 0.0

    def script(request: dict[str, Any], n: int) -> Response:
        nonlocal now
        now += 2.0  # each request takes so long, and each wait that of its Retry-After
        return failed(429, retry_after=30) if n == 0 else said(request, "Orla")

    client = connect(script)
    client.clock = lambda: now + sum(client.waits)
    assert (await client.answer()).seconds == 4.0
    assert client.clock() >= 34.0


async def test_the_tokens_of_replies_that_cannot_be_used_are_kept(connect: Connect) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 0, "total_tokens": 100}
    client = connect(lambda request, n: said(request, "Orla") if n > 1 else said(request, None, usage=usage))
    reply = await client.answer()
    assert reply.attempts == Attempts(sent=3, lost=Usage(prompt=200))
    refused = connect(lambda request, n: said(request, None, finish_reason="content_filter", usage=usage))
    assert (await refused.failure()).attempts == Attempts(sent=1, lost=Usage(prompt=100))


async def test_calls_of_one_provider_wait_for_each_other(connect: Connect) -> None:
    client = connect(lambda request, n: said(request, "Orla") if n else failed(429, retry_after=30))
    await asyncio.gather(*(client.answer() for _ in range(8)))
    assert client.gate.limited == 1
    assert client.gate.limit is not None
    assert client.gate.flying == 0


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, Usage(uncounted=1)),
        ({}, Usage(uncounted=1)),
        ({"prompt_tokens": 9, "completion_tokens": 0, "total_tokens": 9}, Usage(prompt=9, uncounted=1)),
        ({"prompt_tokens": -9, "completion_tokens": 10**30, "total_tokens": 9}, Usage(uncounted=1)),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 5,
                "total_tokens": 14,
                "prompt_tokens_details": {"cached_tokens": 20},
                "completion_tokens_details": {"reasoning_tokens": 6},
            },
            Usage(prompt=9, cached=9, completion=5, reasoning=5),
        ),
    ],
)
async def test_tokens_that_are_not_told_are_unknown_and_not_none(
    usage: dict[str, object], counted: Usage, connect: Connect
) -> None:
    client = connect(lambda request, n: replace(said(request, "Orla", usage=usage or {"none": 0})))
    assert (await client.answer()).usage == counted


@pytest.mark.parametrize("content", [None, ""])
async def test_a_reply_without_anything_in_it_is_tried_again(content: str | None, connect: Connect) -> None:
    client = connect(lambda request, n: said(request, "Orla") if n else said(request, content))
    assert (await client.answer()).text == "Orla"
    assert len(client.server.requests) == 2


async def test_a_model_that_says_nothing_is_not_a_fault(connect: Connect) -> None:
    usage = {"prompt_tokens": 40, "completion_tokens": 1, "total_tokens": 41}
    client = connect(lambda request, n: said(request, "", usage=usage))
    reply = await client.answer()
    assert (reply.text, reply.finish_reason, reply.usage) == ("", "stop", Usage(prompt=40, completion=1))
    capped = connect(lambda request, n: said(request, None, finish_reason="length"))
    assert (await capped.answer()).finish_reason == "length"


@pytest.mark.parametrize("model", ["openai/some-model", "minimax/some-model"])
@pytest.mark.parametrize("reason", ["error", "network_error", "abort"])
async def test_a_reply_that_the_provider_broke_off_is_not_taken_for_a_whole_one(
    reason: str, model: str, connect: Connect
) -> None:
    client = connect(
        lambda request, n: said(request, "Orla" if n else "Or", finish_reason="stop" if n else reason), model=model
    )
    assert (await client.answer()).text == "Orla"


async def test_a_body_that_is_cut_short_is_tried_again(connect: Connect) -> None:
    client = connect(lambda request, n: said(request, "Orla") if n else replace(said(request, "Orla"), cut=40))
    assert (await client.answer()).text == "Orla"
    assert len(client.server.requests) == 2


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize(
    "message", [None, {"role": "assistant", "content": ["a"]}, {"role": "assistant", "content": 5}, "text", []]
)
async def test_a_message_of_another_form_is_a_fault_in_one_line(message: object, connect: Connect) -> None:
    client = connect(lambda request, n: completion(request, [{"index": 0, "message": message}], {}), attempts=1)
    error = await client.failure()
    assert error.kind in ("server", "connection")
    assert "Traceback" not in str(error)
