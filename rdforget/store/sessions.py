"""A chat that has ended: what must not be kept of it is taken out, the rest is kept, and memories are found in it.

Before a model, a file or a log sees anything, turns that the store refuses are blanked. What came from the memory in
the first place is not extracted again: turns that the host marks as recalled, and sentences that are stored word for
word. Which memories are stored is up to the write path, which refuses and compares once more.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rdforget.calls.base import Caller
from rdforget.calls.memorize import ASSISTANTS, MemorizeInputs, Proposed, build, parse
from rdforget.calls.units import Asker, Units, halves
from rdforget.dates import parse_date
from rdforget.reader.sentences import sentences
from rdforget.records import Observation
from rdforget.store.identity import slot_key, text_key
from rdforget.store.index import Index
from rdforget.store.records import Candidate, Category, StoreError
from rdforget.store.refusal import Refusal, refusal
from rdforget.store.times import aware, micros
from rdforget.store.vectors import Vectors
from rdforget.text import fold, one_line
from rdforget.view.chunk import chunks

CHUNK_TOKENS = 1_500
"""Of a chat shown to the model at once: the memories of so much fit its output cap."""
_SPLITS, _RETRIES = 2, 1
_BACKWARD = re.compile(
    r"\b(?:that|it|just|said|told|mentioned|wrote|asked|typed|last|previous|earlier|before)\b|gesagt|geschrieben|\bdas\b"
    r"|\bdit\b|\bdije\b|\beso\b|detto|disse|isso|\bzei\b|сказал|говорил|это|说|說|話|こと"
)
"""In a request not to remember: it means something said before."""
_SHORT = 12
"""Words of a request that says nothing else; those of an answer such as "hunter2" are fewer."""
_ANSWER = 4
_EDGES = " \t.!?…。！？:,;"
_BULLET = re.compile(r"^\s*(?:[-*•–]|\d{1,3}[.)])\s+")


@dataclass(frozen=True, slots=True)
class Turn:
    speaker: str
    text: str
    recalled: bool = False
    """Whether it repeats what the memory gave; it is kept with the chat, and nothing is extracted from it."""


@dataclass(frozen=True, slots=True)
class Session:
    """A chat that has ended."""

    id: str
    at: datetime
    """When it took place, with a zone: "yesterday" is counted from it, in that zone."""
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Gathered:
    """What is found in a chat."""

    session: Session
    """As it may be kept."""
    withheld: tuple[Refusal, ...]
    """One for each turn that is blanked."""
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """What extraction reads of a store."""

    db: sqlite3.Connection
    index: Index
    vectors: Vectors
    shown: int
    """Most similar rows that the model is shown."""

    def has(self, user: str, text: str, *, closed: bool) -> bool:
        """Whether the text is an open row of the user, or with `closed` any row, full stops aside."""
        bare = _BULLET.sub("", text).strip(_EDGES)
        try:
            keys = [text_key(bare + end) for end in ("", ".", "!")]
        except StoreError:  # nothing is said
            return False
        state = "" if closed else "AND status = 'ACTIVE'"
        sql = f"SELECT 1 FROM rows WHERE user = ? AND hash IN (?, ?, ?) {state} LIMIT 1"
        return self.db.execute(sql, (user, *keys)).fetchone() is not None

    def near(self, user: str, texts: Sequence[str]) -> tuple[str, ...]:
        """Texts of the open rows that are nearest to any of the texts, nearest first."""
        best: dict[int, float] = {}
        for vector in self.vectors.embed(texts):
            for seq, cosine in self.index.nearest(self.db, user, vector, self.shown, open_only=True):
                best[seq] = max(cosine, best.get(seq, -1.0))
        nearest = sorted(best, key=lambda seq: (-best[seq], seq))[: self.shown]
        sql = "SELECT text FROM rows WHERE user = ? AND seq = ?"
        found = (self.db.execute(sql, (user, seq)).fetchone() for seq in nearest)
        return tuple(str(row[0]) for row in found if row)


async def candidates(known: Known, user: str, session: Session, caller: Caller) -> Gathered:
    """What of a chat may be kept, and the memories that a model finds in it. Raises StoreError and CallError."""
    session, withheld = blanked(session)
    units = tuple(
        Observation(f"T{number}", text, session.id, f"{session.at.replace(tzinfo=None):%Y-%m-%d %H:%M}", turn.speaker)
        for number, turn in enumerate(session.turns, start=1)
        if (text := _unknown(known, user, turn))
    )
    asker = Asker(caller, _RETRIES)
    proposed = [one for part in chunks(units, CHUNK_TOKENS) for one in await _found(known, user, part, asker)]
    return Gathered(session, withheld, tuple(_candidate(one, session) for one in proposed if _says_something(one.text)))


def blanked(session: Session) -> tuple[Session, tuple[Refusal, ...]]:
    """The chat with turns that may not be kept replaced by a mark, and why. Raises StoreError for a malformed chat.

    Withheld are turns that are refused, answers that are refused together with their question, and what a short
    request such as "forget that I said that" means: what the speaker said before it, and what was said in reply.
    """
    aware(session.at)
    if not session.id.strip() or refusal(session.id):
        raise StoreError("the id of a chat is blank, or looks like a secret: give it another")
    try:
        "".join((session.id, *(part for turn in session.turns for part in (turn.speaker, turn.text)))).encode()
    except UnicodeEncodeError:
        raise StoreError(
            "a turn of the chat holds half of a surrogate pair, which cannot be stored: remove it"
        ) from None
    found: dict[int, Refusal] = {}
    for at, turn in enumerate(session.turns):
        before = session.turns[at - 1] if at else None
        if reason := refusal(turn.text) or refusal(turn.speaker) or (_as_answer(before, turn) if before else None):
            found[at] = reason
            if reason.kind == "asked":
                found = dict.fromkeys(_meant(session.turns, at), reason) | found
    turns = tuple(
        replace(
            turn, speaker="withheld" if refusal(turn.speaker) else turn.speaker, text=f"[withheld: {found[at].kind}]"
        )
        if at in found
        else turn
        for at, turn in enumerate(session.turns)
    )
    return replace(session, turns=turns), tuple(found[at] for at in sorted(found))


def keep(db: sqlite3.Connection, user: str, session: Session, now: datetime) -> None:
    """Write a blanked chat, in place of one with the same id, inside a write transaction for the user."""
    turns = [{"speaker": turn.speaker, "text": turn.text, "recalled": turn.recalled} for turn in session.turns]
    values = (user, session.id, micros(now), json.dumps(turns, ensure_ascii=False))
    db.execute("INSERT OR REPLACE INTO chats (user, id, recorded_at, turns) VALUES (?, ?, ?, ?)", values)


def _as_answer(before: Turn, turn: Turn) -> Refusal | None:
    """Why a short turn is refused together with the one that it answers: "What is the password?", "hunter2"."""
    if len(turn.text.split()) > _ANSWER:
        return None
    question = sentences(one_line(before.text))[-1:]
    asked = question[0].strip(_EDGES) if question else ""
    if not asked or refusal(asked):
        return None
    return refusal(f"{asked} {turn.text}") or refusal(f"{asked}: {turn.text}")


def _meant(turns: Sequence[Turn], at: int) -> Iterable[int]:
    """The turns that a request not to remember means besides its own: what its speaker said before, and the reply."""
    speaker = turns[at].speaker
    if len(turns[at].text.split()) <= _SHORT and _BACKWARD.search(fold(turns[at].text)):
        last = next((one for one in range(at - 1, -1, -1) if turns[one].speaker == speaker), at)
        yield from range(last, at)
    if at + 1 < len(turns) and turns[at + 1].speaker != speaker:
        yield at + 1


def _unknown(known: Known, user: str, turn: Turn) -> str:
    """What of a turn does not come from the memory. What was true once, an assistant recalls and a person says anew."""
    if turn.recalled or turn.text.startswith("[withheld: ") or not _says_something(turn.text):
        return ""
    closed = fold(turn.speaker) in ASSISTANTS
    if known.has(user, turn.text, closed=closed):
        return ""
    lines = (
        " ".join(said for said in sentences(line) if not known.has(user, said, closed=closed))
        for line in turn.text.splitlines()
    )
    return "\n".join(line for line in lines if line)


async def _found(known: Known, user: str, units: Units, asker: Asker, splits: int = _SPLITS) -> list[Proposed]:
    """Memories of a part of a chat, or of its halves where the reply is cut off. Raises CallError."""
    inputs = MemorizeInputs(units, known.near(user, [seen.text for seen in units]))
    found, cut = await asker.ask(build(inputs), parse)
    if cut and splits and len(units) > 1:
        return [one for half in halves(units) for one in await _found(known, user, half, asker, splits - 1)]
    return list(found.memories)


def _candidate(found: Proposed, session: Session) -> Candidate:
    return Candidate(
        found.text,
        slot_key(found.slot),
        Category(found.category),
        _since(found.when, session.at),
        found.importance,
        session.id,
    )


def _says_something(text: str) -> bool:
    try:
        return bool(text_key(text))
    except StoreError:
        return False


def _since(said: str, at: datetime) -> datetime:
    """Since when a memory holds: the day that it names, in the zone of the chat, but never after it was said.

    On the day of the chat itself it holds from the chat on, lest it come before what was said earlier that day. What
    is planned is known from now on, whenever it will be.
    """
    named = parse_date(said) or parse_date(f"1 {said}") or parse_date(f"1 January {said}")
    if named is None or named.date() >= at.date():
        return at
    try:
        return aware(named.replace(tzinfo=at.tzinfo))
    except StoreError:  # the first day of the calendar, elsewhere
        return at
