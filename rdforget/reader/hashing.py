"""The choice where nothing decides: by a hash of what is compared, so that no order can."""

from __future__ import annotations

import hashlib


def digest(*parts: str) -> bytes:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).digest()
