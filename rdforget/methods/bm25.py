"""`bm25`: every unit of the source is an entry, ranked by BM25 before the shared selector and packer.

It has the selector, packer and budget of every method but no construction, and so isolates what construction adds.
Words are the ones that all ranking here is made of, unstemmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from pydantic import Field

from rdforget.calls.base import Caller
from rdforget.methods.base import Builder, Method
from rdforget.methods.raw import raw_entries
from rdforget.records import Entry, History, Memory, Protocol, Query, Switches
from rdforget.text import words


@dataclass(frozen=True, slots=True)
class Options:
    k1: Annotated[float, Field(gt=0)] = 1.5
    b: Annotated[float, Field(ge=0, le=1)] = 0.75


@lru_cache(maxsize=8)  # the questions over one history come in turn
def _index(texts: tuple[str, ...], k1: float, b: float) -> Any:
    """A BM25 index of the texts; None where they hold no word."""
    import bm25s  # type: ignore[import-untyped]  # half a second that only this method has to pay

    corpus = [words(text) for text in texts]
    if not any(corpus):
        return None
    index = bm25s.BM25(k1=k1, b=b, method="lucene", backend="numpy")
    index.index(corpus, show_progress=False)
    return index


def bm25_scores(texts: Sequence[str], query: str, options: Options) -> list[float]:
    """The BM25 score of each text, 0 where it shares no word with the query."""
    index, wanted = _index(tuple(texts), options.k1, options.b), words(query)
    if index is None or not wanted:
        return [0.0] * len(texts)
    return [float(score) for score in index.get_scores(wanted)]


async def remember(
    history: History, query: Query | None, caller: Caller, switches: Switches, protocol: Protocol
) -> Memory:
    return Memory(raw_entries(history.observations))


def make(name: str, options: Options) -> Method:
    def rank(entries: Sequence[Entry], query: Query) -> tuple[Entry, ...]:
        """Highest score first, ties in source order."""
        scores = bm25_scores([entry.text for entry in entries], query.text, options)
        order = sorted(range(len(entries)), key=lambda at: -scores[at])
        return tuple(entries[at] for at in order)

    return Method(name=name, title="BM25 over raw units", remember=remember, switches=frozenset(), rank=rank)


BUILDER = Builder(Options, make)
