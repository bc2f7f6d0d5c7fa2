"""The model of the extra `embedded` through the whole path: here, behind its own server, and from its recording.

Without the extra only the recording is tried; `RDF_REQUIRE_EMBEDDED=1` makes its absence a failure.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest

from rdforget.item import Builds, Desk, Ledger, run_item
from rdforget.models import embedded
from rdforget.models.base import Backend
from rdforget.models.litellm_client import LiteLLM
from rdforget.models.parameters import ModelConfig
from runners import manifest
from runners.backends import model_config
from runners.engine import RunSpec, prepare
from runners.journal import read_records
from runners.recordings import recording, shipped
from tests.acceptance.conftest import Done

Rdf = Callable[..., Done]
TINY = "synthetic-fc:facts=14,questions=2,seed=1"
LONGEST_START = 60.0


@pytest.fixture
def weights() -> Path:
    """The weights of the extra, which is installed whole."""
    found = embedded.weights_file() if find_spec("llama_cpp") else None
    if found:
        return found
    reason = "the extra `embedded` is not installed"
    if os.environ.get("RDF_REQUIRE_EMBEDDED") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.mark.timeout(600)
def test_a_run_with_the_model_that_installs_like_a_package(rdf: Rdf, weights: Path) -> None:
    done = rdf("run", "--suite", TINY, "--model", "embedded", "--json")
    records = list(read_records(Path(done.json["run_dir"])))
    assert (done.code, len(records)) == (0, 2)
    assert all(record.completed and record.answer and record.answer.text for record in records)
    assert {call.role for record in records for call in record.calls} == {"curate", "select", "answer"}
    assert all(0 < call.usage.completion <= 256 for record in records for call in record.calls)
    # The second question reads on where the first one's history ends.
    [first, second] = [call.usage for record in records for call in record.calls if call.role == "curate"]
    assert min(first.cached, second.cached) == 0 < max(first.cached, second.cached)
    assert max(first.cached, second.cached) > 0.9 * first.prompt
    assert any("cut to the window of 8,192 tokens of embedded" in note for note in done.json["notes"])
    assert done.json["costs"]["usd_at_least"] == 0
    assert all(stage["seconds"] > 0 for stage in done.json["costs"]["stages"])
    protocol = manifest.read(Path(done.json["run_dir"]))["settings"]["protocol"]
    assert (protocol["curate_cap"], protocol["supersession"]) == (256, "order")


@pytest.fixture
def server(weights: Path) -> Iterator[str]:
    """llama-cpp-python's own server over the same weights, in blocks of the same size; its base address."""
    if not find_spec("uvicorn") or not find_spec("starlette_context"):
        pytest.skip("llama-cpp-python[server] is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"model": weights, "port": port, "n_ctx": 4_096, "n_batch": 64, "n_ubatch": 64, "logits_all": "false"}
    options |= {"n_threads": 1, "n_threads_batch": 1}  # more would wait for each other where other tests run
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "llama_cpp.server", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url, pause = f"http://127.0.0.1:{port}/v1", threading.Event()
    try:
        until = time.monotonic() + LONGEST_START
        while not _is_up(url):
            assert process.poll() is None
            assert time.monotonic() < until
            pause.wait(0.1)
        yield url
    finally:
        process.kill()
        process.wait()


def _is_up(url: str) -> bool:
    try:
        return httpx.get(f"{url}/models", timeout=1.0).is_success
    except httpx.HTTPError:
        return False


@pytest.mark.timeout(600)
def test_the_same_weights_behind_a_server_give_the_same_answers(server: str) -> None:
    """In one process and over HTTP, through litellm: every reply of a run is the same at temperature 0."""
    run = prepare(RunSpec(TINY, model="embedded", limit=1), None)
    config = model_config("llama-cpp-python/smollm2", server)
    assert isinstance(config, ModelConfig)

    def replies(backend: Backend) -> list[tuple[str, str, str]]:
        said: list[tuple[str, str, str]] = []
        desk = Desk(lambda call, reply: said.append((call.key, reply.text, reply.finish_reason)), lambda *_: None)
        builds = Builds(run.setup, backend, desk)

        async def ask() -> None:
            for task in itertools.islice(run.suite.tasks(), run.total):
                ledger = Ledger(backend, desk)
                record = await run_item(task, run.setup, ledger, ledger, builds)
                assert not record.failure
            await backend.close()

        asyncio.run(ask())
        return said

    here = replies(run.backend)
    assert len(here) == 3
    assert replies(LiteLLM(replace(config, attempts=1))) == here


@pytest.mark.parametrize("name", sorted(shipped()))
def test_a_shipped_recording_ends_in_the_records_of_its_run(rdf: Rdf, name: str) -> None:
    """Where this fails, requests have changed since it was made: results/embedded.md says how to make it anew."""
    head = recording(f"replay:{name}").head
    done = rdf("run", "--model", f"replay:{name}", "--max-error-rate", 1, "--json")
    folder = Path(done.json["run_dir"])
    count = len(head["records"])
    assert f"replay: {count} of {count} questions have the same record as in the run {head['id']}" in done.json["notes"]
    assert len(list(read_records(folder))) == count
    assert manifest.read(folder)["settings"]["model"]["replay_of"] == head["settings"]["model"]
    assert done.json["costs"]["usd_at_least"] == 0
    assert shipped()[name].stat().st_size < 300_000


def test_there_is_a_recording_of_the_embedded_model() -> None:
    assert "embedded" in shipped()
    assert recording("replay:embedded").head["settings"]["model"]["sha256"] == embedded.SHA256
