"""Conversations as passages, and how well a passage fits a question: idf-weighted overlap of word stems.

A passage is a short turn or a run of sentences of a long one, with its speaker and with the question it replies to:
`Ada, asked "Where do you live?": In Oslo. I like it.` It stands on its own, so that the same code reads it from a
source and from the text of an entry.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rdforget.dates import parse_date
from rdforget.reader.lexicon import is_function_word, stem, tokens
from rdforget.reader.sentences import sentences
from rdforget.records import Observation
from rdforget.text import one_line

ASSISTANTS = frozenset({"assistant", "system"})
_WORDS = 60
"""Of a passage; a longer sentence is a passage of its own."""
_CHARACTERS = 560
_LABEL = re.compile(r"^((?:[\w.'’-]+ ){0,2}[\w.'’-]+)(?:, asked \"[^\"]*\")?: (?=\S)")
_ASKED_WORDS = 25
"""Of a question that is quoted with its reply."""
_DATE = re.compile(r"\s*\(((?:[^()]|\([^()]*\)){6,40})\)$")
_CODE = re.compile(r"```.*?(?:```|$)", re.DOTALL)
_STOP = frozenset(
    re.findall(
        r"\w+",
        "i me my mine myself you your yours we our ours us ve m re ll d don didn doesn isn wasn aren won there "
        "any some so just very really too much many how long often kind type sort most recent recently latest "
        "currently current now get got go going would could should might may let s t no yes all every each more "
        "been being because up out over again back only own both such while until after before during between "
        "through off per please tell total what why who when where which one thing things something way lot time "
        "times ago far already still usually different previous previously initially former formerly first new",
    )
)


@dataclass(frozen=True, slots=True)
class Passage:
    """What somebody said. `order` is the larger the later it was said."""

    text: str
    """With the speaker's label, without a date."""
    speaker: str
    """In lower case; empty where the text names none."""
    said: tuple[str, ...]
    """The sentences, without the label."""
    terms: frozenset[str]
    when: str | None = None
    session: str = ""
    line: str = ""
    order: tuple[float, int] = (0.0, 0)

    @property
    def own_terms(self) -> frozenset[str]:
        """Terms of the sentences alone."""
        return frozenset(term for sentence in self.said for term in term_list(sentence))

    @property
    def speaker_label(self) -> str:
        """`Ada: `, as the text writes it."""
        label = _LABEL.match(self.text)
        return f"{label[1]}: " if label else ""

    @property
    def by_assistant(self) -> bool:
        return self.speaker in ASSISTANTS


def passages(observations: Sequence[Observation]) -> list[Passage]:
    """The passages of a source, in source order."""
    found: list[Passage] = []
    before: Observation | None = None
    for seen in observations:
        asked, before = _asked(before, seen), seen
        moment = parse_date(seen.when) if seen.when else None
        at = moment.toordinal() + moment.hour / 24 + moment.minute / 1440 if moment else 0.0
        for said in _runs(seen.text):
            text = f"{seen.speaker}{asked}: {' '.join(said)}" if seen.speaker else " ".join(said)
            asked = ""
            speaker = (seen.speaker or "").lower()
            found.append(
                Passage(text, speaker, said, terms(text), seen.when, seen.session, seen.line, (at, len(found)))
            )
    return found


def passage_of(text: str) -> Passage:
    """The passage that an entry's text is: its label and the date at its end are taken apart."""
    body, when = text, None
    if (dated := _DATE.search(text)) and parse_date(dated[1]):
        body, when = text[: dated.start()], dated[1]
    label = _LABEL.match(body)
    said = body[label.end() :] if label else body
    return Passage(body, label[1].lower() if label else "", tuple(sentences(said)), terms(body), when)


def is_talk(found: Sequence[Passage]) -> bool:
    """Whether most passages name their speaker."""
    return 2 * sum(bool(passage.speaker) for passage in found) > len(found)


def _asked(before: Observation | None, seen: Observation) -> str:
    """The question with which the turn before ends, for a person who replies to it."""
    if not before or before.session != seen.session or before.speaker == seen.speaker or seen.speaker in ASSISTANTS:
        return ""
    questions = [said for said in sentences(one_line(before.text.rstrip().rsplit("\n", 1)[-1])) if said.endswith("?")]
    if not questions or questions[-1].count(" ") >= _ASKED_WORDS:
        return ""
    question = questions[-1].replace('"', "'")
    return f', asked "{question}"'


def _runs(text: str) -> Iterable[tuple[str, ...]]:
    """Sentences of a turn in runs of at most `_WORDS` words; code is left out."""
    run: list[str] = []
    size = 0
    for line in _CODE.sub(" ", text).splitlines():
        for sentence in sentences(one_line(line)):
            words = sentence.count(" ") + 1
            if run and (size + words > _WORDS or sum(map(len, run)) + len(sentence) > _CHARACTERS):
                yield tuple(run)
                run, size = [], 0
            run.append(sentence[:_CHARACTERS])
            size += words
    if run:
        yield tuple(run)


@lru_cache(maxsize=65_536)
def terms(text: str) -> frozenset[str]:
    """Stems of the words of a text that say what it is about."""
    return frozenset(term_list(text))


@lru_cache(maxsize=65_536)
def term_list(text: str) -> tuple[str, ...]:
    return tuple(stem(word) for word in tokens(text) if word not in _STOP and not is_function_word(word))


class Weights:
    """What a term is worth among passages: the rarer, the more."""

    def __init__(self, among: Sequence[Passage]) -> None:
        self._count = Counter(term for passage in among for term in passage.terms)
        self._size = len(among)

    def __getitem__(self, term: str) -> float:
        return math.log(1 + (self._size + 1) / (self._count[term] + 0.5))

    def coverage(self, wanted: Iterable[str], held: frozenset[str]) -> float:
        """Share of the wanted terms that are held, by weight, 0 to 1."""
        total = met = 0.0
        for term in wanted:
            total += (weight := self[term])
            met += weight if term in held else 0.0
        return met / total if total else 0.0
