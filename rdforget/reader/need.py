"""What a question asks of a conversation: the kind of value, the words it is about, and who would have said it."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from rdforget.reader.lexicon import is_function_word, stem, tokens
from rdforget.reader.passages import term_list
from rdforget.reader.question import is_about_the_past
from rdforget.records import Query


class Kind(StrEnum):
    """The kind of value that a question asks for."""

    COUNT = "count"
    DURATION = "duration"
    FREQUENCY = "frequency"
    MONEY = "money"
    CLOCK = "clock"
    WEEKDAY = "weekday"
    DATE = "date"
    PLACE = "place"
    PERSON = "person"
    QUANTITY = "quantity"
    YES_NO = "yes or no"
    OTHER = "other"


REVISABLE = frozenset(
    {Kind.COUNT, Kind.DURATION, Kind.FREQUENCY, Kind.MONEY, Kind.CLOCK, Kind.WEEKDAY, Kind.PLACE, Kind.QUANTITY}
)
"""Kinds of which one value holds at a time, so that a later one replaces an earlier one."""

_KINDS = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        (Kind.FREQUENCY, r"\bhow (?:often|frequently)\b|\bhow many times (?:a|an|per|each|every)\b"),
        (
            Kind.DURATION,
            r"\bhow long\b|\bhow (?:much|many)(?: \w+)? (?:time|hours?|minutes?|days?|weeks?|months?|years?)\b",
        ),
        (Kind.COUNT, r"\bhow many\b|\bwhat(?: is| was|['’]s)? the (?:total )?number of\b"),
        (
            Kind.MONEY,
            r"\bhow much (?:money|cash)\b|\bhow much\b.*\b(?:cost|pa(?:y|id)|spen[dt]|earn\w*|worth|sa[vl]e\w*|"
            r"charge\w*|rais\w+|budget|owe\w*|donat\w+)\b|"
            r"\bwhat (?:is|was) (?:the|my) .*\b(?:price|cost|salary|rent|budget)\b",
        ),
        (Kind.QUANTITY, r"\bhow (?:much|old|far|tall|big|large|heavy|fast|high)\b"),
        (Kind.CLOCK, r"\b(?:what|which) time\b|\bhow (?:early|late)\b"),
        (Kind.WEEKDAY, r"\b(?:what|which) (?:day of the week|weekday|days?)\b"),
        (Kind.DATE, r"\bwhen\b(?!.*\b(?:what|who|where|how)\b)|\b(?:what|which) (?:date|month|year)\b|\bdeadline\b"),
        (
            Kind.PLACE,
            r"\bwhere\b|\b(?:what|which) (?:company|city|town|state|school|college|university|restaurant|store|shop|"
            r"hotel|park|museum|airline|neighbou?rhood)\b",
        ),
        (Kind.PERSON, r"^\W*(?:who|whom|whose)\b|\b(?:with|from|by|to) whom\b"),
        (
            Kind.QUANTITY,
            r"\b(?:what|which)\b.*\b(?:score|record|percentage|percent|rate|accuracy|personal best|best time|amount|"
            r"quota|weight|height|speed|distance|limit|average|ratio|size|coverage|age)\b",
        ),
        (
            Kind.YES_NO,
            r"^\W*(?:did|do|does|is|are|was|were|have|has|had|can|could|will|would|should|am)\b|"
            r", (?:did|do|does|is|are|was|were|have|has|had) (?:i|you|he|she|they|we|it)\b",
        ),
    )
)
_RECENT = re.compile(
    r"\b(?:current(?:ly)?|now(?:adays)?|most recent(?:ly)?|latest|these days|at the moment)\b", re.IGNORECASE
)
_NOW = re.compile(r"\b(?:currently|now|these days|at the moment)\b", re.IGNORECASE)
_I = re.compile(r"\b(?:I|[Mm]y|[Mm]e|[Mm]ine|[Ww]e|[Oo]ur)\b")
_YOU = re.compile(r"\b(?:did|have|had|were) you\b|\byou (?:\w+ed|told|said|gave|wrote)\b|\byour\b", re.IGNORECASE)
_HEAD = re.compile(r"\b(?:how many|number of)\s+(?P<rest>.+)$", re.IGNORECASE)
_NAMED = re.compile(r"(?:(?<=[\w,'’\"] )|(?<=[DM][rs]\. ))[\"'“‘(]?([A-Z][\w&+#]*)")
_NO_TOPIC = re.compile(
    r"\b(?:days? of the week|weekday|(?:in|last|this|next) (?:January|February|March|April|May|June|July|August|"
    r"September|October|November|December)(?: \d{4})?)\b"
)
"""Words that say when, not what."""


@dataclass(frozen=True, slots=True)
class Need:
    """A question as the reader of a conversation sees it."""

    text: str
    kind: Kind
    terms: tuple[str, ...]
    """Stems of what it is about, in order, without the speakers."""
    by: str | None
    """The one speaker whose words it asks for, in lower case."""
    heads: tuple[str, ...]
    """Stems of the noun phrase that is counted; the noun tends to be the last one."""
    named: frozenset[str]
    """Stems of names other than speakers."""
    past: bool
    recent: bool

    @property
    def revisable(self) -> bool:
        """Whether a later answer replaces an earlier one."""
        return self.recent or self.kind in REVISABLE


def need_of(query: Query, speakers: Collection[str]) -> Need:
    """What a question needs, where `speakers` (in lower case) talk."""
    text = query.text
    topic = _NO_TOPIC.sub(" ", text)
    first_names = {speaker.split()[0]: speaker for speaker in speakers if speaker}
    spoken: Collection[str] = {first_names[word] for word in tokens(text) if word in first_names}
    if _YOU.search(text):
        spoken = {"assistant"} & set(speakers)
    elif _I.search(text):
        spoken = {"user"} & set(speakers)
    names = {stem(word) for speaker in speakers for word in tokens(speaker)}
    kind = next((kind for kind, pattern in _KINDS if pattern.search(text)), Kind.OTHER)
    return Need(
        text=text,
        kind=kind,
        terms=tuple(dict.fromkeys(term for term in term_list(topic) if term not in names)),
        by=next(iter(spoken)) if len(spoken) == 1 else None,
        heads=_heads(text),
        named=frozenset(term for word in _NAMED.findall(topic) for term in term_list(word)) - names,
        past=is_about_the_past(text) and not _NOW.search(text),
        recent=bool(_RECENT.search(text)),
    )


def _heads(text: str) -> tuple[str, ...]:
    """The words behind "how many" up to the first that ends a noun phrase."""
    heads: list[str] = []
    if found := _HEAD.search(text):
        for word in tokens(found["rest"]):
            if is_function_word(word) or word in ("i", "we", "you"):
                break
            heads.append(stem(word))
    return tuple(heads[:4])
