"""The dates that the suites write, read the same under every locale and time zone.

None of these sources names a zone, so what comes out has none either: it orders sessions and is never converted.
"""

from __future__ import annotations

import re
from datetime import datetime

# strptime's %B knows the months of the machine's locale only.
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_SHAPES = tuple(
    re.compile(shape, re.ASCII | re.IGNORECASE)
    for shape in (
        r"(?:(?P<hour>\d{1,2}):(?P<minute>\d\d)\s*(?P<half>[ap]m)\s+on\s+)?"
        r"(?P<day>\d{1,2})\s+(?P<name>[a-z]+),?\s+(?P<year>\d{4})",
        r"(?P<name>[a-z]+)\s+(?P<day>\d{1,2}),?\s+(?P<year>\d{4})",
        r"(?P<name>[a-z]+)-(?P<day>\d{1,2})-(?P<year>\d{4})",
        r"(?P<year>\d{4})(?P<mark>[-/])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})"
        r"(?:\s+\([a-z]{3}\))?(?:(?:\s+|t)(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?)?",
    )
)


def parse_date(text: str) -> datetime | None:
    """The moment that a text names in full, without a zone; None where it is no such text, or no such day.

    Read are `1:56 pm on 8 May, 2023`, `8 May 2023`, `May 8, 2023`, `March-15-2024`, `2023/05/30 (Tue) 21:56`,
    `2024-03-15` and `2024-03-15 10:00`, letter case aside; 12:09 am is nine past midnight. The day of the week is
    not compared with the date.
    """
    for shape in _SHAPES:
        if match := shape.fullmatch(text.strip()):
            return _moment(match.groupdict())
    return None


def _moment(part: dict[str, str | None]) -> datetime | None:
    hour = int(part.get("hour") or 0)
    if half := part.get("half"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half.lower() == "pm" else 0)
    try:
        month = int(part.get("month") or 0) or _MONTHS.index(str(part.get("name")).lower()) + 1
        day, minute, second = (int(part.get(key) or 0) for key in ("day", "minute", "second"))
        return datetime(int(part["year"] or 0), month, day, hour, minute, second)  # noqa: DTZ001  # see the module
    except ValueError:
        return None
