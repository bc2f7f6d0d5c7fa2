"""What is asked of a model, cut to its window: the protocol's caps, chunks and candidate lists."""

from __future__ import annotations

from dataclasses import replace

from rdforget.models.parameters import ModelConfig
from rdforget.models.replay import ReplayConfig
from rdforget.records import Protocol

MODEL_TOKENS = 1.4
"""Tokens of a model with a small vocabulary for one of o200k_base; 1.22 were measured on numbered facts, so that there
is room for worse."""
OVERHEAD = 1_000
"""Tokens of o200k_base around a source or a list: instructions, question and options."""
FITTED = (
    "curate_cap",
    "curate_cap_general",
    "select_cap",
    "answer_cap",
    "judge_cap",
    "supersession",
    "chunk_limit",
    "collect_tokens",
)
"""Fields of a protocol that hang on the model."""


def fitted(protocol: Protocol, model: ModelConfig, judge: ModelConfig | None = None) -> Protocol:
    """The protocol as far as a model can follow it; the same where its window is not known.

    `judge` answers the judge's calls where it is another model. What a limit leaves out is asked in more chunks or not
    at all, and a call that still does not fit fails by itself. A recording has the limits of what was recorded.
    """
    if isinstance(model, ReplayConfig):
        return replace(protocol, **model.limits)
    protocol = replace(
        protocol,
        curate_cap=_capped(protocol.curate_cap, model),
        curate_cap_general=_capped(protocol.curate_cap_general, model),
        select_cap=_capped(protocol.select_cap, model),
        answer_cap=_capped(protocol.answer_cap, model),
        judge_cap=_capped(protocol.judge_cap, judge or model),
        supersession=model.supersession,
    )
    if model.window is None:
        return protocol
    chunk = _room(model.window, max(protocol.curate_cap, protocol.curate_cap_general))
    listed = _room(model.window, protocol.select_cap)
    return replace(protocol, chunk_limit=chunk, collect_tokens=min(protocol.collect_tokens, listed))


def told(protocol: Protocol, model: ModelConfig) -> list[str]:
    """What a user is told of a protocol that was cut to a window."""
    if protocol.chunk_limit is None:
        return []
    window = f" of {model.window:,} tokens" if model.window else ""
    return [
        f"cut to the window{window} of {model.name}: sources in chunks of at most {protocol.chunk_limit:,} tokens, "
        f"{protocol.collect_tokens:,} of candidates, {protocol.curate_cap:,} of a curator's reply"
    ]


def _capped(cap: int, model: ModelConfig) -> int:
    limit = model.reply_limit or (model.window // 4 if model.window else None)
    return min(cap, limit) if limit else cap


def _room(window: int, cap: int) -> int:
    """Tokens of o200k_base that are left for a source; a window too small for any leaves its calls to fail."""
    return max(int((window - cap) / MODEL_TOKENS) - OVERHEAD, 1)
