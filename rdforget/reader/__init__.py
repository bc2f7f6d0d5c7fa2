"""The deterministic reader behind the model `rules`: a grammar of statements, words for relations, and passages."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


@cache
def reader_digest() -> str:
    """sha256 over the reader's code and word lists: what a run with `rules` measured."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.*")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
