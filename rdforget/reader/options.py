"""The option that the entries of a view support best."""

from __future__ import annotations

import re
from collections import Counter

from rdforget.reader.hashing import digest
from rdforget.reader.need import need_of
from rdforget.reader.passages import term_list
from rdforget.reader.retrieval import Talk
from rdforget.records import Query

_LETTER = re.compile(r"^\s*\(?([a-z])[).:]\s*", re.IGNORECASE)

_UNASKED = 0.3
"""Weight of a passage that shares no word with the question; one that holds them all weighs 1 more."""


def choose(query: Query, talk: Talk) -> str:
    """`(b)`: the letter of the option that one passage supports best; the place of an option never counts."""
    best = [
        (-max(held, default=0.0), digest(query.text, _LETTER.sub("", option)), _letter(option, at))
        for at, (option, held) in enumerate(zip(query.options, _supports(query, talk), strict=True))
    ]
    return f"({min(best)[2]})"


def rank(query: Query, talk: Talk) -> list[int]:
    """Positions of the passages that support some option, the best support first."""
    held = _supports(query, talk)
    best = {at: max(support[at] for support in held) for at in range(len(talk.passages))}
    return sorted((at for at in best if best[at] > 0), key=lambda at: (-best[at], at))


def _supports(query: Query, talk: Talk) -> list[list[float]]:
    """For each option the share of its own words, by weight, that each passage holds, and more if it bears on the
    question.

    A word that several options have counts the less the more have it. An assistant's words support nothing.
    """
    need = need_of(query, talk.speakers)
    terms = [tuple(dict.fromkeys(term_list(_LETTER.sub("", option)))) for option in query.options]
    spread = Counter(term for held in terms for term in held)
    bearing = [0.0 if p.by_assistant else _UNASKED + talk.weights.coverage(need.terms, p.terms) for p in talk.passages]
    rows = []
    for held in terms:
        own = {t: talk.weights[t] * (1 - spread[t] / len(terms)) for t in held if spread[t] < len(terms)}
        total = sum(own.values()) or 1.0
        rows.append(
            [
                weight * sum(worth for term, worth in own.items() if term in passage.terms) / total
                for weight, passage in zip(bearing, talk.passages, strict=True)
            ]
        )
    return rows


def _letter(option: str, at: int) -> str:
    found = _LETTER.match(option)
    return found[1].lower() if found else chr(ord("a") + at)
