"""Search and history: what is ranked, what is filtered before, what counts as accessed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.records import Status
from rdforget.store.reading import WORDS, Reader
from rdforget.store.records import Category, Hit, Policy, StoreError, Weights
from rdforget.store.schema import writing
from tests.store.filed import NOW, Filed, filed

HOUR = timedelta(hours=1)
SLOT = "ines|lives in|"


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Filed]:
    with filed(tmp_path) as opened:
        yield opened


def reader(of: Filed, policy: Policy = Policy()) -> Reader:  # noqa: B008  # frozen
    return Reader(of.db, of.index, of.vectors, policy)


def texts(hits: list[Hit]) -> list[str]:
    return [hit.row.text for hit in hits]


def accessed(of: Filed) -> dict[str, datetime]:
    found = of.db.execute("SELECT text, last_accessed FROM rows")
    return {text: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at) for text, at in found}


def put_homes(one: Filed, *moves: datetime) -> None:
    """The history of a slot: a home from each time on, the last one open."""
    ends = [*moves[1:], None]
    for number, (start, end) in enumerate(zip(moves, ends, strict=True)):
        status = Status.ACTIVE if end is None else Status.SUPERSEDED
        one.put("ines", f"home {number}", slot=SLOT, status=status, valid_from=start, valid_to=end)


def test_a_search_finds_the_open_rows_that_match_best(one: Filed) -> None:
    one.put("ines", "Ines lives in Paris", "Ines likes oat milk", "Bob works as a nurse", "Ines has a dog")
    one.put("ines", "Ines lives in Lyon", status=Status.SUPERSEDED, valid_to=NOW)
    hits = reader(one).search("ines", "Where does Ines live?", NOW)
    assert len(hits) == 3
    assert texts(hits)[0] == "Ines lives in Paris"
    assert "Ines lives in Lyon" in texts(reader(one).search("ines", "Lyon", NOW, historical=True, limit=1))
    assert "Ines lives in Lyon" not in texts(reader(one).search("ines", "Lyon", NOW, limit=10))


def test_a_score_is_the_weighted_mean_of_terms_that_are_given_with_it(one: Filed) -> None:
    one.put("ines", "oat milk", importance=1.0, last_accessed=NOW - 24 * HOUR)
    one.put("ines", "grüne 茶", importance=0.0, last_accessed=NOW + HOUR)
    first, second = reader(one).search("ines", "oat milk", NOW)
    assert (first.relevance, first.importance) == (1.0, 1.0)
    assert first.recency == pytest.approx(0.8867, abs=5e-5)
    assert first.score == pytest.approx((1 + first.recency + 1) / 3)
    assert second.recency == 1.0  # an access in the future is none above 1
    assert second.relevance == pytest.approx((1 - WORDS) / 2, abs=0.1)
    policy = Policy(weights=Weights(relevance=2, recency=0, importance=1))
    weighed = reader(one, policy).search("ines", "oat milk", NOW)
    assert [hit.score for hit in weighed] == [1.0, pytest.approx(2 * second.relevance / 3)]


def test_the_weight_of_recency_can_differ_by_category(one: Filed) -> None:
    one.put("ines", "Ines lives in Lyon", last_accessed=NOW - 720 * HOUR)
    one.put("ines", "Ines went to Lyon", category=Category.EPISODIC)
    query = "Where does Ines live, in Lyon?"
    assert texts(reader(one).search("ines", query, NOW, touch=False))[0] == "Ines went to Lyon"
    policy = Policy(recency_weights={Category.SEMANTIC: 0.0})
    lives = reader(one, policy).search("ines", query, NOW)
    scores = {hit.row.text: hit.score for hit in lives}
    plain = {hit.row.text: hit for hit in lives}["Ines lives in Lyon"]
    assert scores["Ines lives in Lyon"] == pytest.approx((plain.relevance + plain.importance) / 2)


def test_equal_scores_keep_the_order_of_writing(one: Filed) -> None:
    ids = [f"{number:016x}" for number in range(100, 0, -1)]
    for number, id in enumerate(ids):
        one.put("ines", "green tea" if number % 2 else "oat milk", id=id)
    for limit in (100, 99, 60, 2):
        hits = reader(one).search("ines", "milk", NOW, limit=limit)
        assert [hit.row.id for hit in hits] == (ids[::2] + ids[1::2])[:limit]


def test_filters_come_before_the_limit(one: Filed) -> None:
    """B45: `ann` gets her three rows, however many of other users, categories or times are nearer."""
    query = "oat milk"
    one.put("anna", *(f"oat milk {number}" for number in range(10)))
    one.put("a%", "oat milk")
    one.put("a_n", "oat milk")
    one.put("ann", "green tea", "black tea", "red wine", category=Category.PROCEDURAL)
    one.put("ann", *(f"oat milk {number}" for number in range(10)), category=Category.EPISODIC)
    one.put("ann", *(f"oat milk, {number}" for number in range(10)), status=Status.SUPERSEDED, valid_to=NOW)
    mine = reader(one).search("ann", query, NOW, categories=[Category.PROCEDURAL])
    assert sorted(texts(mine)) == ["black tea", "green tea", "red wine"]
    assert {hit.row.user for hit in mine} == {"ann"}
    assert len(reader(one).search("ann", query, NOW, limit=50)) == 13
    assert len(reader(one).search("ann", query, NOW, limit=50, historical=True)) == 23
    assert len(reader(one).search("a%", query, NOW, limit=50)) == 1
    assert reader(one).search("ANN", query, NOW) == []


@given(
    st.lists(st.tuples(st.sampled_from(["ann", "anna", "a%"]), st.text("ab 猫", min_size=1, max_size=5)), max_size=8),
    st.integers(1, 4),
)
def test_a_search_never_meets_a_row_of_another_user(rows: list[tuple[str, str]], limit: int) -> None:
    with TemporaryDirectory() as folder, filed(Path(folder)) as one:
        one.db.execute("PRAGMA synchronous=OFF")
        for user, text in rows:
            one.put(user, text)
        for user in ("ann", "anna", "a%"):
            hits = reader(one).search(user, "a 猫", NOW, limit=limit)
            assert {hit.row.user for hit in hits} <= {user}
            assert len(hits) == min(limit, sum(whose == user for whose, _ in rows))
            assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
            assert all(0 <= term <= 1 for hit in hits for term in (hit.score, hit.relevance, hit.recency))


MOVES = st.lists(st.integers(-50, 50), min_size=1, max_size=6, unique=True).map(sorted)


@given(MOVES, st.integers(-60, 60))
def test_at_any_time_from_the_first_start_on_a_slot_has_one_row(moves: list[int], asked: int) -> None:
    with TemporaryDirectory() as folder, filed(Path(folder)) as one:
        one.db.execute("PRAGMA synchronous=OFF")
        put_homes(one, *(NOW + move * HOUR for move in moves))
        hits = reader(one).search("ines", "home", NOW, as_of=NOW + asked * HOUR, limit=10)
        before = [number for number, move in enumerate(moves) if move <= asked]
        assert texts(hits) == [f"home {number}" for number in before[-1:]]


def test_a_version_without_duration_was_never_true(one: Filed) -> None:
    one.put("ines", "home 0", slot=SLOT, status=Status.SUPERSEDED, valid_from=NOW, valid_to=NOW)
    one.put("ines", "home 1", slot=SLOT, valid_from=NOW)
    assert texts(reader(one).search("ines", "home", NOW, as_of=NOW)) == ["home 1"]


def test_what_went_cold_was_still_true(one: Filed) -> None:
    one.put("ines", "home 0", status=Status.DEPRECATED, valid_from=NOW, closed_at=NOW + HOUR)
    assert texts(reader(one).search("ines", "home", NOW)) == []
    assert texts(reader(one).search("ines", "home", NOW, as_of=NOW + 2 * HOUR)) == ["home 0"]
    [hit] = reader(one).search("ines", "home", NOW, historical=True)
    assert hit.relevance == pytest.approx((1 - WORDS) / 2 + WORDS)


_BOUNDARY = """
import sys
from datetime import datetime, timedelta
from pathlib import Path
from tests.store.filed import NOW, filed
from tests.store.test_reading import put_homes, reader, texts

moved = datetime.fromisoformat("2024-03-01T00:30:00+02:00")
with filed(Path(sys.argv[1])) as one:
    put_homes(one, moved - timedelta(days=9), moved)
    for asked in ("2024-02-29T22:30:00+00:00", "2024-02-29T22:29:59+00:00", "2024-03-01T07:30:00+09:00"):
        print(texts(reader(one).search("ines", "home", NOW, as_of=datetime.fromisoformat(asked))))
"""


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_a_boundary_is_the_same_instant_in_every_zone(tmp_path: Path, zone: str) -> None:
    """B43: the start of a validity is in it and the end is not, whatever the machine's zone."""
    run = [sys.executable, "-c", _BOUNDARY, str(tmp_path)]
    environment = os.environ | {"TZ": zone, "PYTHONPATH": str(Path(__file__).parents[2])}
    printed = subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout
    assert printed.split("\n") == ["['home 1']", "['home 0']", "['home 1']", ""]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"as_of": datetime(2024, 3, 1, 0, 30)}, "has no zone"),  # noqa: DTZ001
        ({"limit": 0}, "ask for 1 or more"),
        ({"query": " \n"}, "the query is blank"),
        (
            {"categories": ["semantics"]},
            "there is no category 'semantics': take some of semantic, episodic, procedural",
        ),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(one: Filed, options: dict[str, object], message: str) -> None:
    one.put("ines", "oat milk")
    with pytest.raises(StoreError, match=message):
        reader(one).search(**({"user": "ines", "query": "milk", "now": NOW} | options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "policy",
    [
        Policy(weights=Weights(0, 0, 0)),
        Policy(weights=Weights(-1, 2, 2)),
        Policy(weights=Weights(0, 1, 0), recency_weights={Category.EPISODIC: 0}),
    ],
)
def test_weights_without_a_mean_are_refused(one: Filed, policy: Policy) -> None:
    one.put("ines", "oat milk")
    with pytest.raises(StoreError, match="the weights of a score must be"):
        reader(one, policy).search("ines", "milk", NOW)


def test_only_what_is_returned_counts_as_accessed_and_once_a_period(one: Filed) -> None:
    one.put("ines", "oat milk", "soy milk", "green tea", last_accessed=NOW - 2 * HOUR)
    ask = reader(one, Policy(touch_period=HOUR)).search
    ask("ines", "oat milk", NOW, limit=1, touch=False)
    assert set(accessed(one).values()) == {NOW - 2 * HOUR}
    [hit] = ask("ines", "oat milk", NOW, limit=1)
    assert hit.row.last_accessed == NOW - 2 * HOUR
    assert accessed(one) == {"oat milk": NOW, "soy milk": NOW - 2 * HOUR, "green tea": NOW - 2 * HOUR}
    ask("ines", "oat milk", NOW + HOUR / 2, limit=1)
    assert accessed(one)["oat milk"] == NOW
    [hit] = ask("ines", "oat milk", NOW + HOUR, limit=1)
    assert (hit.recency, accessed(one)["oat milk"]) == (pytest.approx(0.995), NOW + HOUR)
    [hit] = ask("ines", "oat milk", NOW + HOUR, limit=1)
    assert hit.recency == 1.0  # what is held follows the touch
    reader(one).history("ines", id=hit.row.id)
    assert accessed(one)["soy milk"] == NOW - 2 * HOUR


def test_an_access_in_the_future_is_not_taken_back(one: Filed) -> None:
    one.put("ines", "oat milk", last_accessed=NOW + HOUR)
    reader(one, Policy(touch_period=timedelta(0))).search("ines", "milk", NOW)
    assert accessed(one) == {"oat milk": NOW + HOUR}


def test_a_later_access_by_another_process_is_not_taken_back(one: Filed, tmp_path: Path) -> None:
    one.put("ines", "oat milk", last_accessed=NOW - 2 * HOUR)
    with filed(tmp_path) as other:

        class Late(Reader):
            def _touch(self, *arguments: object) -> None:
                reader(other).search("ines", "milk", NOW + HOUR)
                Reader._touch(self, *arguments)  # type: ignore[arg-type]

        Late(one.db, one.index, one.vectors, Policy()).search("ines", "milk", NOW)
    assert accessed(one) == {"oat milk": NOW + HOUR}


def test_a_search_that_touches_brings_no_erased_user_back(one: Filed, tmp_path: Path) -> None:
    one.put("ines", "oat milk", last_accessed=NOW - 2 * HOUR)
    with filed(tmp_path) as other:

        class Late(Reader):
            def _touch(self, *arguments: object) -> None:
                other.erase("ines")
                Reader._touch(self, *arguments)  # type: ignore[arg-type]

        assert len(Late(one.db, one.index, one.vectors, Policy()).search("ines", "milk", NOW)) == 1
    assert one.db.execute("SELECT count(*) FROM users").fetchone() == (0,)
    assert reader(one).search("ines", "milk", NOW) == []


def test_a_search_within_a_transaction_sees_its_rows(one: Filed) -> None:
    with writing(one.db):
        assert reader(one).search("ines", "milk", NOW, touch=False) == []
    with one.index.writing(one.db, "ines"):
        one.enter("ines", "oat milk")
        assert texts(reader(one).search("ines", "milk", NOW, touch=False)) == ["oat milk"]


def test_a_history_is_that_of_a_slot_in_event_order(one: Filed) -> None:
    put_homes(one, NOW, NOW + HOUR, NOW + 2 * HOUR)
    late = {"slot": SLOT, "valid_from": NOW - HOUR, "valid_to": NOW}
    one.put("ines", "home -1", status=Status.SUPERSEDED, **late)
    one.put("ines", "oat milk", id="milk")
    one.put("bob", "home of Bob", id="bob", slot=SLOT)
    homes = ["home -1", "home 0", "home 1", "home 2"]
    read = reader(one)
    by_slot = read.history("ines", slot=" Ines | lives  in ")
    assert [row.text for row in by_slot] == homes
    assert read.history("ines", id=by_slot[2].id) == by_slot
    assert [row.text for row in read.history("ines", id="milk")] == ["oat milk"]
    assert read.history("ines", id="bob") == []
    assert read.history("bob", slot="bob|works as|") == []


@pytest.mark.parametrize(("asked", "message"), [({}, "give one"), ({"slot": SLOT, "id": "x"}, "give one")])
def test_a_history_is_of_one_thing(one: Filed, asked: dict[str, str], message: str) -> None:
    with pytest.raises(StoreError, match=message):
        reader(one).history("ines", **asked)


def test_a_history_of_no_slot_is_refused(one: Filed) -> None:
    with pytest.raises(StoreError, match=r"'ines' is no slot: write subject\|relation\|scope"):
        reader(one).history("ines", slot="ines")
