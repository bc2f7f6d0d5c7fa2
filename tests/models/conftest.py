"""Fixtures for tests of the litellm backend."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from rdforget.models.litellm_client import LiteLLM
from rdforget.models.parameters import ModelConfig
from tests.loopback import Script, serve
from tests.models.client import CONFIG, KEY, Client, Connect


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPBACK_KEY", KEY)


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Starts a server with a script and gives a client of it; both end with the test."""
    with ExitStack() as servers:

        def start(script: Script, config: ModelConfig = CONFIG, **changes: Any) -> Client:
            return Client(servers.enter_context(serve(script)), replace(config, **changes))

        yield start
        await LiteLLM(CONFIG).close()
