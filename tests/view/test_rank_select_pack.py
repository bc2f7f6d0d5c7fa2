"""Ranking, collecting, selecting and packing (Sec. 3.1, 3.5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.calls import select as role
from rdforget.calls.render import entry_line
from rdforget.records import Entry, Status
from rdforget.tokens import count_tokens
from rdforget.view.pack import cost, pack
from rdforget.view.rank import collect, rank, relevance
from rdforget.view.select import usable
from tests.builders import entry, query

texts = st.text("abc ", min_size=1, max_size=40)
entries = st.lists(
    st.builds(lambda text, status: (text, status), texts, st.sampled_from(list(Status))), max_size=12
).map(lambda pairs: [entry(f"m{n}", text, status) for n, (text, status) in enumerate(pairs, start=1)])


def sized(name: str, tokens: int) -> Entry:
    """An entry whose text has exactly `tokens` tokens."""
    made = entry(name, " a" * tokens)
    assert count_tokens(made.text) == tokens
    return made


def test_relevance_is_query_recall_plus_a_bonus_for_active_entries() -> None:
    words = frozenset({"where", "does", "ines", "work"})
    assert relevance(entry("m1", "Ines: work, work!"), words) == pytest.approx(0.9)
    assert relevance(entry("m1", "Ines", Status.SUPERSEDED), words) == pytest.approx(0.25)


@given(entries)
def test_ranking_is_a_stable_sort_by_relevance(pool: list[Entry]) -> None:
    asked = query("a b ab abc")
    ranked = rank(pool, asked)
    words = frozenset({"a", "b", "ab", "abc"})
    keys = [(-relevance(e, words), pool.index(e)) for e in ranked]
    assert keys == sorted(keys)
    assert len(ranked) == len(pool)


@given(entries, st.integers(1, 60))
def test_the_collector_takes_the_first_and_then_whatever_fits(pool: list[Entry], target: int) -> None:
    found = collect(pool, target)
    assert found[:1] == tuple(pool[:1])
    expected, used = list(pool[:1]), sum(count_tokens(entry_line(e) + "\n") for e in pool[:1])
    for one in pool[1:]:
        size = count_tokens(entry_line(one) + "\n")
        if used + size <= target:
            expected.append(one)
            used += size
    assert list(found) == expected


@pytest.mark.parametrize(
    ("reply", "chosen", "fallback", "unusable"),
    [
        ('{"ids": [0, 2, -1, 7]}', ["m2"], False, 3),
        ('{"ids": [0, 9]}', ["m1", "m2", "m3"], True, 2),
        ('{"ids": ["m3", "m1", "m3"]}', ["m3", "m1"], False, 1),
        ('{"ids": ["[M2]", " m1 ", true, null, {}]}', ["m2", "m1"], False, 3),
        ('{"ids": []}', ["m1", "m2", "m3"], True, 0),
        ("I would take m2.", ["m1", "m2", "m3"], True, 0),
        ("", ["m1", "m2", "m3"], True, 0),
        ('{"ids": ["m2", "m', ["m2"], False, 0),
        ('```json\n{"ids": ["m3"]}\n```', ["m3"], False, 0),
    ],
)
def test_ids_are_taken_as_far_as_they_name_candidates(
    reply: str, chosen: list[str], fallback: bool, unusable: int
) -> None:
    candidates = [entry("m1"), entry("m2"), entry("m3")]
    selection = usable(role.parse(reply), candidates)
    assert [e.id for e in selection.entries] == chosen
    assert (selection.fallback, selection.unusable) == (fallback, unusable)


def test_packing_skips_what_does_not_fit_and_goes_on_to_the_inclusive_limit() -> None:
    view = pack([sized(f"m{n}", tokens) for n, tokens in enumerate((992, 1492, 892, 140), start=1)], 2_048)
    assert [p.entry.id for p in view.packed] == ["m1", "m3", "m4"]
    assert view.tokens == 2_048


def test_cost_counts_the_text_alone() -> None:
    bare = entry("m1", "Orla is in Metz")
    full = entry("m1000", "Orla is in Metz", Status.SUPERSEDED, slot="orla|city|hq", evidence="x" * 99)
    assert cost(bare) == cost(full) == count_tokens("Orla is in Metz") + 8


@given(entries, st.integers(1, 80))
def test_a_view_never_exceeds_its_budget_and_nothing_skipped_would_have_fitted(pool: list[Entry], budget: int) -> None:
    view = pack(pool, budget)
    assert view.tokens <= budget
    assert view.tokens == sum(cost(e) for e in view.entries)
    expected, used = [], 0
    for one in pool:
        if used + cost(one) <= budget:
            expected.append(one)
            used += cost(one)
    assert list(view.entries) == expected
