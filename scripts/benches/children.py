"""The processes that a figure of is taken from inside: `python -m scripts.benches.children NAME ...` prints JSON."""

from __future__ import annotations

import json
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rdforget.calls.base import Call, Reply
from rdforget.records import Entry, Query, Record, Status
from rdforget.suites.registry import load_suite
from rdforget.tokens import count_tokens
from rdforget.view.chunk import chunks
from rdforget.view.pack import pack
from rdforget.view.rank import collect, rank
from runners.console import Silent
from runners.engine import Before, RunSpec, begin, execute, prepare
from runners.journal import Journal, read_records, read_replies

MODEL = "openai/scripted"
"""Any litellm string: the run takes the way of a paid model."""
_WORDS = "city works speaks lives founded plays owns married author river north old second chief quiet blue".split()  # noqa: SIM905


def replies(suite: str, questions: str, out: str, said: str) -> dict[str, Any]:
    """What the rules reader says to every call of a run, and the calls' messages by question."""
    run = prepare(RunSpec(suite, judge="rules", limit=int(questions)), None)
    asked: dict[str, list[Call]] = {}

    class Noting:
        name = "rules"

        async def answer(self, call: Call) -> Reply:
            asked.setdefault(call.inputs.query.id, []).append(call)  # type: ignore[attr-defined]
            return await run.backend.answer(call)

        async def close(self) -> None: ...

    with tempfile.TemporaryDirectory() as name:
        noting = Noting()
        execute(replace(run, backend=noting, judge=noting), Path(name), workers=1, watcher=Silent())
        found = {key: reply.text for key, reply in read_replies(Path(name)).items()}
        answers = {record.query.id: record.gold.answers for record in read_records(Path(name))}
    with sqlite3.connect(out) as db:
        db.execute("CREATE TABLE replies (key TEXT PRIMARY KEY, text TEXT NOT NULL)")
        db.executemany("INSERT INTO replies VALUES (?, ?)", found.items())
    db.close()
    first = next(iter(asked.values()))[0].messages[-1]
    source = first.content[: first.shared]
    items = []
    for id, calls in asked.items():
        texts = [[message.content for message in call.messages] for call in calls]
        assert texts[0][-1].startswith(source)  # one history: kept once
        texts[0][-1] = texts[0][-1][len(source) :]
        items.append({"id": id, "answers": answers[id], "calls": texts})
    Path(said).write_text(json.dumps({"source": source, "items": items}), "utf-8")
    return {"items": len(items), "calls": len(found), "source_tokens": count_tokens(source)}


def ranking(entries: str) -> dict[str, Any]:
    """Ranking, collecting and packing of entries that were never seen before, and for another question after it."""
    rng = random.Random(0)
    made = tuple(
        Entry(
            f"m{number}",
            f"{number}. {_name(rng)} {' '.join(rng.sample(_WORDS, 4))} the {_name(rng)} of {_name(rng)}.",
            Status.SUPERSEDED if number % 3 == 0 else Status.ACTIVE,
        )
        for number in range(int(entries))
    )
    count_tokens("")  # the vocabulary, which a run has loaded
    seconds = []
    for text in ("Which city does the author of the old river live in?", "Who is the second chief of the blue north?"):
        began = time.perf_counter()
        candidates = collect(rank(made, Query("q", "bench", text)), 10_000)
        view = pack(candidates, 2_048)
        middle = time.perf_counter()
        whole = pack(rank(made, Query("q", "bench", text)), 2_048)
        seconds += [middle - began, time.perf_counter() - middle]
        assert view.tokens <= 2_048
        assert whole.tokens <= 2_048
    return dict(zip(("first", "first_whole", "next", "next_whole"), seconds, strict=True))


def _name(rng: random.Random) -> str:
    return "".join(rng.choice(("ba", "de", "fi", "go", "hu", "ka", "le", "mi")) for _ in range(3)).title()


def journal(suite: str, records: str, folder: str) -> dict[str, Any]:
    """A run folder with so many records, those of a real run over and over, and their replies."""
    run = prepare(RunSpec(suite, judge="rules"), None)
    with tempfile.TemporaryDirectory() as name:
        execute(run, Path(name), workers=8, watcher=Silent())
        found: list[Record] = list(read_records(Path(name)))
        texts = [(key, reply) for key, reply in read_replies(Path(name)).items()]
    target = Path(folder)
    target.mkdir()
    begin(run, target, 8)
    with Journal(target) as kept:
        for number in range(int(records)):
            kept.add_record(number, found[number % len(found)], 0.1)
            for part in range(4):
                key, reply = texts[(4 * number + part) % len(texts)]
                kept.add_reply(_Keyed(f"{key}{number}"), reply)  # type: ignore[arg-type]
    return {"records": int(records)}


class _Keyed:
    """As much of a call as a journal keeps."""

    role = "any"

    def __init__(self, key: str) -> None:
        self.key = key


def resume(folder: str) -> dict[str, Any]:
    began = time.perf_counter()
    before = Before.of(Path(folder))
    took = time.perf_counter() - began
    return {"seconds": took, "completed": len(before.completed), "replies": len(before.replies)}


def history(suite: str) -> dict[str, Any]:
    """A long history, counted twice: once for its chunks, and once more as a run would."""
    [found] = {task.history.id: task.history for task in load_suite(suite, None).tasks()}.values()
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        made = chunks(found.observations, 8_000)
        seconds.append(time.perf_counter() - began)
    tokens = sum(count_tokens(seen.text) for seen in found.observations)
    return {
        "tokens": tokens,
        "observations": len(found.observations),
        "chunks": len(made),
        "first": seconds[0],
        "again": seconds[1],
    }


NAMES: dict[str, Callable[..., dict[str, Any]]] = {
    "replies": replies,
    "ranking": ranking,
    "journal": journal,
    "resume": resume,
    "history": history,
}

if __name__ == "__main__":
    print(json.dumps(NAMES[sys.argv[1]](*sys.argv[2:])))
