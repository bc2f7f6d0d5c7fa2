r"""The rule score of fact consolidation (Sec. 4.1), and two stricter values beside it.

The paper: lower case, tokenise, number words zero to twelve become digits; right if a non-empty gold is a substring
of the answer, or an answer of at least three characters is a substring of a gold. Read as a plain substring of the
normalised text, as written, this credits "Norway" for the gold "no" and "the" for "the netherlands".
`rule_strict` therefore asks for the gold as whole tokens of the answer, one way, articles dropped;
`rule_upstream` is the substring match of MemoryAgentBench itself.
"""

from __future__ import annotations

import re
import string
from functools import lru_cache

from rdforget.records import Gold, Score, Verdict
from rdforget.text import fold, words

_NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
    )
}
_ARTICLES = {"a", "an", "the"}
_MIN_REVERSE = 3
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@lru_cache(maxsize=32_768)
def normalise(text: str) -> str:
    r"""Lower-cased `\w+` tokens with number words as digits, joined by one space."""
    return " ".join(_NUMBERS.get(word, word) for word in words(text))


def paper_rule(answer: str, gold: str) -> bool:
    """The paper's two-way substring rule on normalised text; length is measured there too."""
    said, wanted = normalise(answer), normalise(gold)
    if not wanted:
        return False
    return wanted in said or (len(said) >= _MIN_REVERSE and said in wanted)


def strict_rule(answer: str, gold: str) -> bool:
    """The gold as a run of whole tokens of the answer, articles dropped on both sides."""
    wanted = whole_words(gold)
    return bool(wanted.strip()) and wanted in whole_words(answer)


@lru_cache(maxsize=32_768)
def whole_words(text: str) -> str:
    """The tokens without articles, a space before and behind each: one text holds another if its string does."""
    return "".join(f" {word}" for word in normalise(text).split() if word not in _ARTICLES) + " "


def upstream_rule(answer: str, gold: str) -> bool:
    """MemoryAgentBench's substring exact match: no punctuation, no articles, gold inside answer."""
    said, wanted = (
        " ".join(re.sub(r"\b(?:a|an|the)\b", " ", fold(text).translate(_PUNCTUATION)).split())
        for text in (answer, gold)
    )
    return bool(wanted) and wanted in said


_RULES = {"rule": paper_rule, "rule_strict": strict_rule, "rule_upstream": upstream_rule}


def applies(gold: Gold) -> bool:
    """Whether the question has a short gold: none that a rubric grades, none where right is to abstain."""
    return any(map(normalise, gold.answers)) and not gold.rubric and not gold.abstention


def score(answer: str, gold: Gold) -> tuple[Score, ...]:
    """The three values, best over the acceptable golds."""
    golds = [text for text in gold.answers if normalise(text)]
    scores = []
    for metric, rule in _RULES.items():
        if not applies(gold):
            scores.append(Score(metric, None, Verdict.EXCLUDED))
            continue
        right = any(rule(answer, text) for text in golds)
        scores.append(Score(metric, float(right), Verdict.CORRECT if right else Verdict.WRONG))
    return tuple(scores)
