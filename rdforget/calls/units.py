"""What the builders that read chunk by chunk share: how units are shown and cited, and how a reply is had.

A unit is an observation of the source, shown as `[ref] (when) speaker: text`, so that a reply can cite it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from rdforget.calls.base import Call, Caller, Message, load_prompt
from rdforget.calls.curate import Item
from rdforget.calls.parsing import Extracted, extract
from rdforget.dates import parse_date
from rdforget.records import Observation
from rdforget.text import one_line
from rdforget.view.materialize import stated

TEXT, FIELD = {"type": "string", "maxLength": 600}, {"type": "string", "maxLength": 120}
REFS = {"type": "array", "items": {"type": "string", "maxLength": 40}, "maxItems": 12}
"""Names of units. A small model that is not held to them fills its reply with one list."""
_SERIAL = re.compile(r"#\d+")
_SAME_MOMENT = 2  # a date such as `2023/05/30 (Tue) 21:56` has parentheses of its own

Units = tuple[Observation, ...]
T = TypeVar("T")


def within(schema: Mapping[str, Any], cap: int) -> dict[str, Any]:
    """A schema whose texts have at most half as many characters as the reply may have tokens.

    So under a very small cap one item at least is whole, which is all that can be read of a reply that is cut off.
    """
    bounded = {key: within(value, cap) if isinstance(value, Mapping) else value for key, value in schema.items()}
    if isinstance(most := schema.get("maxLength"), int):
        bounded["maxLength"] = min(most, max(cap // 2, 1))
    return bounded


def unit_lines(units: Iterable[Observation]) -> str:
    """One line a unit."""
    return "\n".join(
        f"[{seen.ref}] " + (f"({one_line(seen.when)}) " if seen.when else "") + one_line(seen.line) for seen in units
    )


def dated(text: str, when: str | None) -> str:
    """The text on one line with its date, as `view.materialize.stated` has it, or with its serial: `... (#12)`.

    RD-Forget's statuses say which value holds, so that its entries need no serial. Memory that only appends can be
    resolved by nothing else, and memory that edits is shown alike.
    """
    text = one_line(text)
    if when and _SERIAL.fullmatch(when):
        return text if text.endswith(f"({when})") else f"{text} ({when})"
    return stated(Item(text, when=when))


def undated(text: str) -> str:
    """The text without the date or serial that `dated` puts behind it."""
    at = len(text)
    for _ in range(_SAME_MOMENT):
        at = text.rfind(" (", 0, max(at, 0))
        when = text[at + 2 : -1]
        if at > 0 and text.endswith(")") and (_SERIAL.fullmatch(when) or parse_date(when)):
            return text[:at]
    return text


def refs_of(raw: object, units: Units) -> tuple[str, ...]:
    """The refs in a reply that name units of the chunk, each once; `[#12]`, `#12`, `12` and 12 are one."""
    known = {seen.ref.lower(): seen.ref for seen in units}
    names = [str(one).strip().strip("[]").lower() for one in (raw if isinstance(raw, list) else [raw])]
    found = (known.get(name) or known.get(f"#{name}") for name in names)
    return tuple(dict.fromkeys(ref for ref in found if ref))


def when_of(said: str, refs: Sequence[str], units: Units) -> str | None:
    """The time that a reply gives, else that of the last unit it cites: its date, or its ref where that is a serial.

    Where no unit is cited, a date that all of them share will do.
    """
    cited = [seen for seen in units if seen.ref in refs]
    if said or not cited:
        dates = {seen.when for seen in units}
        return said or (dates.pop() if len(dates) == 1 else None)
    last = cited[-1]
    return last.when or (last.ref if _SERIAL.fullmatch(last.ref) else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What every parsed reply tells of itself."""

    status: str
    """Rung of the parser that read it."""
    faults: tuple[str, ...] = ()
    """Why items were dropped, one each."""
    defect: str = ""
    """Why nothing of it can be used, in words for the model; empty where something can."""


P = TypeVar("P", bound=Parsed)


def listed(
    found: Extracted, key: str, read: Callable[[dict[str, Any]], T | str]
) -> tuple[tuple[T, ...], tuple[str, ...], str]:
    """The items under `key`, each read by itself; the faults of the others; and the defect of the whole, if any.

    `read` gives the item, or says in words what is wrong with it.
    """
    if found.status == "none":
        return (), (), f'it holds no JSON object with the list "{key}"'
    if not isinstance(raw := found.data.get(key), list):
        return (), (f'"{key}" is no list',), f'"{key}" is no list'
    results = [read(one) if isinstance(one, dict) else "an item is no object" for one in raw]
    faults = tuple(one for one in results if isinstance(one, str))
    items = tuple(one for one in results if not isinstance(one, str))
    return items, faults, f"no item is usable: {faults[0]}" if faults and not items else ""


def find(text: str, key: str, *others: str) -> Extracted:
    """The object with all keys, else one that has `key`, else what can be saved of a cut-off reply."""
    found = extract(text, key, *others)
    if found.status in ("salvaged", "none"):
        alone = extract(text, key)
        return alone if alone.status not in ("salvaged", "none") else found
    return found


@dataclass(slots=True)
class Asker:
    """Asks for the replies of one build and counts how well they could be read."""

    caller: Caller
    retries: int
    parse: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    async def ask(self, call: Call, read: Callable[[str], P]) -> tuple[P, bool]:
        """A reply as read, and whether the output cap cut it off. Raises CallError.

        An unusable reply is asked for again with its defect named; one that was cut off would be cut off again.
        """
        for left in range(self.retries, -1, -1):
            reply = await self.caller(call)
            found = read(reply.text)
            cut = reply.finish_reason == "length"
            self.parse[found.status] += 1
            self.counts["truncated"] += cut
            if cut or not found.defect or not left:
                break
            self.counts["retries"] += 1
            call = _again(call, found.defect)
        return found, cut

    def stats(self) -> Mapping[str, Any]:
        return {"parse": dict(self.parse), **self.counts}


def halves(units: Units) -> tuple[Units, Units]:
    """The two halves of a chunk of at least two units."""
    return units[: len(units) // 2], units[len(units) // 2 :]


def _again(call: Call, defect: str) -> Call:
    *before, last = call.messages
    told = Message(last.role, f"{last.content}\n\n{load_prompt('again').fill('user', defect=defect)}")
    return replace(call, messages=(*before, told))
