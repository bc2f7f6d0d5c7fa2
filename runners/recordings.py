"""Recorded runs as models: `replay:PATH`, where PATH is what `rdf cache export PATH --run RUN` wrote.

The first line of such a file is its head: what was run on what, and a digest of every question's record, by which a
replay is told to be the same. The requests of a replay have the keys of
the recorded ones only if the protocol is cut to the same limits, so that these are taken from the head too. A key is
that of the recorded model and its address, and each line is held against it: no reply stands for another's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from rdforget.calls.base import Reply
from rdforget.models.fitting import FITTED
from rdforget.models.parameters import Prices
from rdforget.models.replay import Missed, ReplayConfig
from rdforget.records import Protocol, Record
from rdforget.scoring.metrics import JUDGED
from runners import manifest
from runners.cache import identity
from runners.cache_files import read_head, read_lines
from runners.errors import UserError
from runners.journal import read_records

if TYPE_CHECKING:
    from runners.engine import RunSpec

REPLAY = "replay:"
VERSION = 1
_NOT_TOLD = ("model", "judge", "api_base")
"""Parts of a run's spec that are not needed to have it again, and may hold a path."""
_MISSED: TypeAdapter[dict[str, Missed]] = TypeAdapter(dict[str, Missed])
_PROTOCOL: TypeAdapter[Protocol] = TypeAdapter(Protocol)
_PARTS = {"id": str, "records": dict, "spec": dict, "settings": dict}
_ADVICE = "export the run anew with `rdf cache export FILE --run RUN`"


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded run."""

    head: Mapping[str, Any]
    sha256: str
    replies: Mapping[str, Reply]
    """By `Call.key`."""
    missed: Mapping[str, Missed]


def head_of_run(folder: Path) -> dict[str, Any]:
    """The first line of a recording: what was run, and which calls brought no reply."""
    of = manifest.read(folder)
    missed = {
        call.key: Missed(call.finish_reason, record.failure.message, call.attempts)
        for record in read_records(folder)
        if record.failure
        for call in record.unanswered
    }
    return {
        "recording": VERSION,
        "id": of["id"],
        "created": of["created"],
        "spec": {name: value for name, value in of["spec"].items() if name not in _NOT_TOLD},
        "settings": of["settings"],
        "fingerprint": of["fingerprint"],
        "environment": of["environment"],
        "missed": _MISSED.dump_python(missed, mode="json"),
        "records": {record.query.id: _digest(record) for record in read_records(folder)},
    }


def replay_config(name: str) -> ReplayConfig:
    """The model `replay:PATH`. UserError where the file is no recorded run."""
    found = recording(name)
    settings = found.head["settings"]
    recorded = settings["model"]
    return ReplayConfig(
        name=name,
        model=f"replay/{_called(recorded)}",
        prices=Prices(input=0.0, output=0.0),
        recorded=recorded,
        of=f"{_called(recorded)} on {settings['suite']} by {settings['method']}",
        sha256=found.sha256,
        limits={field: settings["protocol"][field] for field in FITTED},
        replies=found.replies,
        missed=found.missed,
    )


def recorded_spec(name: str, given: Mapping[str, Any]) -> RunSpec:
    """What the recording `replay:PATH` was made of, to be run again by its replies; `given` settings come before."""
    from runners.engine import RunSpec

    head = recording(name).head
    try:
        then: RunSpec = TypeAdapter(RunSpec).validate_python(head["spec"])
    except ValidationError as error:
        raise UserError(f"the first line of {name.removeprefix(REPLAY)} is not whole: {_ADVICE}") from error
    judge = name if head["settings"]["judge"] else None
    return replace(then, **{"judge": judge, **given, "model": name})


def compared(name: str, folder: Path) -> list[str]:
    """How the run in `folder`, a replay of `name`, compares to the recorded one, in words."""
    head = recording(name).head
    now = {record.query.id: _digest(record) for record in read_records(folder)}
    same = sum(head["records"].get(item) == digest for item, digest in now.items())
    notes = [f"replay: {same} of {len(now)} questions have the same record as in the run {head['id']}"]
    then, settings = head["settings"], manifest.read(folder)["settings"]
    keys = sorted({*then, *settings} - {"model", "judge", "items"})
    if differing := [key for key in keys if then.get(key) != settings.get(key)]:
        notes.append(f"replay: the recorded run differs in {', '.join(differing)}, and so may its requests")
    return notes


def shipped() -> Mapping[str, Path]:
    """The recordings that come with the package, by name."""
    here = Path(__file__).parent
    folders = (here / "results" / "recorded", here.parent / "results" / "recorded")
    found = next((folder for folder in folders if folder.is_dir()), here)
    return {path.name.partition(".")[0]: path for path in sorted(found.glob("*.jsonl.gz"))}


def recording(name: str) -> Recording:
    """The recorded run `replay:PATH`, or `replay:NAME` of a shipped one; read once as long as its file stays."""
    path = Path(name.removeprefix(REPLAY)).expanduser()
    path = path if path.exists() else shipped().get(str(path), path)
    try:
        state = path.stat()
    except OSError as error:
        told = f"{path} cannot be read ({error.strerror}): give a recorded run as replay:PATH"
        raise UserError(f"{told}, or one of {', '.join(shipped())}") from error
    return _recording(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=4)
def _recording(path: Path, size: int, changed: int) -> Recording:
    head = read_head(path)
    if head is None:
        raise UserError(f"{path} does not say which run its replies are of: {_ADVICE}")
    if head.get("recording") != VERSION:
        raise UserError(
            f"{path} is a recording of version {head.get('recording')}, this rdf reads {VERSION}: {_ADVICE}"
        )
    try:
        settings = head["settings"]
        model = identity(settings["model"])
        judge = identity(settings["judge"]) if settings["judge"] else model
        missed = _MISSED.validate_python(head["missed"])
        _PROTOCOL.validate_python(settings["protocol"])
        complete = {*FITTED} <= {*settings["protocol"]} and head["spec"]["suite"] and settings["method"]
        complete = complete and all(isinstance(head[name], kind) for name, kind in _PARTS.items())
    except (KeyError, TypeError, AttributeError, ValidationError) as error:
        raise UserError(f"the first line of {path} is not whole: {_ADVICE}") from error
    if not complete:
        raise UserError(f"the first line of {path} is not whole: {_ADVICE}")
    replies = {}
    for number, entry in enumerate(read_lines(path), start=2):
        if entry.model != (judge if entry.role in JUDGED else model):
            raise UserError(f"{path} line {number} is a reply of another model than the recorded one: {_ADVICE}")
        replies[entry.call] = entry.reply
    return Recording(head, hashlib.sha256(path.read_bytes()).hexdigest(), replies, missed)


def _digest(record: Record) -> str:
    """What a record measured, in 16 hexadecimal digits: fields that it may gain later do not count."""
    trace, answer, failure = record.trace, record.answer, record.failure
    entries = trace.memory.entries if trace else ()
    content = [
        record.query.id,
        [[entry.id, entry.text, entry.status, entry.slot, entry.when, entry.evidence] for entry in entries],
        [list(trace.candidates), list(trace.selected), [entry.id for entry in trace.view.entries]] if trace else [],
        [answer.text, answer.outcome] if answer else [],
        [[score.metric, score.value, score.verdict] for score in record.scores],
        [[call.role, call.key, call.finish_reason] for call in record.calls],
        [failure.kind, failure.stage, failure.message] if failure else [],
    ]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _called(model: Mapping[str, Any]) -> str:
    """A model by the name that its settings give it."""
    return str(model.get("name") or model.get("label") or model.get("backend", "a model"))
