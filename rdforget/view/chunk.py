"""Cutting a long source into chunks for curation (Sec. 4.2: a target of 8,000 tokens in the query-intent suites)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from rdforget.calls.render import source_lines
from rdforget.records import Observation
from rdforget.tokens import count_tokens

_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s+|\n+")


@lru_cache(maxsize=8)  # the questions over one history ask for the same chunks in turn
def chunks(observations: tuple[Observation, ...], target: int | None) -> tuple[tuple[Observation, ...], ...]:
    """Whole observations packed greedily up to `target` tokens of their rendered lines; None makes one chunk.

    An observation that alone exceeds the target is cut at sentence ends, and a sentence that does, in the middle.
    Sizes add up line by line, session headers included.
    """
    if target is None:
        return (observations,)
    packed: list[tuple[Observation, ...]] = []
    chunk: list[Observation] = []
    used = 0
    for seen in observations:
        for piece in _pieces(seen, target):
            opens = not chunk or (piece.session, piece.when) != (chunk[-1].session, chunk[-1].when)
            size = _size(piece, header=opens)
            if chunk and used + size > target:
                packed.append(tuple(chunk))
                chunk, used, size = [], 0, _size(piece, header=True)
            chunk.append(piece)
            used += size
    return (*packed, tuple(chunk)) if chunk else tuple(packed)


def _size(seen: Observation, *, header: bool) -> int:
    lines = source_lines((seen,))
    return sum(count_tokens(line + "\n") for line in (lines if header else lines[-1:]))


def _pieces(seen: Observation, target: int) -> Iterator[Observation]:
    if _size(seen, header=True) <= target:
        yield seen
        return
    held = ""
    for sentence in _SENTENCE_END.split(seen.text):
        joined = f"{held} {sentence}" if held else sentence
        if _size(replace(seen, text=joined), header=True) <= target:
            held = joined
            continue
        if held:
            yield replace(seen, text=held)
        *whole, held = _halves(seen, sentence, target)
        yield from (replace(seen, text=text) for text in whole)
    if held:
        yield replace(seen, text=held)


def _halves(seen: Observation, text: str, target: int) -> list[str]:
    if len(text) < 2 or _size(replace(seen, text=text), header=True) <= target:
        return [text]
    middle = len(text) // 2
    return _halves(seen, text[:middle], target) + _halves(seen, text[middle:], target)
