"""AMB-Text: 86 text questions over the first LoCoMo conversation, as AgentMemoryBench distributes it.

LoCoMo is arXiv 2402.17753 (CC BY-NC 4.0); the file is `data/locomo/locomo0.json` of s010m00n/AgentMemoryBench:

    [{"conversation": {"session_1_date_time": "1:05 pm on 3 May, 2023",
                       "session_1": [{"speaker": "Ines", "dia_id": "D1:1", "text": "I moved to Metz."}, ...], ...},
      "qa": [{"question": "Where is Ines?", "answer": "Metz", "category": 4, "evidence": ["D1:1"],
              "where": 1, "where_ground_truth": [1]}, ...]}]

A question is asked after its boundary, the last session of `where_ground_truth`, and sees the sessions up to it.
The paper states what it leaves out but not which 86 remain; `_is_kept` is the one reading found that gives 86.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from rdforget.dates import parse_date
from rdforget.records import Gold, History, Observation, Query, Task
from rdforget.suites.base import DataError, Source, Suite, file_sha256, find_parts
from rdforget.suites.rows import field, gold_text, read_list

NAME = "amb-text"
FOLDER = "locomo"
FILE = "locomo0.json"
OFFICIAL = "9cdc86c1a2317ac3e52c30389790d489f6cfa5b7e647c0e92def8f7ead06a214"
"""sha256 of the file at commit ef7b7730."""
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
# fmt: off
KEPT = (
    0, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 14, 17, 19, 22, 25, 27, 28, 31, 33, 34, 35, 36, 37, 39, 41, 44, 45, 50, 58,
    61, 63, 65, 69, 72, 73, 76, 79, 81, 82, 83, 84, 85, 86, 87, 88, 89, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 101,
    102, 105, 106, 107, 108, 111, 113, 114, 116, 120, 121, 122, 123, 126, 128, 129, 132, 134, 135, 136, 139, 141, 142,
    144, 146, 149, 150, 151,
)
# fmt: on
"""Positions in `qa` of the questions that the rule keeps in the official file."""

_SESSION = re.compile(r"session_(\d+)", re.ASCII)
_BETWEEN_REFS = re.compile(r"[;,\s]+")
_FIX = f"put data/locomo/{FILE} of github s010m00n/AgentMemoryBench into the data folder or {FOLDER}/ in it"
_TURN = ("dia_id", "speaker", "text")


class Conversation(NamedTuple):
    sessions: dict[int, list[Observation]]
    """Turns that hold text, by number of the session, in numeric order."""
    images: dict[str, bool]
    """Whether a turn shows an image, by `dia_id`, of every turn."""

    def until(self, boundary: int) -> tuple[Observation, ...]:
        return tuple(turn for number, turns in self.sessions.items() if number <= boundary for turn in turns)


def load(variant: str, data_dir: Path | None) -> Suite:
    """The questions of `locomo0.json` in `data_dir/locomo` or `data_dir`, in the order of the file.

    There are no variants. DataError names the file, the place in it and the key of whatever is missing or broken.
    """
    if variant:
        raise DataError(f"{NAME} has no variants, so no {variant!r}: ask for {NAME}")
    if not data_dir:
        raise DataError(f"{NAME} needs its file: `rdf data fetch {NAME}`, or {_FIX} and pass --data-dir")
    paths = find_parts(data_dir, FOLDER, FILE)
    if len(paths) != 1:
        raise DataError(f"{data_dir} holds {len(paths) or 'no'} copies of {FILE}: {_FIX}, or `rdf data fetch {NAME}`")
    [path] = paths
    rows = read_list(path)
    if not rows:
        raise DataError(f"{path} is not a list that begins with a conversation: {_FIX}")
    tasks = _tasks(rows[0], str(path))
    kept = tuple(tasks)
    note = f"{path.name} is not the official file: the rule keeps {len(kept)} questions, not the paper's {len(KEPT)}."
    if kept != KEPT and file_sha256(path) == OFFICIAL:
        raise DataError(f"{path} is official, yet {NAME} keeps other questions of it than it did: report this defect")
    return Suite(
        name=NAME,
        tasks=lambda: iter(tasks.values()),
        sources=(Source(path.name, file_sha256(path)),),
        size=len(tasks),
        expected=len(KEPT),
        notes=() if kept == KEPT else (note,),
    )


def _tasks(row: Any, where: str) -> dict[int, Task]:
    """The questions that are kept, by their position in `qa`."""
    raw = field(row, "conversation", dict, where)
    conversation = _conversation(raw, where)
    digest = hashlib.sha256(json.dumps(raw, sort_keys=True).encode()).hexdigest()[:8]
    histories: dict[int, History] = {}
    tasks = {}
    for index, qa in enumerate(field(row, "qa", list, where)):
        place = f"{where}, question {index}"
        category = field(qa, "category", int, place)
        if category not in CATEGORIES:
            raise DataError(f"{place} has the category {category}, and there are 1 to {len(CATEGORIES)}")
        if not _is_kept(qa, category, conversation, place):
            continue
        boundary = _boundary(qa, conversation, place)
        if boundary not in histories:
            histories[boundary] = History(f"{NAME}:{digest}:{boundary}", conversation.until(boundary))
        text = field(qa, "question", str, place)
        if not text.strip():
            raise DataError(f"{place} has no text")
        query = Query(f"{NAME}:{index:04d}", NAME, text, f"{category} {CATEGORIES[category]}")
        gold = Gold((gold_text(qa, place),), _evidence(qa, conversation, place))
        tasks[index] = Task(query, histories[boundary], gold)
    return tasks


def _conversation(raw: dict[str, Any], where: str) -> Conversation:
    """Sessions that have turns; some copies date sessions that do not exist."""
    numbers = sorted(int(match[1]) for key in raw if (match := _SESSION.fullmatch(key)))
    conversation = Conversation({}, {})
    for number in numbers:
        place = f"{where}, session_{number}"
        when = field(raw, f"session_{number}_date_time", str, where)
        if not parse_date(when):
            raise DataError(f"{place} has the date {when!r}, which cannot be read")
        conversation.sessions[number] = []
        for position, turn in enumerate(field(raw, f"session_{number}", list, where), start=1):
            ref, speaker, text = (field(turn, key, str, f"{place}, turn {position}") for key in _TURN)
            if ref in conversation.images:
                raise DataError(f"{place}, turn {position} has the dia_id {ref} of an earlier turn")
            conversation.images[ref] = "blip_caption" in turn
            if text.strip():
                conversation.sessions[number].append(Observation(ref, text, f"Session {number}", when, speaker))
    return conversation


def _is_kept(qa: Any, category: int, conversation: Conversation, where: str) -> bool:
    """Not adversarial, with a session boundary, and no evidence that is an image turn.

    Evidence counts as it is stored: `"D8:6; D9:17"` names no turn here. Splitting it would leave 85.
    """
    if CATEGORIES[category] == "adversarial" or not field(qa, "where_ground_truth", list, where):
        return False
    return not any(conversation.images.get(ref) for ref in _evidence_texts(qa, where))


def _boundary(qa: Any, conversation: Conversation, where: str) -> int:
    """Number of the last session that the question may look at."""
    for number in (numbers := field(qa, "where_ground_truth", list, where)):
        if type(number) is not int or number not in conversation.sessions:
            raise DataError(f"{where}: where_ground_truth names {number!r}, which is no session of the conversation")
    return int(max(numbers))


def _evidence_texts(qa: Any, where: str) -> list[str]:
    texts = field(qa, "evidence", list, where)
    if not all(isinstance(text, str) for text in texts):
        raise DataError(f"{where}: evidence is not a list of texts")
    return texts


def _evidence(qa: Any, conversation: Conversation, where: str) -> tuple[str, ...]:
    """The turns that the evidence names, one by one; what names no turn is left out."""
    refs = (ref for text in _evidence_texts(qa, where) for ref in _BETWEEN_REFS.split(text))
    return tuple(ref for ref in dict.fromkeys(refs) if ref in conversation.images)
