"""Roles `curate`, `select` and `answer` over conversations: what was said, ranked by the words of the question.

Where a question asks for one value, all that was said of it competes for one slot: the curator lets the latest by date
stand and gives the others as replaced. The answer sees statuses only: among active rivals a hash chooses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from rdforget.reader.clause import clause
from rdforget.reader.extract import values
from rdforget.reader.hashing import digest
from rdforget.reader.need import Kind, Need, need_of
from rdforget.reader.passages import Passage, Weights, passage_of, passages, term_list
from rdforget.records import Entry, Observation, Query, Status
from rdforget.text import fold

MAX_ITEMS = 60
_DIRECT, _SHARE = 24, 0.3
"""Passages taken for their own sake, and what share of the best score they must have."""
_STRONG = 6
"""Passages that bring their neighbours along."""
_CONTEXT, _PAIRS = 0.35, 0.3
_OTHERS, _ASSISTANT = 0.55, 0.3
"""Weight of what somebody else said than the one who is asked about."""
_RIVAL, _LEVEL = 0.72, 0.9
"""Share of the best score from which a value competes with the best: for the curator, and in a view."""
_LEAST = 0.34
"""Share of the question's words, by weight, that the words of an answer must meet."""
_QUESTION = 0.85
"""Weight of a sentence that asks or supposes."""

Slot = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation read once, for all questions over it."""

    passages: tuple[Passage, ...]
    weights: Weights
    speakers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible answer with the passage and sentence that give it."""

    passage: Passage
    sentence: str
    text: str
    score: float
    coverage: float


def read_talk(observations: Sequence[Observation]) -> Talk:
    """A source in which people speak."""
    return talk_of(passages(observations))


def talk_of(found: Sequence[Passage]) -> Talk:
    return Talk(tuple(found), Weights(found), frozenset(passage.speaker for passage in found if passage.speaker))


def rank(need: Need, talk: Talk, *, context: bool) -> list[tuple[float, int]]:
    """Scores and positions of the passages that share a word with the question, best first."""
    total = sum(talk.weights[term] for term in need.terms)
    if not total:
        return []
    wanted = {term: talk.weights[term] / total for term in need.terms}
    pairs = set(zip(need.terms, need.terms[1:], strict=False))
    met = [sum(wanted[term] for term in wanted.keys() & passage.terms) for passage in talk.passages]
    scored = []
    for at, passage in enumerate(talk.passages):
        if not met[at]:
            continue
        score = met[at]
        if len(pairs) > 0 and score > 0.2:
            words = term_list(passage.text)
            score += _PAIRS * len(pairs.intersection(zip(words, words[1:], strict=False))) / len(pairs)
        if context:
            around = {term for near in _neighbours(talk, at) for term in wanted.keys() & talk.passages[near].terms}
            score += _CONTEXT * sum(wanted[term] for term in around - passage.terms)
        scored.append((score * _voice(need, passage), at))
    scored.sort(key=lambda pair: (-pair[0], pair[1]))
    return scored


def _neighbours(talk: Talk, at: int) -> list[int]:
    here = talk.passages[at]
    return [
        near
        for near in (at - 1, at + 1)
        if 0 <= near < len(talk.passages) and talk.passages[near].session == here.session
    ]


def _voice(need: Need, passage: Passage) -> float:
    if passage.speaker == need.by or not (need.by or passage.by_assistant):
        return 1.0
    return _ASSISTANT if passage.by_assistant else _OTHERS


def candidates(need: Need, talk: Talk, ranked: Iterable[tuple[float, int]]) -> list[Candidate]:
    """Possible answers, best first; each passage gives its best one."""
    found = []
    for score, at in ranked:
        if best := _best_of(need, talk, talk.passages[at], score):
            found.append(best)
    found.sort(key=lambda c: (-c.score, c.passage.text))
    return found


def _best_of(need: Need, talk: Talk, passage: Passage, score: float) -> Candidate | None:
    best: Candidate | None = None
    asks = 0.4 if need.kind is Kind.OTHER else _QUESTION
    for at, sentence in enumerate(passage.said):
        held = frozenset(term_list(sentence))
        covered = talk.weights.coverage(need.terms, held)
        base = (0.5 * score + 0.5 * covered * _voice(need, passage)) * (asks if sentence.endswith("?") else 1.0)
        if need.kind in (Kind.OTHER, Kind.YES_NO):
            options = [(clause(need, sentence, passage.said[at+1:at+2]) if need.kind is Kind.OTHER else _yes_no(sentence), base)]
        else:
            options = [
                (value.text, base + 0.3 * talk.weights.coverage(need.terms, value.near) + 0.15 * value.counted)
                for value in values(need, sentence, passage.when, talk.speakers)
            ]
        for text, worth in options:
            if text and (best is None or worth > best.score):
                best = Candidate(passage, sentence, text, worth, max(covered, talk.weights.coverage(need.terms, passage.terms)))
    return best


def _yes_no(sentence: str) -> str:
    denied = {"not", "never", "no", "haven", "didn", "don", "doesn", "isn", "wasn", "won", "couldn", "can't"}
    words = set(fold(sentence).replace("’", "'").replace("n't", " not").split())
    return "No" if denied & words else "Yes"


def bearing(talk: Talk, query: Query, *, closure: bool) -> tuple[list[tuple[Passage, Slot | None]], list[tuple[Passage, Slot | None]]]:
    """Active and replaced passages for a question, best first, each with its slot where it has one."""
    need = need_of(query, talk.speakers)
    ranked = rank(need, talk, context=True)
    if not ranked:
        return [], []
    direct = [pair for pair in ranked[:_DIRECT] if pair[0] >= _SHARE * ranked[0][0]]
    chosen = dict.fromkeys(at for _, at in direct)
    if closure:
        for _, at in direct[:_STRONG]:
            chosen.update(dict.fromkeys(_neighbours(talk, at)))
    slot, old = _revisions(need, talk, direct) if need.revisable else (None, {})
    slots = {id(passage): slot for passage in old}
    active = [(p, slots.get(id(p))) for at in chosen if not old.get(p := talk.passages[at], False)]
    replaced = [(p, slot) for at in chosen if old.get(p := talk.passages[at], False)]
    return active[:MAX_ITEMS], replaced[: MAX_ITEMS - len(active)]


def _revisions(need: Need, talk: Talk, ranked: list[tuple[float, int]]) -> tuple[Slot, dict[Passage, bool]]:
    """The slot that the question asks for, and the passages in it: whether each has been replaced."""
    found = candidates(need, talk, ranked)
    rivals = [c for c in found if c.score >= _RIVAL * found[0].score] if found else []
    slot = (found[0].passage.speaker or "someone" if found else "", f"{need.kind} {' '.join(need.terms[:8])}", "")
    if not rivals:
        return slot, {}
    last = max(rivals, key=lambda c: c.passage.order)
    return slot, {c.passage: fold(c.text) != fold(last.text) for c in rivals}


def selection(query: Query, entries: Sequence[Entry]) -> list[str]:
    """Ids of the entries in the order of their scores."""
    talk = talk_of([passage_of(entry.text) for entry in entries])
    need = need_of(query, talk.speakers)
    return [
        entries[at].id
        for _, at in rank(need, talk, context=False)
        if need.past or entries[at].status is not Status.SUPERSEDED
    ][:MAX_ITEMS]


def answer(query: Query, entries: Sequence[Entry]) -> str | None:
    """What the entries say, in their words; None where nothing in them bears on the question."""
    read = [(passage_of(entry.text), entry.status) for entry in entries]
    talk = talk_of([passage for passage, _ in read])
    need = need_of(query, talk.speakers)
    if need.kind is not Kind.YES_NO and (need.named | set(need.heads[-1:])) - {t for p in talk.passages for t in p.terms}:
        return None
    ranked = rank(need, talk, context=False)
    wanted = (Status.SUPERSEDED,) if need.past else ()
    for statuses in (wanted, (Status.ACTIVE, Status.DEPRECATED), tuple(Status)):
        if statuses == tuple(Status) and not need.past:
            break
        found = candidates(need, talk, [pair for pair in ranked if read[pair[1]][1] in statuses])
        found = [candidate for candidate in found if candidate.coverage >= _LEAST]
        if found:
            return _pick(need, found)
    return None


def _pick(need: Need, found: list[Candidate]) -> str:
    """The best answer; where several are as good, a hash of question and answer takes one."""
    level = [c for c in found if c.score >= _LEVEL * found[0].score] if need.revisable else found[:1]
    return min(level, key=lambda c: digest(need.text, fold(c.text))).text
