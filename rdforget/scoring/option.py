"""The option score of PersonaMem, and a stricter value beside it.

`option` is the official parser (`extract_answer` of PersonaMem's `inference_standalone_openai.py`). Where a reply
holds no letter in parentheses it takes any lone `a` to `d`, the article "a" included: "Here is a thought" is a hit
for (a), and "Option C is a good one" none for (c). `option_strict` asks for a letter that is put as an option and
sees no article; so neither metric contains the other.
"""

from __future__ import annotations

import re

from rdforget.records import Gold, Score, Verdict

_TAG, _END_TAG = "<final_answer>", "</final_answer>"
_MARK = r"[\s:=*_`\"'-]{0,8}"
_AND = r"[ \t*_]{0,8}(?:,|/|\band\b|\bor\b)[ \t*_]{0,8}"
# An "a" counts unless it may be the article, that is unless it goes on with a word that can follow an article.
_LETTER = (
    r"(?:[b-d]|a(?=[.,;:!?/)\]*_`\"']|[ \t]*(?:\n|$)|\s+(?:is|was|and|or|because|since|as|would|seems|fits|matches)\b))"
    r"(?![^\W_]|[+#]|['’-]\w)"
)
_BRACKETED = re.compile(r"[(\[]([a-d])[)\]]|^[ \t*_]{0,8}([a-d])\)", re.MULTILINE)
_NAMED = re.compile(
    rf"\b(?:option|choice|answer)s?{_MARK}(?:(?:is|was|would be)\b{_MARK})?"
    rf"(?<![^\W_])({_LETTER}(?:{_AND}{_LETTER})*)"
)
_ALONE = re.compile(r"[\W_]*([a-d])[\W_]*")


def score(answer: str, gold: Gold) -> tuple[Score, Score]:
    """The metrics `option` and `option_strict`, each 1 or 0; a question without a right option is excluded.

    The `detail` of an official hit that names no option is `no_explicit_option`.
    """
    if gold.option is None:
        return Score("option", None, Verdict.EXCLUDED), Score("option_strict", None, Verdict.EXCLUDED)
    wanted, explicit = {gold.option}, explicit_options(answer)
    official = official_hit(answer, gold.option)
    detail = "no_explicit_option" if official and not explicit else ""
    return _score("option", official, detail), _score("option_strict", explicit == wanted)


def official_hit(answer: str, gold: str) -> bool:
    """Whether the final answer, or else the whole response, holds the gold letter and no other option."""
    return any(_official_options(text) == {gold} for text in (_final(answer), answer))


def explicit_options(answer: str) -> set[str]:
    """Letters that the final answer, or else the whole response, puts as options.

    Such are a bracketed letter, one that follows "option", "choice" or "answer", and one that is the whole text.
    """
    return _explicit(_final(answer)) or _explicit(answer)


def _score(metric: str, right: bool, detail: str = "") -> Score:
    return Score(metric, float(right), Verdict.CORRECT if right else Verdict.WRONG, detail)


def _final(answer: str) -> str:
    return answer.strip().rpartition(_TAG)[2].strip().removesuffix(_END_TAG).strip()


def _official_options(text: str) -> set[str]:
    text = text.lower()
    return set(re.findall(r"\(([a-d])\)", text) or re.findall(r"\b([a-d])\b", text))


def _explicit(text: str) -> set[str]:
    text = text.lower()
    if alone := _ALONE.fullmatch(text):
        return {alone[1]}
    bracketed = {match[1] or match[2] for match in _BRACKETED.finditer(text)}
    named = {letter for match in _NAMED.finditer(text) for letter in re.findall(r"\b[a-d]\b", match[1])}
    return bracketed | named
