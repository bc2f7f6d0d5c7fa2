"""The root of errors that a user can mend."""

from __future__ import annotations


class MendableError(Exception):
    """Something a user can mend, in one sentence that names the thing, the value and the fix."""
