"""Words and overlap: the quick ways give what the plain ones do."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from rdforget.calls.render import entry_line
from rdforget.records import Entry, Status
from rdforget.text import one_line, overlap, word_set
from rdforget.tokens import count_tokens, least_tokens

_ODD = " ab_1.,/\n\r\t\x1c\u00a0\u2028éÉe\u0301İßǅ漢字-'"
TEXT = st.text(st.one_of(st.sampled_from(_ODD), st.characters()), max_size=40)


@given(TEXT, TEXT)
def test_overlap_is_the_share_of_words_that_both_have(query: str, text: str) -> None:
    wanted = word_set(query)
    assert overlap(wanted, text) == (len(wanted & word_set(text)) / len(wanted) if wanted else 0.0)


@given(TEXT)
def test_one_line_has_single_blanks_and_no_other_white_space(text: str) -> None:
    assert one_line(text) == re.sub(r"\s+", " ", text).strip()


@given(TEXT)
def test_no_text_has_fewer_tokens_than_are_certain(text: str) -> None:
    assert least_tokens(text) <= count_tokens(text)
    assert least_tokens(text) + 3 <= count_tokens(entry_line(Entry("m1", text, Status.ACTIVE)) + "\n")
