"""Lines of a source as sentences that stand on their own: serials, sentence ends, and who "I" is."""

from __future__ import annotations

import re

_SERIAL = re.compile(r"^\s*(\d{1,9})\s*[.):]\s+")
_LEAD = re.compile(
    r"^(?:(?:actually|now|currently|today|recently|update|correction|note|fact|news|by the way|"
    r"(?:as of|since|in|by) (?:\w+ )?\d{4})\s*[,:]\s*|(?:as it turns out|it turns out that|note that)\s*,?\s*)",
    re.IGNORECASE,
)
_SPEAKER = re.compile(r"^(?P<who>[^:\n]{1,60}):\s+(?P<said>.*)$", re.DOTALL)
_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|[Ww]e|[Oo]ur)\b")
_MY = re.compile(r"^(?:[Mm]y|[Oo]ur)\s+")
_I = re.compile(r"^(?:.{0,40}?\b)?(I|We|we)(?:['’](m|ve|re))?\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)]*\s+(?=[\"'“‘(]?[^\W\d_a-z])")
_ABBREVIATION = re.compile(
    r"(?:^|[\s.(])(?:[^\W\d_]|Jr|Sr|Dr|Mr|Mrs|Ms|St|Mt|Ft|Inc|Ltd|Co|Corp|No|Vol|vs|Prof|Gen|Rev)\.$"
)
_SUPPOSES = re.compile(
    r"\b(?:if|whether|should|would|could|might|may|maybe|perhaps|wonder(?:ing)?|consider(?:ing)?|hop(?:e|ing)|"
    r"thinking (?:of|about)|plan(?:ning)? (?:to|on)|(?:want|like|love) to)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(?:not|never|no|none|nobody|nothing|neither|cannot)\b|n['’]t\b", re.IGNORECASE)


def serial(line: str) -> tuple[int | None, str]:
    """The number `N. ` at the start of a line, and the line without it."""
    found = _SERIAL.match(line)
    return (int(found[1]), line[found.end() :].strip()) if found else (None, line.strip())


def sentences(text: str) -> list[str]:
    """Sentences of a text; a dot after an initial or an abbreviation ends none."""
    pieces: list[str] = []
    start = 0
    for gap in _SENTENCE_END.finditer(text):
        piece = text[start : gap.start()].strip()
        if not _ABBREVIATION.search(piece):
            pieces.append(piece)
            start = gap.end()
    return [piece for piece in (*pieces, text[start:].strip()) if piece]


def split_speaker(text: str) -> tuple[str | None, str]:
    """Speaker and words of `Ada: I moved to Oslo`; None where nobody speaks of themselves."""
    said = _SPEAKER.match(text)
    return (said["who"], said["said"]) if said and _FIRST_PERSON.search(said["said"]) else (None, text)


def plain(sentence: str) -> str:
    """The sentence without its full stop and without opening words such as "Actually,"."""
    body = sentence.rstrip()
    body = body[:-1].rstrip() if body.endswith((".", "!")) and len(body) > 1 else body
    while lead := _LEAD.match(body):
        body = body[lead.end() :]
    return body


def speaks_of_self(sentence: str) -> bool:
    return bool(_FIRST_PERSON.search(sentence))


def third_person(body: str, speaker: str) -> str:
    """What a speaker says of themselves, said of them: "I live in Oslo" becomes "Ada live in Oslo"."""
    if my := _MY.match(body):
        return f"{speaker}'s {body[my.end() :]}"
    if found := _I.match(body):
        verb = {"m": "is ", "re": "is ", "ve": "has "}.get(found[2] or "", "")
        rest = re.sub(r"^(?:am|was) ", "is ", body[found.end() :])
        return f"{speaker} {verb}{rest}"
    return re.sub(r"\b(?:my|our) ", f"{speaker}'s ", body)


def is_statement(sentence: str) -> bool:
    """Neither asks nor supposes."""
    return not sentence.endswith("?") and not _SUPPOSES.search(sentence)


def denies(sentence: str) -> bool:
    return bool(_DENIES.search(sentence))
