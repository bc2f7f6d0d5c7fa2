"""The part of a sentence that says what a question asks, where no kind of value tells it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rdforget.reader.lexicon import is_function_word, stem
from rdforget.reader.need import Need
from rdforget.reader.passages import term_list, terms

_BREAK = re.compile(
    r"\s*(?:[;:,]|\s[-–—]+|--+)\s+|\s+(?=(?:and|but|so|because|['’]cause|since|which|when|while|where|after|before) )"
)
_LEAD = re.compile(
    r"^(?:and|but|so|well|oh|yes|yeah|yep|yup|no|nope|by the way|btw|actually|anyway|also|thanks|hey|wow|"
    r"speaking of which)\b[\s,!-]*|^(?:(?:thanks|hey|hi|wow|yes|yeah|thank you),? )?\w+!\s+",
    re.IGNORECASE,
)
_SHORT = 12
"""Words up to which a sentence is not cut."""
_ASKED_NOUN = re.compile(
    r"\b(?:what|which) (?:(?:kinds?|types?|sorts?|brands?|models?) of )?(?P<noun>[a-z][\w-]*(?: [a-z][\w-]*){0,3})",
    re.IGNORECASE,
)


def clause(need: Need, sentence: str, following: Sequence[str] = ()) -> str:
    """The shortest run of clauses that holds most of the question's words and adds words of its own.

    A sentence that adds hardly any goes with the one that follows it.
    """
    if following and len(set(term_list(sentence)) - set(need.terms)) < 3 and not sentence.endswith("?"):
        return f"{_trim(sentence)}. {_trim(following[0])}"
    sentence = _without_lead(sentence.strip())
    if (phrase := _noun_phrase(need, sentence)) is not None:
        return phrase
    if sentence.count(" ") < _SHORT:
        return _trim(sentence)
    parts = _parts(sentence)
    wanted = set(need.terms)
    first = max(range(len(parts)), key=lambda at: (len(wanted & terms(parts[at][0])), -at))
    last = first
    while last + 1 < len(parts) and not _adds(need, sentence[parts[first][1] : parts[last][2]]):
        last += 1
    while first and not _adds(need, sentence[parts[first][1] : parts[last][2]]):
        first -= 1
    return _trim(sentence[parts[first][1] : parts[last][2]])


def _without_lead(sentence: str) -> str:
    while (found := _LEAD.match(sentence)) and found.end() and found.end() < len(sentence):
        sentence = sentence[found.end() :]
    return sentence


def _parts(sentence: str) -> list[tuple[str, int, int]]:
    bounds, start = [], 0
    for gap in _BREAK.finditer(sentence):
        if gap.start() > start:
            bounds.append((sentence[start : gap.start()], start, gap.start()))
        start = gap.end()
    if start < len(sentence):
        bounds.append((sentence[start:], start, len(sentence)))
    return bounds or [(sentence, 0, len(sentence))]


def _adds(need: Need, text: str) -> bool:
    return len(set(term_list(text)) - set(need.terms)) > 1


def _noun_phrase(need: Need, sentence: str) -> str | None:
    """`70-200mm zoom lens` for "what type of lens": the noun that is asked for with the words before it."""
    if not (asked := _ASKED_NOUN.search(need.text)):
        return None
    nouns: list[str] = []
    for word in asked["noun"].split():
        if is_function_word(word.lower()):
            break
        nouns.append(stem(word.lower()))
    words = sentence.split()
    plain = [word.strip(".,!?;:\"'“”()").lower() for word in words]
    for at in range(len(words) - 1, 0, -1):
        if nouns and stem(plain[at]) == nouns[-1]:
            start = at
            while start > max(0, at - 5) and term_list(plain[start - 1]) and words[start - 1][-1] not in ".,;:":
                start -= 1
            phrase = " ".join(words[start : at + 1])
            if start < at and set(term_list(phrase)) - set(need.terms):
                return _trim(phrase)
    return None


def _trim(text: str) -> str:
    return _without_lead(text.strip(" ,;:-–—")).rstrip(" .!?,;:").strip()
