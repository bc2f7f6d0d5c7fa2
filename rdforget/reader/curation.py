"""Roles `curate` and `select` by rules: which statements of a source, and which entries, bear on a question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rdforget.calls.units import undated
from rdforget.reader import conversation
from rdforget.reader.chain import meant, near_best, search
from rdforget.reader.facts import Fact, Graph, Slots, build_graph, group, read_facts
from rdforget.reader.grammar import read
from rdforget.reader.passages import is_talk, passage_of
from rdforget.reader.question import Question, analyse
from rdforget.records import Entry, Observation, Query, Status
from rdforget.text import overlap, word_set

MAX_FACTS = 60
"""Statements for one question, and ids for one selection."""
_MAX_DIRECT, _MAX_UNREAD = 16, 6
_MARGIN, _MARGIN_SELECT = 1.5, 1.0
"""How far below the best path another one may score and still bear on the question."""


@dataclass(frozen=True, slots=True)
class Source:
    """A source read once, for all questions over it."""

    slots: Slots
    graph: Graph
    unread: tuple[Observation, ...]


def read_source(observations: Sequence[Observation]) -> Source:
    facts, unread = read_facts(observations)
    slots = group(facts)
    graph = build_graph(fact for values in slots.values.values() for fact in reversed(values))
    return Source(slots, graph, tuple(unread))


def everything(source: Source) -> tuple[list[Fact], list[Fact], list[Observation]]:
    """Current facts, replaced facts, and what could not be read: the whole source."""
    current = [values[-1] for values in source.slots.values.values()]
    replaced = [fact for values in source.slots.values.values() for fact in values[:-1]]
    return current, replaced, list(source.unread)


def bearing(source: Source, query: Query, *, closure: bool) -> tuple[list[Fact], list[Fact], list[Observation]]:
    """Current facts, replaced facts and unreadable lines that bear on a question.

    With closure, the facts along every path that answers it about as well as the best one, then what is said
    directly of the names it mentions; without, only the latter.
    """
    question = analyse(query.text, source.graph)
    chosen: dict[int, Fact] = {}
    if closure:
        for path in near_best(search(question, source.graph), _MARGIN):
            _take(chosen, path.facts)
            if len(chosen) >= MAX_FACTS // 2:
                break
    _take(chosen, _direct(question, source.graph))
    slots = dict.fromkeys(fact.slot for fact in chosen.values())
    current: list[Fact] = []
    replaced: list[Fact] = []
    for slot in slots:
        if len(current) + len(replaced) >= MAX_FACTS:
            break
        current.append(source.slots.current(slot))
        replaced.extend(source.slots.replaced(slot))
    return current, replaced, _naming(question, source)


def selection(query: Query, candidates: Sequence[Entry]) -> list[str]:
    """Ids of the entries on the best paths in their order, then the alternatives in their slots."""
    found = [passage_of(entry.text) for entry in candidates]
    if query.options or is_talk(found):
        return conversation.selection(query, candidates, found)
    pairs = [(fact, entry) for entry in candidates for fact in entry_facts(entry)]
    owner = {id(fact): entry for fact, entry in pairs}
    live = {fact.slot for fact, entry in pairs if entry.status is Status.ACTIVE}
    question = analyse(query.text, build_graph(fact for fact, _ in pairs))
    usable = [fact for fact, entry in pairs if _usable(entry, fact, live, question)]
    chosen: dict[int, Fact] = {}
    graph = build_graph(usable)
    for path in near_best(search(question, graph), _MARGIN_SELECT):
        _take(chosen, path.facts)
    slots = {fact.slot for fact in chosen.values()}
    _take(chosen, (fact for fact in usable if fact.slot in slots))
    ids = dict.fromkeys(owner[key].id for key in chosen)
    if not ids:
        ids = dict.fromkeys(owner[id(fact)].id for fact in _direct(question, graph))
    return list(ids)[:MAX_FACTS]


def entry_facts(entry: Entry) -> list[Fact]:
    """What an entry's text says; its slot, time and evidence are not looked at."""
    return [Fact(statement) for statement in read(undated(entry.text))]


def _usable(entry: Entry, fact: Fact, live: set[tuple[str, str, str]], question: Question) -> bool:
    if entry.status is Status.SUPERSEDED:
        return question.wants_history
    return entry.status is Status.ACTIVE or fact.slot not in live


def _take(chosen: dict[int, Fact], facts: Iterable[Fact]) -> None:
    for fact in facts:
        chosen.setdefault(id(fact), fact)


def _direct(question: Question, graph: Graph) -> list[Fact]:
    """Facts with a mentioned name as subject or value; those that the question's words mean come first."""
    found: list[Fact] = []
    for mention in question.mentions:
        found += [fact for facts in graph.out.get(mention.node, {}).values() for fact in facts]
        for facts in graph.into.get(mention.node, {}).values():
            found += facts[:_MAX_DIRECT]
    found.sort(key=lambda fact: not meant(question, fact.statement.relation))
    return found[:_MAX_DIRECT]


def _naming(question: Question, source: Source) -> list[Observation]:
    """Unreadable lines that name what the question names, the closest few."""
    names = frozenset(word for mention in question.mentions for word in mention.node.split())
    words = word_set(question.text)
    ranked = sorted(
        (-overlap(words, seen.line), at)
        for at, seen in enumerate(source.unread)
        if names and names & word_set(seen.line)
    )
    return [source.unread[at] for _, at in ranked[:_MAX_UNREAD]]
