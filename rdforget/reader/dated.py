"""Points in time that a sentence names, resolved against the day on which it was said."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SMALL = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10}
_MONTH_NAME = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)[a-z]*"
_MONTH = rf"{_MONTH_NAME}\.?"
_STATED = re.compile(
    rf"\b(?:(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b)(?:,? \d{{4}})?"
    rf"|\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}/\d{{1,2}}(?:/\d{{2,4}})?\b|\b(?:in|since|of) ((?:{_MONTH} )?(?:19|20)\d\d)\b"
    rf"|\b(?:in|since|of) ({_MONTH_NAME})\b(?!\.?,? \d)"
)
_DAYS = {
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "tomorrow": 1,
}
_NEAR = re.compile(rf"\b({'|'.join(_DAYS)}|(?:the )?day before yesterday)\b", re.IGNORECASE)
_AGO = re.compile(
    rf"\b(\d+|{'|'.join(_SMALL)}|a few|a couple of|couple of) (day|week|weekend|month|year)s? (?:ago|back)\b",
    re.IGNORECASE,
)
_NAMED_DAY = r"(?P<day>Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\.?"
_SPAN = re.compile(
    rf"\b(?P<which>last|this past|past|this|next) (?:(?P<unit>week|weekend|month|year)\b|{_NAMED_DAY})", re.IGNORECASE
)


def say(day: datetime) -> str:
    """`7 May 2023`"""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def point_in_time(sentence: str, said_on: datetime | None) -> str | None:
    """The first point in time that a sentence names, resolved if it is a relative one; None without one.

    "yesterday" becomes `7 May 2023`, "last week" `the week before 9 June 2023`, "next month" `June 2023`.
    """
    if said_on:
        try:
            if relative := _relative(sentence, said_on):
                return relative
        except (OverflowError, ValueError):  # a date outside of the calendar
            return None
    if stated := _STATED.search(sentence):
        return stated[1] or stated[2] or stated[0].removeprefix("the ")
    return None


def _relative(sentence: str, said_on: datetime) -> str | None:
    if near := _NEAR.search(sentence):
        return say(said_on + timedelta(days=_DAYS.get(near[1].lower(), -2)))
    if ago := _AGO.search(sentence):
        return _before(ago[1].lower(), ago[2].lower(), said_on)
    if span := _SPAN.search(sentence):
        step = {"this": 0, "next": 1}.get(span["which"].lower(), -1)
        if span["day"]:
            name = next(day for day in _WEEKDAYS if day.startswith(span["day"].capitalize()))
            return f"the {name} {'before' if step < 0 else 'after'} {say(said_on)}"
        return _span(span["unit"].lower(), step, said_on)
    return None


def _before(count: str, unit: str, said_on: datetime) -> str:
    number = int(count) if count.isdecimal() else _SMALL.get(count, 0)
    if number and unit == "day":
        return say(said_on - timedelta(days=number))
    if number and unit == "year":
        return str(said_on.year - number)
    if number and unit == "month":
        return _month(said_on, -number)
    if number == 1:
        return f"the {unit} before {say(said_on)}"
    return f"{count} {unit}s before {say(said_on)}"


def _span(unit: str, step: int, said_on: datetime) -> str:
    if unit == "year":
        return str(said_on.year + step)
    if unit == "month":
        return _month(said_on, step)
    return f"the {unit} {('before', 'of', 'after')[step + 1]} {say(said_on)}"


def _month(day: datetime, step: int) -> str:
    years, month = divmod(day.month - 1 + step, 12)
    return f"{_MONTHS[month]} {day.year + years}"
