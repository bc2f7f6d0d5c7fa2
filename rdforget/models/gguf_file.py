"""What a GGUF file says of itself in its header, read without llama.cpp.

https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from rdforget.errors import MendableError

_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_LONGEST = 2**31
"""No string or list of a header comes near; a broken file must not ask for all memory."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A model file, as far as a run depends on it."""

    path: Path
    sha256: str
    window: int
    """Tokens that it was trained to see at once."""


def weights(path: Path) -> Weights:
    """The model in a file. MendableError where it is none that can be asked."""
    try:
        state = path.stat()
        return _weights(path, state.st_size, state.st_mtime_ns)
    except OSError as error:
        raise MendableError(f"{path} cannot be read ({error.strerror}): give a GGUF file as gguf:PATH") from error
    except (ValueError, struct.error, MemoryError) as error:
        raise MendableError(f"{path} is no whole GGUF file ({error}): give one as gguf:PATH") from error


@lru_cache(maxsize=8)
def _weights(path: Path, size: int, changed: int) -> Weights:
    """Kept as long as the file stays as it is: a digest of gigabytes takes seconds."""
    found = header(path)
    window = found.get(f"{found.get('general.architecture')}.context_length")
    if not isinstance(window, int) or "tokenizer.chat_template" not in found:
        raise MendableError(f"{path} has no context length or no chat template: give an instruction-tuned model")
    with path.open("rb") as file:
        return Weights(path, hashlib.file_digest(file, "sha256").hexdigest(), window)


def header(path: Path) -> dict[str, Any]:
    """The metadata but for its lists, which are vocabularies. ValueError or struct.error where it is none."""
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise ValueError("it does not begin as one")
        _, _, pairs = _scalar(file, "<I"), _scalar(file, "<Q"), _scalar(file, "<Q")
        found = {}
        for _ in range(min(pairs, _LONGEST)):
            name = _string(file)
            found[name] = _value(file, _scalar(file, "<I"))
        return {name: value for name, value in found.items() if value is not None}


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind != _ARRAY:
        return _scalar(file, _format(kind))
    inner, length = _scalar(file, "<I"), _scalar(file, "<Q")
    if inner in (_STRING, _ARRAY):
        for _ in range(min(length, _LONGEST)):
            _value(file, inner)
    else:
        file.seek(struct.calcsize(_format(inner)) * length, 1)
    return None


def _format(kind: int) -> str:
    if kind not in _SCALARS:
        raise ValueError(f"a value is of the unknown type {kind}")
    return _SCALARS[kind]


def _scalar(file: BinaryIO, form: str) -> Any:
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def _string(file: BinaryIO) -> str:
    length = _scalar(file, "<Q")
    if length > _LONGEST:
        raise ValueError(f"a text of it has {length} bytes")
    text = file.read(length)
    if len(text) < length:
        raise ValueError("it is cut off")
    return text.decode("utf-8", "replace")
