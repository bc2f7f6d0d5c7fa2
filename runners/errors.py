"""Errors that a user can mend, and the exit codes of every command."""

from __future__ import annotations

from enum import IntEnum

from rdforget.errors import MendableError


class Exit(IntEnum):
    DONE = 0
    USAGE = 2
    """Usage or configuration: nothing was run."""
    FAILED_ITEMS = 3
    """Finished, with items that have no score."""
    ABORTED = 4
    """Aborted, or so many failed items that the result is invalid."""
    INTERRUPTED = 130


class UserError(MendableError):
    """A MendableError of the command line, with the exit code that it ends in."""

    def __init__(self, message: str, code: Exit = Exit.USAGE) -> None:
        super().__init__(message)
        self.code = code
