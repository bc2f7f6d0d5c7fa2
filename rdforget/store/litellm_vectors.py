"""Vectors of any embedding model that litellm speaks. Every text goes to that model's server."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from rdforget.models.quiet import quiet_litellm
from rdforget.store.records import StoreError
from rdforget.store.vectors import Matrix, Server, unit

NEAR_DUPLICATE = 0.95
BATCH = 96
"""Texts in a request; the smallest limit of the providers that litellm lists."""
_MESSAGE_MAX = 300


class LiteLLMVectors:
    """`litellm:provider/model`. How often it tries is left to litellm; its OpenAI client makes three attempts."""

    near_duplicate = NEAR_DUPLICATE

    def __init__(self, model: str, server: Server) -> None:
        if "/" not in model:
            raise StoreError(f"vectors 'litellm:{model}' name no model: write litellm:provider/model")
        self.name = f"litellm:{model}"
        self._model = model
        self._server = server
        self._dim: int | None = None

    @property
    def dim(self) -> int:
        """Known from the first vector; one request where there was none yet."""
        if self._dim is None:
            self.embed(["-"])
        assert self._dim is not None
        return self._dim

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Raises StoreError for what the server refuses, for no reply in time, and for a reply that is no vectors."""
        batches = [self._request(list(texts[at : at + BATCH])) for at in range(0, len(texts), BATCH)]
        return unit(np.concatenate(batches)) if batches else np.empty((0, self.dim), np.float32)

    def _request(self, texts: list[str]) -> Matrix:
        key = self._key()
        try:
            response = quiet_litellm().embedding(
                model=self._model,
                input=texts,
                api_base=self._server.api_base,
                api_key=key or ("none" if self._server.api_base else None),
                timeout=self._server.timeout,
            )
        except Exception as error:
            # `from None`: the cause may quote the key, and the texts.
            raise StoreError(f"{self.name} gave no vectors: {_line(error, key)}") from None
        return self._checked(response.data, len(texts))

    def _checked(self, data: Sequence[Any], texts: int) -> Matrix:
        """The vectors of a reply, in the order of the texts."""
        if len(data) != texts:
            raise StoreError(f"{self.name} sent {len(data)} vectors for {texts} texts")
        try:
            ordered = sorted(data, key=lambda item: int(item["index"]))
            found = np.array([item["embedding"] for item in ordered], np.float32)
        except (KeyError, TypeError, ValueError):
            found = np.empty(0, np.float32)
        if found.ndim != 2 or not found.size or not np.isfinite(found).all():
            raise StoreError(f"{self.name} sent something else than vectors of one length")
        if self._dim not in (None, found.shape[1]):
            raise StoreError(f"{self.name} sent vectors of {found.shape[1]} numbers, and of {self._dim} before")
        self._dim = found.shape[1]
        return found

    def _key(self) -> str | None:
        if not (name := self._server.key_env):
            return None
        if not (key := os.environ.get(name, "").strip()):
            raise StoreError(f"{self.name} needs its API key in the environment variable {name}, which is not set")
        return key


def _line(error: Exception, key: str | None) -> str:
    """The first line of an error, without the key."""
    line = str(error).strip().partition("\n")[0]
    return (line.replace(key, "***") if key else line)[:_MESSAGE_MAX]
