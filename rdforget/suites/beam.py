"""BEAM, four categories of its 100K split (arXiv 2510.27246; the data is CC BY-SA 4.0).

One conversation of about 100K tokens is a list of batches, each with one date; 20 questions probe it, two a category:

    100K/1/chat.json       [{"batch_number": 1, "turns": [[{"id": 0, "role": "user", "content": "Hi ->-> 1,1",
                             "time_anchor": "March-15-2024"}, {"id": 1, "role": "assistant", ...}], ...]}, ...]
    100K/1/probing_questions/probing_questions.json
                           {"knowledge_update": [{"question": "...", "answer": "...", "rubric": ["..."],
                             "source_chat_ids": {"original_info": [86], "updated_info": [114]}}, ...], ...}

The hub has a conversation a row, each batch as a flat list of messages and the questions as a Python literal.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from rdforget.dates import parse_date
from rdforget.plugins import nearest
from rdforget.records import Gold, History, Observation, Query, Task
from rdforget.suites.base import DataError, Source, Suite, file_sha256, find_file
from rdforget.suites.hub import hub
from rdforget.suites.rows import read_json
from rdforget.text import one_line

NAME = "beam"
TRUNCATED = "truncated"
"""The variant with `chat_trunecated.json` (sic), a prefix of the chat, where there is one."""
EXPECTED = 150
HUB = "Mohammadta/BEAM"
SPLIT = "100K"
REVISION = "3205395e897e7318c7b094ef4e6047b9b82dbb03"
PARQUET = ("100K.parquet", "100K-00000-of-00001.parquet", "data/100K-00000-of-00001.parquet")
CATEGORIES = ("knowledge_update", "contradiction_resolution", "temporal_reasoning", "preference_following")
"""In the paper's order."""

_ASKED = tuple((category, index) for index in range(2) for category in CATEGORIES)  # within each conversation
_CONVERSATIONS = 20
_DEVELOPMENT = 10  # the first questions of all conversations, which the paper leaves out
_GOLD = ("answer", "ideal_answer", "expected_compliance")
_MARK = re.compile(
    r"\s*->->\s*\d+\s*,\s*(?:\d+|N/A)\s*\Z"
)  # batch and bullet that a user message was made from; some replies echo it
_NO_ANCHOR = (None, "", "None")  # copies of the hub's rows have also been seen with null as a text
_QUESTIONS = "probing_questions/probing_questions.json"
_FIX = (
    f"put the folders {SPLIT}/N of the repository mohammadtavakoli78/BEAM, each with its chats and {_QUESTIONS}, "
    f"or {PARQUET[2]} of the hub's {HUB}, into that folder or {NAME}/ in it"
)


class Chat(NamedTuple):
    """A conversation whose questions are in memory and whose messages are not."""

    number: int
    questions: Any
    asked_in: str
    batches: Callable[[], Any]
    """Reads the messages anew."""
    said_in: str


class Found(NamedTuple):
    chats: list[Chat]
    sources: tuple[Source, ...]
    notes: tuple[str, ...] = ()


def load(variant: str, data_dir: Path | None) -> Suite:
    """The questions in the paper's order without its first ten; `tasks()` holds one conversation at a time.

    Reads `100K/N/` or the hub's parquet in `data_dir/beam` or `data_dir`, or the hub when no folder is given.
    DataError names the file and the question or message of whatever is missing or broken, in any conversation.
    """
    if variant not in ("", TRUNCATED):
        raise DataError(f"{NAME}: {nearest('variant', variant, [TRUNCATED])}")
    name = f"{NAME}:{variant}" if variant else NAME
    found = _find(variant, data_dir)
    chats = sorted(found.chats, key=lambda chat: chat.number)
    for chat, following in pairwise(chats):
        if chat.number == following.number:
            raise DataError(f"{chat.asked_in} is there twice: fetch the file anew")
    asked = [tuple(_questions(chat, name)) for chat in chats]
    for chat in chats:
        _observations(chat)  # a broken chat is an error now, not in the middle of a run
    if not any(asked):
        raise DataError(f"{data_dir or HUB} holds none of the questions after the first {_DEVELOPMENT}: {_FIX}")
    here = ", ".join(str(chat.number) for chat in chats)
    note = f"{len(chats)} of {_CONVERSATIONS} conversations are here: {here}."
    return Suite(
        name=name,
        tasks=lambda: chain.from_iterable(_tasks(*pair, name) for pair in zip(chats, asked, strict=True)),
        sources=found.sources,
        size=sum(map(len, asked)),
        expected=EXPECTED,
        notes=found.notes if len(chats) == _CONVERSATIONS else (note, *found.notes),
    )


def _tasks(chat: Chat, asked: tuple[tuple[Query, Gold], ...], name: str) -> Iterator[Task]:
    """A generator a conversation: its history dies before the next one is read."""
    if asked:
        history = History(f"{name}:{chat.number}", _observations(chat))
        for query, gold in asked:
            yield Task(query, history, gold)


def _find(variant: str, data_dir: Path | None) -> Found:
    if data_dir:
        for root in (data_dir / NAME / SPLIT, data_dir / SPLIT):
            if folders := [path for path in root.glob("[1-9]*") if path.name.isdecimal() and path.is_dir()]:
                return _in_folders(sorted(folders, key=lambda path: int(path.name)), variant)
    if variant:
        raise DataError(f"the hub has whole chats only, so for {NAME}:{variant} pass --data-dir and {_FIX}")
    if not data_dir:
        return _on_hub()
    if not (path := find_file(data_dir, NAME, *PARQUET)):
        raise DataError(f"{data_dir} holds no file of BEAM: {_FIX}")
    rows = enumerate(_parquet_rows(path, "conversation_id", "probing_questions"))
    return Found(
        [_row_chat(row, str(path), partial(_parquet_chat, path, index)) for index, row in rows],
        (Source(path.name, file_sha256(path)),),
    )


def _in_folders(folders: list[Path], variant: str) -> Found:
    chats, sources, shortened = [], [], []
    for folder in folders:
        names = ("chat_trunecated.json", "chat_trunecated.json.gz") if variant else ()
        said_in = find_file(folder, "", *names, "chat.json", "chat.json.gz")
        asked_in = find_file(folder, "", _QUESTIONS, f"{_QUESTIONS}.gz")
        if not said_in or not asked_in:
            raise DataError(f"{folder} has no {_QUESTIONS if said_in else 'chat.json'}: {_FIX}")
        chats.append(
            Chat(int(folder.name), read_json(asked_in), str(asked_in), partial(read_json, said_in), str(said_in))
        )
        for path in (said_in, asked_in):
            sources.append(Source(f"{SPLIT}/{path.relative_to(folder.parent).as_posix()}", file_sha256(path)))
        if said_in.name.startswith("chat_trunecated"):
            shortened.append(folder.name)
    note = f"Conversations that stop early, as chat_trunecated.json has them: {', '.join(shortened) or 'none'}."
    return Found(chats, tuple(sources), (note,) if variant else ())


def _on_hub() -> Found:
    with hub(HUB, _FIX):
        import datasets

        rows = datasets.load_dataset(HUB, split=SPLIT, revision=REVISION)

    where = f"{HUB}@{REVISION[:7]}"
    digest = hashlib.sha256()
    chats = []
    for index, row in enumerate(rows):
        content = [row.get(column) for column in ("conversation_id", "probing_questions", "chat")]
        digest.update(json.dumps(content, sort_keys=True).encode())
        chats.append(_row_chat(row, where, partial(_hub_chat, rows, index)))
    return Found(chats, (Source(where, digest.hexdigest()),))


def _hub_chat(rows: Sequence[Mapping[str, Any]], index: int) -> Any:
    return rows[index].get("chat")


def _row_chat(row: Mapping[str, Any], where: str, batches: Callable[[], Any]) -> Chat:
    number = str(row.get("conversation_id"))
    where = f"{where}, conversation {number}"
    if not number.isdecimal():
        raise DataError(f"{where} is not a number: fetch the file anew")
    try:
        questions = ast.literal_eval(row.get("probing_questions") or "")
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise DataError(f"{where}: probing_questions is not a Python literal: fetch the file anew") from error
    return Chat(int(number), questions, where, batches, where)


def _parquet_rows(path: Path, *columns: str) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=1, columns=list(columns)):
                yield from batch.to_pylist()
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is not readable parquet ({one_line(str(error))}): fetch it anew") from error


def _parquet_chat(path: Path, index: int) -> Any:
    return next(islice(_parquet_rows(path, "chat"), index, None), {}).get("chat")


def _observations(chat: Chat) -> tuple[Observation, ...]:
    """One observation a message, dated by its batch."""
    batches = chat.batches()
    if not isinstance(batches, list) or not batches:
        raise DataError(f"{chat.said_in} is not a list of batches: fetch the file anew")
    seen: dict[str, Observation] = {}
    for place, batch in enumerate(batches, 1):
        number = batch.get("batch_number", place) if isinstance(batch, Mapping) else place
        where = f"{chat.said_in}, batch {number}"
        messages = _messages(batch, where)
        when = _anchor(messages, where)
        for message in messages:
            made = _observation(message, f"Batch {number}", when, where)
            if made.ref in seen:
                raise DataError(f"{where} has a second message {made.ref[1:]}: fetch the file anew")
            seen[made.ref] = made
    return tuple(made for made in seen.values() if made.text.strip())


def _messages(batch: Any, where: str) -> list[Mapping[str, Any]]:
    """The messages of a batch: in groups in the repository, in one list on the hub."""
    groups = batch.get("turns") if isinstance(batch, Mapping) else batch
    if not isinstance(groups, list):
        raise DataError(f"{where} is not a list of messages: fetch the file anew")
    messages = [message for group in groups for message in (group if isinstance(group, list) else [group])]
    for place, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise DataError(f"{where}: what stands at place {place} is not a message: fetch the file anew")
    return messages


def _anchor(messages: list[Mapping[str, Any]], where: str) -> str | None:
    """The date as the first message that has one writes it; the batches have a field for it that is always null."""
    anchors = (message.get("time_anchor") for message in messages)
    anchor = next((anchor for anchor in anchors if anchor not in _NO_ANCHOR), None)
    if anchor is not None and not parse_date(str(anchor)):
        raise DataError(f"{where}: time_anchor {anchor!r} is not a date such as March-15-2024: fetch the file anew")
    return anchor


def _observation(message: Mapping[str, Any], session: str, when: str | None, where: str) -> Observation:
    number, role, text = (message.get(key) for key in ("id", "role", "content"))
    if not isinstance(number, int):
        raise DataError(f"{where}: a message has the id {number!r}, which is not a number: fetch the file anew")
    if role not in ("user", "assistant") or not isinstance(text, str):
        raise DataError(f"{where}, message {number} has no role user or assistant with a text: fetch the file anew")
    return Observation(f"m{number}", _MARK.sub("", text), session, when, role)


def _questions(chat: Chat, name: str) -> Iterator[tuple[Query, Gold]]:
    """The conversation's questions in the paper's order, all of them checked, without those among the first ten."""
    if not isinstance(chat.questions, Mapping):
        raise DataError(f"{chat.asked_in} is not an object of categories: fetch the file anew")
    for place, (category, index) in enumerate(_ASKED, (chat.number - 1) * len(_ASKED)):
        questions = chat.questions.get(category)
        if not isinstance(questions, list) or len(questions) != 2:
            raise DataError(f"{chat.asked_in}: {category} is not a list of 2 questions: fetch the file anew")
        where = f"{chat.asked_in}, {category} question {index}"
        question = questions[index]
        text = question.get("question") if isinstance(question, Mapping) else None
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"{where} has no text: fetch the file anew")
        gold = _gold(question, where)
        if place >= _DEVELOPMENT:
            yield Query(f"{name}:{chat.number}:{category}:{index}", name, text, category), gold


def _gold(question: Mapping[str, Any], where: str) -> Gold:
    """The rubric, which scores; the answer in words, which can disagree with it, for the record."""
    rubric = question.get("rubric")
    if not isinstance(rubric, list) or not rubric or not all(isinstance(item, str) and item.strip() for item in rubric):
        raise DataError(f"{where}: rubric is not a list of criteria in words: fetch the file anew")
    answers = (str(question[field]) for field in _GOLD if question.get(field) not in (None, ""))
    evidence = dict.fromkeys(_refs(question.get("source_chat_ids"), where))
    return Gold(answers=tuple(answers), evidence=tuple(evidence), rubric=tuple(rubric))


def _refs(ids: Any, where: str) -> Iterator[str]:
    """Refs of the messages in `source_chat_ids`: lists by kind of evidence, or one flat list, or nothing."""
    match ids:
        case None:
            return
        case int():
            yield f"m{ids}"
        case list() | dict():
            for item in ids.values() if isinstance(ids, dict) else ids:
                yield from _refs(item, where)
        case _:
            raise DataError(f"{where}: source_chat_ids holds {ids!r}, which is no message id: fetch the file anew")
