"""`rdf memory` as whole commands: every verb, what it prints, and what it says to mistakes."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Done
from tests.loopback import Response, said, serve

Memory = Callable[..., Done]
SLOT = "ines|lives in|"
SECRET = "hunter2-Zk9!x"
CHAT = f"Ines: I moved to Berlin last week.\nAssistant: Nice!\nInes: My password is {SECRET}.\n"
AT = ("--at", "2024-06-01T10:00:00+02:00")


@pytest.fixture
def memory(rdf: Callable[..., Done], monkeypatch: pytest.MonkeyPatch) -> Memory:
    """`memory("add", ...)`: `rdf memory` on the store `store`; stdin is `given`, and no terminal."""
    monkeypatch.setenv("RDF_STORE", "store")
    monkeypatch.setenv("RDF_ERASURE_KEY", "ab" * 32)

    def call(*args: object, given: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        done = rdf("memory", *args)
        assert "Traceback" not in done.out + done.err
        return done

    return call


def add(memory: Memory, text: str, *options: object, user: str = "ines") -> Any:
    return memory("add", text, "--user", user, "--json", *options).json


def moved(memory: Memory) -> tuple[str, str]:
    """Lyon, then Paris: the ids of both."""
    lyon = add(memory, "Ines lives in Lyon.", "--slot", SLOT, "--valid-from", "2023-01-01T00:00:00+01:00")
    paris = add(memory, "Ines lives in Paris.", "--slot", SLOT, "--valid-from", "2024-03-01T00:30:00+02:00")
    assert (lyon["outcome"], paris["outcome"], paris["other"]) == ("added", "superseded", lyon["id"])
    return lyon["id"], paris["id"]


def content(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_fact_that_changed_is_found_by_default_and_its_past_when_asked(memory: Memory) -> None:
    lyon, paris = moved(memory)
    [hit] = memory("search", "where does Ines live", "--user", "ines", "--json").json["hits"]
    assert hit["row"]["id"] == paris
    assert hit["score"] == pytest.approx((hit["relevance"] + hit["recency"] + hit["importance"]) / 3)
    assert len(memory("search", "Ines", "--user", "ines", "--historical", "--json").json["hits"]) == 2
    for moment, right in (("2024-02-29T22:30:00Z", paris), ("2024-02-29T22:29:59Z", lyon)):
        found = memory("search", "Ines", "--user", "ines", "--as-of", moment, "--no-touch", "--json").json["hits"]
        assert [hit["row"]["id"] for hit in found] == [right]
    by_slot = memory("history", "--user", "ines", "--slot", SLOT, "--json").json["versions"]
    assert [row["id"] for row in by_slot] == [lyon, paris]
    assert by_slot == memory("history", "--user", "ines", "--id", lyon, "--json").json["versions"]
    told = memory("history", "--user", "ines", "--slot", SLOT).out
    assert "2022-12-31 23:00  →  2024-02-29 22:30  Ines lives in Lyon." in told
    assert "2024-02-29 22:30  →  now" in told


def test_what_is_known_already_is_not_added_unless_forced(memory: Memory) -> None:
    first = add(memory, "Ines likes oat milk in her coffee every morning")
    assert add(memory, "ines  LIKES oat milk in her coffee every morning") == {
        "outcome": "duplicate",
        "id": first["id"],
        "other": None,
        "reason": "same text",
    }
    near = "Ines likes oat milk in her coffee every morning!"
    assert add(memory, near)["reason"] == "near duplicate"
    assert f"nothing added: near duplicate as {first['id']}" in memory("add", near, "--user", "ines").out
    assert add(memory, near, "--force")["outcome"] == "added"


def test_the_literal_rule_takes_another_number_for_the_same(memory: Memory) -> None:
    text = f"The rent of the flat {'in the old town by the river where the bees are ' * 4} is {{}} euros a month"
    add(memory, text.format(1250))
    assert add(memory, text.format(1251))["outcome"] == "added"
    assert add(memory, text.format(1252), "--literal")["reason"] == "near duplicate"


def test_details_are_kept(memory: Memory) -> None:
    options = ("--category", "episodic", "--importance", "0.9", "--source", "c7", "--metadata", '{"channel": "phone"}')
    add(memory, "She saw the dentist.", *options)
    [row] = memory("export", "--json").json["rows"]
    kept = (row["category"], row["importance"], row["source"], row["metadata"])
    assert kept == ("episodic", 0.9, "c7", {"channel": "phone"})
    found = memory("search", "dentist", "--user", "ines", "--category", "semantic", "--json").json["hits"]
    assert found == []


@pytest.mark.parametrize(
    ("args", "given"),
    [
        (["add", f"The password is {SECRET}"], b""),
        (["add", "-"], f"The password is {SECRET}\n".encode()),
        (["add", "fine", "--metadata", json.dumps({"password": SECRET})], b""),
        (["add", "fine", "--source", f"password: {SECRET}"], b""),
        (["chat", "-", "--id", "c1", *AT], CHAT.encode()),
    ],
)
def test_a_secret_is_refused_and_stands_nowhere(memory: Memory, tmp_path: Path, args: list[str], given: bytes) -> None:
    for json_too in ((), ("--json",)):
        done = memory(*args, "--user", "ines", *json_too, given=given)
        assert done.code == (0 if args[0] == "chat" else 3)
        assert "credential" in done.out
        assert SECRET not in done.out + done.err
    assert memory("stats", "--json").json["withheld"] == {"credential": 2}
    assert SECRET.encode() not in content(tmp_path / "store")


def test_a_chat_is_kept_and_deleting_it_leaves_its_memories(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "chat.txt").write_text(CHAT, "utf-8")
    told = memory("chat", "chat.txt", "--user", "ines", "--id", "c1", *AT)
    assert (told.code, told.out.count("Berlin")) == (0, 1)
    assert "1 added, 1 refused; chat c1 is kept" in told.out
    assert memory("delete-chat", "c1", "--user", "tom", "--json").json == {"deleted": False}
    assert memory("delete-chat", "c1", "--user", "ines", "--json").json == {"deleted": True}
    assert "has no chat c1" in memory("delete-chat", "c1", "--user", "ines").out
    [hit] = memory("search", "Berlin", "--user", "ines", "--json").json["hits"]
    assert hit["row"]["source"] == "c1"


def test_a_chat_of_json_lines_says_what_was_recalled(memory: Memory) -> None:
    turns = [
        {"speaker": "Assistant", "text": "You told me that you have moved to Berlin.", "recalled": True},
        {"speaker": "Ines", "text": "Yes.\u2028I have a dog called Max now."},
    ]
    lines = "\n".join(json.dumps(turn, ensure_ascii=False) for turn in turns)
    done = memory("chat", "-", "--user", "ines", "--id", "c2", *AT, given=lines.encode())
    assert "Max" in done.out
    assert "Berlin" not in done.out


def test_replies_of_a_language_model_are_kept_for_their_owner_and_erased_with_them(
    memory: Memory, tmp_path: Path
) -> None:
    found = {"text": "Ines lives in Berlin.", "subject": "Ines", "relation": "lives in", "scope": ""}
    found |= {"category": "semantic", "when": "", "importance": 5}

    def model(request: dict[str, Any], n: int) -> Response:
        return said(request, json.dumps({"memories": [found]}))

    with serve(model) as server:
        ask = ("--user", "ines", "--model", "openai/some-model", "--api-base", server.url, "--id", "c1", *AT)
        for store, where, asked in (
            ("one", (), 1),
            ("two", ("--cache", "mine.sqlite"), 2),
            ("three", ("--cache", "mine.sqlite"), 2),
            ("four", ("--no-cache",), 3),
        ):
            done = memory("chat", "-", *ask, *where, "--store", store, "--json", given=CHAT.encode())
            assert [each["outcome"] for each in done.json["decisions"]] == ["refused", "added"]
            assert len(server.requests) == asked
    assert SECRET not in json.dumps([request.json for request in server.requests])
    assert not (tmp_path / "four" / "replies.sqlite").exists()
    own = memory("erase", "ines", "--yes", "--store", "one", "--json")
    assert (own.code, own.json["state"], own.json["counts"]["replies"]) == (0, "done", 1)
    other = memory("erase", "ines", "--yes", "--store", "two", "--cache", "mine.sqlite", "--json")
    assert (other.code, other.json["counts"]["replies"]) == (0, 1)
    assert b"Berlin" not in content(tmp_path / "one") + (tmp_path / "mine.sqlite").read_bytes()


def test_yesterday_is_that_of_the_zone_of_the_chat(memory: Memory) -> None:
    given = b"Ines: I moved to Berlin yesterday.\n"
    memory("chat", "-", "--user", "ines", "--id", "c", "--at", "2024-06-02T00:30:00+02:00", given=given)
    [row] = memory("export", "--json").json["rows"]
    assert row["valid_from"] == "2024-05-31T22:00:00+00:00"  # the first of June, where it was the second


def test_a_model_that_does_not_answer_stores_nothing(memory: Memory) -> None:
    add(memory, "Ines likes tea.")
    ask = ("--model", "openai/some-model", "--api-base", "http://127.0.0.1:9/v1", "--id", "c1", *AT)
    done = memory("chat", "-", "--user", "ines", *ask, given=CHAT.encode())
    assert done.code == 4
    assert "openai/some-model did not answer" in done.err
    assert SECRET not in done.err
    assert not memory("delete-chat", "c1", "--user", "ines", "--json").json["deleted"]


def test_nothing_expires_before_it_is_told_to(memory: Memory, tmp_path: Path) -> None:
    old = [add(memory, text, "--category", "episodic")["id"] for text in ("She saw the sea.", "She saw a whale.")]
    add(memory, "She likes the sea.")
    with closing(sqlite3.connect(tmp_path / "store" / "memory.sqlite")) as db, db:
        db.execute("UPDATE rows SET last_accessed = last_accessed - 91 * 86400 * 1000000")
    dry = memory("expire", "--json").json
    assert (dry["applied"], dry["rows"], sorted(dry["ids"])) == (False, 2, sorted(old))
    assert "2 episodes not accessed for more than 90 days would go into cold storage: --apply" in memory("expire").out
    assert memory("expire", "--user", "tom", "--apply", "--json").json["rows"] == 0
    assert "2 episodes" in memory("expire", "--user", "ines", "--apply").out
    rows = memory("stats", "--user", "ines", "--json").json["rows"]
    assert (rows["episodic"]["cold"], rows["semantic"]["open"]) == (2, 1)


def test_erasing_one_leaves_the_other_as_she_was(memory: Memory, tmp_path: Path) -> None:
    moved(memory)
    add(memory, "Anna lives in Ghent.", user="ines anna")
    before = memory("export", "--user", "ines anna").out
    done = memory("erase", "ines", "--yes")
    assert done.code == 0
    assert done.out.startswith("ines: done\nerased: rows 2, ")
    assert "searched: " in done.out
    assert "proof: " in done.out
    assert "does not reach backups" in done.out
    assert memory("export", "--user", "ines anna").out == before
    assert b"Lyon" not in content(tmp_path / "store")
    assert memory("verify").out.endswith("store is sound\n")
    again = memory("erase", "ines", "--yes")
    assert (again.code, again.out.splitlines()[0]) == (0, "ines: 0 rows, there was nothing to erase")


def test_erasing_some_memories_leaves_the_rest(memory: Memory) -> None:
    lyon, paris = moved(memory)
    done = memory("erase", "ines", "--memories", lyon, "--memories", "nosuch", "--yes", "--json").json
    assert (done["state"], done["counts"]["rows"]) == ("done", 1)
    assert [row["id"] for row in memory("export", "--json").json["rows"]] == [paris]


def test_a_copy_elsewhere_is_found_and_an_erasure_waits_for_readers(memory: Memory, tmp_path: Path) -> None:
    moved(memory)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "app.log").write_text("read: Ines lives in Paris.\n", "utf-8")
    with closing(sqlite3.connect(tmp_path / "store" / "memory.sqlite", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM rows").fetchone()
        waiting = memory("erase", "ines", "--yes", "--also", "logs")
    assert waiting.code == 3
    assert waiting.out.startswith("ines: pending: ")
    assert "app.log" in waiting.out
    assert memory("verify").code == 0
    left = memory("erase", "ines", "--yes", "--also", "logs", "--json")
    assert (left.code, left.json["state"]) == (0, "nothing")  # what it was is no longer known

    moved(memory)
    left = memory("erase", "ines", "--yes", "--also", "logs")
    assert left.code == 3
    assert "erased, but files hold something of it still" in left.out


@pytest.mark.parametrize(("answer", "code", "rows"), [("y", 0, 0), ("n", 2, 2), ("", 130, 2)])
def test_on_a_terminal_it_asks_first(
    memory: Memory,
    rdf: Callable[..., Done],
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    code: int,
    rows: int,
) -> None:
    moved(memory)
    without = memory("erase", "ines")
    assert (without.code, "--yes" in without.err) == (2, True)
    monkeypatch.setattr(sys, "stdin", typed := io.StringIO(answer and f"{answer}\n"))
    monkeypatch.setattr(typed, "isatty", lambda: True, raising=False)
    done = rdf("memory", "erase", "ines")
    assert done.code == code
    assert "all 2 memories of ines" in done.err
    assert len(memory("export", "--json").json["rows"]) == rows


def test_the_key_of_proofs_is_kept_outside_and_for_its_owner_alone(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RDF_ERASURE_KEY")
    moved(memory)
    assert memory("erase", "ines", "--yes", "--key-file", "keys/mine").code == 0
    key = tmp_path / "keys" / "mine"
    made = key.read_text("ascii")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    moved(memory)
    assert memory("erase", "ines", "--yes", "--key-file", "keys/mine").code == 0
    assert key.read_text("ascii") == made
    assert made.strip().encode() not in content(tmp_path / "store")
    inside = memory("erase", "ines", "--yes", "--key-file", "store/key")
    assert (inside.code, "lies in the store" in inside.err) == (2, True)
    monkeypatch.setenv("RDF_ERASURE_KEY", "correct horse")
    wrong = memory("erase", "ines", "--yes")
    assert (wrong.code, "RDF_ERASURE_KEY" in wrong.err, "horse" in wrong.err) == (2, True, False)


def test_memories_go_out_and_come_back_as_they_were(memory: Memory, tmp_path: Path) -> None:
    moved(memory)
    add(memory, "猫が好き", user="太郎")
    out = memory("export").out
    assert len(out.splitlines()) == 3
    assert memory("export", "--out", "all.jsonl", "--json").json == {"rows": 3, "file": "all.jsonl"}
    assert stat.S_IMODE((tmp_path / "all.jsonl").stat().st_mode) == 0o600
    assert memory("import", "all.jsonl", "--store", "other").out == "3 added\n"
    assert memory("export", "--store", "other").out == out
    known = memory("import", "-", "--store", "other", "--json", given=out.encode())
    assert [each["outcome"] for each in known.json["decisions"]] == ["duplicate"] * 3
    foreign = memory("import", "all.jsonl", "--user", "太郎", "--store", "third")
    assert (foreign.code, "line 1: " in foreign.err) == (2, True)
    assert memory("export", "--store", "third").out == ""
    assert memory("import", "-", "--store", "third").out == "no memories in it\n"


def test_an_import_leaves_secrets_out(memory: Memory, tmp_path: Path) -> None:
    moved(memory)
    line = memory("export").out.splitlines()[1].replace("Ines lives in Paris.", f"The password is {SECRET}")
    done = memory("import", "-", "--store", "other", given=line.encode())
    assert (done.code, done.out) == (3, "1 refused\n")
    assert SECRET.encode() not in content(tmp_path / "other")


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ("{}\n", "line 1: it must be an object"),
        ("[1]\nnonsense\n", "line 2 is not JSON"),
        ("{row}\n\n{row}\n", "line 2 is not JSON"),
        ('{row}\n{"id": 1}\n', "line 2: "),
        ("{naive}\n", "line 1: "),
    ],
)
def test_an_import_names_the_line_and_takes_nothing(memory: Memory, lines: str, named: str) -> None:
    moved(memory)
    row = memory("export").out.splitlines()[0]
    given = lines.replace("{row}", row).replace("{naive}", row.replace("+00:00", ""))
    done = memory("import", "-", "--store", "other", given=given.encode())
    assert done.code == 2
    assert named in done.err
    assert memory("export", "--store", "other").out == ""


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["add", "x"], "--user"),
        (["add", "x", "--user", ""], "'' is no user id"),
        (["add", "x", "--user", "*"], "'*' is no user id"),
        (["add", "x", "--user", "a\nb"], "control character"),
        (["add", "x", "--user", "a\udcff"], "half a character"),
        (["add", "  ", "--user", "u"], "blank"),
        (["add", "x\udcff", "--user", "u"], "surrogate"),
        (["add", "x", "--user", "u", "--valid-from", "yesterday"], "'yesterday' is no time"),
        (["add", "x", "--user", "u", "--valid-from", "2024-03-01 00:30"], "has no zone"),
        (["add", "x", "--user", "u", "--category", "semantics"], "semantic, episodic, procedural"),
        (["add", "x", "--user", "u", "--importance", "1.5"], "not between 0 and 1"),
        (["add", "x", "--user", "u", "--importance", "nan"], "not between 0 and 1"),
        (["add", "x", "--user", "u", "--metadata", "{"], "--metadata is not JSON"),
        (["add", "x", "--user", "u", "--metadata", "[1]"], "--metadata is not an object"),
        (["add", "x", "--user", "u", "--metadata", '{"a": NaN}'], "metadata"),
        (["add", "x", "--user", "u", "--slot", "lives in"], "subject|relation|scope"),
        (["add", "x", "--user", "u", "--source", "a\udcff"], "source"),
        (["add", "x", "--user", "u", "--vectors", "hashish"], "hashing"),
        (["search", " ", "--user", "u"], "blank"),
        (["search", "x", "--user", "u", "--as-of", "2024-03-01"], "has no zone"),
        (["search", "x", "--user", "u", "--top", "0"], "--top"),
        (["search", "x", "--user", "u", "--category", "all"], "semantic, episodic, procedural"),
        (["history", "--user", "u"], "give one of the two"),
        (["history", "--user", "u", "--slot", "x"], "subject|relation|scope"),
        (["history", "--user", "u", "--id", "a\udcff"], "half of a character"),
        (["delete-chat", "a\udcff", "--user", "u"], "half of a character"),
        (["chat", "nowhere.txt", "--user", "u", "--id", "c", *AT], "nowhere.txt cannot be read"),
        (["chat", ".", "--user", "u", "--id", "c", *AT], "cannot be read"),
        (["chat", "-", "--user", "u", "--id", "c", *AT], "the chat is empty"),
        (["chat", "-", "--user", "u", "--id", "c", "--at", "noon"], "'noon' is no time"),
        (["chat", "-", "--user", "u", "--id", "c", *AT, "--model", "lunar"], "the chat is empty"),
        (["export", "--user", "*"], "'*' is no user id"),
        (["export", "--out", "nowhere/all.jsonl"], "cannot be written"),
        (["export", "--out", "taken.txt"], "taken.txt exists"),
        (["import", "nowhere.jsonl"], "nowhere.jsonl cannot be read"),
        (["erase", "*", "--yes"], "'*' is no user id"),
        (["erase", "u", "--yes", "--also", "nowhere"], "nowhere cannot be searched"),
        (["erase", "u", "--yes", "--cache", "nowhere"], "there is no cache nowhere"),
        (["stats", "--user", "*"], "'*' is no user id"),
        (["serve"], "--user ID"),
        (["serve", "--user", "u", "--any-user"], "--user ID"),
        (["forget"], "forget"),
    ],
)
def test_a_mistake_is_one_sentence_and_changes_nothing(
    memory: Memory, tmp_path: Path, args: list[str], named: str
) -> None:
    add(memory, "one memory", user="u")
    (tmp_path / "taken.txt").write_text("", "utf-8")
    before = memory("export").out
    done = memory(*args)
    assert done.code == 2
    assert named in done.err
    assert done.err.count("\n") == 1
    assert memory("export").out == before
    assert {path.name for path in tmp_path.iterdir()} == {"store", "taken.txt"}


@pytest.mark.parametrize(
    ("chat", "named"),
    [
        ("and then?\n", "line 1 of the chat says not who speaks"),
        ('{"speaker": "Ines", "text": "hi"}\nIch\n', "line 2 of the chat is no turn"),
        ('{"speaker": "Ines"}\n', "line 1 of the chat is no turn"),
        ('{"speaker": "Ines", "text": 3}\n', "line 1 of the chat has a field of the wrong type"),
        ("\xff", "not UTF-8"),
    ],
)
def test_a_chat_that_cannot_be_read_names_its_line(memory: Memory, chat: str, named: str) -> None:
    done = memory("chat", "-", "--user", "u", "--id", "c", *AT, given=chat.encode("latin-1"))
    assert done.code == 2
    assert named in done.err


@pytest.mark.parametrize(
    "args",
    [
        ["search", "x", "--user", "u"],
        ["history", "--user", "u", "--slot", SLOT],
        ["expire"],
        ["stats"],
        ["verify"],
        ["export"],
        ["delete-chat", "c", "--user", "u"],
        ["erase", "u", "--yes"],
    ],
)
def test_a_store_that_is_not_there_is_not_made(memory: Memory, tmp_path: Path, args: list[str]) -> None:
    done = memory(*args, "--json")
    assert (done.code, done.json["exit_code"]) == (2, 2)
    assert "there is no memory store in store" in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["all", "head", "middle", "cut", "empty"])
def test_a_damaged_file_is_said_to_be_damaged(memory: Memory, tmp_path: Path, damage: str) -> None:
    for number in range(40):
        add(memory, f"memory number {number} about topic {number * 7919}", "--force")
    path = tmp_path / "store" / "memory.sqlite"
    whole = path.read_bytes()
    noise = bytes(range(256)) * (len(whole) // 256)
    path.write_bytes(
        {
            "all": noise,
            "head": noise[:100] + whole[100:],
            "middle": whole[:4096] + noise[4096:],
            "cut": whole[: len(whole) // 2],
            "empty": b"",
        }[damage]
    )
    verified = memory("verify", "--json")
    assert (verified.code, verified.json["sound"]) == (3, False)
    assert verified.json["problems"]
    assert memory("verify").code == 3
    for args in (
        ["search", "topic", "--user", "ines"],
        ["stats"],
        ["export"],
        ["erase", "ines", "--yes"],
    ):
        done = memory(*args)
        assert done.code in ((2, 4) if damage != "cut" else (0, 2, 3, 4)), (args, done)
        assert done.code in (0, 3) or "store" in done.err


def test_text_of_others_is_shown_and_not_obeyed(memory: Memory) -> None:
    evil = "Ines \x1b[31mis\u202e red [bold]and[/bold] :smile:"
    add(memory, evil)
    for args in (["search", "red", "--user", "ines"], ["history", "--user", "ines", "--id", "x"], ["stats"]):
        shown = memory(*args).out
        assert "\x1b" not in shown
        assert "\u202e" not in shown
    assert r"\x1b[31mis\u202e red [bold]and[/bold] :smile:" in memory("search", "red", "--user", "ines").out
    [hit] = memory("search", "red", "--user", "ines", "--json").json["hits"]
    assert hit["row"]["text"] == evil
    assert memory("export").out.isascii()


@pytest.mark.parametrize("user", ["a%", "a_n", "o'neil", "ann", "anna", "アン", "-x"])
def test_a_user_is_matched_exactly(memory: Memory, user: str) -> None:
    others = {"a%", "a_n", "o'neil", "ann", "anna", "アン", "-x"} - {user}
    for each in (*others, user):
        memory("add", f"This one is {each} and likes tea", f"--user={each}")
    [hit] = memory("search", "tea", f"--user={user}", "--top", "9", "--json").json["hits"]
    assert hit["row"]["user"] == user
    assert memory("erase", "--yes", "--", user).code == 0
    assert {row["user"] for row in memory("export", "--json").json["rows"]} == others


def test_the_store_of_the_user_is_the_default(memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RDF_STORE")
    monkeypatch.setattr("runners.stores.user_data_path", lambda name: tmp_path / name)
    add(memory, "Ines likes tea.")
    folder = tmp_path / "rdforget" / "memory"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert memory("stats", "--json").json["store"] == str(folder)


def test_simulate_is_one_of_the_verbs(memory: Memory) -> None:
    assert memory("simulate", "--seeds", "2", "--json").json


def test_help_needs_neither_numpy_nor_sqlite(tmp_path: Path) -> None:
    code = (
        "import sys, runners.cli as c\n"
        "try: c.main()\n"
        "except SystemExit: print(sorted({'numpy', 'sqlite3', 'mcp'} & set(sys.modules)))"
    )
    for args in (["--help"], ["memory", "--help"], ["memory", "erase", "--help"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *args], cwd=tmp_path, env={**os.environ}, capture_output=True, text=True
        )
        assert done.stdout.endswith("[]\n"), done
