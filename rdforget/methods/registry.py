"""Which kinds of method there are: one explicit dict, and the entry points of other packages."""

from __future__ import annotations

from typing import Any

from rdforget.methods import ace, rd_forget, reasoning_bank
from rdforget.methods.base import Builder
from rdforget.plugins import Registry

BUILDERS: Registry[Builder[Any]] = Registry(
    "method builder",
    "rdforget.methods",
    {
        "rd-forget": rd_forget.BUILDER,
        "ace": ace.BUILDER,
        "reasoningbank": reasoning_bank.BUILDER,
    },
)
