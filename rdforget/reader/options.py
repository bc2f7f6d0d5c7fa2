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
    """`(b)`: the letter of the option whose own words the passages hold best; the place of an option never counts."""
    texts = {_letter(option, at): _LETTER.sub("", option) for at, option in enumerate(query.options)}
    terms = {letter: frozenset(term_list(text)) for letter, text in texts.items()}
    spread = Counter(term for held in terms.values() for term in held)
    weights = Weights(passages)
    best = {}
    for letter, held in terms.items():
        own = {term: weights[term] * (1 - spread[term] / len(terms)) for term in held if spread[term] < len(terms)}
        total = sum(own.values())
        best[letter] = max((sum(own[t] for t in own.keys() & p.terms) for p in passages), default=0.0) / (total or 1)
    return f"({min(best, key=lambda letter: (-best[letter], digest(query.text, texts[letter])))})"


def _letter(option: str, at: int) -> str:
    found = _LETTER.match(option)
    return found[1].lower() if found else chr(ord("a") + at)
