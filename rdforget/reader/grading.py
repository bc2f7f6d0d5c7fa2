"""Roles `judge` and `rubric` by rules: whether an answer states a reference, word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rdforget.reader.answering import UNAVAILABLE
from rdforget.reader.lexicon import is_function_word, stem
from rdforget.records import Gold
from rdforget.scoring.rule import normalise, strict_rule

_ABSTAINS = (UNAVAILABLE.lower().rstrip("."), "not available", "unknown")
_ASIDE = re.compile(r"\s*\(([^()]*)\)")
_PRONOUNS = frozenset({"i", "we", "you", "me", "my", "your", "our", "us", "ve", "re", "ll", "m", "d"})
_LONGER = 4
"""How many times as long as the reference an answer may be that states it in other words."""


def is_right(answer: str, gold: Gold) -> bool:
    """Whether an answer states one of the references, or abstains where that is right."""
    if gold.abstention:
        return abstains(answer)
    return any(states(answer, wording) for reference in gold.answers for wording in _wordings(reference))


def abstains(answer: str) -> bool:
    return any(phrase in answer.lower() for phrase in _ABSTAINS)


def states(answer: str, reference: str) -> bool:
    """The reference as a run of words, or all of its content words in an answer that is not much longer."""
    if strict_rule(answer, reference):
        return True
    wanted, said = _content(reference), normalise(answer).split()
    return bool(wanted) and len(said) <= _LONGER * len(normalise(reference).split()) and wanted <= _content(answer)


def grade(answer: str, criterion: str) -> float:
    """1 if the answer has every content word of the criterion behind its first colon, 0.5 from half of them."""
    wanted = criterion.partition(": ")[2] or criterion
    content = _content(wanted)
    if not answer.strip() or abstains(answer) or not content:
        return 0.0
    if strict_rule(answer, wanted):
        return 1.0
    share = len(content & _content(answer)) / len(content)
    return 1.0 if share == 1 else 0.5 if share >= 0.5 else 0.0


def _wordings(reference: str) -> Iterator[str]:
    """The reference, it without its asides, and an aside that gives an alternative: `25 minutes (or 25:00)`."""
    yield reference
    if asides := _ASIDE.findall(reference):
        yield _ASIDE.sub("", reference)
        yield from (aside[3:] for aside in asides if aside.lower().startswith("or "))


def _content(text: str) -> frozenset[str]:
    return frozenset(
        stem(word) for word in normalise(text).split() if not (word in _PRONOUNS or is_function_word(word))
    )
