"""Roles `curate`, `select` and `answer` over conversations.

Statements that the grammar reads keep their slots. Beyond them passages are retrieved by the words of the question;
where it asks for one value, all that was said of it competes for one slot: the curator lets the latest by date stand
and gives the others as replaced. The answer sees statuses only: among active rivals a hash chooses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rdforget.dates import parse_date
from rdforget.reader import options
from rdforget.reader.chain import near_best, search
from rdforget.reader.claims import claim
from rdforget.reader.facts import UNDATED, Fact, Graph, Slot, Slots, build_graph, group
from rdforget.reader.grammar import read
from rdforget.reader.hashing import digest
from rdforget.reader.need import Kind, Need, need_of
from rdforget.reader.passages import ASSISTANTS, Passage, passages
from rdforget.reader.question import analyse
from rdforget.reader.retrieval import Candidate, Ranked, Talk, candidates, neighbours, rank, talk_of
from rdforget.reader.sentences import is_statement
from rdforget.records import Entry, Observation, Query, Status
from rdforget.text import fold

MAX_ITEMS = 60
"""Passages for one question, and ids for one selection."""
MAX_GENERAL = 400
"""Sentences where there is no question."""
LEAST_PATH = 0.7
"""Score from which a path of facts counts: in speech a grammar finds statements that nobody meant."""
BY_FACTS = frozenset({Kind.OTHER, Kind.PLACE, Kind.PERSON})
"""Kinds of value that facts have; numbers and times are values only where a sentence says of what."""
_MARGIN = 1.0
_DIRECT, _SHARE, _STRONG = 24, 0.3, 6
"""Passages taken for their own sake, the share of the best score that they must have, and how many of them bring
their neighbours along."""
_RIVAL = 0.6
"""Share of the best score from which a value competes with the best one for a slot, for the curator and in a view."""
_LEAST = 0.34
"""Share of the question's words, by weight, that the passage of an answer must hold."""
_SENTENCE_WORDS = 30
"""Longer sentences of a conversation are not read as statements."""
_SHORT_REPLY = 30
"""Words up to which an assistant's passage is kept where there is no question."""
_TERMS = 3
"""Terms from which a sentence is worth keeping where there is no question."""

Stated = tuple[Passage, Slot | None]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation read once, for all questions over it."""

    talk: Talk
    slots: Slots
    graph: Graph
    home: dict[int, int]
    """Fact, by `id`, -> position of its passage."""


def read_conversation(observations: Sequence[Observation]) -> Conversation:
    talk = talk_of(passages(observations))
    home: dict[int, int] = {}
    facts = []
    for at, passage in enumerate(talk.passages):
        for fact in facts_in(passage, at):
            home[id(fact)] = at
            facts.append(fact)
    slots = group(facts)
    return Conversation(talk, slots, build_graph(f for held in slots.values.values() for f in reversed(held)), home)


def facts_in(passage: Passage, position: int = 0) -> list[Fact]:
    """What a person states in a passage, by the grammar."""
    if passage.by_assistant:
        return []
    order = (parse_date(passage.when or "") or UNDATED, -1, position)
    return [
        Fact(statement, passage.line, passage.when, order)
        for sentence in passage.said
        if is_statement(sentence) and sentence.count(" ") < _SENTENCE_WORDS
        for statement in read(sentence, passage.speaker or None)
    ]


def people(found: Iterable[Passage]) -> tuple[str, ...]:
    """Who "I" may be."""
    return tuple(sorted({passage.speaker for passage in found if passage.speaker} - ASSISTANTS))


def everything(source: Conversation) -> tuple[list[Stated], list[Stated]]:
    """Active and replaced sentences of people, and of an assistant's short turns, without a question.

    A sentence has the slot of the fact that it states, else that of its claim; its latest one stands.
    """
    kept: list[Stated] = []
    for passage in source.talk.passages:
        if passage.by_assistant and passage.text.count(" ") > _SHORT_REPLY:
            continue
        for sentence in passage.said:
            alone = replace(passage, text=f"{passage.speaker_label}{sentence}", said=(sentence,))
            if is_statement(sentence) and len(alone.own_terms) >= _TERMS:
                kept.append((alone, _slot_of(alone)))
    kept = kept[-MAX_GENERAL:]
    latest: dict[Slot, Passage] = {}
    for passage, slot in sorted(kept, key=lambda stated: stated[0].order):
        if slot:
            latest[slot] = passage
    active = [stated for stated in kept if not stated[1] or latest[stated[1]] is stated[0]]
    replaced = [stated for stated in kept if stated[1] and latest[stated[1]] is not stated[0]]
    return active, replaced


def _slot_of(alone: Passage) -> Slot | None:
    known = [fact.slot for fact in facts_in(alone) if fact.statement.known]
    return known[0] if known else claim(alone)


def bearing(source: Conversation, query: Query, *, closure: bool) -> tuple[list[Stated], list[Stated]]:
    """Active and replaced passages for a question, best first.

    With closure, facts further along a path and the passages around the best ones come along.
    """
    talk = source.talk
    need = need_of(query, talk.speakers)
    stated = _on_paths(source, query, closure=closure) if need.kind in BY_FACTS else {}
    ranked = rank(need, talk, context=True)
    direct = [pair for pair in ranked[:_DIRECT] if pair[0] >= _SHARE * ranked[0][0]]
    supporting = options.rank(query, talk)[:_DIRECT] if query.options else []
    chosen = dict.fromkeys([*stated, *supporting, *(at for _, at in direct)])
    if closure:
        for _, at in direct[:_STRONG]:
            chosen.update(dict.fromkeys(near for near in neighbours(talk, at) if not talk.passages[near].by_assistant))
    stated = _revisions(need, talk, direct) | stated

    def is_replaced(at: int) -> bool:
        return at in stated and stated[at][1]

    kept = list(chosen)[:MAX_ITEMS]
    active: list[Stated] = [
        (talk.passages[at], stated[at][0] if at in stated else None) for at in kept if not is_replaced(at)
    ]
    replaced: list[Stated] = [(talk.passages[at], stated[at][0]) for at in kept if is_replaced(at)]
    return active, replaced


def _on_paths(source: Conversation, query: Query, *, closure: bool) -> dict[int, tuple[Slot, bool]]:
    """Passages whose facts lead to an answer: their slots, and whether they have been replaced."""
    question = analyse(query.text, source.graph, people(source.talk.passages))
    found: dict[int, tuple[Slot, bool]] = {}
    for path in near_best(search(question, source.graph), _MARGIN):
        if path.score < LEAST_PATH:
            break
        for fact in path.facts if closure else path.facts[:1]:
            values = source.slots.values[fact.slot]
            for value in reversed(values):
                found.setdefault(source.home[id(value)], (fact.slot, value is not values[-1]))
        if len(found) >= MAX_ITEMS // 2:
            break
    return found


def _revisions(need: Need, talk: Talk, ranked: Ranked) -> dict[int, tuple[Slot, bool]]:
    """Passages that compete for the value that the question asks for, and whether they have been replaced."""
    position = {id(passage): at for at, passage in enumerate(talk.passages)}
    found = candidates(need, talk, ranked) if need.revisable else []
    rivals = [candidate for candidate in found if candidate.score >= _RIVAL * found[0].score]
    if not rivals:
        return {}
    slot = (rivals[0].passage.speaker or "someone", " ".join([need.kind, *need.terms[:8]]), "")
    last = max(rivals, key=lambda candidate: candidate.passage.order)
    return {position[id(c.passage)]: (slot, fold(c.text) != fold(last.text)) for c in rivals}


def selection(query: Query, entries: Sequence[Entry], read_as: Sequence[Passage]) -> list[str]:
    """Ids of the entries, those on a path of facts first, then by their words."""
    talk = talk_of(read_as)
    need = need_of(query, talk.speakers)
    usable = {at for at, entry in enumerate(entries) if need.past or entry.status is not Status.SUPERSEDED}
    if query.options:
        ranked = options.rank(query, talk)
    else:
        ranked = [*_on_best_paths(need, talk, sorted(usable)), *(at for _, at in rank(need, talk, context=False))]
    return [entries[at].id for at in dict.fromkeys(ranked) if at in usable][:MAX_ITEMS]


def _on_best_paths(need: Need, talk: Talk, usable: Sequence[int]) -> list[int]:
    """Positions of the passages whose facts lead to an answer, in the order of the paths."""
    if need.kind not in BY_FACTS:
        return []
    pairs = [(fact, at) for at in usable for fact in facts_in(talk.passages[at])]
    home = {id(fact): at for fact, at in pairs}
    graph = build_graph(fact for fact, _ in pairs)
    paths = near_best(search(analyse(need.text, graph, people(talk.passages)), graph), _MARGIN)
    return [home[id(fact)] for path in paths if path.score >= LEAST_PATH for fact in path.facts]


def answer(need: Need, entries: Sequence[Entry], talk: Talk) -> str | None:
    """What the entries say, in their words; None where too little in them bears on the question."""
    mentioned = {term for passage in talk.passages for term in passage.terms}
    if need.kind is not Kind.YES_NO and (need.named | set(need.heads[-1:])) - mentioned:
        return None
    ranked = rank(need, talk, context=False)
    current = (Status.ACTIVE, Status.DEPRECATED)
    for statuses in ((Status.SUPERSEDED,), current) if need.past else (current,):
        found = candidates(need, talk, [pair for pair in ranked if entries[pair[1]].status in statuses])
        found = [candidate for candidate in found if candidate.coverage >= _LEAST]
        if found:
            return _pick(need, found)
    return None


def _pick(need: Need, found: list[Candidate]) -> str:
    """The best answer; where the question asks for one value and several are as good, a hash takes one."""
    level = [c for c in found if c.score >= _RIVAL * found[0].score] if need.revisable else found[:1]
    return min(level, key=lambda candidate: digest(need.text, fold(candidate.text))).text
