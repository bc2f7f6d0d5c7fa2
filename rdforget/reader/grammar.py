"""A grammar of statements: a source line or a sentence -> subject, relation, object.

Frames, tried in this order; the first that fits wins:

    S verb O            "Ada Holm is married to Bo Lind", "Bo Lind wrote The Tide"
    description is O    "The author of The Tide is Bo Lind", "Ada's phone is a Nokia"
    O is description    "Oslo is the capital of Norway"
    S words O           names around words that the lexicon does not know: the words are the relation

Known relations go before unknown ones throughout. A sentence that fits no frame is not a statement.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache

from rdforget.reader.lexicon import is_function_word, lexicon, tokens
from rdforget.reader.sentences import plain, sentences, serial, speaks_of_self, split_speaker, third_person
from rdforget.text import fold, one_line

_COPULA = re.compile(r"\s(?:is|was|are|were|remains|became|has become)\s")
_TAIL = re.compile(
    r"^(?:now |currently |still )?"
    r"(?:(?:located|based|situated|found|held|set) (?:in|at|on|by) |called |named |known as )?"
    r"(?:the (?:\w+ )?(?:city|town|country|continent|state|language|religion|sport|position|field|company|band|person"
    r"|village|place|name|genre) of )?"
)
_NAME_OF = re.compile(r"^(?:the )?name of (?:the )?")
_ARTICLE = re.compile(r"^(?:the|The|a|an|A|An)\s+")
_NEUTRAL = re.compile(r"^(?:current|present|new|incumbent|latest|acting|official|own|actual)\s+")
_ADVERBS = frozenset(
    ("now", "currently", "presently", "recently", "still", "also", "just", "officially", "first", "originally")
)
_TRAILING_ADVERB = re.compile(rf"(?:\s+(?:{'|'.join(sorted(_ADVERBS))}))+$")
_TRAILING_TIME = re.compile(
    r"(?<=\S)\s+(?:now|currently|today|yesterday|recently|these days|instead|again|(?:last|this) (?:week|month|year)|"
    r"(?:since|in) (?:\w+ )?\d{4}|(?:a|two|three|a few) (?:days?|weeks?|months?|years?) ago)$"
)
_PREPOSITIONS = frozenset({"of", "in", "for", "at", "to", "behind", "on"})
_POSSESSIVE = re.compile(r"['’]s\s+|(?<=s)['’]\s+")
_SCOPE = re.compile(r"^(?P<noun>.+?) (?:at|for|during|on|in) (?P<scope>.+)$")
_RELATIVE = re.compile(
    r"^(?P<noun>[a-z][\w ]*?) (?:that|which|who|where|whom|(?:in|at|to|for|with|from) (?:which|whom)) (?P<rest>.+)$"
)
_PLACING = frozenset({"location", "seat"})
"""Relations whose verbs ("is located in") also follow a description: "the headquarters of X is located in"."""
_PART = re.compile(r"\b(?:that|which|who|where)$")
"""A left side that is no subject but the beginning of a description."""
_OPEN_NOUN = re.compile(r"(?P<noun>[a-z][\w/-]*(?: [a-z][\w/-]*){0,3}?) (?:of|for) (?P<s>.+)$")
_OPEN_PROPERTY = re.compile(r"[a-z][\w/-]*(?: [a-z][\w/-]*){0,3}")
_MAX_OPEN = 5
"""Words of a relation that the lexicon does not know."""
_MAX_SUBJECT, _MAX_OBJECT = 14, 18
"""Words; longer ones are no names but prose that a frame happens to fit."""
_MAX_LINE = 600
"""Characters; longer sentences are not read."""
_MAX_BREAKS, _SHORT_WORD = 4, 3


@dataclass(frozen=True, slots=True)
class Statement:
    """One reading of a sentence. `object` is verbatim; subject and relation are normal forms."""

    text: str
    """The sentence as an entry shows it: without serial, with its speaker where it needs one."""
    subject: str
    relation: str
    object: str
    scope: str = ""
    subject_text: str = ""
    known: bool = True
    """Whether the lexicon knows the relation."""

    @property
    def slot(self) -> tuple[str, str, str]:
        return self.subject, self.relation, self.scope

    @property
    def value(self) -> str:
        """Normal form of the object."""
        return entity_key(self.object)


@lru_cache(maxsize=262_144)
def entity_key(name: str) -> str:
    """Normal form of a name: its words in lower case, NFC, without a leading "the" or quotes."""
    found = tokens(name)
    if len(found) > 1 and found[0] == "the" and not (len(found) == 2 and is_function_word(found[1])):
        found = found[1:]
    return " ".join(found) or fold(name).strip()


def read(text: str, speaker: str | None = None, known: Collection[str] = ()) -> list[Statement]:
    """Statements of a source line or an entry's text, in order; empty where no frame fits.

    `known` holds normal forms of names seen elsewhere; where a sentence has several readings, the one with
    more known names wins.
    """
    _, body = serial(text)
    body = one_line(body)
    if speaker is None:
        speaker, body = split_speaker(body)
    pieces = sentences(body)
    found = [_best(_readings(piece, speaker), known) for piece in pieces if len(piece) <= _MAX_LINE]
    if None in found and 1 < len(pieces) <= _MAX_BREAKS and len(body) <= _MAX_LINE:
        whole = _best(_readings(body, speaker), known)
        if whole and any(len(sentences(name)) == len(pieces) and _is_title(name) for name in _names(whole)):
            return [whole]
    return [statement for statement in found if statement]


def has_several_readings(text: str) -> bool:
    """Whether a copula stands twice, so that knowing other names may change the reading."""
    return len(_COPULA.findall(text)) > 1


def _names(statement: Statement) -> tuple[str, str]:
    return statement.subject_text, statement.object


def _is_title(name: str) -> bool:
    """A name that may hold a full stop: "Help! I Am Lost", "Yahoo! Inc.", but not a greeting before a name."""
    return all(_is_name_part(word) or len(word) <= _SHORT_WORD for word in name.split(" "))


def _best(readings: Iterator[Statement], known: Collection[str]) -> Statement | None:
    first = next(readings, None)
    if first is None or not known:
        return first
    # Only readings of the same kind compete: unknown relations never displace a known one.
    rivals = [first, *(reading for reading in readings if reading.known == first.known)]
    return max(rivals, key=lambda r: (r.subject in known) + (r.value in known))


def _readings(sentence: str, speaker: str | None) -> Iterator[Statement]:
    body, text = plain(sentence), sentence
    if speaker and speaks_of_self(body):
        body, text = third_person(body, speaker), f"{speaker}: {sentence}"
    frames = [*_verb_frames(body), *_description_frames(body)]
    read_as = [*((frame, True) for frame in frames), *((frame, False) for frame in _open_frames(body))]
    for (subject, relation, value, scope), known in read_as:
        if len(subject.split()) <= _MAX_SUBJECT and len(value.split()) <= _MAX_OBJECT:
            yield _statement(text, subject, relation, value, scope, known=known)


def _statement(text: str, subject: str, relation: str, value: str, scope: str, *, known: bool) -> Statement:
    name = subject.strip(" \"“”'‘’,")
    shown = _TRAILING_TIME.sub("", value.strip()).strip('"“”').strip(" ,;")
    return Statement(text, entity_key(name), relation, shown, entity_key(scope) if scope else "", name, known)


Frame = tuple[str, str, str, str]
"""Subject, relation, object, scope."""


def _verb_frames(body: str) -> Iterator[Frame]:
    """Longest known verb phrase first; adverbs inside it are skipped."""
    lex = lexicon()
    spans = [found.span() for found in re.finditer(r"\S+", body)]
    plain = [(body[a:b], a, b) for a, b in spans if body[a:b] not in _ADVERBS]
    hits = []
    for at in range(1, len(plain) - 1):
        if plain[at][0][0].isupper():
            continue
        for length in range(min(lex.longest_verb_from.get(plain[at][0], 0), len(plain) - 1 - at), 0, -1):
            found = lex.verbs.get(tuple(word for word, _, _ in plain[at : at + length]))
            if found:
                hits.append((length, at, found, plain[at][1], plain[at + length - 1][2]))
                break
    hits.sort(key=lambda hit: (-hit[0], -hit[1]))
    for _, _, (relation, reverse), start, end in hits:
        left, right = _TRAILING_ADVERB.sub("", body[:start].strip()), _strip_tail(body[end:].strip())
        if not left or not right or _PART.search(left) or _COPULA.match(f" {right} "):
            continue
        if relation in _PLACING and _is_description(left):
            continue
        yield (right, relation, left, "") if reverse else (left, relation, right, "")


def _strip_tail(value: str) -> str:
    return value[tail.end() :] or value if (tail := _TAIL.match(value)) else value


@lru_cache(maxsize=4_096)
def _is_description(phrase: str) -> bool:
    return _describe(phrase) is not None


def _description_frames(body: str) -> Iterator[Frame]:
    for copula in reversed(list(_COPULA.finditer(body))):
        left, right = body[: copula.start()].strip(), body[copula.end() :].strip()
        if (found := _describe(left)) and right:
            yield found[0], found[1], _strip_tail(right), found[2]
        elif right[:4].lower() in ("the ", "a ca") and (found := _describe(right)):
            yield found[0], found[1], left, found[2]


def _describe(phrase: str) -> tuple[str, str, str] | None:
    """Subject, known relation and scope of a description such as `the capital of Norway`."""
    lex = lexicon()
    bare = _NAME_OF.sub("", _ARTICLE.sub("", phrase))
    bare = bare[found.end() :] if (found := _ARTICLE.match(bare)) and bare[0].islower() else bare
    if found_noun := _noun_at_start(bare):
        head, named, rest = found_noun
        return rest.strip(), named, head if named in lex.by_noun else ""
    for pattern, described in lex.descriptions:
        if whole := pattern.fullmatch(bare):
            return whole["s"].strip(), described, ""
    for possessive in reversed(list(_POSSESSIVE.finditer(phrase))):
        noun, narrow = phrase[possessive.end() :], ""
        if not (relation := _noun(noun)) and (narrowed := _SCOPE.match(noun)):
            noun, narrow = str(narrowed["noun"]), str(narrowed["scope"])
            relation = _noun(noun)
        if relation:
            return phrase[: possessive.start()], relation, noun if relation in lex.by_noun else narrow
    if (clause := _RELATIVE.match(bare)) and (inner := _clause(clause["rest"])):
        return inner[0], inner[1], ""
    return None


def _noun(noun: str) -> str | None:
    """The known relation that a whole noun phrase names."""
    found = lexicon().nouns.get(tuple(noun.split()))
    if not found and (neutral := _NEUTRAL.match(noun)):
        return _noun(noun[neutral.end() :])
    return found


def _noun_at_start(phrase: str) -> tuple[str, str, str] | None:
    words = phrase.split(" ")
    for length in range(min(lexicon().longest_noun + 1, len(words) - 2), 0, -1):
        if words[length] in _PREPOSITIONS and (relation := _noun(" ".join(words[:length]))):
            return " ".join(words[:length]), relation, " ".join(words[length + 1 :])
    return None


def _clause(rest: str) -> tuple[str, str] | None:
    """Subject and relation of a relative clause: `wrote The Tide`, `Ada was born in`."""
    verbs, words = lexicon().verbs, rest.split()
    for length in range(min(lexicon().longest_verb, len(words) - 1), 0, -1):
        if (found := verbs.get(tuple(words[:length]))) and found[1]:
            return " ".join(words[length:]), found[0]
        for tail in ((), ("in",), ("at",), ("of",), ("by",)):
            if (found := verbs.get((*words[-length:], *tail))) and not found[1]:
                return " ".join(words[:-length]), found[0]
    return None


def _open_frames(body: str) -> Iterator[Frame]:
    """Frames with a relation that the lexicon does not know."""
    for copula in reversed(list(_COPULA.finditer(body))):
        left, right = body[: copula.start()].strip(), body[copula.end() :].strip()
        if found := _open_description(left):
            yield found[0], found[1], _strip_tail(right), found[2]
        elif right.startswith("the ") and (found := _open_description(right)):
            yield found[0], found[1], left, found[2]
    words = body.split(" ")
    start = next((i for i, word in enumerate(words) if not _is_name_part(word)), len(words))
    end = next((i for i in range(start, len(words)) if _is_name(words[i])), len(words))
    relation = " ".join(words[start:end])
    if 0 < start < end < len(words) and end - start <= _MAX_OPEN and _is_name(words[0]) and tokens(relation):
        yield " ".join(words[:start]), relation, " ".join(words[end:]), ""


def _open_description(phrase: str) -> tuple[str, str, str] | None:
    bare = _NAME_OF.sub("", _ARTICLE.sub("", phrase))
    bare = _NEUTRAL.sub("", bare)
    if phrase != bare and (found := _OPEN_NOUN.match(bare)):
        return found["s"], found["noun"], ""
    for possessive in reversed(list(_POSSESSIVE.finditer(phrase))):
        noun = phrase[possessive.end() :]
        if _OPEN_PROPERTY.fullmatch(noun):
            if narrowed := _SCOPE.match(noun):
                return phrase[: possessive.start()], narrowed["noun"], narrowed["scope"]
            return phrase[: possessive.start()], noun, ""
    return None


def _is_name(word: str) -> bool:
    return bool(word) and (word.lstrip("\"“'‘(")[:1].isupper() or word[:1].isdigit())


def _is_name_part(word: str) -> bool:
    return _is_name(word) or word in ("of", "de", "von", "van", "al", "du", "la", "the", "and", "&", "der", "da")
