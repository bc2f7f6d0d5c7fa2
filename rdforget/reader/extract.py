"""Values of the kind that a question asks for, verbatim from a sentence."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from rdforget.dates import parse_date
from rdforget.reader.dated import point_in_time, say
from rdforget.reader.lexicon import is_function_word, stem
from rdforget.reader.need import Kind, Need
from rdforget.reader.passages import term_list

_NUMBER = (
    r"(?:\d+(?:,\d{3})+|\d+(?:\.\d+)?|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ]\w+)?|"
    r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|"
    r"nineteen|hundred|thousand)"
)
_ABOUT = r"(?:(?:about|around|approximately|roughly|almost|nearly|over|more than|at least|under) )?"
_SPAN = r"(?:second|minute|hour|day|night|week|weekend|month|year|decade)s?"
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_PERIOD = rf"(?:day|night|week|weekend|month|year|morning|evening|afternoon|quarter|{_WEEKDAY})"
_SOURCES = {
    Kind.COUNT: rf"(?<![\w$€£/:.,-])(?:{_NUMBER}|once|twice)(?![\w%:/-]|[.,]\d|(?:st|nd|rd|th)\b)",
    Kind.DURATION: (
        rf"{_ABOUT}(?:\b{_NUMBER}|\ban?|\bhalf an?|\ba few|\ba couple of|\bseveral)(?:\s?[-–]\s?\d+| to {_NUMBER})?"
        rf"(?: and a half)?[ -](?:full |whole |straight |more )?{_SPAN}\b(?! ago)(?:,? and {_NUMBER} {_SPAN})?"
        r"|\bsince (?:\w+ )?\d{4}\b"
    ),
    Kind.FREQUENCY: (
        rf"\b(?:once|twice|thrice|{_NUMBER} times?|a (?:few|couple of) times|several times)(?: or {_NUMBER} times)? "
        rf"(?:a|per|each|every|in a) {_PERIOD}|\b(?:every|each) (?:other |second |single |few |{_NUMBER} )?{_PERIOD}s?"
        r"|\b(?:daily|weekly|biweekly|bi-weekly|monthly|yearly|annually|quarterly)\b"
        rf"|\b(?:on )?{_WEEKDAY}s\b"
    ),
    Kind.MONEY: (
        r"[$€£]\s?\d[\d,]*(?:\.\d+)?(?:\s?(?:k|million|billion))?\b"
        rf"|\b{_NUMBER} (?:dollars|euros|pounds|bucks|cents|pence)\b"
    ),
    Kind.CLOCK: (
        r"\b\d{1,2}(?::\d\d)?\s?(?:am|pm|a\.m\.|p\.m\.)(?!\w)|\b\d{1,2}:\d\d\b|\b(?:noon|midnight)\b"
        rf"|\b{_NUMBER} o['’]clock\b|\b(?:half|quarter) past {_NUMBER}\b"
    ),
    Kind.WEEKDAY: rf"\b{_WEEKDAY}s?\b|\bweekends?\b",
    Kind.QUANTITY: (
        rf"{_ABOUT}[$€£]?(?<![\w/])(?:\d+(?:,\d{{3}})+|\d+(?:[.:]\d+)*)(?:\s?[-–]\s?\d+(?:[.:]\d+)*)?"
        rf"(?:\s?%|(?:st|nd|rd|th)\b)?(?!\w)"
        rf"(?: (?:out of {_NUMBER}|[a-z]+))?|\b{_NUMBER} [a-z]+s\b"
    ),
}
PATTERNS = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _SOURCES.items()}
_PLACE = re.compile(
    r"\b(?:in|at|to|on|from|under|above|near|behind|inside|into|onto|outside|beside|around|through|by|over|next to|in "
    r"front of) (?:(?:the|a|an|my|our|his|her|their|this|that) )?"
)
_CALENDAR = (
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december"
)
_NOT_PLACES = frozenset(
    re.findall(
        r"\w+",
        f"{_CALENDAR} morning afternoon evening night week weekend month year day time moment end beginning future "
        "past fact order case general particular addition life mind touch least last first all home",
    )
)
_PERSON = re.compile(r"\b[A-Z][a-z]+(?: (?:[A-Z][\w'’-]*|de|van|von|of))*(?<! of)")
_AFTER_PLACES = frozenset({"i", "we", "who", "again", "last", "yesterday", "today", "tonight", "tomorrow", "now"})
_NO_PERSONS = frozenset(
    re.findall(r"\w+", f"{_CALENDAR} thanks yes yeah wow hey hi hello the it she he they we you that this")
)
_WORD = re.compile(r"[\w&'’+#-]+")
_NEAR_WORDS = 7


@dataclass(frozen=True, slots=True)
class Value:
    """A piece of a sentence that may be the answer; `near` are the terms around it."""

    text: str
    near: frozenset[str]
    counted: bool = False
    """Whether it stands at the noun that the question counts."""


def values(need: Need, sentence: str, when: str | None, speakers: Collection[str]) -> Iterator[Value]:
    """Values in a sentence of the kind that is asked for, from left to right."""
    if need.kind is Kind.DATE:
        said_on = parse_date(when) if when else None
        named = point_in_time(sentence, said_on)
        if text := named or (say(said_on) if said_on else ""):
            yield Value(text, frozenset(term_list(sentence)), named is not None)
    elif need.kind is Kind.PLACE:
        yield from _places(need, sentence)
    elif need.kind is Kind.PERSON:
        yield from _persons(need, sentence, speakers)
    elif need.kind in PATTERNS:
        for found in PATTERNS[need.kind].finditer(sentence):
            text, counted = _with_noun(need, sentence, found)
            if text:
                yield Value(text, _around(sentence, *found.span()), counted)


def _with_noun(need: Need, sentence: str, found: re.Match[str]) -> tuple[str, bool]:
    """A number with the noun it counts, where that is the noun of the question."""
    text = found[0].strip()
    if need.kind is Kind.QUANTITY:
        head, _, noun = text.rpartition(" ")
        if head and noun.isalpha() and not term_list(noun):
            text = head
        return text, any(stem(word.lower()) in need.terms for word in _WORD.findall(text))
    if need.kind is not Kind.COUNT:
        return text, False
    behind = [match for match, _ in zip(_WORD.finditer(sentence, found.end()), range(4), strict=False)]
    for at, match in enumerate(behind):
        if need.heads and stem(match[0].lower()) == need.heads[-1]:
            return sentence[found.start() : behind[at].end()], True
        if sentence[found.end() : match.start()].strip(" ") and not at:
            break
    before = _WORD.findall(sentence[: found.start()])[-5:]
    if any(stem(word.lower()) in need.heads for word in before):
        return text, True
    if text.lower() in ("one",) or (behind and re.fullmatch(_SPAN, behind[0][0])):
        return "", False
    return text, False


def _around(sentence: str, start: int, end: int) -> frozenset[str]:
    before = " ".join(sentence[:start].split()[-_NEAR_WORDS:])
    after = " ".join(sentence[end:].split()[:_NEAR_WORDS])
    return frozenset(term_list(f"{before} {after}"))


def _places(need: Need, sentence: str) -> Iterator[Value]:
    for found in _PLACE.finditer(sentence):
        words: list[str] = []
        end = found.end()
        for word in _WORD.finditer(sentence, found.end()):
            gap = sentence[end : word.start()]
            low = word[0].lower()
            stops = is_function_word(low) and low != "of"
            if len(words) == 5 or gap.strip() or stops or (words and low in _AFTER_PLACES):
                break
            words.append(low)
            end = word.end()
        while words and words[-1] == "of":
            words.pop()
            end = sentence.rfind(" ", found.end(), end)
        stems = set(term_list(" ".join(words)))
        if words and not _NOT_PLACES & set(words) and not words[-1].endswith("ing") and stems - set(need.terms):
            yield Value(sentence[found.start() : end], _around(sentence, found.start(), end))


def _persons(need: Need, sentence: str, speakers: Collection[str]) -> Iterator[Value]:
    for found in _PERSON.finditer(sentence):
        words = [word.lower() for word in _WORD.findall(found[0])]
        vocative = found.start() > 1 and sentence[found.start() - 2] == "," and sentence[found.end() :][:1] in "!.,?"
        known = set(words) & set(speakers) or {stem(word) for word in words} <= set(need.terms)
        if found.start() == 0 and len(words) == 1:
            continue
        if not known and not _NO_PERSONS & set(words) and not (vocative or is_function_word(words[0])):
            yield Value(found[0], _around(sentence, *found.span()))
