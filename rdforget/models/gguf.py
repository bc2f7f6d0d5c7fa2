"""Language models in a GGUF file, run by llama.cpp in this process: no key, no server, no network.

One call at a time, in a thread of its own. Replies hang on nothing but the call, the file, the window and the machine's
arithmetic: not on what was asked before, and not on how calls are interleaved.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from rdforget.calls.base import Call, Reply
from rdforget.models.base import CallError
from rdforget.models.llama import Llama, Read, StoppedError
from rdforget.models.parameters import ModelConfig
from rdforget.records import Usage

LIBRARY = "llama-cpp-python"
INSTALL = "pip install 'rdforget[embedded]' (it compiles llama.cpp, which needs a C compiler)"
TIMEOUT = 900.0
"""Seconds for one call, without the wait for its turn: a window of 8,192 tokens takes minutes on a busy machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufConfig(ModelConfig):
    """A model in a file, and how much of it is used. `window` is always known here."""

    path: Path | None
    """None where the weights are not installed: such a model can be planned with, and not be asked."""
    sha256: str
    runtime: str | None
    """Version of the library; None where it is not installed."""
    threads: int | None = None
    """None: half of the processors."""

    @property
    def tokens(self) -> int:
        assert self.window is not None
        return self.window


def runtime() -> str | None:
    """The version of llama-cpp-python that is installed."""
    try:
        return version(LIBRARY) if find_spec("llama_cpp") else None
    except PackageNotFoundError:
        return None


def missing_runtime(config: GgufConfig) -> str | None:
    """What to tell a user who cannot ask the model yet."""
    if config.path and config.runtime:
        return None
    return f"Model {config.name} needs {LIBRARY if config.path else 'its weights'}: {INSTALL}."


class Gguf:
    """A backend for one model file, which is loaded at the first call."""

    def __init__(self, config: GgufConfig, *, load: Callable[[GgufConfig], Llama] | None = None) -> None:
        """`load` makes a model of a config; tests replace it."""
        self.name = config.name
        self.config = config
        self._load = load or _load
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix=config.name)
        self._model: Llama | None = None

    async def answer(self, call: Call) -> Reply:
        """The reply, or CallError; a call that is given up stops soon, and does not keep others waiting."""
        given_up = threading.Event()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._worker, self._reply, call, given_up)
        except asyncio.CancelledError:
            given_up.set()
            raise

    async def close(self) -> None:
        """Give back the model's memory; a later call loads it again."""
        await asyncio.get_running_loop().run_in_executor(self._worker, self._unload)

    def _reply(self, call: Call, given_up: threading.Event) -> Reply:
        began = time.monotonic()
        seed = int(call.key[:8], 16)  # for calls that sample: each its own, the same at every asking
        try:
            self._model = self._model or self._load(self.config)
            prompt = self._model.read(call.messages)
            self._check(prompt, call)
            written = self._model.write(
                prompt,
                call.max_output_tokens,
                call.schema,
                call.sampling,
                seed,
                lambda: given_up.is_set() or time.monotonic() > began + self.config.timeout,
            )
        except StoppedError:
            raise CallError("timeout", f"{self.name}: timeout: no reply within {self.config.timeout:g} s") from None
        except (ValueError, RuntimeError, OSError) as error:
            raise CallError("internal", f"{self.name}: internal: {' '.join(str(error).split())}") from error
        return Reply(
            text=written.text,
            finish_reason="stop" if written.ended else "length",
            usage=Usage(prompt=len(prompt.tokens), cached=written.cached, completion=written.tokens),
            model=self.config.model,
            params={**call.sampling, "max_tokens": call.max_output_tokens, "seed": seed}
            | ({"response_format": "json_schema"} if call.schema else {}),
            seconds=round(time.monotonic() - began, 3),
        )

    def _check(self, prompt: Read, call: Call) -> None:
        """CallError for what does not fit, before anything of it is read."""
        size, cap, window = len(prompt.tokens), call.max_output_tokens, self.config.tokens
        if size + cap > window:
            told = f"a prompt of {size:,} tokens and a reply of up to {cap:,} exceed the window of {window:,}"
            raise CallError("context", f"{self.name}: context: {told}")

    def _unload(self) -> None:
        if self._model:
            self._model.close()
        self._model = None


def _load(config: GgufConfig) -> Llama:
    if problem := missing_runtime(config):
        raise RuntimeError(problem)
    assert config.path is not None
    return Llama(config.path, config.tokens, config.threads)
