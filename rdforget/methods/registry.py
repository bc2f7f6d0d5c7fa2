"""Which kinds of method there are: one explicit dict, and the entry points of other packages."""

from __future__ import annotations

from typing import Any

from rdforget.methods import (
    ace,
    bm25,
    fademem_style,
    generative_agents,
    lifecycle,
    mem0_style,
    memgpt_tiers,
    oracle,
    raw,
    rd_forget,
    reasoning_bank,
)
from rdforget.methods.base import Builder
from rdforget.plugins import Registry

BUILDERS: Registry[Builder[Any]] = Registry(
    "method builder",
    "rdforget.methods",
    {
        "rd-forget": rd_forget.BUILDER,
        "ace": ace.BUILDER,
        "reasoningbank": reasoning_bank.BUILDER,
        "full-context": raw.FULL_CONTEXT,
        "no-memory": raw.NO_MEMORY,
        "last-session": raw.LAST_SESSION,
        "oracle": oracle.BUILDER,
        "bm25": bm25.BUILDER,
        "mem0-style": mem0_style.BUILDER,
        "fademem-style": fademem_style.BUILDER,
        "memgpt-tiers": memgpt_tiers.BUILDER,
        "generative-agents": generative_agents.BUILDER,
        "lifecycle": lifecycle.LIFECYCLE,
        "append-only": lifecycle.APPEND_ONLY,
    },
)
