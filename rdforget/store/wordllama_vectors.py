"""Vectors of WordLlama: averaged token embeddings that its package ships, so that nothing is downloaded.

It needs `pip install 'rdforget[wordllama]'`. The order of words makes no difference to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rdforget.store.records import StoreError
from rdforget.store.vectors import Matrix, unit

NEAR_DUPLICATE = 0.95


class WordLlamaVectors:
    """Its default model, `l2_supercat` with 256 numbers."""

    name = "wordllama"
    dim = 256
    near_duplicate = NEAR_DUPLICATE

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Raises StoreError where the package is not installed."""
        return unit(_model().embed(list(texts))) if texts else unit(np.empty((0, self.dim)))


@cache
def _model() -> Any:
    try:
        import wordllama
    except ImportError:
        raise StoreError(
            "vectors 'wordllama' need a package that is not installed: pip install 'rdforget[wordllama]'"
        ) from None
    # The weights are in the package itself, where it does not look for the tokenizer unless told to.
    folder = Path(wordllama.__file__).parent
    try:
        return wordllama.WordLlama.load(cache_dir=folder, disable_download=True, dim=WordLlamaVectors.dim)
    except (OSError, ValueError) as error:
        raise StoreError(f"the installed wordllama lacks the model that this rdforget uses: {error}") from error
