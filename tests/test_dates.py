"""Dates: every shape of the suites, what is none, and independence of locale and time zone."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.dates import parse_date

MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
KNOWN = [
    ("1:56 pm on 8 May, 2023", "2023-05-08 13:56"),
    ("12:09 am on 13 September, 2023", "2023-09-13 00:09"),
    ("12:30 pm on 1 June, 2023", "2023-06-01 12:30"),
    ("9:05 AM on 29 february, 2024", "2024-02-29 09:05"),
    ("2023/05/30 (Tue) 21:56", "2023-05-30 21:56"),
    ("2023/06/02 (Fri) 03:21", "2023-06-02 03:21"),
    ("March-15-2024", "2024-03-15 00:00"),
    ("2024-03-15", "2024-03-15 00:00"),
    ("2024-03-15 10:00", "2024-03-15 10:00"),
    ("2024-03-15T10:00:00", "2024-03-15 10:00"),
    ("8 May 2023", "2023-05-08 00:00"),
    ("19 January, 2023", "2023-01-19 00:00"),
    ("May 8, 2023", "2023-05-08 00:00"),
    ("  February 24, 2023\n", "2023-02-24 00:00"),
]
SHAPES = (
    lambda d: f"{d.hour % 12 or 12}:{d.minute:02} {'pm' if d.hour >= 12 else 'am'} on {d.day} {month(d)}, {d.year:04}",
    lambda d: f"{d.year:04}/{d.month:02}/{d.day:02} (Mon) {d.hour:02}:{d.minute:02}",
    lambda d: d.isoformat(" "),
)


def month(date: datetime) -> str:
    return MONTHS[date.month - 1]


@pytest.mark.parametrize(("text", "moment"), KNOWN)
def test_shapes_of_the_suites(text: str, moment: str) -> None:
    found = parse_date(text)
    assert found is not None
    assert found.isoformat(" ", "minutes") == moment
    assert found.tzinfo is None


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "yesterday", "2022", "June 2023", "January, 2023", "The week before 9 June 2023", "None"),
        *("30 February 2023", "2023/13/01", "2023-00-10", "0000-01-01", "31 Mai 2023", "1 Jun 2023"),
        *("13:00 pm on 8 May, 2023", "0:30 am on 8 May, 2023", "1:60 pm on 8 May, 2023", "2023/05/30 (Tue) 24:00"),
        *("1:56 on 8 May, 2023", "2023-05/30", "March 15-2024", "March-15 2024", "٢٠٢٣-٠٥-٣٠"),
        *("2024-03-01T00:30:00+02:00", "2024-03-01T00:30:00Z", "20230530", "8 May 2023 and 9 May 2023"),
    ],
)
def test_what_is_no_full_date(text: str) -> None:
    assert parse_date(text) is None


@given(st.datetimes(), st.sampled_from(SHAPES))
def test_what_a_source_writes_is_read_back(date: datetime, shape: object) -> None:
    date = date.replace(second=0, microsecond=0)
    assert parse_date(shape(date)) == date  # type: ignore[operator]


@given(st.text())
def test_no_text_is_an_error(text: str) -> None:
    parse_date(text)


@pytest.mark.parametrize("environment", [{"TZ": "Asia/Tokyo"}, {"TZ": "America/New_York"}, {"LC_ALL": "C"}])
def test_the_machine_does_not_matter(environment: dict[str, str]) -> None:
    code = (
        "import sys, locale; from rdforget.dates import parse_date; locale.setlocale(locale.LC_ALL, '')\n"
        "for text in sys.argv[1:]: print(parse_date(text).isoformat(' ', 'minutes'))"
    )
    command = [sys.executable, "-c", code, *(text for text, _ in KNOWN)]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [moment for _, moment in KNOWN]
