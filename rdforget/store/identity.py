"""What makes two users, two texts or two slots the same."""

from __future__ import annotations

import hashlib
import unicodedata

from rdforget.store.records import StoreError
from rdforget.text import one_line
from rdforget.view.materialize import normalise_slot

NORMALISER = 1
"""Version of `text_key`: keys that another version made must be made anew."""
_UNSEEN = ("C", "Z")
"""Unicode categories of controls, format characters and spaces: a text of nothing else is blank."""


def valid_user(user: str) -> str:
    """The id of a user without outer white space, else as it is: ids match exactly, letter case included.

    Raises StoreError for what is no id, or could be taken for "all of them".
    """
    if not isinstance(user, str):
        raise StoreError(f"a user id must be a string, not {type(user).__name__}: give the id of one user")
    if not (trimmed := user.strip()) or trimmed == "*":
        raise StoreError(f"{user!r} is no user id: give the id of one user")
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in trimmed):
        raise StoreError(f"the user id {user!r} holds a control character or half a character: remove it")
    return trimmed


def text_key(text: str) -> bytes:
    """sha256 of a text, the same for spellings that differ in composition, letter case or white space alone.

    Raises StoreError for a blank text and for half surrogate pairs, which no file can hold.
    """
    if all(unicodedata.category(char)[0] in _UNSEEN for char in text):
        raise StoreError("the text is blank: a memory must say something")
    # Case folding can undo composition and the other way round; this order is Unicode's caseless match (D145).
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())
    try:
        return hashlib.sha256(one_line(folded).encode()).digest()
    except UnicodeEncodeError:
        raise StoreError("the text holds half of a surrogate pair, which cannot be stored: remove it") from None


def slot_key(slot: str | None) -> str | None:
    """`subject|relation|scope` as it is stored and compared; None, which replaces nothing, for a malformed one."""
    key = normalise_slot(slot) if slot else None
    return key if key and key.isprintable() else None
