"""Words and lexical overlap: the one implementation that ranking, fallback and scoring share."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_WORD = re.compile(r"\w+")
_SPACE = re.compile(r"\s+")


def fold(text: str) -> str:
    """NFC and lower case, so that composed and decomposed spellings are one."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text).lower()


def words(text: str) -> list[str]:
    r"""Lower-cased `\w+` tokens of any script, in order."""
    return _WORD.findall(fold(text))


@lru_cache(maxsize=262_144)
def word_set(text: str) -> frozenset[str]:
    """Unique words of a text."""
    return frozenset(words(text))


def overlap(query: frozenset[str], text: str) -> float:
    """Lexical overlap |Q n M| / |Q|, 0 to 1: the share of query words that the text holds (Sec. 3.5).

    The text is searched for each word instead of being taken apart: most entries of a large memory hold none.
    """
    folded = fold(text)
    held = [word for word in query if word in folded]
    if not held:
        return 0.0
    spaced = f" {folded} "  # most words stand between blanks, which is soon told
    return len([word for word in held if f" {word} " in spaced or _is_whole(word, folded)]) / len(query)


def _is_whole(word: str, folded: str) -> bool:
    """Whether a word stands in a text that holds it and is no part of a longer one everywhere."""
    at = folded.find(word)
    while at >= 0:
        end = at + len(word)
        if not (_is_part(folded[at - 1 : at]) or _is_part(folded[end : end + 1])):
            return True
        at = folded.find(word, at + 1)
    return False


def _is_part(char: str) -> bool:
    r"""Whether `\w` matches."""
    return char.isalnum() or char == "_"


def one_line(text: str) -> str:
    """White space runs, line ends included, become one space: an entry is one line of a prompt."""
    if text.isprintable() and "  " not in text:
        return text.strip()  # nothing to replace: most texts, in a hundredth of the time
    return _SPACE.sub(" ", text).strip()
