"""The relation words."""

from __future__ import annotations

import pytest

from rdforget.reader.lexicon import lexicon, stem, stems, tokens


@pytest.mark.parametrize(
    ("phrase", "relation"),
    [
        ("spouse", "spouse"),
        ("chief executive officer", "chief_executive"),
        ("breathed his last", "deathplace"),
        ("chief of state", "head_of_state"),
        ("alma mater", "education"),
        ("faith", "religion"),
        ("country of origin", "origin"),
        ("came into the world", "birthplace"),
        ("work for", "employer"),
        ("native language", "language_spoken"),
    ],
)
def test_question_words_mean_relations(phrase: str, relation: str) -> None:
    assert relation in lexicon().cues[stems(phrase)]


def test_every_relation_can_be_said_and_meant() -> None:
    lex = lexicon()
    said = set(lex.nouns.values()) | {name for name, _ in lex.verbs.values()} | {name for _, name in lex.descriptions}
    meant = {name for weights in lex.cues.values() for name in weights}
    assert set(lex.value_type) <= said
    assert set(lex.value_type) <= meant


def test_weights_lie_between_0_and_1() -> None:
    assert all(0 < weight <= 1 for weights in lexicon().cues.values() for weight in weights.values())


def test_irregular_forms_have_one_stem() -> None:
    assert stem("wrote") == stem("written") == stem("writes")


def test_tokens_keep_plus_and_hash() -> None:
    assert tokens("C++ and C#, x-y") == ["c++", "and", "c#", "x", "y"]
