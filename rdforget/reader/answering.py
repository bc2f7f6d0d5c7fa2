"""Role `answer` by rules: the value at the end of the best path over the entries of a view.

Only texts, ids and statuses count. Where several ACTIVE values share a slot nothing in the view says which one
holds, so a hash of question and slot takes one: an ablation then shows what forgetting did and no hidden order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from rdforget.reader import conversation, options
from rdforget.reader.chain import Path, only_fit, search
from rdforget.reader.curation import entry_facts
from rdforget.reader.facts import Fact, Graph, Slot, build_graph
from rdforget.reader.hashing import digest
from rdforget.reader.lexicon import BACK
from rdforget.reader.need import need_of
from rdforget.reader.passages import is_talk, passage_of
from rdforget.reader.question import Question, analyse, is_about_the_past
from rdforget.reader.retrieval import talk_of
from rdforget.records import Entry, Query, Status

UNAVAILABLE = "The information is not available."
_LEAST = 0.0
"""Score of a path that still counts as an answer."""


def answer(query: Query, entries: Sequence[Entry]) -> str:
    """The answer that the entries give, verbatim from their texts, or `UNAVAILABLE`; with options, a letter."""
    found = [passage_of(entry.text) for entry in entries]
    if query.options:
        past = is_about_the_past(query.text)
        usable = [p for p, e in zip(found, entries, strict=True) if past or e.status is not Status.SUPERSEDED]
        return options.choose(query, talk_of(usable))
    if not is_talk(found):
        return by_facts(query, ((e.status, fact) for e in entries for fact in entry_facts(e))) or UNAVAILABLE
    talk = talk_of(found)
    need = need_of(query, talk.speakers)
    stated = None
    if need.kind in conversation.BY_FACTS:
        facts = ((e.status, fact) for e, p in zip(entries, found, strict=True) for fact in conversation.facts_in(p))
        stated = by_facts(query, facts, conversation.people(found), conversation.LEAST_PATH)
    return stated or conversation.answer(need, entries, talk) or UNAVAILABLE


def by_facts(
    query: Query, facts: Iterable[tuple[Status, Fact]], speakers: tuple[str, ...] = (), least: float = _LEAST
) -> str | None:
    """The value at the end of the best path; None without a path that scores `least`."""
    by_status: dict[Status, dict[Slot, dict[str, Fact]]] = {
        status: defaultdict(dict) for status in (Status.ACTIVE, Status.DEPRECATED, Status.SUPERSEDED)
    }
    for status, fact in sorted(facts, key=lambda pair: pair[1].statement.text):
        by_status[status][fact.slot].setdefault(fact.value, fact)
    active, deprecated, superseded = by_status.values()
    everything = [fact for slots in by_status.values() for values in slots.values() for fact in values.values()]
    question = analyse(query.text, build_graph(everything), speakers)

    sources = [superseded, deprecated, active] if question.wants_history else [deprecated, active]
    current = {slot: pick(question.text, slot, values.values()) for known in sources for slot, values in known.items()}
    graph = build_graph(current.values())
    best = _best(question, graph, least)
    if best is None:
        return None
    if question.evolution and (values := _evolution(question, best, current, superseded, active)):
        return ", then ".join(values)
    if question.past and (value := _past(question, best, graph, superseded)):
        return value
    return _name(best, graph)


def pick(question: str, slot: Slot, facts: Iterable[Fact]) -> Fact:
    """One of several facts of a slot, by a hash of question and slot over the values in sorted order."""
    ordered = sorted(facts, key=lambda fact: fact.value)
    return ordered[int.from_bytes(digest(question, *slot)[:8], "big") % len(ordered)]


def _best(question: Question, graph: Graph, least: float) -> Path | None:
    paths = search(question, graph)
    if not paths or paths[0].score < least:
        return only_fit(question, graph) if least <= _LEAST else None
    level = [path for path in paths if path.score == paths[0].score]
    return min(level, key=lambda path: digest(question.text, path.end))


def _name(path: Path, graph: Graph) -> str:
    last = path.facts[-1]
    return graph.names[path.end] if path.hops[-1].startswith(BACK) else last.statement.object


def _evolution(
    question: Question,
    path: Path,
    current: dict[Slot, Fact],
    superseded: dict[Slot, dict[str, Fact]],
    active: dict[Slot, dict[str, Fact]],
) -> list[str]:
    """Values of the last slot that has past ones: the past in hash order, then what holds now."""
    for fact in reversed(path.facts):
        if past := list(superseded.get(fact.slot, {}).values()):
            past.sort(key=lambda old: digest(question.text, old.value))
            now = [current[fact.slot]] if fact.slot in active else []
            return [old.statement.object for old in (*past, *now)]
    return []


def _past(question: Question, path: Path, graph: Graph, superseded: dict[Slot, dict[str, Fact]]) -> str | None:
    """The path's value with the last replaceable hop taken in the past."""
    for at in range(len(path.facts) - 1, -1, -1):
        slot = path.facts[at].slot
        if path.hops[at].startswith(BACK) or slot not in superseded:
            continue
        then = pick(question.text, slot, superseded[slot].values())
        end = _follow(graph, then, path.hops[at + 1 :])
        if end is not None:
            return end
    return None


def _follow(graph: Graph, fact: Fact, hops: tuple[str, ...]) -> str | None:
    """The value that the hops lead to from a fact's value; None where one is missing."""
    for relation in hops:
        onward = [facts[0] for slot, facts in graph.out.get(fact.value, {}).items() if slot[1] == relation]
        if not onward:
            return None
        fact = onward[0]
    return fact.statement.object
