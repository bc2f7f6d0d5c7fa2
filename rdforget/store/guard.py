"""Whether two texts that embed alike may be taken for one: in doubt not, as a near-duplicate that is kept is harmless.

Addresses that differ by a house number, or a fact and its denial, are all but one to an embedding. So the texts must
agree in what an embedding blurs: dates, numbers with what they count, names, negation, the order of the words that
they share, and values: where each has a word of its own, the two say different things. One may say more than the other.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from rdforget.dates import parse_date
from rdforget.reader.lexicon import is_function_word, stem

_WORDS = tomllib.loads(files(__package__).joinpath("guard.toml").read_text("utf-8"))
_NEGATIONS, _TELLING = (frozenset(_WORDS[name].split()) for name in ("negations", "telling"))
_SIGNS: Mapping[str, str] = _WORDS["signs"]
_COUNTS = {word: number for number, words in _WORDS["numbers"].items() for word in words.split()}
_MONTHS = {name[:3]: name for name in _WORDS["months"]}
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_DATE = re.compile(
    rf"\b\d{{4}}[-/]\d{{1,2}}[-/]\d{{1,2}}\b"
    rf"|\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<name>{_MONTH})\b\.?(?:,? (?P<year>\d{{4}})\b)?"
    rf"|\b(?P<name2>{_MONTH})\b\.? (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<year2>\d{{4}})\b)?",
    re.IGNORECASE,
)
_LEAP_YEAR = "2000"
"""Stands in where a date names no year, so that 29 February is one."""
_TOKEN = re.compile(
    r"(?P<sign>[$€£¥₹]|\b(?:usd|eur|gbp|chf|jpy)\s)?\s?"
    r"(?P<number>(?<![\w.])[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|(?<![\w.])-?\d+(?:\.\d+)?(?![\w.:/-]*\d))"
    r"(?P<unit>\s?[%°€£$]|[a-z]{1,3}\b)?"
    r"|(?P<other>[\w.:/@#+-]{0,60}\d[\w:/@#+-]*(?:\.\w+)*)|(?P<word>[^\W\d_]+(?:['’-][^\W\d_]+)*)|(?P<mark>[^\w\s])",
    re.IGNORECASE,
)
"""A number with its currency or unit, what else holds digits (times, ids), a word, or a mark."""
_ARTICLES = frozenset({"a", "an", "the"})
_PREFIXES = ("un", "non", "in", "im", "ir", "dis", "mis", "anti", "ex", "pre", "post")
_INFLECTIONS = ("", "s", "es", "e", "ing")
_OR, _IZE = re.compile(r"(?<=\w\w)our"), re.compile(r"(?<=\w\w\w)is(?=e|ing|ation)")
"""Colour and color, organise and organize."""
_LONGEST_WORD = 40
"""Characters; a longer one is no word of the language."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """What of a text must agree, each in order."""

    dates: tuple[str, ...]
    numbers: tuple[str, ...]
    words: tuple[str, ...]
    """In lower case, contractions and elisions apart."""
    names: frozenset[str]
    """Words with a capital, function words aside, in lower case."""
    denials: tuple[str, ...]
    """The word that follows each negation, the last first."""
    uncased: tuple[str, ...]
    """Words of scripts without case, where names look like other words, and signs that are no letters."""


def agree(a: str, b: str) -> bool:
    """Whether two texts agree in dates, numbers, names, negation, order and values. Symmetric; equal texts agree."""
    one, other = _read(a), _read(b)
    if one == other:
        return True
    if (one.dates, one.numbers, one.denials, one.uncased) != (other.dates, other.numbers, other.denials, other.uncased):
        return False
    telling = one.names | other.names | _TELLING
    if [word for word in one.words if word in telling] != [word for word in other.words if word in telling]:
        return False
    return _same_words(*([_form(word) for word in text.words if word not in _ARTICLES] for text in (one, other)))


def _same_words(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether the shared words stand in one order, and only one side has others."""
    shared = set(one) & set(other)
    if [word for word in one if word in shared] != [word for word in other if word in shared]:
        return False
    mine, theirs = ([word for word in words if word not in shared] for words in (one, other))
    for word in (*mine, *theirs):
        if any(f"{prefix}{word}" in shared or word.removeprefix(prefix) in shared - {word} for prefix in _PREFIXES):
            return False
    return not (mine and theirs)


@lru_cache(maxsize=65_536)
def _form(word: str) -> str:
    """The word without the endings of number, person and "-ing", in one spelling.

    No other ending goes: where somebody lived is not where they live, and an employer is no employee.
    """
    word = _OR.sub("or", _IZE.sub("iz", word))
    root = stem(word) if len(word) <= _LONGEST_WORD else word
    inflected = word.startswith(root) and word[len(root) :] in _INFLECTIONS
    return root if inflected or f"{word[:-1]}i" == root else word


@lru_cache(maxsize=4_096)
def _read(text: str) -> _Reading:
    text = unicodedata.normalize("NFKC", text)
    dates: list[str] = []

    def take(found: re.Match[str]) -> str:
        if (date := _date(found)) is None:
            return found[0]
        dates.append(date)
        return " "

    numbers: list[str] = []
    words: list[str] = []
    names: set[str] = set()
    uncased: list[str] = []
    tokens = list(_TOKEN.finditer(_DATE.sub(take, text)))
    for at, token in enumerate(tokens):
        behind = tokens[at + 1] if at + 1 < len(tokens) else None
        if token["number"]:
            numbers.append(_number(token["number"], token["sign"] or token["unit"], behind))
        elif token["other"]:
            numbers.append(token["other"].lower().strip(".:/-"))
        elif token["mark"]:
            if unicodedata.category(token["mark"])[0] == "S":
                uncased.append(token["mark"])
        else:
            for word in _parts(token["word"]):
                low = word.lower()
                if low in _COUNTS:
                    numbers.append(_number(_COUNTS[low], None, behind))
                elif low == word.upper():
                    uncased.append(low)
                else:
                    words.append(low)
                    if word != low and not is_function_word(low):
                        names.add(low)
    return _Reading(tuple(dates), tuple(numbers), tuple(words), frozenset(names), _denials(words), tuple(uncased))


def _parts(word: str) -> list[str]:
    """`doesn't` as does and not, `n'aime` as ne and aime, `Ines's` as Ines and s."""
    word = word.replace("’", "'")
    if word.lower().endswith("n't"):
        return [{"ca": "can", "wo": "will"}.get(word[:-3].lower(), word[:-3]), "not"]
    return [{"n": "ne"}.get(part.lower(), part) for part in re.split("['-]", word) if part]


def _denials(words: Sequence[str]) -> tuple[str, ...]:
    """For each negation the content word behind it: "likes tea, not coffee" is not "likes coffee, not tea"."""
    denied: list[str] = []
    behind = ""
    for word in reversed(words):
        if word in _NEGATIONS:
            denied.append(behind)
        if not is_function_word(word):
            behind = _form(word)
    return tuple(denied)


def _date(found: re.Match[str]) -> str | None:
    name = found["name"] or found["name2"]
    if not name:
        moment = parse_date(found[0])
        return moment.date().isoformat() if moment else None
    year = found["year"] or found["year2"]
    moment = parse_date(f"{found['day'] or found['day2']} {_MONTHS[name[:3].lower()]} {year or _LEAP_YEAR}")
    return moment.date().isoformat()[0 if year else 5 :] if moment else None


def _number(said: str, unit: str | None, behind: re.Match[str] | None) -> str:
    """A number in one spelling with its currency or unit, or else with the word behind it: what is counted."""
    whole, _, part = said.replace(",", "").partition(".")
    plain = f"{whole}.{part}".rstrip("0").rstrip(".") if part else whole
    unit = (unit or "").strip().lower()
    if not unit and behind and (word := behind["word"]) and not is_function_word(word.lower()):
        unit = word.lower()
    return f"{plain} {_SIGNS.get(unit, _form(unit))}"
