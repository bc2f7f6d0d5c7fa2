"""Replies as no model should write them, by seed, and every parser of `rdforget.calls` to read them.

for text in replies("curate", count=300, seed=1):
    check("curate", text)
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, is_dataclass

from rdforget.calls import (
    answer,
    condense,
    curate,
    distill,
    extract,
    judge,
    memorize,
    reconcile,
    reflect,
    revise,
    rubric,
    select,
)
from rdforget.calls.base import Reply
from rdforget.calls.reconcile import Known, New, Pair, ReconcileInputs, RelateInputs
from rdforget.calls.reflect import Bullet, Finding, Reflection, Shown
from rdforget.calls.revise import OPS, ReviseInputs
from rdforget.records import Observation

UNITS = (
    Observation("#1", "1. Mira works at Acme.", when="2023/05/30 (Tue) 21:56"),
    Observation("#2", "2. Beryl is in Lyon."),
    Observation("#3", "3. Mira has moved to Beryl."),
)
_SHOWN = Shown((Bullet("fct-00001", "facts", "Mira works at Acme."),))
_REPORT = Reflection(status="whole", findings=(Finding("Mira moved.", "fact", None, ("#3",)),))
_REVISE = ReviseInputs(UNITS, "", _SHOWN, "", None, OPS)
_DISTILL = distill.DistillInputs(UNITS, "", True, 5)
_RECONCILE = ReconcileInputs((Known("m1", "Mira works at Acme."),), (New("f1", "Mira moved.", ("m1",)),), "")
_RELATE = RelateInputs((Pair("Mira works at Acme.", "Mira works at Beryl."),), "")

PARSERS: Mapping[str, Callable[[str], object]] = {
    "answer": lambda text: answer.parse(Reply(text)),
    "judge": judge.parse,
    "rubric": rubric.parse,
    "select": select.parse,
    "curate": curate.parse,
    "extract": lambda text: extract.parse(text, UNITS),
    "rate": lambda text: extract.parse_rating(text, UNITS),
    "reconcile": lambda text: reconcile.parse(text, _RECONCILE),
    "relate": lambda text: reconcile.parse_pairs(text, _RELATE),
    "pressure": lambda text: condense.parse_pressure(text, UNITS),
    "condense": condense.parse,
    "reflect": lambda text: reflect.parse(text, UNITS),
    "revise": lambda text: revise.parse(text, _REVISE),
    "revise, strict, with a report": lambda text: revise.parse(
        text, ReviseInputs(UNITS, "", _SHOWN, "", _REPORT, OPS), strict=True
    ),
    "distill": lambda text: distill.parse(text, _DISTILL),
    "memorize": memorize.parse,
}
"""By role: everything that reads a reply."""

_KEYS: Mapping[str, tuple[str, ...]] = {
    "answer": ("answer",),
    "judge": ("verdict",),
    "rubric": ("grade",),
    "select": ("ids",),
    "curate": ("active", "replaced"),
    "extract": ("facts",),
    "rate": ("ratings",),
    "reconcile": ("decisions",),
    "relate": ("relations",),
    "pressure": ("archival", "working"),
    "condense": ("text",),
    "reflect": ("observations", "relations"),
    "revise": ("operations",),
    "revise, strict, with a report": ("operations",),
    "distill": ("items",),
    "memorize": ("memories",),
}
_PLAIN = {"answer", "verdict", "grade", "text"}  # keys whose right value is no list
_FIELDS = (
    *("text", "subject", "relation", "scope", "slot", "when", "evidence", "ref", "refs", "src", "o", "op", "id", "ids"),
    *("line", "title", "description", "content", "kind", "section", "rel", "label", "pair", "fact", "target", "rating"),
    *("importance", "memory", "observations", "value", "score", "category"),
)
_WORDS = (
    *("Orla", "correct", "wrong", "INCORRECT", "0.5", "1", "m1", "[m2]", "M3", "#1", "[#2]", "f1", "p1", "fct-00001"),
    *("ADD", "UPDATE", "DELETE", "MERGE", "NOOP", "compatible", "contradicts", "2023/05/30 (Tue) 21:56", "facts", ""),
    *(
        "1. Mira works at Acme.",
        "猫が好き",
        "😀",
        "\u202e",
        "\u0000",
        "\ufeff",
        "\ud83d",
        "\udc00x",
        "\x1b[31m",
        "\r\n\r\n",
    ),
    *("```", '"', "\\", "\\u", "\\ud800", "{", "}", "[", "]", "<think>", "</think>", "nan", "٣", "²", "1e5", "\u2028"),
)
_NUMBERS = (
    *("0", "1", "-1", "3", "0.5", "-0.0", "1e5", "1e400", "-1e400", "NaN", "Infinity", "-Infinity", "true", "false"),
    *("null", "1" + "0" * 400, "9" * 5_000, "0x10", "01", "1.", "1e-400", "٣", "99999999999999999999"),
)
_LARGE = 1_000_000


def replies(role: str, count: int, seed: int, *, large: bool = True) -> Iterator[str]:
    """Replies for a role; the same seed gives the same. `large` allows texts of a megabyte, one in two hundred."""
    rng = random.Random(f"{role} {seed}")
    for _ in range(count):
        text = _reply(rng, _KEYS[role])
        for _ in range(rng.choice((0, 0, 1, 1, 2, 4))):
            text = rng.choice(_HARM)(rng, text)
        yield rng.choice(_HUGE)(rng, _KEYS[role][0]) if large and rng.random() < 0.005 else text


def check(role: str, text: str) -> object:
    """Read a reply; what comes out can be kept: no half characters, and nothing that JSON does not know."""
    found = PARSERS[role](text)
    shown = asdict(found) if is_dataclass(found) and not isinstance(found, type) else found
    json.dumps(shown, allow_nan=False, ensure_ascii=False).encode("utf-8")
    return found


def _reply(rng: random.Random, keys: tuple[str, ...]) -> str:
    kind = rng.random()
    if kind < 0.08:
        return "".join(rng.choice(_WORDS) for _ in range(rng.randrange(8)))
    if kind < 0.12:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(60))).decode("utf-8", "surrogateescape")
    lists = 0.2 if keys[0] in _PLAIN else 0.8
    named = [f'"{key}": {_list(rng) if rng.random() < lists else _value(rng, 0)}' for key in keys]
    if rng.random() < 0.2:
        named.append(rng.choice(named))  # a key twice
    if rng.random() < 0.2:
        named.append(f'"{rng.choice(keys)}": {_value(rng, 0)}')
    rng.shuffle(named)
    return "{" + ", ".join(named) + "}"


def _list(rng: random.Random) -> str:
    return "[" + ", ".join(_item(rng) if rng.random() < 0.85 else _value(rng, 1) for _ in range(rng.randrange(5))) + "]"


def _item(rng: random.Random) -> str:
    names = rng.sample(_FIELDS, rng.randrange(1, 12))
    return "{" + ", ".join(f'"{name}": {_value(rng, 1)}' for name in names) + "}"


def _value(rng: random.Random, depth: int) -> str:
    kind = rng.random()
    if kind < 0.55:
        return _string(rng)
    if kind < 0.8 or depth > 3:
        return rng.choice(_NUMBERS)
    if kind < 0.85:
        deep = rng.choice((3, 100, 400, 900, 960, 990, 3_000))
        return "[" * deep + rng.choice(("", "1", '"m1"')) + "]" * deep
    if kind < 0.88:
        deep = rng.choice((100, 400, 900))
        return '{"text": ' * deep + "1" + "}" * deep
    many = ", ".join(_value(rng, depth + 1) for _ in range(rng.randrange(4)))
    return f"[{many}]" if kind < 0.95 else f'{{"{rng.choice(_FIELDS)}": {_value(rng, depth + 1)}}}'


def _string(rng: random.Random) -> str:
    text = "".join(rng.choice(_WORDS) for _ in range(rng.choice((0, 1, 1, 1, 2, 5))))
    if rng.random() < 0.1:
        text = f"{text} {rng.choice(_NUMBERS)} " * rng.randrange(20)
    return json.dumps(text, ensure_ascii=rng.random() < 0.5) if rng.random() < 0.9 else f'"{text}"'


Harm = Callable[[random.Random, str], str]
_HARM: tuple[Harm, ...] = (
    lambda rng, text: text[: rng.randrange(len(text) + 1)],
    lambda rng, text: text[rng.randrange(len(text) + 1) :],
    lambda rng, text: f"```json\n{text}\n```",
    lambda rng, text: f"Here you are:\n```\n{text}\n```\nand ```{text[: len(text) // 2]}",
    lambda rng, text: f"\ufeff{text}\ufeff",
    lambda rng, text: f"\x00{text}\x00",
    lambda rng, text: f"<think>{text}</think>{text}",
    lambda rng, text: f"I think {text}</think>{text[::-1]}",
    lambda rng, text: f"{text}<think>and {{",
    lambda rng, text: f"Sure! {{not json}} {text} {text}",
    lambda rng, text: text.replace('"', "'"),
    lambda rng, text: text.replace(", ", ",,"),
    lambda rng, text: text.replace(": ", ":\n\n\t"),
    lambda rng, text: json.dumps(text),
    lambda rng, text: f"[{text}]",
    lambda rng, text: text.upper(),
    lambda rng, text: "".join(char if rng.random() > 0.02 else rng.choice(_WORDS) for char in text),
    lambda rng, text: "## Title " + text.replace(", ", "\n## Content\n").replace("{", "\n## src: "),
)
Huge = Callable[[random.Random, str], str]
_HUGE: tuple[Huge, ...] = (
    lambda rng, key: json.dumps({key: "x" * _LARGE}),
    lambda rng, key: json.dumps({key: [{"text": "word " * (_LARGE // 5)}]}),
    lambda rng, key: f'{{"{key}": [{{"text": "' + "x" * _LARGE,
    lambda rng, key: f'{{"{key}": [' + '{"text": "x"},' * (_LARGE // 14),
    lambda rng, key: f'{{"{key}": [' + "1," * (_LARGE // 2),
    lambda rng, key: f'"{key}": [' * (_LARGE // 12),
    lambda rng, key: "{" * _LARGE,
    lambda rng, key: "[" * _LARGE,
    lambda rng, key: '{"' * (_LARGE // 2),
    lambda rng, key: f'{{"{key}":' * (_LARGE // 12),
    lambda rng, key: "`" * _LARGE,
    lambda rng, key: "```" + "x" * _LARGE,
    lambda rng, key: "```x " * (_LARGE // 5),
    lambda rng, key: "```" + " \t" * (_LARGE // 2),
    lambda rng, key: "<think>" * (_LARGE // 7),
    lambda rng, key: "</think><think>" * (_LARGE // 15),
    lambda rng, key: "\\" * _LARGE,
    lambda rng, key: f'{{"{key}": "' + "\\" * _LARGE,
    lambda rng, key: '"' * _LARGE,
    lambda rng, key: " " * _LARGE,
    lambda rng, key: "\n" * _LARGE,
    lambda rng, key: "9" * _LARGE,
    lambda rng, key: f'{{"{key}": ' + "9" * _LARGE + "}",
    lambda rng, key: f'"{key}": ' * (_LARGE // 10),
    lambda rng, key: f'"{key}"' + " " * _LARGE,
    lambda rng, key: "## Title\n" * (_LARGE // 9),
    lambda rng, key: "# *" + "*" * _LARGE,
    lambda rng, key: "# title" + "* " * (_LARGE // 2),
    lambda rng, key: "verdict: " * (_LARGE // 9),
    lambda rng, key: "2023/05/30 " * (_LARGE // 11),
    lambda rng, key: "\ud800" * _LARGE,
)
"""A megabyte each, of what a careless reader would go over again and again."""
