"""Order in time, slots and the graph."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.reader.facts import build_graph, group, read_facts
from rdforget.records import Observation


def lines(*texts: str, when: str | None = None) -> list[Observation]:
    return [Observation(f"#{at}", text, when=when) for at, text in enumerate(texts)]


def history_of(observations: list[Observation]) -> list[str]:
    """Values of the one slot, oldest first."""
    facts, _ = read_facts(observations)
    (values,) = group(facts).values.values()
    return [fact.statement.object for fact in values]


def test_the_larger_serial_is_later_also_when_lines_are_not_sorted() -> None:
    seen = lines("9. Ada lives in Oslo.", "2. Ada lives in Vik.", "10. Ada lives in Bern.", "5. Ada lives in Rome.")
    assert history_of(seen) == ["Vik", "Rome", "Oslo", "Bern"]


def test_without_serials_the_source_position_decides() -> None:
    assert history_of(lines("Ada lives in Oslo.", "Ada lives in Vik.")) == ["Oslo", "Vik"]


def test_a_later_session_wins_over_position_and_serial() -> None:
    seen = [*lines("1. Ada lives in Oslo.", when="2024-05-02"), *lines("9. Ada lives in Vik.", when="8 May, 2023")]
    assert history_of(seen) == ["Vik", "Oslo"]


def test_a_value_said_again_counts_once_and_where_it_was_said_last() -> None:
    seen = lines("1. Ada lives in Oslo.", "2. Ada lives in Vik.", "3. ada  moved to OSLO.")
    assert history_of(seen) == ["Vik", "OSLO"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The capital of Nordia is Oslo.", "Vik is the capital of nordia."),
        ("Ada is married to Bo.", "ADA's husband is Cy."),
        ("Caf\u00e9 Vik was founded by Bo.", "The founder of Cafe\u0301 Vik is Cy."),
        ("The Tide was written by Bo.", "Cy wrote Tide."),
    ],
)
def test_different_wordings_share_a_slot(first: str, second: str) -> None:
    facts, _ = read_facts(lines(first, second))
    assert len(group(facts).values) == 1


def test_when_is_the_serial_or_the_date_of_the_session() -> None:
    facts, _ = read_facts([*lines("7. Ada lives in Oslo."), *lines("Bo lives in Vik.", when="8 May, 2023")])
    assert [fact.when for fact in facts] == ["#7", "8 May, 2023"]


def test_lines_without_a_statement_are_kept_apart() -> None:
    facts, unread = read_facts(lines("Here is a list:", "0. Ada lives in Oslo."))
    assert [fact.line for fact in facts] == ["0. Ada lives in Oslo."]
    assert [seen.text for seen in unread] == ["Here is a list:"]


def test_the_graph_knows_subjects_and_values() -> None:
    facts, _ = read_facts(lines("Ada is married to Bo Lind.", "Bo Lind lives in Oslo."))
    graph = build_graph(facts)
    assert set(graph.names) == {"ada", "bo lind", "oslo"}
    assert graph.names["bo lind"] == "Bo Lind"
    assert graph.longest == 2
    assert [fact.statement.subject for fact in graph.into["oslo"]["seat"]] == ["bo lind"]


@given(st.permutations(range(6)))
def test_the_current_value_does_not_depend_on_the_order_of_numbered_lines(order: list[int]) -> None:
    places = ["Oslo", "Vik", "Bern", "Rome", "Lima", "Kyiv"]
    assert history_of(lines(*(f"{at}. Ada lives in {places[at]}." for at in order))) == places
