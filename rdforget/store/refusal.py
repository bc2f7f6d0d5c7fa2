"""What the store refuses to keep: credentials, financial details, and what somebody asked not to be remembered.

The rules are code, not a prompt, and run before anything is stored, logged or shown to a model. A refusal names its
kind and its rule, never the text that it was found in. The rules read a plain form of the text, so that composed,
full-width, invisible and look-alike characters hide nothing from them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rdforget.store.asked import asked_rule
from rdforget.store.credentials import credential_rule
from rdforget.store.financial import financial_rule
from rdforget.store.records import Candidate

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SPACES = re.compile(r"[ \t]{2,}|\t")
_MARKS = range(0x300, 0x370)
"""Accents: "contraseña" is read as "contrasena". Marks of other scripts, such as kana's, carry the sound and stay."""
_FILLERS = frozenset((0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0))
"""Letters by category that show nothing."""
_LOOK_ALIKES = str.maketrans(
    "авекмнорстухіјѕԁѵАВЕКМНОРСТУХІЈЅαιονρτυΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "abekmhopctyxijsdvABEKMHOPCTYXIJSaiovptuABEZHIKMNOPTYX"
)
_LATIN, _OTHER = re.compile(r"[A-Za-z0-9]"), re.compile(r"[\u0370-\u03ff\u0400-\u052f]")
_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
_WINDOW, _OVERLAP = 3_000, 1_000
"""Characters."""
_BARE_WORDS = 8
"""A text of no more words may be the bare value of its slot; a longer one says what it is about."""
_NAMES = 3
"""Keys above a value that are read with it: {"wifi": {"password": ...}} is "wifi password: ..."."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a text is not stored; never what it says."""

    kind: str
    """`credential`, `financial` or `asked`."""
    rule: str
    """Which rule of that kind, such as `card number`."""


class _Plain(dict[int, str | None]):
    """What becomes of each character of a decomposed text, worked out once a character."""

    def __missing__(self, code: int) -> str | None:
        char, category = chr(code), unicodedata.category(chr(code))
        kept: str | None = char
        if category in ("Cf", "Cc", "Cs") or code in _MARKS or code in _FILLERS or 0xFE00 <= code <= 0xFE0F:
            kept = char if char in "\n\t" else None
        elif category == "Nd":
            kept = str(unicodedata.decimal(char))
        elif category in ("Zs", "Zl", "Zp"):
            kept = "\n" if category in ("Zl", "Zp") else " "
        elif category == "Pd" or code == 0x2212:
            kept = "-"
        elif char in "‘’‚‛′ʼ":
            kept = "'"
        elif char in "“”„‟″«»「」『』":
            kept = '"'
        elif char in "。。":
            kept = "."
        self[code] = kept
        return kept


_PLAIN = _Plain()


def plain(text: str) -> str:
    """The form of a text that the rules read: no accents, no invisible characters, ASCII digits, dashes and quotes."""
    if text.isascii():
        text = _CONTROL.sub("", text)
    else:
        decomposed = unicodedata.normalize("NFKD", text).translate(_PLAIN)
        text = unicodedata.normalize("NFC", decomposed)
        if _OTHER.search(text) and _LATIN.search(text):
            text = " ".join(map(_one_script, text.split(" ")))
    return _SPACES.sub(" ", text)


def refusal(text: str) -> Refusal | None:
    """Why the text is not to be stored; None where nothing speaks against it."""
    return next(filter(None, map(_refusal, _windows(plain(text)))), None)


def refusal_of(candidate: Candidate) -> Refusal | None:
    """Why a candidate is not to be stored: its text, slot, source and metadata, keys as well as values, are read."""
    for piece in _pieces(candidate):
        if found := refusal(piece):
            return found
    return None


def _refusal(text: str) -> Refusal | None:
    low = text.lower()
    if rule := financial_rule(text, low):
        return Refusal("financial", rule)
    if rule := credential_rule(text, low):
        return Refusal("credential", rule)
    if rule := asked_rule(low):
        return Refusal("asked", rule)
    return None


def _windows(text: str) -> Iterator[str]:
    """A long text in parts that overlap, begun between words where there are any: some rules are slow on long ones."""
    start = 0
    while len(text) - start > _WINDOW:
        yield text[start : start + _WINDOW]
        start += _WINDOW - _OVERLAP
        space = text.find(" ", start, start + _OVERLAP // 2)
        start = max(start, space)
    yield text[start:]


def _one_script(word: str) -> str:
    """A word that mixes Latin with Cyrillic or Greek, which is how a word is disguised, in Latin."""
    return word.translate(_LOOK_ALIKES) if _OTHER.search(word) and _LATIN.search(word) else word


def _pieces(candidate: Candidate) -> Iterator[str]:
    yield candidate.text
    if candidate.slot:
        parts = [part.strip() for part in candidate.slot.split("|") if part.strip()]
        yield " ".join(parts)
        if len(parts) > 1:
            yield ": ".join(parts)
            if len(candidate.text.split()) <= _BARE_WORDS:
                yield f"{' '.join(parts[1:])}: {candidate.text}"
    if candidate.source:
        yield candidate.source
    if candidate.metadata:
        yield from _within(candidate.metadata)


def _within(metadata: Mapping[str, object]) -> Iterator[str]:
    """Every key and value, each value behind the names above it, and the values of a container behind each other.

    Walked with a list of what is left, so that no depth of nesting ends it.
    """
    left: list[tuple[tuple[str, ...], object]] = [((), metadata)]
    seen: set[int] = set()
    while left:
        names, value = left.pop()
        if isinstance(value, Mapping | list | tuple):
            if id(value) in seen:
                continue
            seen.add(id(value))
            items = list(value.items()) if isinstance(value, Mapping) else [("", one) for one in value]
            left += [((*names, str(key))[-_NAMES:] if key != "" else names, one) for key, one in items]
            yield from (_CAMEL.sub(" ", str(key)).replace("_", " ") for key, _ in items if key != "")
            simple = [str(one) for _, one in items if isinstance(one, str | int) and not isinstance(one, bool)]
            if len(simple) > 1:
                yield " ".join(simple)
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            named = " ".join(_CAMEL.sub(" ", name).replace("_", " ") for name in names)
            yield str(value)
            yield f"{named}: {value}"
