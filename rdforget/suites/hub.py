"""Reading from the hub without waiting for one that cannot be reached."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from rdforget.suites.base import DataError
from rdforget.text import one_line

_SECONDS = 5.0


@contextmanager
def hub(name: str, fix: str) -> Iterator[None]:
    """Import and call the hub's libraries inside: whatever they raise becomes a DataError that ends in `fix`.

    Where the hub does not answer they are told so first. They then read their own cache, or fail at once instead
    of trying for half a minute.
    """
    if not _reachable():
        os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        yield
    except Exception as error:  # what the HTTP library raises on its own account has no base class in common
        problem = one_line(str(error))
        raise DataError(f"{name} cannot be had from the hub ({problem}): pass --data-dir and {fix}") from error


def _reachable() -> bool:
    if os.environ.get("HF_HUB_OFFLINE"):
        return False
    import httpx

    try:
        httpx.head(os.environ.get("HF_ENDPOINT", "https://huggingface.co"), timeout=_SECONDS)
    except httpx.HTTPError:
        return False
    return True
