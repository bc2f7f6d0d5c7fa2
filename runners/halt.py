"""Why a run ends before its end."""

from __future__ import annotations

from dataclasses import dataclass

from rdforget.models.base import CallError
from runners.errors import UserError


@dataclass(slots=True)
class Halt:
    """Set once; from then on nothing is asked any more, and questions that lack a reply stay to be asked."""

    reason: UserError | None = None

    def now(self, reason: UserError) -> CallError:
        """Halt; returns what the call that led to it is answered with."""
        self.reason = self.reason or reason
        return CallError("stopped", str(reason))
