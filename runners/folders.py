"""Names of run folders, and making them."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from pathlib import Path

from runners.errors import UserError


def safe_name(label: str) -> str:
    """A label as part of a folder's name."""
    return "".join(char if char.isalnum() or char in "-_." else "-" for char in label)[:80]


def new_folder(root: Path, label: str) -> Path:
    """A new folder `<UTC time>-<label>` under `root`; an existing one is never reused."""
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{root} cannot hold run folders ({error.strerror}): give another --out") from error
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    for attempt in itertools.count():
        folder = root / f"{stamp}-{safe_name(label)}{f'-{attempt}' if attempt else ''}"
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise UserError(f"{root} cannot hold run folders ({error.strerror}): give another --out") from error
        return folder
    raise AssertionError("unreachable")
