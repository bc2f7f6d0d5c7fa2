"""Erasing: what goes, what stays, what the files still hold, and what is written down about it."""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rdforget.store import Candidate, Category, MemoryStore, StoreError, erasing, proofs
from rdforget.store.checking import problems
from rdforget.store.erasing import Erasure, State, erase, finish_pending
from rdforget.store.records import Outcome
from rdforget.store.scanning import ScanError
from rdforget.store.schema import connect, writing
from tests.store.clocks import SetClock

KEY = b"kept elsewhere"


@pytest.fixture
def db(store: MemoryStore) -> Iterator[sqlite3.Connection]:
    """Another connection to the file of `store`."""
    with closing(connect(store.folder)) as db:
        yield db


def keep_chat(db: sqlite3.Connection, user: str, chat: str, *texts: str) -> None:
    turns = json.dumps([{"speaker": user, "text": text} for text in texts])
    db.execute("INSERT INTO chats (user, id, recorded_at, turns) VALUES (?, ?, 0, ?)", (user, chat, turns))


def fill(store: MemoryStore, db: sqlite3.Connection, user: str, memories: int = 3) -> None:
    for number in range(memories):
        store.add(user, f"{user} walks {number} miles", source=f"{user}'s chat", metadata={"mood": f"{user} is well"})
    keep_chat(db, user, f"{user}'s chat", f"{user} walks a lot")


def bytes_of(*folders: Path) -> bytes:
    return b"".join(path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file())


def records(db: sqlite3.Connection) -> list[dict[str, Any]]:
    return [json.loads(content) for (content,) in db.execute("SELECT content FROM erasures ORDER BY number")]


def test_everything_of_one_user_goes_and_is_counted(
    store: MemoryStore, db: sqlite3.Connection, clock: SetClock
) -> None:
    home = "ines|lives in|"
    for user in ("ines", "tom"):
        store.add(user, "Lives in Lyon.", slot=home)
        store.add(user, "Lives in Paris.", slot=home)
        clock.forward(hours=1)
        store.add(user, "Lives in Paris.", slot=home)
        store.add(user, "my password is hunter2-hunter2")
        store.add(user, "Went to the fair.", category=Category.EPISODIC)
        keep_chat(db, user, "c1", "We went to the fair.")
    db.execute("UPDATE rows SET status = 'DEPRECATED', closed_at = 0 WHERE category = 'episodic'")
    db.execute("DELETE FROM vectors WHERE seq IN (SELECT seq FROM rows WHERE status = 'DEPRECATED')")
    toms = list(store.export("tom")), store.stats("tom").decisions
    erasure = store.erase("ines")
    assert erasure.counts == {
        "rows": 3,
        "vectors": 2,
        "terms": 3,
        "restated": 1,
        "chats": 1,
        "withheld": 1,
        "decisions": 4,
        "users": 1,
    }
    assert erasure.state is State.DONE
    assert erasure.files >= 1
    assert erasure.bytes > 0
    assert (list(store.export("tom")), store.stats("tom").decisions) == toms
    assert list(store.rows("ines", open_only=False)) == []
    assert store.search("ines", "Paris") == []
    assert store.verify() == []


def test_no_table_is_left_out(store: MemoryStore, db: sqlite3.Connection) -> None:
    fill(store, db, "ines")
    counted = {*store.erase("ines").counts} | {"erasures", "counters", "settings"}
    tables = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'").fetchall()
    assert {name for (name,) in tables if not name.startswith("terms_")} == counted


def test_a_user_who_comes_back_is_a_new_one(store: MemoryStore, db: sqlite3.Connection) -> None:
    store.add("ines", "Likes tea.")
    before = db.execute("SELECT key, version FROM users").fetchone()
    store.erase("ines")
    assert store.add("ines", "Likes tea.").outcome is Outcome.ADDED
    assert all(
        new > old for new, old in zip(db.execute("SELECT key, version FROM users").fetchone(), before, strict=True)
    )


@pytest.mark.parametrize("user", ["nobody", "INES", "ine", "ines%", "ine_"])
def test_zero_rows_are_no_success(user: str, store: MemoryStore, db: sqlite3.Connection) -> None:
    fill(store, db, "ines")
    erasure = store.erase(user)
    assert (erasure.state, sum(erasure.counts.values()), erasure.id) == (State.NOTHING, 0, None)
    assert len(list(store.rows("ines"))) == 3
    assert records(db) == []


@pytest.mark.parametrize("user", ["", " ", "*", None])
def test_no_user_is_never_all_of_them(user: Any, store: MemoryStore, db: sqlite3.Connection, clock: SetClock) -> None:
    fill(store, db, "ines")
    with pytest.raises(StoreError):
        erase(db, store.folder, user, clock=clock)
    assert len(list(store.rows("ines"))) == 3


def test_a_folder_that_is_not_there_is_told_before_anything_is_erased(store: MemoryStore, tmp_path: Path) -> None:
    store.add("ines", "Likes tea.")
    with pytest.raises(StoreError, match="no such file or folder"):
        store.erase("ines", also=[tmp_path / "runs"])
    assert len(list(store.rows("ines"))) == 1


def mark(user: int) -> str:
    """A word that only this user's strings hold, in the letters of two alphabets."""
    tens, ones = divmod(user, 10)
    return f"QZX{chr(65 + tens)}{chr(65 + ones)}ξω{chr(945 + tens)}{chr(945 + ones)}"


def canary(user: int, row: int) -> Candidate:
    """A row with the user's mark in every field; every tenth text is longer than a page."""
    word = f"{mark(user)}{row:02d}"
    return Candidate(
        f"text {word} {mark(user)} " * (100 if row % 10 == 9 else 1),
        slot=f"subject {word}|relation {word}|{word}" if row % 4 else None,
        category=Category.EPISODIC if row % 3 == 0 else Category.SEMANTIC,
        source=f"chat {word}",
        metadata={f"key {word}": [f"value {word}"]},
    )


def test_of_fifty_users_one_goes_without_a_byte_and_the_others_stay_as_they_are(
    open_store: Callable[..., MemoryStore], clock: SetClock
) -> None:
    """A thousand rows, with supersession, cold rows, chats, refusals, touches and imports."""
    first, store = open_store("first"), open_store("store")
    users = {f"{mark(number)}-id": number for number in range(50)}
    gone = f"{mark(20)}-id"
    with closing(connect(store.folder)) as db:
        for user, number in users.items():
            target = first if number % 5 == 0 else store
            rows = [canary(number, row) for row in range(17)]
            target.add_many(user, rows, force=True)
            target.add_many(user, [replace(row, text=f"then {row.text}") for row in rows[1:4]], force=True)
            target.add(user, f"my password is {mark(number)}-{mark(number)}")
            if target is first:
                store.import_rows(user, first.export(user))
            keep_chat(db, user, f"chat {mark(number)}", *[f"turn {mark(number)} {n}" for n in range(50)])
        clock.forward(days=40)
        for user, number in users.items():
            assert store.search(user, mark(number))
        clock.forward(days=60)
        assert store.expire().rows > 50
        assert db.execute("SELECT count(*) FROM rows").fetchone() == (1000,)
        others = [user for user in users if user != gone]
        vectors_of = "SELECT rows.id, vector FROM rows JOIN vectors USING (seq) WHERE user {} ? ORDER BY rows.id"
        hers = [vector for _, vector in db.execute(vectors_of.format("="), (gone,))]
        exported = {user: list(store.export(user)) for user in others}
        vectors = db.execute(vectors_of.format("<>"), (gone,)).fetchall()

        erasure = store.erase(gone)

        assert (erasure.state, erasure.leftovers, erasure.counts["rows"]) == (State.DONE, {}, 20)
        data = bytes_of(store.folder)
        upper, greek = mark(20)[:5].encode(), mark(20)[5:]
        sought = [upper, upper.lower(), greek.encode(), greek.encode().hex().encode(), json.dumps(greek)[1:-1].encode()]
        assert [word for word in [*sought, *hers] if word in data] == []
        assert {user: list(store.export(user)) for user in others} == exported
        assert db.execute(vectors_of.format("<>"), (gone,)).fetchall() == vectors
    for user in others:
        assert store.search(user, mark(users[user]), historical=True)
    assert store.verify() == []


def test_a_reader_of_an_earlier_state_makes_it_wait(store: MemoryStore, db: sqlite3.Connection) -> None:
    fill(store, db, "ines")
    with closing(connect(store.folder)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM rows").fetchone()
        erasure = store.erase("ines")
        assert erasure.state is State.PENDING
        assert {Path(path).name for path in erasure.leftovers} >= {"memory.sqlite-wal"}
        assert list(store.rows("ines")) == []
        [sentence] = store.verify()
        assert "is pending" in sentence
        assert reader.execute("SELECT count(*) FROM rows").fetchone() == (3,)
        reader.execute("ROLLBACK")
    assert store.verify() == []
    first, second = records(db)
    assert (first["state"], second["state"], second["completes"]) == ("pending", "done", first["id"])
    assert b"walks" not in bytes_of(store.folder)


def test_the_next_erasure_finishes_one_that_waited(store: MemoryStore, db: sqlite3.Connection) -> None:
    fill(store, db, "ines")
    fill(store, db, "tom")
    reading = db.execute("SELECT text FROM rows")
    reading.fetchone()
    assert store.erase("ines").state is State.PENDING
    reading.close()
    assert store.erase("tom").state is State.DONE
    assert [record["state"] for record in records(db)] == ["pending", "pending", "done", "done"]
    assert problems(store.folder) == []


def test_a_row_that_the_own_connection_is_reading_makes_it_wait(
    store: MemoryStore, db: sqlite3.Connection, clock: SetClock
) -> None:
    fill(store, db, "ines")
    fill(store, db, "tom")
    reading = db.execute("SELECT text FROM rows WHERE user = 'tom'")
    reading.fetchone()
    assert erase(db, store.folder, "ines", clock=clock).state is State.PENDING
    assert finish_pending(db, clock=clock) == 0
    assert len(reading.fetchall()) == 2
    assert finish_pending(db, clock=clock) == 1


def test_files_that_could_not_be_searched_leave_it_pending(
    store: MemoryStore, db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_scan(*_: object) -> None:
        raise ScanError("no process")

    fill(store, db, "ines")
    monkeypatch.setattr(erasing, "scan", no_scan)
    erasure = store.erase("ines")
    assert (erasure.state, erasure.files) == (State.PENDING, 0)
    assert store.verify() == []


def test_a_crash_before_the_scrub_is_finished_later(
    store: MemoryStore, db: sqlite3.Connection, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    fill(store, db, "ines")
    with monkeypatch.context() as patch:
        patch.setattr(erasing, "scrubbed", crash)
        with pytest.raises(KeyboardInterrupt):
            store.erase("ines")
    assert [record["state"] for record in records(db)] == ["pending"]
    assert finish_pending(db, clock=clock) == 1
    assert finish_pending(db, clock=clock) == 0
    assert [record["state"] for record in records(db)] == ["pending", "done"]
    assert b"walks" not in bytes_of(store.folder)


def test_text_that_something_else_left_in_a_freed_page_is_found_and_written_over(
    store: MemoryStore, db: sqlite3.Connection
) -> None:
    row = "INSERT INTO chats VALUES ('ines', ?, 0, ?)"
    fill(store, db, "ines")
    db.execute("PRAGMA secure_delete=OFF")
    with writing(db):
        db.executemany(row, [(f"chat {n}", json.dumps(["Ines has a canary"])) for n in range(100)])
    db.execute("DELETE FROM chats WHERE id <> 'chat 0'")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert bytes_of(store.folder).count(b"Ines has a canary") > 1
    erasure = store.erase("ines")
    assert (erasure.state, erasure.leftovers) == (State.DONE, {})
    assert b"Ines has a canary" not in bytes_of(store.folder)


@pytest.mark.parametrize(("user", "rewrites"), [("ann", 1), ("ann-of-lyon", 0)])
def test_the_file_is_written_anew_for_an_id_too_short_to_be_searched_for(
    user: str, rewrites: int, store: MemoryStore, db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    times: list[int] = []
    rewrite = erasing.rewritten
    monkeypatch.setattr(erasing, "rewritten", lambda db: times.append(1) or rewrite(db))
    fill(store, db, user)
    assert store.erase(user).state is State.DONE
    assert len(times) == rewrites


@pytest.mark.parametrize(
    "content",
    [
        "ines walks 1 miles",
        '{"text": "ines walks 2 miles"}',
        "erased rows of ines today",
        '{"owner": "ines"}',
        "ines walks 0 miles".encode("utf-16-le").decode("latin-1"),
    ],
)
@pytest.mark.parametrize("place", ["runs/a/journal.log", "store/notes.txt"])
def test_files_that_are_not_the_stores_own_are_named(
    content: str, place: str, store: MemoryStore, db: sqlite3.Connection, tmp_path: Path
) -> None:
    fill(store, db, "ines")
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="latin-1")
    (path.parent / "harmless").write_text("Vines walk and routines go on for miles.")
    erasure = store.erase("ines", also=[tmp_path / "runs"] if place.startswith("runs") else [])
    assert (erasure.state, [*erasure.leftovers]) == (State.LEFT, [str(path)])
    assert [record["state"] for record in records(db)] == ["pending", "left"]
    assert store.verify() == []


def test_text_is_found_as_json_writes_it(store: MemoryStore, tmp_path: Path) -> None:
    store.add("ines", 'Zoë says "猫が好き"\nand more')
    (tmp_path / "log").write_text(json.dumps({"text": 'Zoë says "猫が好き"\nand more'}))
    assert [*store.erase("ines", also=[tmp_path / "log"]).leftovers] == [str(tmp_path / "log")]


def test_what_a_living_row_holds_is_no_leftover(store: MemoryStore, db: sqlite3.Connection) -> None:
    phrase = "The meeting about the restaurant is every Monday morning."
    for user in ("user1", "user10", "a user1"):
        store.add(user, phrase, slot=f"{user}|meets|", source="session-1", metadata={"language": "Norwegian"})
        store.add(user, f"{phrase} And {user} likes the restaurants there, whatever they may serve.")
        keep_chat(db, user, "session-1", phrase)
    erasure = store.erase("user1")
    assert (erasure.state, erasure.leftovers) == (State.DONE, {})
    assert len(list(store.rows("user10"))) == 2
    # The same id where it is not part of another one is found.
    (store.folder / "log").write_text("user10, a user1, user1")
    store.add("user1", phrase)
    assert store.erase("user1").leftovers == {str(store.folder / "log"): 1}


def test_a_proof_names_nobody_and_says_nothing(open_store: Callable[..., MemoryStore]) -> None:
    store = open_store(proof_key=KEY)
    with closing(connect(store.folder)) as db:
        fill(store, db, "ines-user")
        erasure = store.erase("ines-user")
        (*_, content, chain) = db.execute("SELECT * FROM erasures ORDER BY number DESC").fetchone()
        assert (erasure.id, erasure.chain) == (json.loads(content)["id"], chain)
        said = json.loads(content)
        assert said["user"] == hmac.new(KEY, b"ines-user", hashlib.sha256).hexdigest()
        assert said["counts"] == erasure.counts
        assert said["search"] == {"files": erasure.files, "bytes": erasure.bytes, "unread": 0, "with_leftovers": 0}
        every = json.dumps(db.execute("SELECT * FROM erasures").fetchall())
        assert "ines" not in every
        assert "walks" not in every


def test_without_a_key_a_proof_says_that_it_names_nobody(store: MemoryStore, db: sqlite3.Connection) -> None:
    fill(store, db, "ines")
    store.erase("ines")
    assert [record["user"] for record in records(db)] == [None, None]
    assert proofs.keyed(b"", "ines") is None


TAMPERINGS = (
    """UPDATE erasures SET content = replace(content, '"rows": 3', '"rows": 2') WHERE number = 2""",
    "UPDATE erasures SET state = 'done' WHERE number = 1",
    "UPDATE erasures SET at = at + 1 WHERE number = 3",
    "UPDATE erasures SET content = '{}' WHERE number = 4",
    "DELETE FROM erasures WHERE number = 1",
    "DELETE FROM erasures WHERE number = 2",
    "DELETE FROM erasures WHERE number = 4",
    "DELETE FROM erasures",
)


def test_tampering_with_proofs_is_found(store: MemoryStore, db: sqlite3.Connection) -> None:
    for user in ("ines", "tom"):
        fill(store, db, user)
        store.erase(user)
    assert list(proofs.breaks(db)) == []
    for tampering in TAMPERINGS:
        db.execute("BEGIN")
        assert db.execute(tampering).rowcount > 0
        assert list(proofs.breaks(db)), tampering
        db.execute("ROLLBACK")


def test_caches_forget_too_and_are_counted(store: MemoryStore, db: sqlite3.Connection, clock: SetClock) -> None:
    asked: list[str] = []

    def forget(owner: str) -> int:
        asked.append(owner)
        return 2 if owner == "ines" else 0

    def ask(user: str) -> Erasure:
        return erase(db, store.folder, user, clock=clock, forgetters=[forget, forget])

    fill(store, db, "ines")
    erasure = ask(" ines ")
    assert (erasure.state, erasure.counts["replies"], asked) == (State.DONE, 4, ["ines", "ines"])
    assert records(db)[-1]["counts"]["replies"] == 4
    again = ask("ines")  # the store has nothing, the caches have
    assert (again.state, again.counts) == (State.DONE, {"replies": 4})
    assert ask("tom").state is State.NOTHING


def test_rows_are_erased_by_id_and_nothing_opens_again(store: MemoryStore, db: sqlite3.Connection) -> None:
    home = "ines|lives in|"
    lyon, paris, rome = (store.add("ines", f"Lives in {city}.", slot=home).id for city in ("Lyon", "Paris", "Rome"))
    tea = store.add("ines", "Likes tea from the far mountains.").id
    other = store.add("tom", "Likes tea.").id
    assert lyon
    assert paris
    assert rome
    assert tea
    assert other
    erasure = store.erase_rows("ines", [paris, tea, other, "nothing"])
    assert (erasure.state, erasure.counts) == (State.DONE, {"rows": 2, "vectors": 2, "terms": 2, "restated": 0})
    assert [(row.id, row.superseded_by) for row in store.rows("ines", open_only=False)] == [(lyon, None), (rome, None)]
    assert len(list(store.rows("tom"))) == 1
    assert store.erase_rows("ines", [rome]).counts["rows"] == 1
    assert list(store.rows("ines")) == []
    assert store.search("ines", "tea mountains Rome", historical=True)[0].row.id == lyon
    assert b"mountains" not in bytes_of(store.folder)
    assert store.verify() == []


def test_many_rows_go_at_once(store: MemoryStore) -> None:
    store.add_many("ines", [Candidate(f"The number of day {n} is {n * n}.") for n in range(1_200)], force=True)
    erasure = store.erase("ines")
    assert (erasure.state, erasure.counts["rows"], erasure.counts["terms"]) == (State.DONE, 1_200, 1_200)
    assert store.verify() == []


@pytest.mark.parametrize("ids", [[], ["nothing"]])
@pytest.mark.parametrize("user", ["ines", "nobody"])
def test_no_rows_are_no_success(user: str, ids: list[str], store: MemoryStore) -> None:
    store.add("ines", "Likes tea.")
    assert store.erase_rows(user, ids).state is State.NOTHING


def test_a_chat_goes_and_its_memories_stay(store: MemoryStore, db: sqlite3.Connection) -> None:
    for user in ("ines", "tom"):
        fill(store, db, user)
    assert store.delete_chat("ines", "ines's chat")
    assert not store.delete_chat("ines", "ines's chat")
    assert not store.delete_chat("ines", "tom's chat")
    assert db.execute("SELECT user FROM chats").fetchall() == [("tom",)]
    assert [row.source for row in store.rows("ines")] == ["ines's chat"] * 3
    assert b"ines walks a lot" not in bytes_of(store.folder)
