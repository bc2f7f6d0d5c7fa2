"""A clock for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class SetClock:
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = datetime(2024, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **time: float) -> None:
        self.now += timedelta(**time)
