"""JSON lines that people write by hand or by script: every complaint names its line, and none stops the reading."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdforget.suites.base import DataError

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """One line that holds an object."""

    where: str
    """File and line, as complaints begin: `tasks.jsonl, line 3`."""
    row: dict[str, Any]
    """Without the keys whose value is null."""


def read_lines(path: Path, name: str = "") -> tuple[list[Line], list[str]]:
    """The objects of a file and the complaints about its other lines; blank lines are passed over.

    `name` is what complaints call the file, its path unless given. A byte-order mark at the beginning is no complaint.
    """
    name = name or str(path)
    try:
        raw = path.read_bytes().removeprefix(_BOM)
    except OSError as error:
        return [], [f"{name} cannot be read ({error.strerror}): check its name and its permissions"]
    lines, problems = [], []
    # Only \n ends a line: a JSON text may hold U+2028 as it is.
    for number, part in enumerate(raw.split(b"\n"), start=1):
        if not part.strip():
            continue
        where = f"{name}, line {number}"
        try:
            lines.append(Line(where, _object(part)))
        except UnicodeDecodeError as error:
            problems.append(f"{where} is not UTF-8 (byte 0x{part[error.start]:02x}): save the file as UTF-8")
        except json.JSONDecodeError as error:
            problems.append(f"{where} is not JSON at column {error.colno} ({error.msg}): one object a line")
        except (ValueError, RecursionError) as error:
            problems.append(
                f"{where} {error}" if isinstance(error, _Complaint) else f"{where} cannot be read ({error})"
            )
    if not lines and not problems:
        problems.append(f"{name} is empty: give one JSON object a line")
    return lines, problems


def refuse(problems: Sequence[str], more: str) -> None:
    """DataError with the first of the complaints, if there is one; `more` says where the rest are to be had."""
    if problems:
        rest = f" (and {len(problems) - 1} more{more})" if len(problems) > 1 else ""
        raise DataError(f"{problems[0]}{rest}")


class _Complaint(ValueError):
    """What is wrong with a line that is JSON."""


def _object(part: bytes) -> dict[str, Any]:
    row = json.loads(part.decode("utf-8"), parse_constant=_no_number, object_pairs_hook=_unique)
    if not isinstance(row, dict):
        raise _Complaint("is not an object: write {...}, one a line")
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _Complaint("holds half a surrogate pair (\\ud800 to \\udfff alone), which is no text") from None
    return {key: value for key, value in row.items() if value is not None}


def _no_number(name: str) -> float:
    raise _Complaint(f"holds {name}, which is no number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for at, key in enumerate(keys) if key in keys[:at])
        raise _Complaint(f"has the key {twice!r} twice: keep one")
    return row
