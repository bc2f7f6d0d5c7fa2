"""Searching a whole archive at once finds what a look at every line finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rdforget.records import Gold, History, Observation
from rdforget.scoring.rule import strict_rule
from runners.lines import by_ref, quoted_by, stating

TEXTS = st.lists(st.sampled_from(["a", "The", "ab", "Metz", "two", "2", "-", "Ines:", "é", "e\u0301"])).map(" ".join)
LINES = st.lists(st.tuples(TEXTS, st.sampled_from([None, "Ines", "Rui"])))


def history(lines: list[tuple[str, str | None]]) -> History:
    return History("h", tuple(Observation(f"#{n}", text, speaker=who) for n, (text, who) in enumerate(lines)))


@given(LINES, st.lists(TEXTS, max_size=2))
def test_lines_that_state_a_gold(lines: list[tuple[str, str | None]], golds: list[str]) -> None:
    archive = history(lines)
    naive = [seen for seen in archive.observations if any(strict_rule(seen.line, gold) for gold in golds)]
    assert stating(archive, Gold(tuple(golds))) == naive


@given(LINES, st.tuples(TEXTS, st.sampled_from(["", "Ines: ", "Rui: "])))
def test_lines_that_evidence_quotes(lines: list[tuple[str, str | None]], quote: tuple[str, str]) -> None:
    archive, evidence = history(lines), quote[1] + quote[0]
    naive = [
        seen for seen in archive.observations if strict_rule(seen.text, evidence.removeprefix(f"{seen.speaker}: "))
    ]
    assert quoted_by(archive, evidence) == naive
    assert quoted_by(archive, evidence) == naive  # the second time from what is kept


def test_two_histories_of_one_name_are_two() -> None:
    one, two = history([("Ines lives in Metz", None)]), history([("Ines lives in Lyon", None)])
    assert [len(stating(of, Gold(("Metz",)))) for of in (one, two, one)] == [1, 0, 1]
    assert by_ref(two)["#0"].text == "Ines lives in Lyon"
