"""English words for relations: how statements say them and how questions mean them.

The words are data, in `relations.toml` beside this module. They are words of the language, not of any one
fact file; a relation that the lexicon does not know keeps its own words (see `Lexicon.open_cues`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from snowballstemmer import stemmer

from rdforget.text import fold

BACK = "~"
"""Prefix of a relation read from its value to its subject: `~founder` leads from a person to what they founded."""
SURE, LIKELY, FAINT = 1.0, 0.6, 0.45
"""Weights of a question word: names the relation, names a near relation, may name it."""

_BE = ("is", "was", "are", "were", "has been", "had been", "am", "became")
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an the of in on at to by for from with as and or is was are were be been being am do does did has have had "
        "that which who whom whose where what when how it its this these those there here he she they them his her "
        "their one same s t can could will would currently current now also into about under than then if not",
    )
)
_POSSESSIVES = frozenset({"his", "her", "their", "it"})
_IRREGULAR = dict(
    pair.split(":")
    for pair in re.findall(
        r"\w+:\w+",
        "came:come wrote:write written:write sang:sing sung:sing built:build made:make spoke:speak spoken:speak "
        "taught:teach took:take taken:take gave:give given:give held:hold led:lead went:go gone:go won:win knew:know "
        "known:know began:begin begun:begin drew:draw drawn:draw ran:run met:meet lost:lose grew:grow grown:grow "
        "rose:rise arose:arise bought:buy sold:sell chose:choose chosen:choose saw:see seen:see brought:bring "
        "dying:die originator:founder originators:founder does:do did:do children:child",
    )
)
_TOKEN = re.compile(r"\w+[+#]*")
_stemmer = stemmer("english")

Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All known relations, indexed the ways that a reader looks them up."""

    value_type: Mapping[str, str]
    """Relation -> kind of its values."""
    nouns: Mapping[Phrase, str]
    """Words of a noun, as written in statements -> relation."""
    verbs: Mapping[Phrase, tuple[str, bool]]
    """Words of a verb phrase -> relation, and whether the subject of the slot stands right of it."""
    descriptions: tuple[tuple[re.Pattern[str], str], ...]
    cues: Mapping[Phrase, Mapping[str, float]]
    """Stems of question words -> relations, with weights."""
    types: Mapping[Phrase, frozenset[str]]
    """Stems of type words -> kinds of value."""
    loose: Mapping[Phrase, Phrase]
    """A cue of several words without possessive pronouns -> the cue: "breathe last" for "breathe his last"."""
    symmetric: frozenset[str]
    by_noun: frozenset[str]
    longest_verb_from: Mapping[str, int]
    """First word of a verb phrase -> words of the longest phrase that begins with it."""
    longest_noun: int = field(default=0)
    longest_verb: int = field(default=0)
    longest_cue: int = field(default=0)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    return str(_stemmer.stemWord(_IRREGULAR.get(word, word)))


def tokens(text: str) -> list[str]:
    """Lower-cased words; a trailing `+` or `#` belongs to its word, so that C, C++ and C# differ."""
    return _TOKEN.findall(fold(text))


def stems(text: str) -> Phrase:
    return tuple(map(stem, tokens(text)))


def bare(phrase: Phrase) -> Phrase:
    """A phrase, in stems, without possessive pronouns."""
    return tuple(word for word in phrase if word not in _POSSESSIVES)


def is_function_word(word: str) -> bool:
    return word in _FUNCTION_WORDS


@lru_cache(maxsize=65_536)
def open_cues(relation: str) -> frozenset[str]:
    """Stems that mean a relation by its own words."""
    return frozenset(stem(word) for word in tokens(relation) if not is_function_word(word))


@cache
def lexicon() -> Lexicon:
    """The lexicon of `relations.toml`; read once."""
    data = tomllib.loads(files(__package__).joinpath("relations.toml").read_text("utf-8"))
    relations: dict[str, dict[str, Any]] = data["relation"]
    nouns: dict[Phrase, str] = {}
    verbs: dict[Phrase, tuple[str, bool]] = {}
    cues: dict[Phrase, dict[str, float]] = {}
    descriptions = []
    for name, entry in relations.items():
        for noun in entry.get("nouns", ()):
            nouns.setdefault(tuple(noun.split()), name)
        for kind, reverse in (("verbs", False), ("reverse", True)):
            for verb in entry.get(kind, ()):
                for form in _forms(verb):
                    verbs.setdefault(form, (name, reverse))
        for pattern in entry.get("descriptions", ()):
            expression = pattern.replace("{s}", "(?P<s>.+?)")
            descriptions.append((re.compile(rf"(?:{expression})"), name))
        for phrase, weight in _cues(entry, relations):
            known = cues.setdefault(stems(phrase), {})
            known[name] = max(known.get(name, 0.0), weight)
        backward = [*entry.get("back", ()), *((entry.get("nouns", ())) if entry.get("symmetric") else ())]
        for phrase in backward:
            cues.setdefault(stems(phrase), {}).setdefault(BACK + name, SURE)
    _inherit(cues)
    longest_verb_from: dict[str, int] = {}
    for form in verbs:
        longest_verb_from[form[0]] = max(longest_verb_from.get(form[0], 0), len(form))
    types: dict[Phrase, frozenset[str]] = {}
    for kind, words in data["types"].items():
        for phrase in words:
            types[stems(phrase)] = types.get(stems(phrase), frozenset()) | {kind}
    return Lexicon(
        value_type={name: entry["type"] for name, entry in relations.items()},
        nouns=nouns,
        verbs=verbs,
        descriptions=tuple(descriptions),
        cues=cues,
        types=types,
        loose={core: phrase for phrase in sorted(cues, reverse=True) if len(core := bare(phrase)) > 1},
        symmetric=frozenset(name for name, entry in relations.items() if entry.get("symmetric")),
        by_noun=frozenset(name for name, entry in relations.items() if entry.get("by_noun")),
        longest_verb_from=longest_verb_from,
        longest_noun=max(map(len, nouns)),
        longest_verb=max(map(len, verbs)),
        longest_cue=max(map(len, (*cues, *types))),
    )


def _forms(verb: str) -> Iterator[Phrase]:
    if verb.startswith("be "):
        yield from (tuple(f"{form} {verb[3:]}".split()) for form in _BE)
    else:
        yield tuple(verb.split())


def _cues(entry: Mapping[str, Any], relations: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    for kind, weight in (("nouns", SURE), ("cues", SURE), ("weak", FAINT)):
        yield from ((phrase, weight) for phrase in entry.get(kind, ()))
    for verb in (*entry.get("verbs", ()), *entry.get("reverse", ())):
        said = verb.removeprefix("be ").removeprefix("the ").split()
        content = [word for word in said if not is_function_word(word)]
        while said and content:
            if len(said) > 1:
                yield " ".join(said), SURE if len(content) > 1 else LIKELY
            if not is_function_word(said.pop()):
                break
    for other in entry.get("like", ()):
        for kind, weight in (("nouns", LIKELY), ("cues", LIKELY), ("weak", FAINT)):
            yield from ((phrase, weight) for phrase in relations[other].get(kind, ()))


def _inherit(cues: dict[Phrase, dict[str, float]]) -> None:
    """A phrase also means what it means without the function words at its ends: "belong to" what "belong" does."""
    for phrase, weights in cues.items():
        core = list(phrase)
        while core and is_function_word(core[-1]):
            core.pop()
        while core and is_function_word(core[0]):
            core.pop(0)
        for name, weight in cues.get(tuple(core), {}).items() if len(core) < len(phrase) else ():
            weights[name] = max(weights.get(name, 0.0), weight * LIKELY)
