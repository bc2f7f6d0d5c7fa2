"""The cache of replies: what is one request, who may ask, and what is never kept."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Container, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rdforget.calls.base import Call, Message, Reply
from rdforget.models.base import CallError
from rdforget.models.scripted import Scripted
from runners.backends import semantic
from runners.cache import LAPSE, Entry, ReplyCache, identity, key_of, whole
from runners.cached import Cached
from runners.errors import UserError
from runners.halt import Halt
from runners.holders import has_ended, new_holder

MODEL = {"model": "openai/a", "api_base": None, "parameters": {"extra": {}}}
CALL = Call("answer", None, (Message("user", "Where is Orla?"),), None, 256)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ReplyCache]:
    store = ReplyCache(tmp_path / "cache" / "replies.sqlite")
    yield store
    store.close()


class Model:
    """A model behind a cache, with the calls that reached it."""

    def __init__(
        self,
        cache: ReplyCache,
        settings: dict[str, Any],
        said: Reply | str | Exception = "Metz",
        anew: Container[str] = (),
    ) -> None:
        self.asked: list[Call] = []
        self.said = said
        self.halt = Halt()
        self.cached = Cached(Scripted(self._answer), settings, cache, self.halt, anew=anew, sleep=self._sleep)
        self.slept = 0

    def _answer(self, call: Call) -> Reply | str | Exception:
        self.asked.append(call)
        return self.said

    async def _sleep(self, seconds: float) -> None:
        self.slept += 1
        await asyncio.sleep(0)

    async def ask(self, call: Call) -> Reply:
        reply = await self.cached.answer(call)
        self.cached.keep(call, reply)
        return reply


def test_all_that_shapes_a_reply_is_in_the_key_and_nothing_else(cache: ReplyCache) -> None:
    hot, unset, longer = (
        replace(CALL, sampling={"temperature": 0.7}),
        replace(CALL, sampling={}),
        replace(CALL, max_output_tokens=4_096),
    )
    same = {"parameters": {"extra": {}}, "api_base": None, "model": "openai/a"}
    requests = [
        (MODEL, CALL),
        (MODEL, hot),
        (MODEL, unset),
        (MODEL, longer),
        (MODEL | {"model": "openai/b"}, CALL),
        (MODEL | {"api_base": "http://elsewhere/v1"}, CALL),
        (MODEL | {"parameters": {"extra": {"x": 1}}}, CALL),
        (same, replace(CALL, sampling=dict(CALL.sampling))),
    ]
    models = [(Model(cache, settings), call) for settings, call in requests]
    replies = [asyncio.run(model.ask(call)) for model, call in models]
    assert [len(model.asked) for model, _ in models] == [1] * 7 + [0]
    assert [reply.source for reply in replies] == ["asked"] * 7 + ["cache"]
    assert sum(count for _, _, count in cache.counts()) == 7
    assert len({key_of(settings, call.key) for settings, call in requests}) == 7


def test_the_order_of_fields_and_how_a_model_is_called_make_no_other_key() -> None:
    from rdforget.models.parameters import ModelConfig

    one = ModelConfig("a", "openai/a", key_env="ONE", timeout=1.0, attempts=1)
    other = ModelConfig("b", "openai/a", key_env="OTHER", timeout=9.0, attempts=9)
    assert identity(semantic(one)) == identity(semantic(other))
    two_fields = replace(CALL, sampling={"temperature": 0.0, "top_p": 0.9})
    turned = replace(CALL, sampling={"top_p": 0.9, "temperature": 0.0})
    assert key_of({"a": 1, "b": 2}, two_fields.key) == key_of({"b": 2, "a": 1}, turned.key)


def test_repeats_are_entries_of_their_own(cache: ReplyCache) -> None:
    model = Model(cache, MODEL)
    for _ in range(2):
        for repeat in range(5):
            asyncio.run(model.ask(replace(CALL, repeat=repeat)))
    assert len(model.asked) == 5
    assert sum(count for _, _, count in cache.counts()) == 5


@pytest.mark.parametrize(
    "said",
    [
        Reply("", "stop"),
        Reply("  \n", "stop"),
        Reply('{"active": [', "length"),
        Reply("I cannot", "content_filter"),
        CallError("refused", "withheld"),
        CallError("timeout", "no reply"),
    ],
)
def test_what_is_no_whole_reply_is_asked_for_again(cache: ReplyCache, said: Reply | Exception) -> None:
    model = Model(cache, MODEL, said)
    for _ in range(2):
        if isinstance(said, Exception):
            with pytest.raises(CallError):
                asyncio.run(model.ask(CALL))
        else:
            assert asyncio.run(model.ask(CALL)) == said
    assert len(model.asked) == 2
    assert (cache.counts(), cache.claimed()) == ([], 0)


def test_what_nothing_could_be_made_of_is_asked_anew_and_kept_instead(cache: ReplyCache) -> None:
    asyncio.run(Model(cache, MODEL, "?").ask(CALL))
    again, later = Model(cache, MODEL, "Metz", anew={CALL.key}), Model(cache, MODEL, "Lyon")
    assert asyncio.run(again.ask(CALL)).source == "asked"
    assert asyncio.run(later.ask(CALL)).text == "Metz"
    assert later.asked == []


def test_equal_calls_at_once_are_asked_once(cache: ReplyCache) -> None:
    model = Model(cache, MODEL)

    async def together() -> list[Reply]:
        return await asyncio.gather(*(model.ask(CALL) for _ in range(20)))

    replies = asyncio.run(together())
    assert len(model.asked) == 1
    assert sorted(reply.source for reply in replies) == ["asked", *["cache"] * 19]
    assert {reply.text for reply in replies} == {"Metz"}


def test_another_process_waits_for_the_reply_of_the_one_that_asks(cache: ReplyCache) -> None:
    other = ReplyCache(cache.path)
    key = key_of(MODEL, CALL.key)
    assert other.claim(key)
    model = Model(cache, MODEL)

    async def wait() -> Reply:
        waiting = asyncio.ensure_future(model.ask(CALL))
        while model.slept < 3:
            await asyncio.sleep(0)
        other.keep(Entry(MODEL, CALL.key, "answer", Reply("Nancy")))
        return await waiting

    assert asyncio.run(wait()).text == "Nancy"
    assert model.asked == []
    other.close()


@pytest.mark.parametrize("end", ["released", "closed", "lapsed", "renewed"])
def test_a_claim_ends_with_its_holder_or_its_time(tmp_path: Path, end: str) -> None:
    now = 1_000.0
    one = ReplyCache(tmp_path / "c", clock=lambda: now)
    other = ReplyCache(tmp_path / "c", clock=lambda: now)
    assert one.claim("k")
    assert not other.claim("k")
    if end == "released":
        one.release("k")
    elif end == "closed":
        one.close()
    else:
        now += LAPSE - 1
        if end == "renewed":
            one.renew()
        now += 2
    assert other.claim("k") is (end != "renewed")


def test_the_claim_of_a_killed_process_is_free_at_once(cache: ReplyCache) -> None:
    code = (
        "import os, sys, signal; from pathlib import Path; from runners.cache import ReplyCache; "
        "assert ReplyCache(Path(sys.argv[1])).claim('k'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(cache.path)], cwd=Path(__file__).parents[2])
    assert process.wait() == -9
    assert cache.claimed() == 0
    assert cache.claim("k")


def test_a_holder_has_ended_when_its_number_is_that_of_another_process() -> None:
    mine = new_holder()
    place, pid, start, random = mine.split(" ")
    assert not has_ended(mine)
    if start != "-":
        assert has_ended(f"{place} {pid} {int(start) + 1} {random}")
    assert not has_ended(f"elsewhere {pid} 1 {random}")  # nothing is known of it: time decides


def test_replies_of_an_owner_can_be_erased_from_the_file_itself(cache: ReplyCache) -> None:
    secret = "Ines lives at 12 Orla Street"
    cache.add([Entry(MODEL, f"call{n}", "extract", Reply(f"{secret} {n}"), "ines") for n in range(40)])
    cache.keep(Entry(MODEL, "other", "extract", Reply("Finch is in Nancy"), "finch"))
    cache.keep(Entry(MODEL, "nobody's", "extract", Reply("Metz")))
    assert cache.forget("ines") == 40
    assert cache.forget("ines") == 0
    held = b"".join(path.read_bytes() for path in cache.path.parent.iterdir())
    assert secret.encode() not in held
    assert b"Finch is in Nancy" in held
    assert sum(count for _, _, count in cache.counts()) == 2


def test_a_damaged_a_newer_and_another_kind_of_file_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "damaged").write_bytes(b"SQLite format 3\0" + b"\xff" * 4_000)
    (tmp_path / "text").write_text("not a database at all, but long enough to be read as one " * 4, "utf-8")
    ReplyCache(tmp_path / "newer").close()
    with sqlite3.connect(tmp_path / "newer") as db:
        db.execute("PRAGMA user_version = 9")
    db.close()
    with sqlite3.connect(tmp_path / "journal") as db:
        db.execute("CREATE TABLE records (a)")
    db.close()
    (tmp_path / "folder").mkdir()
    for name, told in {
        "damaged": "cannot be used",
        "text": "cannot be used",
        "newer": "has version 9 and this rdf reads 1",
        "journal": "another kind of database",
        "folder": "cannot be used",
        "text/cache": "cannot hold a cache",
    }.items():
        with pytest.raises(UserError, match=told) as error:
            ReplyCache(tmp_path / name)
        assert str(tmp_path / name).partition("/cache")[0] in str(error.value)


def test_a_cache_that_breaks_while_it_is_used_halts_the_run(cache: ReplyCache) -> None:
    model = Model(cache, MODEL)
    with sqlite3.connect(cache.path) as db:
        db.execute("DROP TABLE replies")
    db.close()
    with pytest.raises(CallError) as error:
        asyncio.run(model.ask(CALL))
    assert error.value.kind == "stopped"
    assert model.halt.reason is not None
    assert "--no-cache" in str(model.halt.reason)
    assert model.asked == []


def test_many_processes_open_and_write_one_new_file_without_a_lock_error(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from rdforget.calls.base import Reply; "
        "from runners.cache import Entry, ReplyCache\n"
        "print('ready', flush=True); sys.stdin.readline(); cache = ReplyCache(Path(sys.argv[1])); won = 0\n"
        "for n in range(200):\n"
        "    entry = Entry({'model': 'm'}, str(n), 'answer', Reply('x'))\n"
        "    if cache.claim(entry.key): cache.keep(entry); won += 1\n"
        "cache.close(); print(won)"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "c")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    won = [int(process.communicate(timeout=60)[0]) for process in processes]
    assert sum(won) == 200


def test_whole_replies_are_those_that_ended_by_themselves() -> None:
    assert whole(Reply("x"))
    assert not whole(Reply("x", "length"))
