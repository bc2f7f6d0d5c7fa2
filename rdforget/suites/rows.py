"""Reading rows of data files, with errors that name the file and the place in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from rdforget.suites.base import DataError, read_text

_KINDS: dict[type, str] = {str: "a text", int: "a whole number", list: "a list", dict: "an object"}

T = TypeVar("T")


def read_json(path: Path) -> Any:
    """The content of a JSON file, gzip-compressed or not."""
    try:
        content = json.loads(read_text(path), parse_constant=_no_number)
        json.dumps(content, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno} ({error.msg})"
        raise DataError(f"{path} is not JSON at {place}: fetch it anew") from error
    except (ValueError, RecursionError) as error:  # half a surrogate pair, a number of thousands of digits, NaN
        raise DataError(f"{path} holds what no text or number can be ({error}): fetch it anew") from error
    return content


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


def read_list(path: Path) -> list[Any]:
    """The rows of a JSON file that is a list."""
    rows = read_json(path)
    if not isinstance(rows, list):
        raise DataError(f"{path} is not a list of rows: fetch it anew")
    return rows


def field(row: Any, key: str, kind: type[T], where: str) -> T:
    """The value of a key that must be there and of that type; `where` names the row in errors."""
    if not isinstance(row, Mapping):
        raise DataError(f"{where} is not an object: fetch the official file")
    if key not in row:
        raise DataError(f"{where} has no {key}: fetch the official file")
    value = row[key]
    if type(value) is not kind:  # isinstance would take true for a number
        raise DataError(f"{where}: {key} is not {_KINDS[kind]}")
    return value


def gold_text(row: Mapping[str, Any], where: str) -> str:
    """The `answer` as text, byte for byte; errors in it belong into a list beside the data."""
    answer = row.get("answer")
    if type(answer) not in (str, int, float) or not str(answer).strip():
        raise DataError(f"{where} has no answer that is a text or a number")
    return str(answer)
