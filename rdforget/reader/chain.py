"""Following relations from the names of a question: a beam search over paths of facts.

A path is scored by how the question's words cover it: every hop should be meant by some of the words, every word
that means a relation should be used by one hop, the last hop should give the kind of value asked for, and
words left of the name should come in the order of "R3 of the R2 of the R1 of E".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise

from rdforget.reader.facts import Fact, Graph
from rdforget.reader.lexicon import BACK, FAINT, lexicon
from rdforget.reader.question import Mention, Question, fits, value_type

MAX_HOPS = 4
_BEAM = 48
_FAN_OUT = 8
"""A value shared by more subjects does not lead back to any of them."""

_MEANS = 0.25
"""Weight from which a word counts as meaning a hop."""

# What a reading of the question gains or loses; a word that names a relation outright is worth 1.
_UNUSED = 0.6  # a word that no hop takes, times its worth
_BRIDGE = 0.7  # a hop that no word means
_LAST_BRIDGE = 0.7  # and more so the last one
_GUESSED = 0.5  # a hop that only faint words mean
_FIRST = 0.4  # gain: the last hop is meant by the question's first words
_WRONG_KIND = 1.0  # a value of another kind than asked for
_ODD_KIND = 0.3  # an organisation for "who", a subject for "in which language"
_BACKWARD = 0.3  # a hop from value to subject; twice that without a word for it
_RETURN = 0.4  # a hop to a value and back to another subject of it
_HOP = 0.05  # each hop
_UNSURE = 0.8  # a name that may be an ordinary word
_LEFT_OUT = 0.5  # another name of the question that the path does not touch
_INVERSION = 0.25  # two hops in the wrong order
_SPLIT = 0.4  # one hop meant by words on both sides of another hop's
_ASTRAY = 0.3  # a relative clause at the name that does not mean the first hop
_FAR, _END = 0.0005, 60  # breaks ties: share of the distance in words, and the distance of words behind the name

_WHO = frozenset({"person", "organisation", "school"})
_NO_SUBJECTS = frozenset({"language", "continent", "genre"})
"""Kinds that things are said in, lie on or belong to, but of which hardly a relation starts."""

Hops = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Path:
    """Facts from a mentioned name to a value. `hops` names the relations, `~` before one read backward."""

    mention: Mention
    facts: tuple[Fact, ...]
    hops: Hops
    nodes: tuple[str, ...]
    score: float

    @property
    def end(self) -> str:
        return self.nodes[-1]


def search(question: Question, graph: Graph) -> list[Path]:
    """Paths of one to four hops, best first; ties keep the order of the search."""
    scorer = _Scorer(question)
    found: list[Path] = []
    for mention in question.mentions:
        beam = [Path(mention, (), (), (mention.node,), 0.0)]
        for _ in range(MAX_HOPS):
            grown = [path for start in beam for path in _grow(start, graph, scorer)]
            grown.sort(key=lambda path: -path.score)
            beam = grown[:_BEAM]
            found.extend(beam)
    found.sort(key=lambda path: -path.score)
    return found


def near_best(paths: list[Path], margin: float) -> list[Path]:
    """Those that score above 0 and at most `margin` below the best, of paths that are sorted."""
    return [path for path in paths if path.score >= paths[0].score - margin and path.score > 0]


def only_fit(question: Question, graph: Graph) -> Path | None:
    """Where no words mean a relation: the one fact of the named that has the kind of value asked for."""
    found = {
        slot: Path(mention, (facts[0],), (slot[1],), (mention.node, facts[0].value), 0.0)
        for mention in question.mentions
        for slot, facts in graph.out.get(mention.node, {}).items()
        if (kind := value_type(slot[1])) and any(fits(asked, kind) for asked in question.asked)
    }
    return next(iter(found.values())) if len(found) == 1 else None


def meant(question: Question, relation: str) -> bool:
    """Whether some word of the question may mean a relation."""
    return any(cue.weight(relation) > 0 for cue in question.cues)


def _grow(path: Path, graph: Graph, scorer: _Scorer) -> Iterator[Path]:
    for slot, facts in graph.out.get(path.end, {}).items():
        hops = (*path.hops, slot[1])
        for fact in facts:
            if fact.value not in path.nodes:
                yield _extend(path, fact, hops, fact.value, scorer)
    for relation, facts in graph.into.get(path.end, {}).items():
        forward = relation in lexicon().symmetric and any(slot[1] == relation for slot in graph.out.get(path.end, ()))
        if forward or len(facts) > _FAN_OUT:
            continue
        hops = (*path.hops, BACK + relation)
        for fact in facts:
            if fact.statement.subject not in path.nodes:
                yield _extend(path, fact, hops, fact.statement.subject, scorer)


def _extend(path: Path, fact: Fact, hops: Hops, node: str, scorer: _Scorer) -> Path:
    nodes = (*path.nodes, node)
    return Path(path.mention, (*path.facts, fact), hops, nodes, scorer.score(path.mention, hops, nodes))


@lru_cache(maxsize=64)
def _known_scores(
    text: str, asked: frozenset[str], cues: tuple[tuple[int, tuple[str, ...]], ...]
) -> dict[tuple[Mention, Hops], float]:
    """Scores of relation sequences for the words of a question, which the roles ask for one after the other."""
    return {}


class _Scorer:
    """Scores of relation sequences for one question; each sequence is scored once."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._known = _known_scores(question.text, question.asked, tuple((c.start, c.stems) for c in question.cues))
        self._weights: dict[str, tuple[float, ...]] = {}
        self._sure = [mention for mention in question.mentions if mention.sure]

    def score(self, mention: Mention, hops: Hops, nodes: tuple[str, ...]) -> float:
        key = (mention, hops)
        if (value := self._known.get(key)) is None:
            value = self._known[key] = self._fit(mention, hops)
        if len(self._sure) > 1:
            value -= _LEFT_OUT * sum(other.node not in nodes for other in self._sure)
        return value

    def _row(self, relation: str) -> tuple[float, ...]:
        if (row := self._weights.get(relation)) is None:
            row = self._weights[relation] = tuple(cue.weight(relation) for cue in self._question.cues)
        return row

    def _fit(self, mention: Mention, hops: Hops) -> float:
        cues = self._question.cues
        rows = [self._row(relation) for relation in hops]
        assigned = self._assign(mention, rows)
        weights = [[row[at] for at, to in assigned.items() if to == hop] for hop, row in enumerate(rows)]
        strongest = [max(found, default=0.0) for found in weights]
        # Many faint words for a hop are no better than one.
        score = sum(most if most <= FAINT else sum(found) for most, found in zip(strongest, weights, strict=True))
        score -= _UNUSED * sum(cue.worth for at, cue in enumerate(cues) if at not in assigned)
        score -= _BRIDGE * sum(weight < _MEANS for weight in strongest)
        score -= _GUESSED * sum(_MEANS <= weight <= FAINT for weight in strongest)
        score -= _LAST_BRIDGE * (strongest[-1] < _MEANS)
        score -= sum(self._backward_cost(relation) for relation in hops)
        score -= _RETURN * sum(back == BACK + there for there, back in pairwise(hops))
        score -= _HOP * len(hops) + _UNSURE * (not mention.sure)
        score -= self._kind_cost(hops[-1])
        first = next((at for at, cue in enumerate(cues) if cue.worth > 0), None)
        if first is not None:
            score += _FIRST * rows[-1][first]
        return score - self._disorder(mention, rows, assigned)

    def _kind_cost(self, relation: str) -> float:
        """Cost of a last relation whose values are not what is asked for."""
        asked, kind = self._question.asked, value_type(relation)
        if not asked or any(fits(wanted, kind) for wanted in asked if kind):
            return 0.0
        if relation.startswith(BACK):
            return _WRONG_KIND if asked & _NO_SUBJECTS else _ODD_KIND if asked - {"person"} else 0.0
        if kind is None or {kind, *asked} <= _WHO:
            return 0.0 if kind is None else _ODD_KIND
        return _WRONG_KIND

    def _backward_cost(self, relation: str) -> float:
        """Reading backward costs less where a word means just that, or the relation holds both ways."""
        if not relation.startswith(BACK):
            return 0.0
        reason = relation.removeprefix(BACK) in lexicon().symmetric or any(
            cue.weights.get(relation) for cue in self._question.cues
        )
        return _BACKWARD if reason else 2 * _BACKWARD

    def _assign(self, mention: Mention, rows: list[tuple[float, ...]]) -> dict[int, int]:
        """Cue -> hop, so that words and hops together fit best; exact, over the sets of hops meant so far.

        Where words fit two hops alike, those farther from the name go to the later hop; a verb at the end,
        as in "where was the R2 of the R1 of E born", goes with the question word.
        """
        cues = self._question.cues
        behind = next((at for at, cue in enumerate(cues) if cue.start >= mention.end and cue.weights), -1)
        best: dict[int, tuple[float, dict[int, int]]] = {0: (0.0, {})}
        for at, cue in enumerate(cues):
            unused = _UNUSED * cue.worth
            if not any(row[at] for row in rows):
                best = {mask: (value - unused, assigned) for mask, (value, assigned) in best.items()}
                continue
            step: dict[int, tuple[float, dict[int, int]]] = {}
            near = cue.start < mention.start or (mention.clause and at == behind)
            away = abs(cue.start - mention.start) if near else _END
            for mask, (value, assigned) in best.items():
                if mask not in step or value - unused > step[mask][0]:
                    step[mask] = (value - unused, assigned)
                for hop, row in enumerate(rows):
                    if row[at] > 0:
                        after = mask | 1 << hop if row[at] >= _MEANS else mask
                        total = value + row[at] + _FAR * hop * away
                        if after not in step or total > step[after][0]:
                            step[after] = (total, {**assigned, at: hop})
            best = step
        return max(best.items(), key=lambda item: item[1][0] - _BRIDGE * (len(rows) - item[0].bit_count()))[1][1]

    def _disorder(self, mention: Mention, rows: list[tuple[float, ...]], assigned: dict[int, int]) -> float:
        """Cost of words out of the order of "R3 of the R2 of the R1 of E" and "the R2 of what E R1"."""
        cues = self._question.cues
        named = [(cues[at].start, hop) for at, hop in assigned.items() if rows[hop][at] > FAINT]
        before = [hop for start, hop in named if start < mention.start]
        after = [hop for start, hop in named if start >= mention.end]
        last = {hop: place for place, hop in enumerate(before)}
        places = [place for _, place in sorted(last.items())]
        inversions = sum(a < b for i, a in enumerate(places) for b in places[i + 1 :])
        runs = [hop for hop, _ in groupby([*before, *(after[:1] if mention.clause else ())])]
        astray = mention.clause and after[:1] not in ([], [0])
        return _INVERSION * inversions + _SPLIT * (len(runs) - len(set(runs))) + _ASTRAY * astray
