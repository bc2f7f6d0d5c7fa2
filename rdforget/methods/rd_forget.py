"""RD-Forget: a query-conditioned view in which replaced values stay stored and are not used (Sec. 3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from rdforget.calls.base import Caller
from rdforget.methods.base import Builder, Method
from rdforget.records import SWITCHES, History, Memory, Protocol, Query, Switches
from rdforget.view.curate import curate
from rdforget.view.materialize import materialize


@dataclass(frozen=True, slots=True)
class Options:
    cross_chunk: Literal["keep", "demote"] | None = None
    """Whether later chunks supersede earlier ones; None leaves it to the suite's protocol."""


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


def make(name: str, options: Options) -> Method:
    async def build(
        history: History, query: Query | None, caller: Caller, switches: Switches, protocol: Protocol
    ) -> Memory:
        protocol = replace(protocol, cross_chunk=options.cross_chunk or protocol.cross_chunk)
        return await remember(history, query, caller, switches, protocol)

    return Method(
        name=name,
        title="RD-Forget" if options.cross_chunk is None else f"RD-Forget ({options.cross_chunk})",
        remember=build,
        sees_query=True,
        empty="lexical",
        switches=frozenset(f"no-{switch}" for switch in SWITCHES),
    )


BUILDER = Builder(Options, make)
