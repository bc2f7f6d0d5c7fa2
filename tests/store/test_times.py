"""Times are moments: the machine's zone changes nothing, and a time without a zone is none."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.store import MemoryStore, StoreError
from rdforget.store.times import micros, moment, parse_time


@pytest.fixture(params=["UTC", "Asia/Tokyo", "America/New_York"])
def _zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield
    os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
    time.tzset()


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("2024-03-01T00:30:00+02:00", 22.5),
        ("2024-02-29T22:30:00Z", 22.5),
        ("2024-02-29 22:30:00+00:00", 22.5),
        ("20240229T223000Z", 22.5),
        ("2024-02-29T23:00-05:00", 28),
    ],
)
def test_a_text_names_a_moment(text: str, hour: float) -> None:
    read = parse_time(text)
    assert read == datetime(2024, 2, 29, tzinfo=UTC) + timedelta(hours=hour)
    assert read.tzinfo is UTC


@pytest.mark.parametrize(
    "text", ["2024-03-01 00:30", "2024-03-01", "2024-03-01T00:30:00", "soon", "", "2024-13-01T00Z"]
)
def test_what_names_no_moment_is_refused_by_name(text: str) -> None:
    with pytest.raises(StoreError, match=r"zone|write it like"):
        parse_time(text)


def test_years_that_utc_has_not_are_refused() -> None:
    with pytest.raises(StoreError, match="9999"):
        parse_time("9999-12-31T23:59:59-05:00")


@given(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=9)), timezone(timedelta(hours=-5))])))
def test_microseconds_are_exact(when: datetime) -> None:
    try:
        number = micros(when)
    except StoreError:
        assert when.year in (1, 9999)
    else:
        assert moment(number) == when


@pytest.mark.usefixtures("_zone")
def test_a_window_takes_its_start_and_not_its_end(open_store: Callable[..., MemoryStore]) -> None:
    store = open_store()
    slot = "ines|lives in|"
    store.add("ines", "Ines lives in Lyon.", slot=slot, valid_from=parse_time("2023-01-01T00:00:00Z"))
    store.add("ines", "Ines lives in Paris.", slot=slot, valid_from=parse_time("2024-03-01T00:30:00+02:00"))

    def home(at: datetime) -> list[str]:
        return [hit.row.text for hit in store.search("ines", "Where does Ines live?", as_of=at, touch=False)]

    assert home(parse_time("2024-02-29T22:30:00Z")) == ["Ines lives in Paris."]
    assert home(parse_time("2024-02-29T22:29:59Z")) == ["Ines lives in Lyon."]
    assert home(parse_time("2022-12-31T23:59:59Z")) == []
    with pytest.raises(StoreError, match="2024-03-01T00:30:00 has no zone"):
        home(datetime(2024, 3, 1, 0, 30))  # noqa: DTZ001
    with pytest.raises(StoreError, match="has no zone"):
        store.add("ines", "Ines lives in Nice.", slot=slot, valid_from=datetime(2024, 3, 1, 0, 30))  # noqa: DTZ001
    assert [line["valid_from"] for line in store.export("ines")] == [
        "2023-01-01T00:00:00+00:00",
        "2024-02-29T22:30:00+00:00",
    ]
