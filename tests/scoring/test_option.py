"""The option score: the official parser as published, and the letters that were put as options."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.records import Gold, Verdict
from rdforget.scoring.option import explicit_options, official_hit, score

NONE = "no_explicit_option"


@pytest.mark.parametrize(
    ("gold", "answer", "official", "strict", "detail"),
    [
        ("a", "Here is a thought you may like.", 1, 0, NONE),
        ("d", "Answer: **D**", 1, 1, ""),
        ("b", "(b)", 1, 1, ""),
        ("c", "Option C", 1, 1, ""),
        ("d", "I'd say so", 1, 0, NONE),
        ("b", "Vitamin B it is", 1, 0, NONE),
        ("c", "Option C is a good one", 0, 1, ""),
        ("c", "(C) is a good one", 1, 1, ""),
        ("b", "(a)", 0, 0, ""),
        ("b", "(a) or (b)", 0, 0, ""),
        ("b", "(b), as I said: (b)", 1, 1, ""),
        ("b", "", 0, 0, ""),
        ("b", "Neither of them.", 0, 0, ""),
        ("b", "Not (a). <final_answer> (b) </final_answer>", 1, 1, ""),
        ("b", "<final_answer>(a)</final_answer> No: <final_answer>b</final_answer>\n", 1, 1, ""),
        ("a", "The first. <final_answer>(a) is not (b)", 0, 0, ""),
        ("c", "I choose (c).\n<final_answer>", 1, 1, ""),
        ("c", "I choose (c).\n<final_answer>I am done", 1, 1, ""),
        ("c", "(c)</final_answer>", 1, 1, ""),
    ],
)
def test_values(gold: str, answer: str, official: int, strict: int, detail: str) -> None:
    option, option_strict = score(answer, Gold(option=gold))
    assert (option.metric, option_strict.metric) == ("option", "option_strict")
    assert (option.value, option_strict.value, option.detail) == (official, strict, detail)
    assert option.verdict is (Verdict.CORRECT if official else Verdict.WRONG)
    assert option_strict.verdict is (Verdict.CORRECT if strict else Verdict.WRONG)


@pytest.mark.parametrize(
    ("answer", "letters"),
    [
        # bracketed
        ("(b)", "b"),
        ("The best is (B).", "b"),
        ("[c]", "c"),
        ("b) the long walk", "b"),
        ("Both:\n**a)** no\n**b)** yes", "ab"),
        ("see plan b) of last year", ""),
        # named
        ("option c", "c"),
        ("Options b and d", "bd"),
        ("Option A or B", "ab"),
        ("option **A** or **B**", "ab"),
        ("Option A/B", "ab"),
        ("My choice: d", "d"),
        ("Answer: **D**", "d"),
        ("**Answer:** d.", "d"),
        ("Answer - d", "d"),
        ("The answer is B because she walks", "b"),
        ("the answer would be 'a'", "a"),
        ("Answer: A", "a"),
        ("Answer: A\n\nShe likes walks.", "a"),
        ("Option A is the best", "a"),
        ("the answer is option d", "d"),
        # the whole text
        ("b", "b"),
        ("A.", "a"),
        ("**a**", "a"),
        (' "C" ', "c"),
        # the article, contractions, names
        ("Answer: A good walk", ""),
        ("the answer is a walk", ""),
        ("the option a friend gave", ""),
        ("the answer is a\twalk", ""),
        ("The answer is a D-day", ""),
        ("answer: a-list hotels", ""),
        ("a walk", ""),
        ("Option d'or", ""),
        ("answer: C++", ""),
        ("the options do", ""),
        ("optiond", ""),
        ("A, B and C are out", ""),
        ("(e)", ""),
        ("", ""),
    ],
)
def test_letters_put_as_options(answer: str, letters: str) -> None:
    assert explicit_options(answer) == set(letters)


def test_a_question_without_a_right_option_is_excluded() -> None:
    assert [(s.metric, s.value, s.verdict) for s in score("(b)", Gold(("Metz",)))] == [
        ("option", None, Verdict.EXCLUDED),
        ("option_strict", None, Verdict.EXCLUDED),
    ]


_words = st.lists(
    st.sampled_from(
        ["a", "A", "(a)", "(B)", "b", "option", "Answer:", "is", "or", "**D**", "walk", "I'd", "<final_answer>", "\n"]
    )
    | st.text(max_size=4),
    max_size=12,
).map(" ".join)


@given(_words, st.sampled_from("abcd"))
def test_a_strict_hit_is_exactly_one_letter_put_as_an_option(answer: str, gold: str) -> None:
    option, strict = score(answer, Gold(option=gold))
    assert bool(strict.value) == (explicit_options(answer) == {gold})
    assert (option.detail == NONE) == (official_hit(answer, gold) and not explicit_options(answer))


@given(st.text("an ws,;\n'", max_size=60))
def test_the_article_is_no_option_in_prose(prose: str) -> None:
    assert not explicit_options(f"we saw {prose} walk")


@pytest.mark.parametrize("part", ["answer ", "option a or ", " ", "(", "a", "**", "answer: a, ", "\t\n"])
def test_a_hostile_answer_is_read_in_bounded_time(part: str) -> None:
    score(part * 20_000, Gold(option="b"))
