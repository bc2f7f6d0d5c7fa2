"""Words and lexical overlap: the one implementation that ranking, fallback and scoring share."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_WORD = re.compile(r"\w+")
_SPACE = re.compile(r"\s+")


def fold(text: str) -> str:
    """NFC and lower case, so that composed and decomposed spellings are one."""
    return unicodedata.normalize("NFC", text).lower()


def words(text: str) -> list[str]:
    r"""Lower-cased `\w+` tokens of any script, in order."""
    return _WORD.findall(fold(text))


@lru_cache(maxsize=262_144)
def word_set(text: str) -> frozenset[str]:
    """Unique words of a text."""
    return frozenset(words(text))


def overlap(query: frozenset[str], text: str) -> float:
    """Lexical overlap |Q n M| / |Q|, 0 to 1: the share of query words that the text holds (Sec. 3.5)."""
    return len(query & word_set(text)) / len(query) if query else 0.0


def one_line(text: str) -> str:
    """White space runs, line ends included, become one space: an entry is one line of a prompt."""
    return _SPACE.sub(" ", text).strip()
