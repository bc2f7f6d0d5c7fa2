"""Where an answer was lost: the way of a question's evidence from the archive to the score, from its record.

A question is followed by **units** of evidence:

- labels: the refs of `Gold.evidence`. An entry carries a ref that its `meta["refs"]` names, or whose line its
  `evidence` is: the whole line, or a part that is in no other line of the history. An entry that names no line at all
  (a summary) carries every ref if its text holds the gold.
- gold: without labels, or where entries quote lines and the history is not at hand to compare them with, the one unit
  is the gold answer. An entry carries it that holds it in its text as whole tokens (`scoring.rule.strict_rule`), and a
  history that states it nowhere leaves the question untraced. Such a hit may be chance: another fact with the same
  value counts too.

A stage has a share, 0 to 1: of the units that its entries carry, and beyond the view whether the gold is in the answer
as text and what the headline metric gave. **Whole** is all units, **some** any. A question is lost at the first stage
that has not the whole; if it is credited in full all the same it is recovered. Labels that name an outdated line beside
the current one (LongMemEval) are therefore lost at `eligible` whenever forgetting does its work; `replaced` tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rdforget.records import Entry, Gold, History, Observation, Record, Trace, Verdict
from rdforget.scoring.rule import applies, normalise, strict_rule
from runners.lines import by_ref, quoted_by, stating

GOLD_UNIT = "gold"
"""Name of the one unit of a question that is followed by its gold answer."""


class Stage(StrEnum):
    """The places on the way, in order."""

    HISTORY = "history"
    """Among the observations that the question may look at; unknown without the data."""
    STORED = "stored"
    ELIGIBLE = "eligible"
    CANDIDATES = "candidates"
    SELECTED = "selected"
    PACKED = "packed"
    """In the view that the answer model sees."""
    ANSWER = "answer"
    """The gold is in the answer as text; unknown where it is an option, or criteria."""
    CREDIT = "credit"
    """What the headline metric gave."""


class Basis(StrEnum):
    LABELS = "labels"
    GOLD = "gold"
    NONE = "none"


class Outcome(StrEnum):
    """How a question ended. Every question has exactly one."""

    KEPT = "kept"
    """Credited in full, with the whole evidence in the view."""
    RECOVERED = "recovered"
    """Credited in full though evidence was lost on the way: by other entries, by a guess, by a lenient scorer."""
    LOST = "lost"
    UNTRACED = "untraced"
    """No labels, and no gold that the history states as text; or no metric applies."""
    ABSTENTION = "abstention"
    """Right is to say that the history does not hold the answer: there is nothing to carry."""
    FAILED = "failed"
    """No answer, or no verdict on it."""


EVIDENCE = tuple(Stage)[: tuple(Stage).index(Stage.ANSWER)]
"""The stages that carry evidence."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The way of one question's evidence."""

    basis: Basis
    units: tuple[str, ...]
    carriers: Mapping[str, frozenset[str]]
    """Units that an entry carries, by the entry's id; entries without any are left out."""
    shares: Mapping[Stage, float | None]
    """None where it is not known."""
    outcome: Outcome
    lost: Stage | None
    """The first stage without the whole, of questions that are recovered or lost."""
    replaced: bool = False
    """Lost at `eligible`, where other evidence of the question superseded what is missing."""


def funnel_of(record: Record, history: History | None = None) -> Stages:
    """Follow a question's evidence; `history` is the one that the record names, where the data is at hand."""
    basis = _basis(record, history)
    units = tuple(dict.fromkeys(record.gold.evidence)) if basis is Basis.LABELS else (GOLD_UNIT,)
    units = () if basis is Basis.NONE else units
    carriers = _carriers(record, history, basis, units) if record.trace else {}
    shares: dict[Stage, float | None] = dict.fromkeys(Stage)
    if units and history:
        shares[Stage.HISTORY] = _share(_visible(history, units, basis), units)
    if units and record.trace:
        for stage, ids in _ids(record.trace).items():
            shares[stage] = _share(frozenset[str]().union(*(carriers.get(name, frozenset()) for name in ids)), units)
    if record.answer and applies(record.gold):
        shares[Stage.ANSWER] = float(states(record.answer.text, record.gold))
    score = next((score for score in record.scores if score.verdict is not Verdict.EXCLUDED), None)
    shares[Stage.CREDIT] = score.value if score else None
    if record.failure or (score and score.value is None):
        outcome = Outcome.FAILED
    elif record.gold.abstention:
        outcome = Outcome.ABSTENTION
    elif not units or not score:
        outcome = Outcome.UNTRACED
    else:
        outcome, lost = _end(shares)
        replaced = lost is Stage.ELIGIBLE and _is_replaced(record.trace, carriers)
        return Stages(basis, units, carriers, shares, outcome, lost, replaced)
    return Stages(basis, units, carriers, shares, outcome, None)


def _end(shares: Mapping[Stage, float | None]) -> tuple[Outcome, Stage | None]:
    """The outcome of a question that has a verdict, and where evidence was lost first."""
    lost = next((stage for stage in EVIDENCE if (share := shares[stage]) is not None and share < 1), None)
    if shares[Stage.CREDIT] == 1:
        return (Outcome.RECOVERED, lost) if lost else (Outcome.KEPT, None)
    # Where the gold cannot be looked for in the answer, the fault is the answer's.
    return Outcome.LOST, lost or (Stage.CREDIT if shares[Stage.ANSWER] == 1 else Stage.ANSWER)


def _basis(record: Record, history: History | None) -> Basis:
    entries = record.trace.memory.entries if record.trace else ()
    if record.gold.evidence and (history or all(_refs(entry) or not entry.evidence for entry in entries)):
        return Basis.LABELS
    if not applies(record.gold):
        return Basis.NONE
    return Basis.GOLD if history is None or stating(history, record.gold) else Basis.NONE


def _visible(history: History, units: Sequence[str], basis: Basis) -> frozenset[str]:
    return frozenset(unit for unit in units if basis is Basis.GOLD or unit in by_ref(history))


def _ids(trace: Trace) -> dict[Stage, tuple[str, ...]]:
    """The entries of every stage that holds entries, by id."""
    return {
        Stage.STORED: tuple(entry.id for entry in trace.memory.entries),
        Stage.ELIGIBLE: trace.eligible,
        Stage.CANDIDATES: trace.candidates,
        Stage.SELECTED: trace.selected,
        Stage.PACKED: tuple(entry.id for entry in trace.view.entries),
    }


def _is_replaced(trace: Trace | None, carriers: Mapping[str, frozenset[str]]) -> bool:
    """Whether every carrier that is not eligible, of a unit that no eligible one carries, gave way to a carrier."""
    entries = trace.memory.entries if trace else ()
    usable = set(trace.eligible if trace else ())
    held = frozenset[str]().union(*(units for name, units in carriers.items() if name in usable))
    return all(
        entry.superseded_by in carriers
        for entry in entries
        if entry.id not in usable and carriers.get(entry.id, frozenset()) - held
    )


def _share(found: frozenset[str], units: Sequence[str]) -> float:
    return len(found.intersection(units)) / len(units)


def _carriers(
    record: Record, history: History | None, basis: Basis, units: tuple[str, ...]
) -> dict[str, frozenset[str]]:
    assert record.trace is not None
    lines = [by_ref(history)[unit] for unit in units if unit in by_ref(history)] if history else []
    found = {}
    for entry in record.trace.memory.entries:
        if basis is Basis.LABELS:
            carried = _labels(entry, record.gold, units, lines, history)
        else:
            carried = frozenset(units if states(entry.text, record.gold) else ())
        if carried:
            found[entry.id] = carried
    return found


def _labels(
    entry: Entry, gold: Gold, units: tuple[str, ...], lines: Sequence[Observation], history: History | None
) -> frozenset[str]:
    """The labelled refs that an entry rests on; `lines` are the observations that they name."""
    refs = _refs(entry)
    quoted = {seen.ref for seen in lines if history and entry.evidence and _quotes(entry.evidence, seen, history)}
    if carried := {unit for unit in units if unit in refs} | quoted:
        return frozenset(carried)
    if refs or not applies(gold) or not states(entry.text, gold):
        return frozenset()
    sourced = history and entry.evidence and quoted_by(history, entry.evidence)
    return frozenset() if sourced else frozenset(units)


def _refs(entry: Entry) -> frozenset[str]:
    refs = entry.meta.get("refs")
    return frozenset(map(str, refs)) if isinstance(refs, list | tuple) else frozenset()


def _quotes(evidence: str, seen: Observation, history: History) -> bool:
    """Whether the evidence of an entry is this line, or a part of it and of no other."""
    if normalise(evidence) in (normalise(seen.line), normalise(seen.text)):
        return True
    return quoted_by(history, evidence) == [seen]


def states(text: str, gold: Gold) -> bool:
    """Whether a text holds one of the acceptable answers as whole tokens."""
    return any(strict_rule(text, answer) for answer in gold.answers)
