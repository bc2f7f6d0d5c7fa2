"""Errors that a user can mend, and the exit codes of every command."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    DONE = 0
    USAGE = 2
    """Usage or configuration: nothing was run."""
    FAILED_ITEMS = 3
    """Finished, with items that have no score."""
    ABORTED = 4
    """Aborted, or so many failed items that the result is invalid."""
    INTERRUPTED = 130


class UserError(Exception):
    """Something a user can mend, in one sentence that names the thing, the value and the fix."""

    def __init__(self, message: str, code: Exit = Exit.USAGE) -> None:
        super().__init__(message)
        self.code = code
