"""What a question says: names it mentions, words that may mean relations, and whether it asks about the past."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from rdforget.reader.facts import Graph
from rdforget.reader.lexicon import BACK, FAINT, LIKELY, SURE, bare, is_function_word, lexicon, open_cues, stem
from rdforget.text import fold

_WORD = re.compile(r"\w+[+#]*")
_ORIGIN = (
    r"(?!\s+(?:made|com(?:e|es|ing)|came|created|developed|founded|broadcast|aired|formed|established|started|"
    r"from|originat\w*|born|written|published|invented|produced|performed))"
)
_PAST = re.compile(
    r"\b(?:previous(?:ly)?|former(?:ly)?|used to|before|in the past|prior|earlier|no longer|at first|initial(?:ly)?|"
    r"old value|beforehand|(?<!from )originally" + _ORIGIN + r")\b",
    re.IGNORECASE,
)
_EVOLUTION = re.compile(
    r"\bover (?:time|the years)\b|\bevol(?:ve|ved|ution)\b|\bhistory of\b|\bin order\b|\btimeline\b|"
    r"\bhow (?:has|have|did|does)\b.*\bchang|\ball (?:of )?the (?:different )?(?:values|\w+s) .*\b(?:had|ever|over)\b|"
    r"\bsequence of\b|\bsuccessive\b",
    re.IGNORECASE,
)
_CONTRADICTION = re.compile(r"\bcontradict|\bconflict|\binconsisten", re.IGNORECASE)
_TYPE_WORTH = 0.3
"""Weight of a type word such as "city" that a relation of that type leaves unused."""
_KIND_WEIGHT = {"person": 0.1}
"""Weight of type words that say next to nothing; others weigh `FAINT`."""
_COMPATIBLE = {
    "place": frozenset({"city", "country", "continent", "place", "school", "organisation"}),
    "city": frozenset({"city", "place"}),
    "country": frozenset({"country", "place"}),
    "continent": frozenset({"continent", "place"}),
    "person": frozenset({"person"}),
    "organisation": frozenset({"organisation", "school"}),
    "school": frozenset({"school", "organisation"}),
    "work": frozenset({"work"}),
}
_MAX_PARTIAL = 3
"""Names that may share a part before the part says nothing."""
_RELATIVES = frozenset({"that", "which", "whom", "where"})
_FAMILY = frozenset(
    {
        "place",
        "city",
        "country",
        "continent",
        "person",
        "language",
        "religion",
        "sport",
        "genre",
        "organisation",
        "school",
    }
)
"""Kinds that rule out the values of other kinds when a question asks for them."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A known name in a question; word positions, end exclusive."""

    node: str
    start: int
    end: int
    sure: bool
    """False for a word that is also an ordinary word of questions and is written like one."""
    clause: bool = False
    """Begins a relative clause: "the country where Ada lives", "the person Ada is married to"."""


@dataclass(frozen=True, slots=True)
class Cue:
    """Consecutive question words that may mean a relation or a kind of value."""

    start: int
    stems: tuple[str, ...]
    weights: Mapping[str, float]
    kinds: frozenset[str]
    worth: float
    """What it costs a reading to leave the words unused."""

    def weight(self, relation: str) -> float:
        """How well the words fit a relation, 0 to 1."""
        if (found := self.weights.get(relation)) is not None:
            return found
        name = relation.removeprefix(BACK)
        if name != relation:
            return self.weights.get(name, 0.0) * LIKELY
        known = lexicon().value_type.get(relation)
        if known is None:
            return self._open_weight(relation)
        return max((_KIND_WEIGHT.get(kind, FAINT) for kind in self.kinds if fits(kind, known)), default=0.0)

    def _open_weight(self, relation: str) -> float:
        head = lexicon().nouns.get((relation.split()[-1],)) if relation.split() else None
        inherited = self.weights.get(head, 0.0) * 0.9 if head else 0.0
        return max(inherited, SURE if open_cues(relation) & set(self.stems) else 0.0)


@dataclass(frozen=True, slots=True)
class Question:
    """A question as the search for a chain sees it."""

    text: str
    mentions: tuple[Mention, ...]
    cues: tuple[Cue, ...]
    asked: frozenset[str]
    """Kinds of value that the question word asks for; empty where it does not say."""
    past: bool
    evolution: bool
    contradiction: bool

    @property
    def wants_history(self) -> bool:
        return self.past or self.evolution or self.contradiction


def is_about_the_past(text: str) -> bool:
    """Whether a question asks for a value that no longer holds, or for all that ever did."""
    return any(pattern.search(text) for pattern in (_PAST, _EVOLUTION, _CONTRADICTION))


def fits(kind: str, value_type: str) -> bool:
    """Whether a value of a type can be what a word of a kind asks for."""
    return value_type in _COMPATIBLE.get(kind, frozenset({kind}))


def analyse(text: str, graph: Graph, speakers: tuple[str, ...] = ()) -> Question:
    """The question over the names of a graph; `speakers` are who "I" may be."""
    spans = [(found.group(), fold(found.group())) for found in _WORD.finditer(unicodedata.normalize("NFC", text))]
    mentions = _mentions(spans, graph) or _partial_mentions(spans, graph)
    if re.search(r"\b(?:I|[Mm]y|me)\b", text):
        mentions += [Mention(who, -1, -1, True) for who in speakers]
    covered = {at for found in mentions if found.sure for at in range(found.start, found.end)}
    words = ["" if at in covered else word for at, (_, word) in enumerate(spans)]
    past, evolution = bool(_PAST.search(text)), bool(_EVOLUTION.search(text))
    return Question(
        text,
        tuple(mentions),
        tuple(_cues(words)),
        _asked(words),
        past,
        evolution,
        bool(_CONTRADICTION.search(text)),
    )


def _mentions(spans: list[tuple[str, str]], graph: Graph) -> list[Mention]:
    """Longest known names from left to right."""
    found: list[Mention] = []
    shouted = not any(raw != low for raw, low in spans[1:])
    at = 0
    while at < len(spans):
        for length in range(min(graph.longest, len(spans) - at), 0, -1):
            node = " ".join(low for _, low in spans[at : at + length])
            if node in graph.names and not (length == 1 and is_function_word(node) and spans[at][0] == node):
                named = not shouted and _same_case(spans[at][0], graph.names[node], at)
                sure = length > 1 or named or not _ordinary(node)
                found.append(Mention(node, at, at + length, sure, _begins_clause([low for _, low in spans[:at]])))
                at += length
                break
        else:
            at += 1
    return found


def _partial_mentions(spans: list[tuple[str, str]], graph: Graph) -> list[Mention]:
    """Capitalised words that are part of one name only: a surname, "United States"."""
    found: list[Mention] = []
    at = 1
    while at < len(spans):
        end = at
        while end < len(spans) and spans[end][0][0].isupper():
            end += 1
        part = " ".join(low for _, low in spans[at:end])
        if end > at and not is_function_word(part):
            whole = [name for name in graph.names if f" {part} " in f" {name} "]
            if 0 < len(whole) <= _MAX_PARTIAL:
                found.append(Mention(min(whole, key=lambda name: (len(name), name)), at, end, True))
        at = max(end, at + 1)
    return found


def _begins_clause(before: list[str]) -> bool:
    word = before[-2] if before[-1:] == ["the"] and len(before) > 1 else before[-1] if before else ""
    return word in _RELATIVES or (not is_function_word(word) and (stem(word),) in lexicon().types)


def _ordinary(word: str) -> bool:
    lex = lexicon()
    return is_function_word(word) or (stem(word),) in lex.cues or (stem(word),) in lex.types


def _same_case(raw: str, name: str, at: int) -> bool:
    """Written as a name: a capital inside the sentence, where the name has one."""
    return name[:1].isupper() and raw[:1].isupper() and at > 0


def _cues(words: list[str]) -> list[Cue]:
    lex = lexicon()
    roots = [stem(word) if word else "" for word in words]
    cues = []
    at = 0
    while at < len(words):
        phrase, length = _longest_cue(roots, at)
        if length:
            weights, kinds = lex.cues.get(phrase, {}), lex.types.get(phrase, frozenset())
            worth = max(weights.values(), default=0.0)
            if worth <= FAINT:
                worth = _TYPE_WORTH if weights or "person" not in kinds else 0.0
            cues.append(Cue(at, phrase, weights, kinds, worth))
        elif words[at] and not is_function_word(words[at]):
            cues.append(Cue(at, (roots[at],), {}, frozenset(), 0.0))
        at += length or 1
    return cues


def _longest_cue(roots: list[str], at: int) -> tuple[tuple[str, ...], int]:
    """The longest phrase of the lexicon at a position and its words; function words inside may differ."""
    lex = lexicon()
    for length in range(min(lex.longest_cue, len(roots) - at), 0, -1):
        window = tuple(roots[at : at + length])
        if window in lex.cues or window in lex.types:
            return window, length
        edges = is_function_word(window[0]) or is_function_word(window[-1])
        if length > 2 and "" not in window and not edges and (phrase := lex.loose.get(bare(window))):
            return phrase, length
    return (), 0


def _asked(words: list[str]) -> frozenset[str]:
    """Kinds that the first question word asks for: "who", "where", "which city", "in what language"."""
    lex = lexicon()
    for at, word in enumerate(words):
        if word in ("who", "whom", "whose"):
            return frozenset({"person"})
        if word == "where":
            return frozenset({"place"})
        if word in ("which", "what"):
            for start in (at + 1, at + 2):
                for length in (3, 2, 1):
                    kinds = lex.types.get(tuple(map(stem, words[start : start + length])), frozenset())
                    if kinds := kinds & _FAMILY:
                        return kinds if not (kinds == {"person"} and words[start] == "name") else frozenset()
                if start < len(words) and is_function_word(words[start]):
                    break
            return frozenset()
    return frozenset()


@lru_cache(maxsize=65_536)
def value_type(relation: str) -> str | None:
    """Kind of a relation's values; None where it is unknown or read backward."""
    return lexicon().value_type.get(relation)
