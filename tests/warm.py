"""Imported once by the parent of killed runs, so that each of them starts in milliseconds."""

from __future__ import annotations

import runners.cache
import runners.output
from rdforget.models.quiet import quiet_litellm

__all__ = ["runners"]

quiet_litellm()
