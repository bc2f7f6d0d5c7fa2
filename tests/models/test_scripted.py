"""The scripted backend."""

from __future__ import annotations

import pytest

from rdforget.calls.base import Call, Message, Reply
from rdforget.models.base import CallError
from rdforget.models.scripted import Scripted

CALL = Call("answer", None, (Message("user", "Where does Ines work?"),), None, 256)


async def test_a_text_is_a_finished_reply() -> None:
    reply = await Scripted(lambda call: call.role).answer(CALL)
    assert (reply.text, reply.finish_reason, reply.model) == ("answer", "stop", "scripted")


async def test_a_reply_is_passed_on_as_it_is() -> None:
    scripted = Reply("", finish_reason="length")
    assert await Scripted(lambda call: scripted).answer(CALL) is scripted


async def test_an_exception_is_raised() -> None:
    with pytest.raises(CallError, match="too many"):
        await Scripted(lambda call: CallError("rate_limit", "too many")).answer(CALL)
