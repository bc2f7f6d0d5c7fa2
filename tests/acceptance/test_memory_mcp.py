"""The MCP server over stdio, as an agent's client meets it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

SECRET = "hunter2-Zk9!x"
TOOLS = {
    "memory_add",
    "memory_chat",
    "memory_delete_chat",
    "memory_erase",
    "memory_expire",
    "memory_history",
    "memory_search",
    "memory_stats",
}


@asynccontextmanager
async def serving(folder: Path, *options: str) -> AsyncIterator[Client]:
    """A client of `rdf memory serve`, whose stderr goes to the file `errors`."""
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "runners", "memory", "serve", "--store", str(folder / "store"), *options],
        env={"RDF_ERASURE_KEY": "ab" * 32},
        cwd=folder,
    )
    with (folder / "errors").open("a", encoding="utf-8") as errors:
        async with Client(stdio_client(started, errlog=errors)) as client:
            yield client


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """What a tool returns, a list by itself."""
    done = await client.call_tool(tool, arguments)
    assert not done.is_error, done.content
    assert done.structured_content is not None
    return done.structured_content.get("result", done.structured_content)


async def mistake(client: Client, tool: str, **arguments: Any) -> str:
    done = await client.call_tool(tool, arguments)
    assert done.is_error
    return str(done.content[0].text)


async def test_an_agent_adds_searches_and_erases(tmp_path: Path) -> None:
    async with serving(tmp_path, "--user", "ines") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == TOOLS
        assert all(tool.description and tool.output_schema for tool in tools.values())
        assert not any("user" in tool.input_schema["properties"] for tool in tools.values())
        assert [name for name, tool in tools.items() if tool.annotations and tool.annotations.destructive_hint] == [
            "memory_delete_chat",
            "memory_erase",
        ]
        slot = "ines|lives in|"
        lyon = await call(client, "memory_add", text="Ines lives in Lyon.", slot=slot, valid_from="2023-01-01T00:00Z")
        paris = await call(client, "memory_add", text="Ines lives in Paris.", slot=slot)
        assert (paris["outcome"], paris["other"]) == ("superseded", lyon["id"])
        [found] = await call(client, "memory_search", query="Where does Ines live?")
        assert (found["memory"]["id"], found["memory"]["state"]) == (paris["id"], "ACTIVE")
        [past] = await call(client, "memory_search", query="Ines", as_of="2023-06-01T00:00:00Z")
        assert past["memory"]["text"] == "Ines lives in Lyon."
        assert [row["id"] for row in await call(client, "memory_history", slot=slot)] == [lyon["id"], paris["id"]]

        turns = [{"speaker": "Ines", "text": "I have a dog called Max."}, {"speaker": "Ines", "text": f"PIN {SECRET}"}]
        await call(client, "memory_chat", id="c1", at="2024-06-01T10:00:00+02:00", turns=turns)
        assert await call(client, "memory_delete_chat", id="c1") is True
        assert await call(client, "memory_expire") == {"rows": 0, "ids": []}
        assert (await call(client, "memory_stats"))["memories"]["semantic"]["closed"] == 1

        assert "nothing was erased" in await mistake(client, "memory_erase", confirm="yes")
        some = await call(client, "memory_erase", confirm="ines", ids=[lyon["id"]])
        assert (some["state"], some["counts"]["rows"]) == ("done", 1)
        every = await call(client, "memory_erase", confirm="ines")
        assert (every["state"], every["leftovers"]) == ("done", {})
        assert await call(client, "memory_search", query="Ines") == []
    assert b"Paris" not in (tmp_path / "store" / "memory.sqlite").read_bytes()
    assert (tmp_path / "errors").read_text("utf-8") == ""


async def test_mistakes_are_sentences_and_secrets_stand_nowhere(tmp_path: Path) -> None:
    async with serving(tmp_path, "--user", "ines") as client:
        refused = await call(client, "memory_add", text=f"The password is {SECRET}")
        assert (refused["outcome"], refused["reason"], refused["id"]) == ("refused", "credential", None)
        assert "has no zone" in await mistake(client, "memory_add", text="x", valid_from="2024-03-01")
        assert "subject|relation|scope" in await mistake(client, "memory_add", text="x", slot="lives in")
        assert "blank" in await mistake(client, "memory_search", query=" ")
        assert "user" in await mistake(client, "memory_search", query="x", user="tom")
        assert "importance" in await mistake(client, "memory_add", text=SECRET, importance=7)
        assert "give one of the two" in await mistake(client, "memory_history")
    assert SECRET not in (tmp_path / "errors").read_text("utf-8")
    assert all(SECRET.encode() not in path.read_bytes() for path in (tmp_path / "store").iterdir())


async def test_only_a_server_for_any_user_takes_one(tmp_path: Path) -> None:
    async with serving(tmp_path, "--any-user") as client:
        for user in ("ines", "tom"):
            await call(client, "memory_add", user=user, text=f"This is {user}, who likes tea.")
        [found] = await call(client, "memory_search", user="tom", query="tea")
        assert found["memory"]["text"] == "This is tom, who likes tea."
        assert "user" in await mistake(client, "memory_search", query="tea")
        assert "'*' is no user id" in await mistake(client, "memory_search", user="*", query="tea")
        assert "nothing was erased" in await mistake(client, "memory_erase", user="tom", confirm="ines")
        assert (await call(client, "memory_erase", user="tom", confirm="tom"))["counts"]["rows"] == 1
        assert len(await call(client, "memory_search", user="ines", query="tea")) == 1


@pytest.mark.parametrize("missing", ["mcp", "mcp.server"])
def test_without_the_package_it_says_how_to_get_it(tmp_path: Path, missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; from runners.cli import main; main()"
    command = [sys.executable, "-c", code, "memory", "serve", "--user", "ines", "--store", "store"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "rdf: `rdf memory serve` needs a package: pip install 'rdforget[mcp]'\n"
    assert list(tmp_path.iterdir()) == []
