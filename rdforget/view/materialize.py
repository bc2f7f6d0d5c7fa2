"""Materialisation: curated items become entries with statuses and links (Sec. 3.3, eq. 4)."""

from __future__ import annotations

from collections.abc import Sequence

from rdforget.calls.curate import Item
from rdforget.dates import parse_date
from rdforget.records import Entry, Status, Switches
from rdforget.text import fold, one_line


def normalise_slot(raw: str) -> str | None:
    """`subject|relation|scope` in lower case, each part stripped, inner white space collapsed.

    None for an empty or malformed slot (no subject or no relation): it never matches another.
    """
    parts = [one_line(fold(part)) for part in raw.split("|")]
    if len(parts) < 2 or not parts[0] or not parts[1]:
        return None
    return "|".join(parts if len(parts) > 2 else [*parts, ""])


def stated(item: Item) -> str:
    """The text of an item, on one line, with its validity time where that is a date and the text lacks it.

    The answer model sees the text alone (eq. 3 counts it alone), so a date that it needs must be in there.
    Numbers of a list, such as `#12`, are no dates: they order the source and are not shown.
    """
    text = one_line(item.text)
    dated = item.when and item.when not in text and parse_date(item.when)
    return f"{text} ({one_line(item.when or '')})" if dated else text


def materialize(
    active: Sequence[Item], replaced: Sequence[Item], switches: Switches | None = None
) -> tuple[Entry, ...]:
    """The memory `M_q`: all active items first, then the replaced ones that an active one supersedes.

    A replaced item is SUPERSEDED by the **last** active item of its slot; without one it is left out of the
    memory, while its source stays in the archive. -FORGET keeps such an item ACTIVE without a link;
    -SLOT has no slots, so that every older item is an ACTIVE entry of its own. Exact repetitions are dropped.
    Ids are `m1..mN` in this order.
    """
    switches = switches or Switches()
    entries: dict[tuple[str, str | None, Status], Entry] = {}
    target: dict[str, str] = {}

    def add(item: Item, status: Status, superseded_by: str | None = None) -> Entry:
        slot = normalise_slot(item.slot) if switches.slot else None
        text = stated(item)
        entry = Entry(f"m{len(entries) + 1}", text, status, slot, superseded_by, item.when, item.evidence)
        return entries.setdefault((text, slot, status), entry)

    for item in active:
        entry = add(item, Status.ACTIVE)
        if entry.slot:
            target[entry.slot] = entry.id
    for item in replaced:
        if not switches.slot:
            add(item, Status.ACTIVE)
        elif (slot := normalise_slot(item.slot)) and slot in target:
            if switches.forget:
                add(item, Status.SUPERSEDED, superseded_by=target[slot])
            else:
                add(item, Status.ACTIVE)
    return tuple(entries.values())
