"""The rule score and the two stricter values beside it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.records import Gold, Verdict
from rdforget.scoring.rule import normalise, paper_rule, score, strict_rule, upstream_rule


@pytest.mark.parametrize(
    ("gold", "answer", "paper", "strict", "upstream"),
    [
        ("Orla", "It is Orla.", 1, 1, 1),
        ("no", "She moved to Norway", 1, 0, 1),
        ("Go", "Django", 1, 0, 1),
        ("23", "flat 16723", 1, 0, 1),
        ("The Netherlands", "Netherlands", 1, 1, 1),
        ("the netherlands", "the", 1, 0, 0),
        ("United Kingdom", "King", 1, 0, 0),
        ("United Kingdom", "Un", 0, 0, 0),
        ("Orléans", "Orleans", 0, 0, 0),
        ("Orle\u0301ans", "Orl\u00e9ans", 1, 1, 1),
        ("twelve", "12", 1, 1, 0),
        ("twelve years", "12 years", 1, 1, 0),
        ("3 dogs", "She has three dogs now", 1, 1, 0),
        ("Washington, D.C.", "Washington D.C", 1, 1, 1),
        ("St. Louis", "st louis", 1, 1, 1),
        ("Belgium", "", 0, 0, 0),
        ("Belgium", "France", 0, 0, 0),
        ("", "anything", 0, 0, 0),
        ("...", "anything", 0, 0, 0),
    ],
)
def test_values(gold: str, answer: str, paper: int, strict: int, upstream: int) -> None:
    found = paper_rule(answer, gold), strict_rule(answer, gold), upstream_rule(answer, gold)
    assert found == (bool(paper), bool(strict), bool(upstream))


def test_the_best_of_several_golds_counts() -> None:
    rule, strict, upstream = score("It was Metz", Gold(("Nancy", "Metz")))
    assert (rule.metric, rule.value, rule.verdict) == ("rule", 1.0, Verdict.CORRECT)
    assert (strict.metric, upstream.metric) == ("rule_strict", "rule_upstream")


@pytest.mark.parametrize(
    "gold",
    [Gold(("", "?!")), Gold(("It was never said.",), abstention=True), Gold(("Keep it simple.",), rubric=("simple",))],
)
def test_a_question_without_a_short_gold_is_excluded(gold: Gold) -> None:
    assert {(s.value, s.verdict) for s in score("anything", gold)} == {(None, Verdict.EXCLUDED)}


@given(st.text(max_size=30), st.text(max_size=30))
def test_strict_implies_the_paper_rule_up_to_articles(answer: str, gold: str) -> None:
    articles = {"a", "an", "the"}
    if strict_rule(answer, gold) and not articles & {*normalise(answer).split(), *normalise(gold).split()}:
        assert paper_rule(answer, gold)
