"""What a question needs of a source, and of candidates."""

from __future__ import annotations

from rdforget.reader.curation import MAX_FACTS, bearing, everything, read_source, selection
from rdforget.records import Entry, Observation, Query, Status

CHAIN = (
    "0. The author of The Tide is Bo Lind.",
    "1. Bo Lind is married to Eva Holm.",
    "2. Eva Holm is a citizen of Nordia.",
    "3. The capital of Nordia is Oslo.",
    "4. The author of The Tide is Cy Vik.",
    "5. Cy Vik is married to Di Aas.",
    "6. Di Aas is a citizen of Sudia.",
    "7. The capital of Sudia is Lima.",
    "8. Pat Moe is married to Kim Ode.",
)
FOUR_HOPS = "What is the capital of the country of citizenship of the spouse of the author of The Tide?"


def observations(*texts: str) -> tuple[Observation, ...]:
    return tuple(Observation(f"#{at}", text) for at, text in enumerate(texts))


def bear(question: str, *texts: str, closure: bool = True) -> tuple[set[str], set[str]]:
    current, replaced, _ = bearing(read_source(observations(*texts)), Query("q", "s", question), closure=closure)
    return {f.statement.text for f in current}, {f.statement.text for f in replaced}


def test_closure_follows_four_hops_from_current_and_from_replaced_values() -> None:
    current, replaced = bear(FOUR_HOPS, *CHAIN)
    assert current == {text[3:] for text in (*CHAIN[1:4], *CHAIN[4:8])}
    assert replaced == {CHAIN[0][3:]}


def test_without_closure_only_what_names_the_named_is_kept() -> None:
    current, replaced = bear(FOUR_HOPS, *CHAIN, closure=False)
    assert current == {CHAIN[4][3:]}
    assert replaced == {CHAIN[0][3:]}


def test_facts_are_read_backward_from_their_value() -> None:
    texts = ("The headquarters of Vik Motors is located in the city of Oslo.", "Vik Motors was founded by Bo Lind.")
    current, _ = bear("Who founded the company that has its headquarters in Oslo?", *texts)
    assert current == set(texts)


def test_a_common_value_brings_no_flood() -> None:
    texts = [f"Ada{at} Holm is a citizen of Nordia." for at in range(500)]
    current, replaced = bear("What is the capital of Nordia?", *texts, "The capital of Nordia is Oslo.")
    assert "The capital of Nordia is Oslo." in current
    assert len(current) + len(replaced) <= MAX_FACTS


def test_everything_keeps_every_statement_and_every_unreadable_line() -> None:
    source = read_source(observations("Here is a list:", *CHAIN))
    current, replaced, unread = everything(source)
    assert len(current) + len(replaced) == len(CHAIN)
    assert [seen.text for seen in unread] == ["Here is a list:"]


def test_unreadable_lines_that_name_the_named_come_along() -> None:
    source = read_source(observations("Oh, Bo Lind again", "nothing here", *CHAIN))
    _, _, unread = bearing(source, Query("q", "s", "Who is married to Bo Lind?"), closure=True)
    assert [seen.text for seen in unread] == ["Oh, Bo Lind again"]


def entries(*texts: str, status: Status = Status.ACTIVE, first: int = 1) -> list[Entry]:
    return [Entry(f"m{at}", text, status) for at, text in enumerate(texts, first)]


def test_selection_gives_the_chain_in_its_order() -> None:
    candidates = entries(*(text[3:] for text in reversed(CHAIN[4:8])))
    assert selection(Query("q", "s", FOUR_HOPS), candidates)[:4] == ["m4", "m3", "m2", "m1"]


def test_selection_takes_superseded_entries_only_for_questions_about_the_past() -> None:
    candidates = [
        *entries("Ada works for Vik Motors."),
        *entries("Ada works for Zed Motors.", status=Status.SUPERSEDED, first=2),
    ]
    assert selection(Query("q", "s", "Who does Ada work for?"), candidates) == ["m1"]
    assert selection(Query("q", "s", "Who did Ada previously work for?"), candidates) == ["m1", "m2"]


def test_selection_takes_deprecated_entries_only_where_no_active_one_has_their_place() -> None:
    old = entries("Ada works for Zed Motors.", status=Status.DEPRECATED, first=2)
    question = Query("q", "s", "Who does Ada work for?")
    assert selection(question, [*entries("Ada works for Vik Motors."), *old]) == ["m1"]
    assert selection(question, old) == ["m2"]


def test_selection_without_anything_to_follow_is_empty() -> None:
    assert selection(Query("q", "s", "How are you?"), entries("Ada works for Vik Motors.")) == []
