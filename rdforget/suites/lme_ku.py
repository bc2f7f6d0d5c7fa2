"""LME-KU: the knowledge-update questions of the LongMemEval oracle file (arXiv 2410.10813, MIT).

A row is a question with the sessions that hold its evidence, in three parallel lists in no particular order:

    {"question_id": "0a1b2c3d", "question_type": "knowledge-update", "question": "Which locker do I have?",
     "answer": "12", "question_date": "2023/06/09 (Fri) 21:56",
     "haystack_dates": ["2023/06/09 (Fri) 04:36", ...], "haystack_session_ids": ["answer_0a_2", ...],
     "haystack_sessions": [[{"role": "user", "content": "It is now 12.", "has_answer": true}, ...], ...], ...}

An id that ends in `_abs` marks a question that the sessions do not answer. Ids of sessions give evidence away, so
nothing here keeps them.
"""

from __future__ import annotations

from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

from rdforget.dates import parse_date
from rdforget.records import Gold, History, Observation, Query, Task
from rdforget.suites.base import DataError, Source, Suite, file_sha256, find_parts
from rdforget.suites.hub import hub
from rdforget.suites.rows import field, gold_text, read_list

NAME = "lme-ku"
FOLDER = "longmemeval"
FILE = "longmemeval_oracle.json"
KIND = "knowledge-update"
EXPECTED = 78
HUB = "xiaowu0162/longmemeval-cleaned"
REVISION = "98d7416c24c778c2fee6e6f3006e7a073259d48f"
NOTE = (
    "The sessions are in the order of their dates. "
    "Where they contradict each other, the latest explicit statement is the one that holds."
)

_PARALLEL = ("haystack_dates", "haystack_session_ids", "haystack_sessions")
_ROLES = ("user", "assistant")
_FIX = f"put {FILE} of the data set {HUB} into the data folder or {FOLDER}/ in it"


def load(variant: str, data_dir: Path | None) -> Suite:
    """The questions of `longmemeval_oracle.json`, or of parts of it, in the order of the file.

    Reads `data_dir/longmemeval` or `data_dir`, or the hub when no folder is given. There are no variants.
    DataError names the file and the question of whatever is missing or broken.
    """
    if variant:
        raise DataError(f"{NAME} has no variants, so no {variant!r}: ask for {NAME}")
    paths = find_parts(data_dir, FOLDER, FILE) if data_dir else (_download(),)
    if not paths:
        raise DataError(f"{data_dir} holds no file of LME-KU: {_FIX}")
    tasks: dict[str, Task] = {}
    for path in paths:
        for index, row in enumerate(read_list(path)):
            if field(row, "question_type", str, f"{path}, row {index}") == KIND:
                task = _task(row, f"{path}, row {index}")
                if task.query.id in tasks:
                    raise DataError(f"{path}, row {index} has the question_id {row['question_id']} of an earlier row")
                tasks[task.query.id] = task
    names = " and ".join(path.name for path in paths)
    if not tasks:
        raise DataError(f"{names} in {paths[0].parent} holds no {KIND} question: {_FIX}")
    note = f"{names} has {len(tasks)} of the {EXPECTED} {KIND} questions."
    return Suite(
        name=NAME,
        tasks=lambda: iter(tasks.values()),
        sources=tuple(Source(path.name, file_sha256(path)) for path in paths),
        size=len(tasks),
        expected=EXPECTED,
        notes=(note,) if len(tasks) < EXPECTED else (),
    )


def _download() -> Path:
    """The file as it is on the hub, from the hub's own cache where it is there.

    `datasets.load_dataset` would not do: some answers are numbers and some are texts, and it either refuses such a
    column or turns the text "4" into a number. The file also keeps the sha256 of a copy in a data folder.
    """
    with hub(HUB, _FIX):
        import huggingface_hub

        return Path(huggingface_hub.hf_hub_download(HUB, FILE, repo_type="dataset", revision=REVISION))


def _task(row: Any, where: str) -> Task:
    question_id = field(row, "question_id", str, where)
    where = f"{where} ({question_id})"
    text = field(row, "question", str, where)
    if not text.strip():
        raise DataError(f"{where}: question has no text")
    date = field(row, "question_date", str, where)
    _moment(date, where)
    observations, evidence = _observations(row, where)
    query = Query(f"{NAME}:{question_id}", NAME, text, KIND, date)
    gold = Gold((gold_text(row, where),), evidence, abstention=question_id.endswith("_abs"))
    return Task(query, History(query.id, observations, NOTE), gold)


def _observations(row: Any, where: str) -> tuple[tuple[Observation, ...], tuple[str, ...]]:
    """All turns that hold text, with the refs `s<session>/t<turn>` of those that are marked as evidence.

    Nothing is left out by `question_date`: some questions are dated before the session that answers them.
    """
    observations, evidence = [], []
    for number, (when, session) in enumerate(_sessions(row, where), start=1):
        for position, turn in enumerate(session, start=1):
            ref = f"s{number}/t{position}"
            role, text = (field(turn, key, str, f"{where}, {ref}") for key in ("role", "content"))
            if role not in _ROLES:
                raise DataError(f"{where}, {ref} has the role {role!r}, which is none of {' and '.join(_ROLES)}")
            if not text.strip():
                continue
            observations.append(Observation(ref, text, f"Session {number}", when, role))
            if turn.get("has_answer"):
                evidence.append(ref)
    if not observations:
        raise DataError(f"{where} has no turn that holds text")
    return tuple(observations), tuple(evidence)


def _sessions(row: Any, where: str) -> list[tuple[str, list[Any]]]:
    """Date as written and turns of each session, by date; sessions of one date stay in the order of the file."""
    dates, ids, sessions = (field(row, key, list, where) for key in _PARALLEL)
    if not len(dates) == len(ids) == len(sessions):
        counts = zip((dates, ids, sessions), _PARALLEL, strict=True)
        raise DataError(f"{where} has {', '.join(f'{len(column)} {key}' for column, key in counts)}: they must match")
    if not all(isinstance(session, list) for session in sessions):
        raise DataError(f"{where}: haystack_sessions is not a list of lists")
    dated = [(_moment(date, where), date, session) for date, session in zip(dates, sessions, strict=True)]
    return [(date, session) for _, date, session in sorted(dated, key=itemgetter(0))]


def _moment(date: Any, where: str) -> datetime:
    moment = parse_date(date) if isinstance(date, str) else None
    if not moment:
        raise DataError(f"{where} has the date {date!r}, which cannot be read")
    return moment
