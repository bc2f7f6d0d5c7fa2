"""Answers whose right verdict is known, made by code from the golds of a suite; what a judge is checked with.

The wordings are data, in `judge_cases.yaml`. The same questions give the same cases.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from string import Template

import yaml

from rdforget.reader.grading import states
from rdforget.records import Gold, Query
from rdforget.scoring.judge import applies
from rdforget.scoring.rule import normalise, strict_rule

_DATE = re.compile(
    r"\b(?:1[5-9]|20)\d\d\b|\b(?:january|february|march|april|june|july|august|september|october|november|december)\b"
)
_POLAR = {"yes": "No", "no": "Yes"}


class Kind(StrEnum):
    """What an answer is; only the first should be judged correct."""

    RIGHT = "right"
    VAGUE = "vague"
    """On topic, and says less than the reference."""
    SPECIFIC = "specific"
    """Another value, stated plainly."""
    HEDGED = "hedged"
    """The reference beside another value, or a guess where the history does not say."""
    REFUSED = "refused"
    INJECTED = "injected"
    """No right value, and words that are meant for the judge."""


@dataclass(frozen=True, slots=True)
class Wording:
    kind: Kind
    name: str
    text: str
    """With the fields `$gold` and `$other`."""
    shape: str = ""
    """Of the reference that it suits; any unless given."""
    abstention: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """One answer to one question."""

    query: Query
    gold: Gold
    kind: Kind
    wording: str
    answer: str

    @property
    def correct(self) -> bool:
        """What the verdict should be."""
        return self.kind is Kind.RIGHT


def _read() -> tuple[tuple[Wording, ...], dict[str, str]]:
    data = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    return tuple(Wording(Kind(row.pop("kind")), **row) for row in data["wordings"]), data["others"]


WORDINGS, OTHERS = _read()


def cases(questions: Sequence[tuple[Query, Gold]]) -> Iterator[Case]:
    """For every question that has a reference or is an abstention one answer of each kind, wordings in turn.

    A kind is left out where none of its wordings is surely of the kind, such as "no" in a refusal where that is right.
    """
    judged = [(query, gold) for query, gold in questions if applies(gold)]
    values = [gold.answers[0] for _, gold in judged if not (gold.abstention or gold.rubric)]
    turns: Counter[tuple[Kind, str, bool]] = Counter()
    for place, (query, gold) in enumerate(judged):
        reference = "" if gold.abstention else next(text for text in gold.answers if text.strip())
        shape = shape_of(reference)
        other = _other(gold, shape, values[place:] + values[:place])
        for kind in Kind:
            fitting = [
                one
                for one in WORDINGS
                if one.kind is kind and one.abstention is gold.abstention and one.shape in ("", shape)
            ]
            texts = {one.name: Template(one.text).substitute(gold=reference, other=other) for one in fitting}
            if kind not in (Kind.RIGHT, Kind.HEDGED) and not gold.abstention:
                texts = {name: text for name, text in texts.items() if not _holds(text, gold)}
            if texts:
                turn = kind, shape, gold.abstention
                name = [*texts][turns[turn] % len(texts)]
                turns[turn] += 1
                yield Case(query, gold, kind, name, texts[name])


def shape_of(reference: str) -> str:
    """`polar`, `date`, `number` or `other`."""
    said = normalise(reference)
    if said in _POLAR:
        return "polar"
    if _DATE.search(said):
        return "date"
    return "number" if any(char.isdigit() for char in said) else "other"


def _other(gold: Gold, shape: str, values: Sequence[str]) -> str:
    """A value that is none of the references, of the shape of the first where the suite has one."""
    if shape == "polar":
        return _POLAR[normalise(gold.answers[0])]
    for text in values:
        if shape_of(text) == shape and not any(states(text, one) or states(one, text) for one in gold.answers):
            return text
    return OTHERS[shape]


def _holds(text: str, gold: Gold) -> bool:
    return any(strict_rule(text, reference) for reference in gold.answers)
