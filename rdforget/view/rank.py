"""Ranking and the candidate collector (Sec. 3.5)."""

from __future__ import annotations

from collections.abc import Sequence

from rdforget.calls.render import entry_line
from rdforget.records import Entry, Query, Status
from rdforget.text import overlap, word_set
from rdforget.tokens import count_tokens, least_tokens

ACTIVE_BONUS = 0.4
_LABEL = 3
"""Least tokens of what `entry_line` puts before the text: bracket, status, colon."""


def relevance(entry: Entry, query_words: frozenset[str]) -> float:
    """Lexical overlap with q, 0 to 1, plus 0.4 for an ACTIVE entry."""
    return overlap(query_words, entry.text) + (ACTIVE_BONUS if entry.status is Status.ACTIVE else 0.0)


def rank(entries: Sequence[Entry], query: Query) -> tuple[Entry, ...]:
    """Most relevant first; ties keep the order of materialisation."""
    query_words = word_set(query.text)
    return tuple(sorted(entries, key=lambda entry: -relevance(entry, query_words)))


def collect(ranked: Sequence[Entry], target_tokens: int) -> tuple[Entry, ...]:
    """The candidates: the first ranked entry always, then each that keeps their lines within the target.

    An entry that would overshoot is skipped and the next one tried, as in the packer.
    """
    candidates: list[Entry] = []
    used = 0
    for entry in ranked:
        if candidates and used + least_tokens(entry.text) + _LABEL > target_tokens:
            continue  # without counting: a large memory has many such
        size = count_tokens(entry_line(entry) + "\n")
        if not candidates or used + size <= target_tokens:
            candidates.append(entry)
            used += size
    return tuple(candidates)
