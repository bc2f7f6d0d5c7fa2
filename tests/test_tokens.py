"""Token counts: the vocabulary is the right one, found offline, and text is only text."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest

from rdforget.tokens import VOCABULARY_FILE, count_tokens, vocabulary_dir


def test_the_vocabulary_is_o200k_base() -> None:
    content = (vocabulary_dir() / VOCABULARY_FILE).read_bytes()
    assert hashlib.sha256(content).hexdigest() == "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello world", 2), ("<|endoftext|>", 7), ("漢字😀", 3), ("Orla is in Metz", 5)],
)
def test_counts(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


def test_counting_does_not_import_litellm() -> None:
    code = "import sys, rdforget.tokens as t; t.count_tokens('a'); sys.exit('litellm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
