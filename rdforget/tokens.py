"""Token counts by `o200k_base`, exactly and offline (Sec. 3.1).

tiktoken fetches its vocabulary at run time. litellm's wheel ships the very file; it is found without importing litellm,
and read here: tiktoken's own reading takes twice the time, and keeps 25 MB that counting does not need. Loading takes
0.3 s, which only a caller that counts has to pay.
"""

from __future__ import annotations

import hashlib
from binascii import a2b_base64
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

ENCODING = "o200k_base"
VOCABULARY_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""Name of the vocabulary in a tiktoken cache: the sha1 of its address."""
VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
PIECES = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + _ENDINGS,
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + _ENDINGS,
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
"""What of a text is encoded by itself: tiktoken's pattern of this encoding."""


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
    from tiktoken import Encoding

    path = vocabulary_dir() / VOCABULARY_FILE
    ranks = {}
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != VOCABULARY_SHA256:
            raise ValueError(f"{path} is not the vocabulary of {ENCODING}: reinstall rdforget's lock")
        file.seek(0)
        for line in file:
            token, _, rank = line.partition(b" ")
            ranks[a2b_base64(token)] = int(rank)
    encoding = Encoding(ENCODING, pat_str=PIECES, mergeable_ranks=ranks, special_tokens={})
    ranks.clear()  # the encoder has a copy of its own
    return encoding


def load_vocabulary() -> None:
    """Have what counting needs at hand. Loading takes 25 MB more than it keeps: before a process imports the rest, they
    are free for that; after it, they make its peak.
    """
    _encoding()


@lru_cache(maxsize=262_144)
def count_tokens(text: str) -> int:
    """`Tok(text)`. Strings such as `<|endoftext|>` are counted as the text they are."""
    return len(_encoding().encode_ordinary(text))


def least_tokens(text: str) -> int:
    """As many tokens as the text has for certain, told without counting: where its only white space is the blank, no
    piece of `PIECES` reaches over two words.
    """
    return len(text.split()) if text.isprintable() else min(len(text), 1)
