"""ACE's playbook: its state, how a delta changes it, and how it is kept from growing over. No model is asked here.

The paper ("Agentic Context Engineering", ICLR 2026) tells of localised edits; its released code applies ADD alone. The
options choose between the two.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rdforget.calls.reflect import SECTIONS, Bullet, Relation, Shown, bullet_line
from rdforget.calls.revise import Operation
from rdforget.calls.units import dated
from rdforget.records import Entry, Status
from rdforget.text import fold, overlap, word_set, words
from rdforget.tokens import count_tokens

OTHERS = "others"
_SINGULAR = {name.removesuffix("s"): name for name in SECTIONS}
_SLUGS = {slug: name for name, slug in SECTIONS.items()}
_COUNTING = frozenset(
    re.findall(
        r"\w+",
        "zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred "
        "thousand half once twice no not never without neither nor cannot t",
    )
)
"""Number words, and the words (the end of "isn't" among them) that turn a statement into its opposite."""
_NAME = re.compile(r"\b[^\W\d_a-z]\w*")


@dataclass(slots=True)
class Playbook:
    """The bullets by id in the order of their making, and how many ids were ever given: none is given twice.

    Plain data, so that pydantic writes it as JSON and reads it back.
    """

    bullets: dict[str, Bullet] = field(default_factory=dict)
    issued: int = 0

    @property
    def active(self) -> list[Bullet]:
        return [bullet for bullet in self.bullets.values() if bullet.status is Status.ACTIVE]

    @property
    def tokens(self) -> int:
        """Tokens of the active bullets as calls see them."""
        return sum(map(_size, self.active))

    def view(self, source: str, limit: int) -> Shown:
        """All active bullets within `limit` tokens, else those of whose words the source holds most, newer ones first.

        They stand in the order of their making either way.
        """
        active = self.active
        if self.tokens <= limit:
            return Shown(tuple(active))
        shown: set[str] = set()
        used = 0
        newest_first = active[::-1]
        for bullet in sorted(newest_first, key=lambda one: -overlap(word_set(one.text), source)):
            if used + _size(bullet) <= limit:
                shown.add(bullet.id)
                used += _size(bullet)
        hidden = Counter(bullet.section for bullet in active if bullet.id not in shown)
        return Shown(tuple(bullet for bullet in active if bullet.id in shown), hidden)

    def tag(self, relations: Iterable[Relation], editable: Collection[str]) -> Counter[str]:
        """Move the counters: confirmed is helpful; contradicted or retracted is harmful. Counts unknown ids."""
        counts: Counter[str] = Counter()
        for id, rel in dict.fromkeys((relation.id, relation.rel) for relation in relations):
            if id not in editable:
                counts["unknown_ids"] += 1
                continue
            bullet = self.bullets[id]
            self.bullets[id] = replace(
                bullet,
                helpful=bullet.helpful + (rel == "confirms"),
                harmful=bullet.harmful + (rel in ("contradicts", "retracts")),
            )
        return counts

    def apply(
        self,
        operations: Sequence[Operation],
        editable: Collection[str],
        *,
        update_mode: Literal["in_place", "versioned"] = "in_place",
        delete_mode: Literal["soft", "hard"] = "soft",
        limit: int = 400,
    ) -> Counter[str]:
        """Apply a delta: UPDATE, MERGE, DELETE, ADD in this order. Returns what was done, by operation and cause.

        The last operation on an id wins. Bullets that are not `editable` are unknown: an UPDATE or a MERGE of
        nothing but such becomes an ADD, so that its text is kept.
        """
        counts: Counter[str] = Counter(over_limit=max(0, len(operations) - limit))
        operations = operations[:limit]
        last = {id: at for at, operation in enumerate(operations) for id in operation.ids}
        todo: defaultdict[str, list[Operation]] = defaultdict(list)
        for at, operation in enumerate(operations):
            ids = tuple(id for id in operation.ids if last[id] == at)
            known = tuple(id for id in ids if id in editable)
            counts["unknown_ids"] += len(ids) - len(known)
            if known or operation.op == "ADD":
                todo[operation.op].append(replace(operation, ids=known))
            elif ids and operation.op != "DELETE":
                todo["ADD"].append(operation)
            counts["overridden"] += bool(operation.ids) and not ids
        for operation in todo["UPDATE"]:
            self._update(operation, update_mode)
        for operation in todo["MERGE"]:
            self._merge(operation)
        for operation in todo["DELETE"]:
            self._retire(operation.ids[0], delete_mode)
        repeats = {_said(bullet): bullet.id for bullet in self.active}
        for operation in todo["ADD"]:
            section = _section(operation.section)
            counts["unknown_sections"] += section is None
            bullet = self._new(operation, section or OTHERS)
            if repeated := repeats.get(_said(bullet)):
                self._unite(repeated, [bullet])
                counts["repeated"] += 1
            else:
                self._issue(bullet)
                repeats[_said(bullet)] = bullet.id
                counts["ADD"] += 1
        for op in ("UPDATE", "MERGE", "DELETE"):
            counts[op] += len(todo[op])
        return +counts

    def deduplicate(self, threshold: float, *, guard: bool, drop: Literal["older", "newer"]) -> int:
        """Fold each active bullet into the first whose word set has a cosine of `threshold` or more with its own.

        Similarity cannot tell a paraphrase from an update ("$350,000", "$400,000"), so that `guard` asks for the same
        numbers, names, negations and date as well. The bullet that stays has the refs of both.
        """
        kept: defaultdict[object, list[Bullet]] = defaultdict(list)
        dropped = 0
        for bullet in self.active:
            rivals = kept[(bullet.when, _values(bullet.text)) if guard else None]
            at = next((at for at, other in enumerate(rivals) if _cosine(other.text, bullet.text) >= threshold), None)
            if at is None:
                rivals.append(bullet)
                continue
            stays, goes = (bullet, rivals[at]) if drop == "older" else (rivals[at], bullet)
            self._unite(stays.id, [goes])
            self._remove(goes.id, heir=stays.id)
            rivals[at] = self.bullets[stays.id]
            dropped += 1
        return dropped

    def prune(self, margin: int) -> int:
        """Deprecate active bullets that were contradicted at least `margin` times more often than confirmed."""
        pruned = [bullet.id for bullet in self.active if bullet.harmful - bullet.helpful >= margin]
        for id in pruned:
            self._retire(id, "soft")
        return len(pruned)

    def entries(self) -> tuple[Entry, ...]:
        """One entry a bullet, its text with its date or serial."""
        return tuple(
            Entry(
                id=bullet.id,
                text=dated(bullet.text, bullet.when),
                status=bullet.status,
                superseded_by=bullet.superseded_by,
                when=bullet.when,
                meta={
                    "section": bullet.section,
                    "helpful": bullet.helpful,
                    "harmful": bullet.harmful,
                    "rev": bullet.rev,
                    "refs": list(bullet.refs),
                },
            )
            for bullet in self.bullets.values()
        )

    def _new(self, operation: Operation, section: str) -> Bullet:
        return Bullet(
            f"{SECTIONS[section]}-{self.issued + 1:05d}", section, operation.text, operation.when, operation.refs
        )

    def _issue(self, bullet: Bullet) -> None:
        self.bullets[bullet.id] = bullet
        self.issued += 1

    def _update(self, operation: Operation, mode: Literal["in_place", "versioned"]) -> None:
        old = self.bullets[operation.ids[0]]
        if mode == "versioned":
            new = self._new(operation, old.section)
            self._issue(new)
            self.bullets[old.id] = replace(old, status=Status.SUPERSEDED, superseded_by=new.id)
        else:
            # No log of old texts: the journal keeps every reply.
            self.bullets[old.id] = replace(
                old,
                text=operation.text,
                when=operation.when,
                rev=old.rev + 1,
                refs=_united(old.refs, operation.refs),
            )

    def _merge(self, operation: Operation) -> None:
        first, *others = (self.bullets[id] for id in operation.ids)
        when = operation.when or next((one.when for one in (*reversed(others), first) if one.when), None)
        self.bullets[first.id] = replace(
            first, text=operation.text, when=when, rev=first.rev + 1, refs=_united(first.refs, operation.refs)
        )
        self._unite(first.id, others)
        for other in others:
            self._remove(other.id, heir=first.id)

    def _unite(self, id: str, others: Iterable[Bullet]) -> None:
        for other in others:
            one = self.bullets[id]
            self.bullets[id] = replace(
                one,
                refs=_united(one.refs, other.refs),
                helpful=one.helpful + other.helpful,
                harmful=one.harmful + other.harmful,
            )

    def _retire(self, id: str, mode: Literal["soft", "hard"]) -> None:
        if mode == "hard":
            self._remove(id, heir=None)
        else:
            self.bullets[id] = replace(self.bullets[id], status=Status.DEPRECATED)

    def _remove(self, id: str, heir: str | None) -> None:
        """Take a bullet out; what it had replaced is now replaced by the heir, or without one merely retired."""
        del self.bullets[id]
        for old in self.bullets.values():
            if old.superseded_by == id:
                status = Status.SUPERSEDED if heir else Status.DEPRECATED
                self.bullets[old.id] = replace(old, status=status, superseded_by=heir)


def _cosine(one: str, other: str) -> float:
    mine, theirs = word_set(one), word_set(other)
    return len(mine & theirs) / math.sqrt(len(mine) * len(theirs)) if mine and theirs else 0.0


def _values(text: str) -> frozenset[str]:
    kept = (word for word in words(text) if word in _COUNTING or any(map(str.isdigit, word)))
    return frozenset((*kept, *map(fold, _NAME.findall(text))))


def _size(bullet: Bullet) -> int:
    return count_tokens(bullet_line(bullet) + "\n")


def _said(bullet: Bullet) -> str:
    """What a bullet says, and when: one made again at another time is no repetition: a value may return."""
    return " ".join((*words(bullet.text), f"({bullet.when})"))


def _section(said: str) -> str | None:
    """The section that a reply means, by its name, in the singular or by its slug."""
    name = fold(said).strip()
    return name if name in SECTIONS else _SINGULAR.get(name) or _SLUGS.get(name)


def _united(refs: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*refs, *more)))
