"""Texts as unit vectors: what a provider of them is, the providers by name, and the one that needs no model.

The built-in provider hashes words, pairs of neighbours and character n-grams into signed buckets (Weinberger et al.
2009, arXiv 0902.2206). Its cosine says how much of two texts is spelled alike, in any script, and not that they mean
the same.
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rdforget.plugins import Registry
from rdforget.store.records import StoreError
from rdforget.store.wording import UNSPACED
from rdforget.text import fold

Matrix = NDArray[np.float32]


class Vectors(Protocol):
    """A provider of vectors. Cosines of two providers do not mix, so a store stays with the one it began with."""

    @property
    def name(self) -> str:
        """What `make_vectors` makes it from; another name for anything that gives other vectors."""

    @property
    def dim(self) -> int:
        """Numbers of a vector."""

    @property
    def near_duplicate(self) -> float:
        """Cosine above which two texts may be the same memory; what it means is the provider's own."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        """A row of length 1 for each text, or of zeros where it finds nothing in a text."""


DEFAULT = "hashing"


@dataclass(frozen=True, slots=True)
class Server:
    """Where and how a provider that is a server is asked."""

    api_base: str | None = None
    """None is the model provider's own address."""
    key_env: str | None = None
    """Environment variable with the key. None: a server at `api_base` needs none, else litellm finds its own."""
    timeout: float = 60.0
    """Seconds to wait for the next bytes of a reply."""


Maker = Callable[[str, Server], Vectors]


def make_vectors(name: str = DEFAULT, server: Server = Server()) -> Vectors:
    """The provider of a name: `hashing`, `wordllama`, `litellm:provider/model`.

    Raises UnknownNameError, and StoreError for what a provider does not take after the colon.
    """
    kind, _, rest = name.partition(":")
    made = PROVIDERS.get(kind)(rest, server)
    if made.name != name:
        raise StoreError(f"there are no vectors {name!r}: did you mean {made.name!r}?")
    return made


def unit(rows: NDArray[np.floating]) -> Matrix:
    """Rows scaled to length 1; a row of zeros, or with a number that is none, becomes zeros."""
    rows = np.asarray(rows, np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    usable = np.isfinite(lengths) & (lengths > 0)
    return np.where(usable, rows / np.where(usable, lengths, 1.0), 0.0).astype(np.float32)


DIM = 256
NEAR_DUPLICATE = 0.98
"""One other word among some thirty. Spelling is all that it compares, so that at 0.95 facts are lost: see tests."""
_TOKEN = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+|[^\w\s]")
_GRAMS = (3, 4)
_GRAM_MASS = 0.5
"""Squared length of all n-grams of a word together, beside the word's own 1."""
_PAIR = 0.7
"""Length of a pair of neighbours: without pairs, `Ann owes Bob` and `Bob owes Ann` would be one."""
_WORDS_HELD = 16_384  # a kilobyte each


class Hashing:
    """The built-in provider: no model, and the same vectors in every process and on every machine."""

    name = "hashing"
    dim = DIM
    near_duplicate = NEAR_DUPLICATE

    def embed(self, texts: Sequence[str]) -> Matrix:
        return unit(np.array([_features(text) for text in texts]).reshape(-1, DIM))


def _features(text: str) -> NDArray[np.float32]:
    """The sum of a text's features. Punctuation counts only where there is nothing else."""
    tokens: list[str] = _TOKEN.findall(fold(text))
    total = np.zeros(DIM, np.float32)
    before = _START
    for token in [token for token in tokens if not _is_punctuation(token)] or tokens:
        number, vector = _token(token)
        total += vector
        _count(total, before * 0x9E3779B97F4A7C15 ^ number, _PAIR)
        before = number
    if before != _START:
        _count(total, before * 0x9E3779B97F4A7C15, _PAIR)
    return total


@lru_cache(maxsize=_WORDS_HELD)
def _token(token: str) -> tuple[int, NDArray[np.float32]]:
    """A token's number, and the sum of its own feature and its n-grams'."""
    number = _hash(token)
    vector = np.zeros(DIM, np.float32)
    _count(vector, number, 1.0)
    padded = f"<{token}>"
    grams = [padded[at : at + n] for n in _GRAMS for at in range(len(padded) - n + 1)] if len(token) > 1 else []
    for gram in grams:
        _count(vector, _hash("#" + gram), math.sqrt(_GRAM_MASS / len(grams)))
    return number, vector


def _count(vector: NDArray[np.float32], number: int, length: float) -> None:
    """Add a feature to its bucket, with its sign: what falls together there cancels out on average."""
    mixed = number * 0xD6E8FEB86659FD93 % 2**64 >> 32
    vector[mixed % DIM] += length if mixed >> 31 else -length


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


_START = _hash("")


def _is_punctuation(token: str) -> bool:
    return unicodedata.category(token[0])[0] in "PC"


def _hashing(rest: str, server: Server) -> Vectors:
    return Hashing()


def _wordllama(rest: str, server: Server) -> Vectors:
    from rdforget.store.wordllama_vectors import WordLlamaVectors

    return WordLlamaVectors()


def _litellm(rest: str, server: Server) -> Vectors:
    from rdforget.store.litellm_vectors import LiteLLMVectors

    return LiteLLMVectors(rest, server)


PROVIDERS: Registry[Maker] = Registry(
    "provider of vectors", "rdforget.vectors", {"hashing": _hashing, "wordllama": _wordllama, "litellm": _litellm}
)
