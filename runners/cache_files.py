"""Replies as a file, one JSON object a line: out of a cache or a run, and into a cache.

    {"key": "9f..", "model": {"model": "openai/gpt-5.6-luna", ..}, "call": "3a..", "role": "answer", "reply": {..}}

`call` is `Call.key`, which hashes messages, schema, cap, sampling and repeat index; `key` is the hash of `model` and
`call`. A file holds no prompt and no key of a provider. Names that end in `.gz` are compressed. Before the replies of
one run stands a line that says what was run (`runners.recordings`).
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rdforget.calls.base import Reply
from rdforget.scoring.metrics import JUDGED
from runners import manifest
from runners.cache import Entry, ReplyCache, identity, whole
from runners.errors import UserError
from runners.journal import read_roles

HEAD = "recording"
"""Key of the first line, where that is a head."""
_REPLY: TypeAdapter[Reply] = TypeAdapter(Reply)


def entries_of_run(folder: Path) -> Iterator[Entry]:
    """Every reply of a run, from its own journal, those that no cache would keep included."""
    settings = manifest.read(folder)["settings"]
    model = identity(settings["model"])
    judge = identity(settings["judge"]) if settings["judge"] else model
    for role, call, reply in read_roles(folder):
        yield Entry(judge if role in JUDGED else model, call, role, reply)


def write(entries: Iterable[Entry], path: Path, head: Mapping[str, Any] | None = None) -> int:
    """Put entries, after a head, into a new file, whole or not at all; returns how many. UserError where it exists."""
    if path.exists():
        raise UserError(f"{path} exists: nothing is overwritten, give another name")
    part = path.with_name(f".{path.name}.part")
    count = 0
    try:
        with part.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if _packed(path) else raw as file:
            if head:
                file.write(json.dumps(head, sort_keys=True).encode() + b"\n")
            for entry in entries:
                file.write(_line(entry).encode() + b"\n")
                count += 1
        os.replace(part, path)
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}): give another name") from error
    finally:
        part.unlink(missing_ok=True)
    return count


def read_into(cache: ReplyCache, path: Path) -> tuple[int, int, int]:
    """Take in a file, all of it or nothing: entries that are new, known, and of the kind that is not kept.

    UserError names the first line that is not what it says.
    """
    read = list(read_lines(path))
    kept = [entry for entry in read if whole(entry.reply)]
    new = cache.add(kept)
    return new, len(kept) - new, len(read) - len(kept)


def _packed(path: Path) -> bool:
    return path.suffix == ".gz"


def _line(entry: Entry) -> str:
    reply = _REPLY.dump_python(entry.reply, mode="json")
    owner = {"owner": entry.owner} if entry.owner is not None else {}
    content = {"key": entry.key, "model": entry.model, "call": entry.call, "role": entry.role, "reply": reply}
    return json.dumps(content | owner, sort_keys=True)


def read_head(path: Path) -> dict[str, Any] | None:
    """The head of a file; None where it has none. UserError where its first line is not JSON."""
    first = next(_json_lines(path), None)
    return first[1] if first and isinstance(first[1], dict) and HEAD in first[1] else None


def read_lines(path: Path) -> Iterator[Entry]:
    """The entries of a file. UserError names the first line that is not what it says."""
    for number, raw in _json_lines(path):
        if number > 1 or not isinstance(raw, dict) or HEAD not in raw:
            yield _entry(raw, f"{path} line {number}")


def _json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    number = 1
    try:
        with gzip.open(path, "rt", encoding="utf-8") if _packed(path) else path.open(encoding="utf-8") as file:
            for line in file:
                yield number, json.loads(line)
                number += 1
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path} cannot be read ({error}): give a file that `rdf cache export` made") from error
    except ValueError as error:
        raise UserError(f"{path} line {number} is not JSON: give a file that `rdf cache export` made") from error


def _entry(raw: Any, where: str) -> Entry:
    """A line as an entry. UserError where its key is not that of its parts, so that nothing is served for another."""
    try:
        entry = Entry(
            dict(raw["model"]),
            str(raw["call"]),
            str(raw["role"]),
            _REPLY.validate_python(raw["reply"]),
            raw.get("owner"),
        )
        matches = raw["key"] == entry.key
    except (ValidationError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise UserError(f"{where} is not a reply with its key: give a file that `rdf cache export` made") from error
    if not matches:
        raise UserError(f"{where}: the key is not that of its model and call: the file was changed, export it anew")
    return entry
