"""Chats and exported memories as files of text."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from rdforget.store.sessions import Session, Turn
from rdforget.store.times import parse_time
from runners.errors import UserError

STDIN = "-"
_SPEAKER = re.compile(r"([^\s:][^:]{0,39}):(?:\s+(.*))?")
_TURN = '{"speaker": "Ines", "text": "...", "recalled": false}'


def text_of(name: str) -> str:
    """The text of a file, or of stdin for `-`. UserError where it cannot be read."""
    try:
        data = sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{name} cannot be read ({error.strerror}): give a file, or - for stdin") from error
    except UnicodeDecodeError:
        raise UserError(f"{'stdin' if name == STDIN else name} is not UTF-8 text: convert it") from None


def session_of(text: str, id: str, at: datetime) -> Session:
    """A chat from its text: one JSON object a line, or lines `Speaker: text` and lines that go on with the one before.

    UserError names the first line that is neither, and never quotes it.
    """
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if not lines:
        raise UserError("the chat is empty: give lines `Speaker: text`, or one JSON object a line")
    turns = [_turn(*line) for line in lines] if lines[0][1].lstrip().startswith("{") else _spoken(lines)
    return Session(id, at, tuple(turns))


def time_of(text: str) -> datetime:
    """When a chat took place, in the zone that is given with it. Raises StoreError as `parse_time` does."""
    parse_time(text)
    return datetime.fromisoformat(text)


def objects(text: str, name: str) -> Iterator[Mapping[str, Any]]:
    """The objects of a file of JSON lines. UserError names the first line that is no JSON."""
    lines = text.rstrip().split("\n") if text.strip() else []
    for number, line in enumerate(lines, start=1):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            raise UserError(f"{name}: line {number} is not JSON: give what `rdf memory export` made") from None


def object_of(text: str, option: str) -> dict[str, Any]:
    """The object of JSON that an option was given. UserError, which never quotes it."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise UserError(f'{option} is not JSON: give an object such as {{"channel": "phone"}}') from None
    if not isinstance(found, dict):
        raise UserError(f'{option} is not an object: give one such as {{"channel": "phone"}}')
    return found


def write_lines(lines: Iterable[str], path: Path) -> int:
    """Put lines into a new file that only its owner can read, whole or not at all; returns how many."""
    if path.exists():
        raise UserError(f"{path} exists: nothing is overwritten, give another name")
    part = path.with_name(f".{path.name}.part")
    count = 0
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            for line in lines:
                file.write(line + "\n")
                count += 1
        os.replace(part, path)
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}): give another name") from error
    finally:
        part.unlink(missing_ok=True)
    return count


def _turn(number: int, line: str) -> Turn:
    try:
        raw = json.loads(line)
        speaker, text, recalled = raw["speaker"], raw["text"], raw.get("recalled", False)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise UserError(f"line {number} of the chat is no turn: write {_TURN}") from None
    if not (isinstance(speaker, str) and isinstance(text, str) and isinstance(recalled, bool)):
        raise UserError(f"line {number} of the chat has a field of the wrong type: write {_TURN}")
    return Turn(speaker, text, recalled)


def _spoken(lines: Iterable[tuple[int, str]]) -> list[Turn]:
    turns: list[Turn] = []
    for number, line in lines:
        if said := _SPEAKER.fullmatch(line.strip()):
            turns.append(Turn(said[1], said[2] or ""))
        elif turns:
            turns[-1] = Turn(turns[-1].speaker, f"{turns[-1].text}\n{line.strip()}".strip())
        else:
            raise UserError(f"line {number} of the chat says not who speaks: write `Speaker: text`")
    return turns
