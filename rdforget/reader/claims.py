"""Claims of a number, time or amount: "I have tried three Korean restaurants" is replaced by "... tried four ..."."""

from __future__ import annotations

from rdforget.reader.extract import PATTERNS
from rdforget.reader.facts import Slot
from rdforget.reader.need import Kind
from rdforget.reader.passages import Passage, term_list

_KINDS = (Kind.MONEY, Kind.CLOCK, Kind.FREQUENCY, Kind.DURATION, Kind.COUNT)
_BEFORE, _AFTER = 2, 2
"""Terms around a value that name what it is a value of."""


def claim(alone: Passage) -> Slot | None:
    """The slot of the first value in a sentence: who says it, its kind, and the words beside it; None without one."""
    (sentence,) = alone.said
    for kind in _KINDS:
        if found := PATTERNS[kind].search(sentence):
            before = term_list(sentence[: found.start()])[-_BEFORE:]
            after = term_list(sentence[found.end() :])[:_AFTER]
            if before and len(before + after) > 1:
                return alone.speaker or "someone", " ".join([kind, *before, *after]), ""
    return None
