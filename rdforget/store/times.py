"""Times of the store: aware datetimes outside, whole microseconds UTC in the file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from rdforget.store.records import StoreError

Clock = Callable[[], datetime]
"""Tells the time, with a zone. A store has one, so that no two of its parts disagree about now."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def utc_now() -> datetime:
    return datetime.now(UTC)


def parse_time(text: str) -> datetime:
    """The moment that an ISO 8601 text with a zone names. Raises StoreError for anything else."""
    try:
        return aware(datetime.fromisoformat(text))
    except ValueError:
        raise StoreError(f"{text!r} is no time: write it like 2024-03-01T00:30:00+02:00") from None


def aware(time: datetime) -> datetime:
    """The same moment in UTC. Raises StoreError for a time without a zone: it is never read in the machine's."""
    if time.utcoffset() is None:
        raise StoreError(f"the time {time.isoformat()} has no zone: give one, such as {time.isoformat()}+00:00")
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise StoreError(f"the time {time.isoformat()} lies outside the years 1 to 9999 in UTC") from None


def micros(time: datetime) -> int:
    """Microseconds since 1970 in UTC, exact. Raises StoreError for a time without a zone."""
    return (aware(time) - _EPOCH) // _MICROSECOND


def moment(micros: int) -> datetime:
    """The inverse of `micros`."""
    return _EPOCH + timedelta(microseconds=micros)
