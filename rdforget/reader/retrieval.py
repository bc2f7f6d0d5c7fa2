"""Passages ranked by how well they fit a question, and the answers that they hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rdforget.reader.clause import clause
from rdforget.reader.extract import values
from rdforget.reader.need import Kind, Need
from rdforget.reader.passages import Passage, Weights, term_list, terms
from rdforget.reader.sentences import denies

_CONTEXT, _PAIRS = 0.35, 0.3
"""Gain for words that only the passages around hold, and for words that follow each other as in the question."""
_OTHERS, _ASSISTANT = 0.55, 0.3
"""Weight of what is said by somebody else than the one who is asked about, and by an assistant."""
_UNNAMED = 0.5
"""Weight of a passage that holds none of the names in the question."""
_ASKS, _ONLY_ASKS = 0.85, 0.4
"""Weight of a sentence that asks, and of one that does where no value of a kind is looked for."""
_NEAR, _COUNTED = 0.3, 0.15
"""Gain for a value with the question's words around it, and with the noun that is counted."""

Ranked = list[tuple[float, int]]
"""Scores and positions of passages, best first."""


@dataclass(frozen=True, slots=True)
class Talk:
    """Passages of a conversation with the weights of their words."""

    passages: tuple[Passage, ...]
    weights: Weights
    speakers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible answer with the passage that gives it."""

    passage: Passage
    text: str
    score: float
    coverage: float
    """Share of the question's words that the passage holds."""


def talk_of(found: Sequence[Passage]) -> Talk:
    """Passages, in their order, as a conversation."""
    return Talk(tuple(found), Weights(found), frozenset(passage.speaker for passage in found if passage.speaker))


def rank(need: Need, talk: Talk, *, context: bool) -> Ranked:
    """The passages that share a word with the question; with `context` the words around a passage count too."""
    total = sum(talk.weights[term] for term in need.terms)
    if not total:
        return []
    wanted = {term: talk.weights[term] / total for term in need.terms}
    pairs = set(pairwise(need.terms))
    # Sums go through the question's words in their order: a set would give them another rounding in every process.
    ranked = []
    for at, passage in enumerate(talk.passages):
        score = sum(share for term, share in wanted.items() if term in passage.terms)
        if not score:
            continue
        if pairs:
            score += _PAIRS * len(pairs.intersection(pairwise(term_list(passage.text)))) / len(pairs)
        if context:
            around = frozenset().union(*(talk.passages[near].terms for near in neighbours(talk, at))) - passage.terms
            score += _CONTEXT * sum(share for term, share in wanted.items() if term in around)
        ranked.append((score * _voice(need, passage), at))
    return sorted(ranked, key=lambda pair: (-pair[0], pair[1]))


def neighbours(talk: Talk, at: int) -> list[int]:
    """Positions of the passages before and after one in its session."""
    session = talk.passages[at].session
    return [
        near for near in (at - 1, at + 1) if 0 <= near < len(talk.passages) and talk.passages[near].session == session
    ]


def candidates(need: Need, talk: Talk, ranked: Iterable[tuple[float, int]]) -> list[Candidate]:
    """Possible answers, best first; each passage gives its best one."""
    found = [best for score, at in ranked if (best := _best(need, talk, talk.passages[at], score))]
    return sorted(found, key=lambda candidate: (-candidate.score, candidate.passage.text))


def _voice(need: Need, passage: Passage) -> float:
    """Weight of a passage by who says it and whether it names what the question names."""
    return _speaker(need, passage) * (_UNNAMED if need.named and not need.named & passage.terms else 1.0)


def _speaker(need: Need, passage: Passage) -> float:
    if passage.speaker == need.by or not (need.by or passage.by_assistant):
        return 1.0
    return _ASSISTANT if passage.by_assistant else _OTHERS


def _best(need: Need, talk: Talk, passage: Passage, score: float) -> Candidate | None:
    whole = talk.weights.coverage(need.terms, passage.terms)
    found = []
    for at, sentence in enumerate(passage.said):
        covered = talk.weights.coverage(need.terms, terms(sentence))
        fit = 0.5 * score + 0.5 * covered * _voice(need, passage)
        if sentence.endswith("?"):
            fit *= _ONLY_ASKS if need.kind is Kind.OTHER else _ASKS
        if need.kind is Kind.YES_NO:
            found.append((fit, "No" if denies(sentence) else "Yes"))
        elif need.kind is Kind.OTHER:
            found.append((fit, clause(need, sentence, passage.said[at + 1 : at + 2])))
        else:
            for value in values(need, sentence, passage.when, talk.speakers):
                near = _NEAR * talk.weights.coverage(need.terms, value.near) + _COUNTED * value.counted
                found.append((fit + near, value.text))
    worth, text = max(found, key=lambda pair: pair[0], default=(0.0, ""))
    return Candidate(passage, text, worth, whole) if text else None
