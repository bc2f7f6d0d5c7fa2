"""Packing: the view `Z(q)` under the budget `B` (Sec. 3.1 eqs. 1-3, Sec. 3.5, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Iterable

from rdforget.records import Entry, Packed, View
from rdforget.tokens import count_tokens, least_tokens

ENTRY_OVERHEAD = 8


def cost(entry: Entry) -> int:
    """`c(m) = Tok(m.text) + 8` tokens (eq. 3): the text alone, whatever else is kept of the entry."""
    return count_tokens(entry.text) + ENTRY_OVERHEAD


def pack(ordered: Iterable[Entry], budget: int | None) -> View:
    """Add each entry in order if it fits, skip it if it does not, and go on; the limit is inclusive.

    None packs everything, for the control that has no budget.
    """
    packed: list[Packed] = []
    used = 0
    for entry in ordered:
        if budget is not None and used + least_tokens(entry.text) + ENTRY_OVERHEAD > budget:
            continue  # without counting: a large memory has many such
        price = cost(entry)
        if budget is None or used + price <= budget:
            packed.append(Packed(entry, price))
            used += price
    return View(tuple(packed), budget)
