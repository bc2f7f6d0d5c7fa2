"""What somebody asked not to be remembered: in English and, in its plainest forms, in some other languages.

Somebody who does not remember, and somebody who asks not to forget, ask for nothing of the kind.
"""

from __future__ import annotations

from rdforget.store.patterns import rules

_RULES = rules("asked")


def asked_rule(low: str) -> str | None:
    """The rule by which a plain text in lower case asks not to be remembered."""
    return next((rule.name for rule in _RULES if rule.matches(low)), None)
