"""The ceiling `oracle`: the units that the data names as evidence go straight to the packer.

It uses evidence labels, which no method may, and never gold answers. A question without labels gets no memory.
"""

from __future__ import annotations

from rdforget.methods.base import Builder, Method
from rdforget.methods.raw import NoOptions, in_order, nothing, raw_entries
from rdforget.records import Gold, History, Memory


def evidence(history: History, gold: Gold) -> Memory:
    """The labelled units in source order; `unlabelled` and refs that name no unit are counted."""
    wanted = set(gold.evidence)
    units = tuple(seen for seen in history.observations if seen.ref in wanted)
    unknown = len(wanted - {seen.ref for seen in units})
    return Memory(raw_entries(units), {"unlabelled": int(not wanted), "unknown_refs": unknown})


def make(name: str, options: NoOptions) -> Method:
    return Method(
        name=name,
        title="Oracle evidence",
        remember=nothing,
        switches=frozenset(),
        rank=in_order,
        selector=False,
        from_gold=evidence,
    )


BUILDER = Builder(NoOptions, make)
