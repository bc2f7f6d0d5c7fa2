"""The words that a store searches by, in scripts with and without spaces between words."""

from __future__ import annotations

import re

from rdforget.text import fold

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai and Lao, Burmese, Khmer
    "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7a3"  # Hangul, whose particles are written onto the words
)
"""Letters of scripts that do not set all words apart, for a character class."""
_RUN = re.compile(rf"[{UNSPACED}]+|[^\W{UNSPACED}]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")


def search_words(text: str) -> list[str]:
    """Folded words of a text; of an unspaced script its characters and each two neighbours."""
    found: list[str] = []
    for run in _RUN.findall(fold(text)):
        if _UNSPACED.match(run):
            found += [*run, *(run[at : at + 2] for at in range(len(run) - 1))]
        else:
            found.append(run)
    return found
