"""RD-Forget: a query-conditioned view in which replaced values stay stored and are not used (Sec. 3)."""

from __future__ import annotations

from rdforget.calls.base import Caller
from rdforget.methods.base import Method
from rdforget.records import SWITCHES, History, Memory, Protocol, Query, Switches
from rdforget.view.curate import curate
from rdforget.view.materialize import materialize


async def remember(
    history: History, query: Query | None, caller: Caller, switches: Switches, protocol: Protocol
) -> Memory:
    """Curate the source for the question, then materialise statuses and links (Algorithm 1)."""
    curated = await curate(history, query, caller, switches, protocol)
    entries = materialize(curated.active, curated.replaced, switches)
    return Memory(
        entries,
        {
            "parse": dict(curated.parse),
            "dropped": curated.dropped,
            "truncated": curated.truncated,
            "left_out": len(curated.active) + len(curated.replaced) - len(entries),
        },
    )


RD_FORGET = Method(
    name="rd-forget",
    title="RD-Forget",
    remember=remember,
    sees_query=True,
    empty="lexical",
    switches=frozenset(f"no-{name}" for name in SWITCHES),
)
