"""Which runs of a report may be compared, and how they do: what `rdf compare` says, for every pair of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from runners.compare import unlike_data, unlike_judges
from runners.report.payload import visible
from runners.report.reading import Read
from runners.stats import paired_of

_MOST = 1_000
"""Pairs that are worked out; a report of more runs is held against its first one alone."""


def groups_of(reads: Sequence[Read]) -> list[list[int]]:
    """The runs over the same questions, by their numbers."""
    groups: list[list[int]] = []
    for number, read in enumerate(reads):
        alike = (group for group in groups if not unlike_data(_settings(reads[group[0]]), _settings(read)))
        if (group := next(alike, None)) is not None:
            group.append(number)
        else:
            groups.append([number])
    return groups


def pairs_of(reads: Sequence[Read], groups: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    """Every pair of a group with its difference, or with why there is none."""
    pairs = [pair for group in groups for pair in combinations(group, 2)]
    if len(pairs) > _MOST:
        pairs = [(group[0], other) for group in groups for other in group[1:]]
    return [{"a": a, "b": b, **_pair(reads[a], reads[b])} for a, b in pairs]


def _pair(a: Read, b: Read) -> dict[str, Any]:
    metrics = a.measured.cell.metric, b.measured.cell.metric
    if metrics[0] != metrics[1]:
        return {"refused": f"the headline of one is {metrics[0]}, of the other {metrics[1]}"}
    if unlike := unlike_judges(_settings(a), _settings(b), metrics[0]):
        return {"refused": visible(f"they differ in {', and '.join(unlike)}")}
    found = paired_of(a.measured.evaluations, b.measured.evaluations)
    if not found:
        return {"refused": "no question has a value in both"}
    notes = []
    if a.measured.evaluations.keys() != b.measured.evaluations.keys():
        notes.append(f"Only the {found.n} questions that both completed are compared.")
    if found.verdict != "tie" and found.p > 0.05:
        notes.append("Borderline: the interval leaves 0 out, but p is above 0.05.")
    return {
        "difference": round(found.difference, 4),
        "low": round(found.low, 4),
        "high": round(found.high, 4),
        "p": found.p,
        "test": {"mcnemar": "exact McNemar", "sign-flip": "sign-flip permutation"}[found.test],
        "verdict": found.verdict,
        "wins": found.wins,
        "losses": found.losses,
        "ties": found.ties,
        "n": found.n,
        "notes": notes,
    }


def _settings(read: Read) -> Mapping[str, Any]:
    """Settings under the suite's own name: `mab-fc` and `mab-fc:mh_6k` are one suite."""
    return {**read.measured.settings, "suite": read.funnel.suite}
