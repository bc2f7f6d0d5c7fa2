"""The option that the entries of a view support best."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from rdforget.reader.hashing import digest
from rdforget.reader.passages import Passage, Weights, term_list
from rdforget.records import Query

_LETTER = re.compile(r"^\s*\(?([a-z])[).:]\s*", re.IGNORECASE)


def choose(query: Query, passages: Sequence[Passage]) -> str:
    """`(b)`: the letter of the option whose own words one passage holds best; the place of an option never counts."""
    held = _supports(query, passages, Weights(passages))
    texts = {_letter(option, at): _LETTER.sub("", option) for at, option in enumerate(query.options)}
    best = {letter: max(support, default=0.0) for letter, support in zip(texts, held, strict=True)}
    return f"({min(best, key=lambda letter: (-best[letter], digest(query.text, texts[letter])))})"


def rank(query: Query, passages: Sequence[Passage], weights: Weights) -> list[int]:
    """Positions of the passages that support some option, the best support first."""
    held = _supports(query, passages, weights)
    best = {at: max(support[at] for support in held) for at in range(len(passages))}
    return sorted((at for at in best if best[at] > 0), key=lambda at: (-best[at], at))


def _supports(query: Query, passages: Sequence[Passage], weights: Weights) -> list[list[float]]:
    """For each option the share of its own words, by weight, that each passage holds.

    A word that several options have counts the less the more have it. An assistant's words support nothing.
    """
    terms = [frozenset(term_list(_LETTER.sub("", option))) for option in query.options]
    spread = Counter(term for held in terms for term in held)
    rows = []
    for held in terms:
        own = {t: weights[t] * (1 - spread[t] / len(terms)) for t in held if spread[t] < len(terms)}
        total = sum(own.values()) or 1.0
        rows.append([0.0 if p.by_assistant else sum(own[t] for t in own.keys() & p.terms) / total for p in passages])
    return rows


def _letter(option: str, at: int) -> str:
    found = _LETTER.match(option)
    return found[1].lower() if found else chr(ord("a") + at)
