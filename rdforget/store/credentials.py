"""Credentials: keys and tokens by their shape, and passwords, codes and keys by what stands before them in prose.

Shapes of vendors' tokens are those of the detect-secrets plugins, whose plugins for high entropy and for keywords in
code are left out: they take hashes, ids and ordinary sentences for secrets. In prose a word such as "password" is
ordinary; it is what is given as its value that makes a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from itertools import dropwhile, takewhile
from typing import TYPE_CHECKING

from rdforget.store.patterns import marks, pattern, rules, words

if TYPE_CHECKING:
    from detect_secrets.plugins.base import BasePlugin

_PLUGINS = {
    "aws": "AWSKeyDetector",
    "azure_storage_key": "AzureStorageKeyDetector",
    "discord": "DiscordBotTokenDetector",
    "github_token": "GitHubTokenDetector",
    "gitlab_token": "GitLabTokenDetector",
    "jwt": "JwtTokenDetector",
    "mailchimp": "MailchimpDetector",
    "npm": "NpmDetector",
    "openai": "OpenAIDetector",
    "pypi_token": "PypiTokenDetector",
    "sendgrid": "SendGridDetector",
    "slack": "SlackDetector",
    "square_oauth": "SquareOAuthDetector",
    "stripe": "StripeDetector",
    "telegram_token": "TelegramBotTokenDetector",
    "twilio": "TwilioKeyDetector",
}
_TOKEN_LENGTH = 16
"""The shortest token that a plugin knows; texts without so long a word are not shown to them."""
_LONG_WORD = re.compile(rf"[^\s,;]{{{_TOKEN_LENGTH},}}")
_SHAPES, _CODES = rules("shapes"), rules("codes")
_PASSWORD_MARKS, _KEY_MARKS, _SEED_MARKS = (marks(name) for name in ("password", "key", "seed phrase"))
_NAMED_PASSWORD, _ASSIGNED_PASSWORD = pattern("prose", "named_password"), pattern("prose", "assigned_password")
_PASSWORD_BESIDE, _CHANGED_PASSWORD = pattern("prose", "password_beside"), pattern("prose", "changed_password")
_PASSWORD_BEHIND, _LOGIN, _PASS = (pattern("prose", name) for name in ("password_behind", "login", "pass"))
_BARE_PIN = re.compile(r"\b(?:PIN|PUK)(?:[ -]?(?:code|Code|CODE|number))?[ :#]+\d{4,8}(?!\d)")
_KEYS = ((pattern("prose", "key"), 6), (pattern("prose", "bare_key"), 12))
"""Patterns of keys with the fewest characters that a key has there."""
_LONG_KEY = 20
"""Characters from which a value behind a sign is a key without a digit in it."""
_SEED, _WORD_LIST = pattern("prose", "seed"), pattern("prose", "word_list")
_SEED_SIZES = (12, 15, 18, 21, 24)
"""Words of a seed phrase (BIP-39)."""
_NEAR_SEED, _SEED_REACH = 4, 400
"""More words than that behind "seed phrase is" make one; and the characters in which they are sought."""
_ORDINARY, _FUNCTION_WORDS = words("ordinary"), words("function")
_DERIVED = ("ed", "ing", "ly", "able", "ible", "ful", "less")
"""Ends of words that say something of a password: "shared", "expiring"."""
_SHORT_WORD = 3
_STRONG, _STRONG_LETTERS = 4, 5
"""Fewest characters of a value that stands out by its digits, or by symbols and capitals."""
_NEAR_WORDS, _PHRASE_WORDS = 3, 8
"""Words behind the first that make a phrase of words, and the most that one has behind a colon."""
_UNIT = re.compile(
    r"\d{1,4}[ -]?(?:st|nd|rd|th|am|pm|h|hrs?|k|km|cm|mm|kg|%|x|s|ms|px|gb|mb|char\w*|digit\w*|letter\w*|word\w*|bits?"
    r"|days?|weeks?|months?|years?|hours?|min\w*|times?|steps?|factor\w*|year-old)(?:$|-)"
)
_COUNTED = re.compile(
    r"\s*(?:or more |to \d+ |- ?\d+ )?(?:char|digit|letter|word|symbol|bit|day|week|month|year|hour|minute|time|people"
    r"|attempt|user|account|site|step|percent|dollar|euro)"
)
_PLACEHOLDER = re.compile(
    r"[*•.x_#?-]+|[<\[{$%(].*|1password|lastpass|bitwarden|keepass\w*|https?:.*|www\..*|redacted|hidden|your[_ -].*",
    re.IGNORECASE,
)
_EXPRESSION = re.compile(
    r"[a-z_][\w.]*[(\[].*|[a-z_]\w*(?:\.[a-z_]\w*)+[;,)]*|[a-z_]*(?:password|passwd|token|secret|key)[a-z_]*[;,)]*",
    re.IGNORECASE,
)
"""What code has in the place of a value: a call, an attribute, a variable named after what it holds."""
_DATE = re.compile(r"\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[/.]\d\d?[/.]\d{2,4}|\d\d?:\d\d(?:[ap]m)?")
_SYMBOL = re.compile(
    r"[a-z0-9].*[@#$%^&*+=~!?\\|<>].*[a-z0-9]|^[@#$%^&*+=~!]\S*[a-z]\S*|[a-z]\S*[@#$%^&*+=~]$", re.IGNORECASE
)
_CAPITAL_INSIDE = re.compile("[a-z][A-Z]")
_AROUND = "\"'`*_.,;:?()[]{}"
_END = re.compile(r"[\n,;!?)\"'`}]|\.(?:\s|$)")
_PLAIN_WORD, _PLAIN_WORDS = re.compile(r"[^\W\d_][\w'-]*"), re.compile(r"[a-z]+")
_AFTER_WORD = re.compile(r"\s*(?:$|[\n.,;!?)\"'`]|(?:and|but|for|on|at|in case|und|et|y|e)\b)")


def credential_rule(text: str, low: str) -> str | None:
    """The rule that finds a credential in a plain text; `low` is the text in lower case, letter for letter."""
    if shaped := next((rule.name for rule in _SHAPES if rule.matches(text)), None):
        return shaped
    if _LONG_WORD.search(text) and any(next(find(text), None) for find in _vendors()):
        return "token"
    if _has_any(low, _PASSWORD_MARKS) and any(_passwords(text, low)):
        return "password"
    if _BARE_PIN.search(text):
        return "access code"
    for rule in _CODES:
        if rule.may_match(low) and any(_is_code(found) for named in rule.patterns for found in named.finditer(low)):
            return rule.name
    if _has_any(low, _KEY_MARKS) and any(_keys(text, low)):
        return "key"
    if (_has_any(low, _SEED_MARKS) and _is_named_seed(low)) or any(map(_is_seed, _WORD_LIST.finditer(low))):
        return "seed phrase"
    return None


def _has_any(text: str, sought: tuple[str, ...]) -> bool:
    return any(mark in text for mark in sought)


@cache
def _vendors() -> tuple[Callable[[str], Iterator[str]], ...]:
    """Searches of the plugins. They are loaded at first use: the library takes a sixth of a second to import.

    Only `analyze_string` is used, which neither reads settings nor asks a vendor whether a token is real.
    """
    plugins: list[BasePlugin] = [
        getattr(import_module(f"detect_secrets.plugins.{module}"), name)() for module, name in _PLUGINS.items()
    ]
    return tuple(plugin.analyze_string for plugin in plugins)


def _passwords(text: str, low: str) -> Iterator[bool]:
    """For each value that may be a password, whether it is."""
    for found in _NAMED_PASSWORD.finditer(low):
        yield _is_given(found, text, firm=bool(found["sign"] or found["colon"]))
    for found in _ASSIGNED_PASSWORD.finditer(low):
        yield _is_given(found, text, firm=True)
    for named in (_PASSWORD_BESIDE, _CHANGED_PASSWORD):
        for found in named.finditer(low):
            yield _is_given(found, text, strong=True)
    for named in (_PASS, _LOGIN):
        for found in named.finditer(low):
            yield _is_strong(_value(found, text)) and not _value(found, text).isdecimal()
    for found in _PASSWORD_BEHIND.finditer(low):
        yield _is_strong(_value(found, text))


def _keys(text: str, low: str) -> Iterator[bool]:
    return (_is_key(found, text, least) for named, least in _KEYS for found in named.finditer(low))


def _value(found: re.Match[str], text: str) -> str:
    """The value as the text spells it, without the marks around it."""
    return text[found.start("value") : found.end("value")].strip(_AROUND)


def _is_given(found: re.Match[str], text: str, *, firm: bool = False, strong: bool = False) -> bool:
    """Whether the value is one, and not what a sentence says of a password.

    `firm` is the value behind a colon or an equals sign, `strong` one that only its look tells from a sentence.
    """
    raw, value = found["value"], _value(found, text)
    rest = text[found.start("value") + len(raw.rstrip(_AROUND)) :]
    if not value or _PLACEHOLDER.fullmatch(raw.rstrip(".,;!)")):
        return False
    if not found["quote"] and _EXPRESSION.fullmatch(raw):
        return False
    if _is_strong(value):
        return not _COUNTED.match(rest.lower())
    if found["quote"] and (not strong or rest[:1] == found["quote"]):
        return not _is_ordinary(value)
    if strong or not _PLAIN_WORD.fullmatch(value):
        return False
    # The first word may be an ordinary one: "correct horse battery staple".
    near = [word.strip(_AROUND) for word in rest.split()[:_NEAR_WORDS]]
    if len(near) == _NEAR_WORDS and _are_telling(near):
        return True
    if _is_ordinary(value):
        return False
    phrase = _END.split(rest, maxsplit=1)[0].split()
    return len(phrase) < _PHRASE_WORDS and _are_telling(phrase) if firm else bool(_AFTER_WORD.match(rest))


def _are_telling(said: list[str]) -> bool:
    """Whether the words make no sentence: plain ones, none of them ordinary."""
    return all(_PLAIN_WORD.fullmatch(word) and not _is_ordinary(word) for word in said)


def _is_ordinary(word: str) -> bool:
    word = word.lower()
    return word in _ORDINARY or word.endswith(_DERIVED) or len(word) < _SHORT_WORD


def _is_strong(value: str) -> bool:
    """Whether a word looks like no word: digits and letters, many digits, symbols or capitals inside."""
    if len(value) < _STRONG or not any(map(str.isalnum, value)) or _is_measure(value) or _PLACEHOLDER.fullmatch(value):
        return False
    if any(map(str.isdecimal, value)):
        return True
    return len(value) >= _STRONG_LETTERS and bool(_SYMBOL.search(value) or _CAPITAL_INSIDE.search(value))


def _is_measure(value: str) -> bool:
    """Whether it is a date, a time of day or a number with its unit."""
    return bool(_UNIT.match(value.lower()) or _DATE.fullmatch(value.lower()))


def _is_code(found: re.Match[str]) -> bool:
    return not _is_measure(found["value"])


def _is_key(found: re.Match[str], text: str, least: int) -> bool:
    value = _value(found, text)
    if not found["quote"] and _EXPRESSION.fullmatch(found["value"]):
        return False
    if len(value) < least or _is_measure(value) or _PLACEHOLDER.fullmatch(found["value"]):
        return False
    if any(map(str.isdecimal, value)) and (any(map(str.isalpha, value)) or len(value) >= 2 * least):
        return True
    return bool(found["sign"]) and len(value) >= _LONG_KEY and "/" not in value


def _is_named_seed(low: str) -> bool:
    if not (named := _SEED.search(low)):
        return False
    behind = dropwhile(_is_ordinary, _PLAIN_WORDS.findall(low, named.end(), named.end() + _SEED_REACH))
    return sum(1 for _ in takewhile(lambda word: word not in _FUNCTION_WORDS, behind)) > _NEAR_SEED


def _is_seed(found: re.Match[str]) -> bool:
    """Whether a line or a sentence of short words is as long as a seed phrase and holds nothing else."""
    found_words = _PLAIN_WORDS.findall(found[1])
    return len(found_words) in _SEED_SIZES and not _FUNCTION_WORDS & set(found_words)
