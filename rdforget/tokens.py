"""Token counts by `o200k_base`, exactly and offline (Sec. 3.1).

tiktoken fetches its vocabulary at run time unless `TIKTOKEN_CACHE_DIR` holds it. litellm's wheel ships
the very file, so that folder is used; it is found without importing litellm. Loading takes 0.6 s,
which only a caller that counts has to pay.
"""

from __future__ import annotations

import os
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

ENCODING = "o200k_base"
VOCABULARY_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""Name of the vocabulary in a tiktoken cache: the sha1 of its address."""


def vocabulary_dir() -> Path:
    """The folder of litellm's wheel that holds the vocabulary file."""
    spec = find_spec("litellm")
    for root in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(root) / "litellm_core_utils" / "tokenizers"
        if (folder / VOCABULARY_FILE).is_file():
            return folder
    raise FileNotFoundError(
        f"the vocabulary of {ENCODING} is not in the installed litellm package: reinstall rdforget's lock"
    )


@cache
def _encoding() -> Encoding:
    import tiktoken

    if "TIKTOKEN_CACHE_DIR" not in os.environ:
        os.environ["TIKTOKEN_CACHE_DIR"] = str(vocabulary_dir())
    return tiktoken.get_encoding(ENCODING)


@lru_cache(maxsize=262_144)
def count_tokens(text: str) -> int:
    """`Tok(text)`. Strings such as `<|endoftext|>` are counted as the text they are."""
    return len(_encoding().encode_ordinary(text))
