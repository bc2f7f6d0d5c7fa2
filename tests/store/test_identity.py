"""What makes users, texts and slots the same."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.store.identity import slot_key, text_key, valid_user
from rdforget.store.records import StoreError

CHARS = st.characters(exclude_categories=["Cs"])


@pytest.mark.parametrize(
    "user", ["ann", "Ann", "a%", "a_n", "O'Neil", '"', "ann@example.com", "猫", "Zoe\u0308", "all", "**"]
)
def test_an_id_stays_as_it_is_but_for_outer_space(user: str) -> None:
    assert valid_user(user) == user
    assert valid_user(f" \t{user}\n") == user


@pytest.mark.parametrize("user", ["", "  ", "*", " * ", None, 3, b"ann", "a\x00b", "a\nb", "a\x7f", "\ud800"])
def test_what_is_no_id_is_refused(user: Any) -> None:
    with pytest.raises(StoreError, match="user id"):
        valid_user(user)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("猫が好き", "犬を飼っている", False),
        ("🎉", "🎂", False),
        ("Zo\u00eb", "Zoe\u0308", True),
        ("Zoë", "Zoe", False),
        ("  Likes  Tea ", "likes tea", True),
        ("likes\n\ttea", "likes\u3000tea", True),
        ("likes tea", "likes tea.", False),
        ("likes tea", "like stea", False),
        ("Straße", "STRASSE", True),
        ("ΟΔΟΣ", "οδος", True),
        ("\u1fb3\u0342", "\u1fb7", True),
        ("ガ", "カ\u3099", True),
        ("ｔｅａ", "tea", False),
    ],
)
def test_texts_are_the_same_but_for_case_space_and_composition(one: str, other: str, same: bool) -> None:
    assert (text_key(one) == text_key(other)) is same


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u200b", "\u3000\u00ad", "\x00"])
def test_a_blank_text_is_refused(text: str) -> None:
    with pytest.raises(StoreError, match="blank"):
        text_key(text)


def test_half_a_character_is_refused_without_being_quoted() -> None:
    with pytest.raises(StoreError, match="surrogate") as error:
        text_key("likes tea \ud800")
    assert "tea" not in str(error.value)


@given(st.text(CHARS, min_size=1).filter(lambda text: any(map(str.isalnum, text))))
def test_any_spelling_of_a_text_has_its_key(text: str) -> None:
    key = text_key(text)
    assert len(key) == 32
    for form in ("NFC", "NFD"):
        assert text_key(unicodedata.normalize(form, text)) == key
    assert text_key(f" {text} ") == text_key(text.casefold()) == key


@pytest.mark.parametrize(
    ("slot", "key"),
    [
        ("Ines|Lives In|", "ines|lives in|"),
        (" ines | lives   in ", "ines|lives in|"),
        ("Zoe\u0308|home|Work", "zoë|home|work"),
        ("ines|home|a|b", "ines|home|a|b"),
        ("ines", None),
        ("|home|", None),
        ("ines||", None),
        ("", None),
        (None, None),
        ("ines|ho\x00me|", None),
        ("ines|\ud800|", None),
    ],
)
def test_slots(slot: str | None, key: str | None) -> None:
    assert slot_key(slot) == key
    assert slot_key(key) == key
