"""Beginnings of prompts whose state in the model is kept: the next prompt that begins alike is read on from there.

A prompt is read in blocks that begin at multiples of `BLOCK`, and read on only at such a place. So every token is
computed in the same company whatever was read before, and a reply does not depend on it: floating-point sums over
blocks of another size differ in their last bits, which is enough to change a greedy choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

BLOCK = 64

Tokens = tuple[int, ...]


def aligned(length: int) -> int:
    """The most tokens of that many that are whole blocks."""
    return length // BLOCK * BLOCK


def in_common(one: Sequence[int], other: Sequence[int]) -> int:
    """Tokens with which both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def blocks(tokens: Tokens, start: int) -> Iterator[tuple[int, Tokens]]:
    """The rest of a prompt from a block's beginning on, block by block, with where each ends; the last may be short."""
    for at in range(start, len(tokens), BLOCK):
        block = tokens[at : at + BLOCK]
        yield at + len(block), block


@dataclass(slots=True)
class Prefixes:
    """States by the tokens that led to them; the least recently used make way for new ones."""

    max_bytes: int
    _states: dict[Tokens, bytes] = field(default_factory=dict)

    def longest(self, tokens: Tokens) -> tuple[Tokens, int]:
        """The kept beginning that has most in common with a prompt, and how many tokens that is."""
        if not self._states:
            return (), 0
        kept = max(self._states, key=lambda kept: in_common(kept, tokens))
        return kept, in_common(kept, tokens)

    def state(self, kept: Tokens) -> bytes:
        """The state of a kept beginning, which is now the most recently used."""
        state = self._states[kept] = self._states.pop(kept)
        return state

    def has(self, tokens: Tokens) -> bool:
        return tokens in self._states

    def keep(self, tokens: Tokens, state: bytes) -> None:
        """Keep a state; the newest stays even where it alone is larger than all may be."""
        self._states[tokens] = state
        while len(self._states) > 1 and sum(map(len, self._states.values())) > self.max_bytes:
            del self._states[next(iter(self._states))]
