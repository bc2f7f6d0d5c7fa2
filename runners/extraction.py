"""Who reads the chats that a memory store is given."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from rdforget.calls.base import Call, Caller, Reply
from rdforget.models.base import CallError
from runners.backends import make_backend, model_config, semantic
from runners.cache import Entry, ReplyCache, identity, key_of, whole
from runners.config import RulesConfig
from runners.errors import Exit, UserError


@asynccontextmanager
async def remembering(model: str, api_base: str | None, owner: str, cache: Path | None) -> AsyncIterator[Caller]:
    """What a chat is read with: a model, and before it a cache of what it said about the owner's chats.

    The rules reader needs none. UserError before any work for a model that is not ready, and for a call that fails.
    """
    backend, config = make_backend(model, api_base), model_config(model, api_base)
    try:
        if isinstance(config, RulesConfig) or cache is None:
            yield backend.answer
            return
        settings = identity(semantic(config))
        with closing(ReplyCache(cache)) as replies:

            async def answer(call: Call) -> Reply:
                if known := replies.find(key_of(settings, call.key)):
                    return known
                reply = await backend.answer(call)
                if whole(reply):
                    replies.keep(Entry(settings, call.key, call.role, reply, owner))
                return reply

            yield answer
    except CallError as error:
        raise UserError(f"model {model} did not answer ({error.kind}): {error}", Exit.ABORTED) from error
    finally:
        await backend.close()
