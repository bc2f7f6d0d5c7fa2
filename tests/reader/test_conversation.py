"""What a question needs of a conversation, and what a view of one says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.reader.answering import UNAVAILABLE, answer
from rdforget.reader.conversation import MAX_ITEMS, bearing, everything, read_conversation
from rdforget.reader.curation import selection
from rdforget.records import Entry, Observation, Query, Status

TURNS = (
    ("1", "2024-01-02", "user", "I have been sailing for 6 months now. Can you name a good harbour?"),
    ("1", "2024-01-02", "assistant", "Six months of sailing is a fine start. The old harbour is good."),
    ("1", "2024-01-02", "user", "Thanks, that helps."),
    ("2", "2024-03-02", "user", "By the way, I have been sailing for 8 months now. Should I buy a boat for 9 months?"),
    ("2", "2024-03-02", "assistant", "A boat is a lot of work."),
)
SAILING = Query("q", "s", "How long have I been sailing?")


def conversation(turns: tuple[tuple[str, str, str, str], ...] = TURNS) -> tuple[Observation, ...]:
    return tuple(Observation(f"t{at}", text, session, when, who) for at, (session, when, who, text) in enumerate(turns))


def test_the_latest_statement_of_the_value_stands() -> None:
    active, replaced = bearing(read_conversation(conversation()), SAILING, closure=True)
    assert [p.line for p, slot in replaced] == ["user: " + TURNS[0][3]]
    (slot,) = {slot for _, slot in replaced}
    assert [p.line for p, of in active if of == slot] == ["user: " + TURNS[3][3]]


def test_the_order_of_sessions_is_that_of_their_dates() -> None:
    turned = conversation((*TURNS[3:], *TURNS[:3]))
    _, replaced = bearing(read_conversation(turned), SAILING, closure=True)
    assert [p.line for p, _ in replaced] == ["user: " + TURNS[0][3]]


def test_closure_brings_the_turns_around() -> None:
    query = Query("q", "s", "How long have I been sailing?")
    with_closure, _ = bearing(read_conversation(conversation()), query, closure=True)
    without, _ = bearing(read_conversation(conversation()), query, closure=False)
    said = TURNS[2][3]
    turns = (TURNS[0], TURNS[2])
    assert said not in " ".join(p.text for p, _ in without)
    assert said in " ".join(p.text for p, _ in bearing(read_conversation(conversation(turns)), query, closure=True)[0])
    assert len(with_closure) >= len(without)


def test_facts_of_a_grammar_lead_on_where_no_word_does() -> None:
    turns = (
        ("1", "2024-01-02", "user", "I work for Vik Motors."),
        ("1", "2024-01-02", "user", "Vik Motors is based in Oslo."),
        ("1", "2024-02-02", "user", "I work for Zed Motors."),
        ("1", "2024-02-02", "user", "Zed Motors is based in Bern."),
    )
    active, replaced = bearing(
        read_conversation(conversation(turns)), Query("q", "s", "Who do I work for?"), closure=True
    )
    assert [(p.text, slot) for p, slot in replaced] == [("user: I work for Vik Motors.", ("user", "employer", ""))]
    assert ("user: I work for Zed Motors.", ("user", "employer", "")) in [(p.text, slot) for p, slot in active]


def test_a_long_conversation_gives_few_passages() -> None:
    turns = tuple(("1", "2024-01-02", "user", f"I sailed to island {at} with my boat.") for at in range(500))
    active, replaced = bearing(
        read_conversation(conversation(turns)), Query("q", "s", "Where did I sail?"), closure=True
    )
    assert 0 < len(active) + len(replaced) <= MAX_ITEMS


def test_without_a_question_statements_are_kept_and_questions_are_not() -> None:
    active, replaced = everything(read_conversation(conversation()))
    assert [p.text for p, _ in active if p.speaker == "user"] == [
        "user: By the way, I have been sailing for 8 months now."
    ]
    assert [p.text for p, _ in replaced] == ["user: I have been sailing for 6 months now."]


VIEW = (
    ("user: I have been sailing for 8 months now. It is fun. (2024/03/02 (Sat) 10:00)", Status.ACTIVE),
    ("user: I have been sailing for 6 months now. (2024/01/02 (Tue) 10:00)", Status.SUPERSEDED),
    ("user: I bought two boats at the old harbour yesterday. (2024/03/02 (Sat) 10:00)", Status.ACTIVE),
    ('user, asked "What colour is the sail?": A dark green one.', Status.ACTIVE),
    ("user: I never finished the book about Vik.", Status.ACTIVE),
    ("assistant: You could sail for 2 months.", Status.ACTIVE),
)


def entries(view: tuple[tuple[str, Status], ...] = VIEW) -> list[Entry]:
    return [Entry(f"m{at}", text, status) for at, (text, status) in enumerate(view, start=1)]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How long have I been sailing?", "8 months"),
        ("How long had I previously been sailing?", "6 months"),
        ("How many boats did I buy?", "two boats"),
        ("How many kites did I buy?", UNAVAILABLE),
        ("When did I buy the boats?", "1 March 2024"),
        ("Where did I buy the boats?", "at the old harbour"),
        ("What colour is my sail?", "A dark green one"),
        ("Did I finish the book about Vik?", "No"),
        ("How long have I been sailing with Zoe?", UNAVAILABLE),
        ("What is the name of my dentist?", UNAVAILABLE),
        ("", UNAVAILABLE),
    ],
)
def test_answers_are_cut_out_of_the_view(question: str, said: str) -> None:
    assert answer(Query("q", "s", question), entries()) == said


RIVALS = tuple((f"user: I have been sailing for {at} months now.", Status.ACTIVE) for at in range(2, 8))


@given(st.permutations(RIVALS))
def test_among_active_rivals_a_hash_chooses(view: list[tuple[str, Status]]) -> None:
    assert answer(SAILING, entries(tuple(view))) == answer(SAILING, entries(RIVALS))


def test_the_hash_is_of_the_question_too() -> None:
    asked = [Query("q", "s", SAILING.text + "?" * at) for at in range(12)]
    assert len({answer(query, entries(RIVALS)) for query in asked}) > 1


@given(st.permutations(VIEW), st.sampled_from(["How long have I been sailing?", "What colour is my sail?", "Who?"]))
def test_the_order_of_the_view_does_not_matter(view: list[tuple[str, Status]], question: str) -> None:
    query = Query("q", "s", question)
    assert answer(query, entries(tuple(view))) == answer(query, entries())


def test_selection_begins_with_the_best_and_leaves_out_what_is_superseded() -> None:
    chosen = selection(SAILING, entries())
    assert chosen[0] == "m1"
    assert "m2" not in chosen
    assert "m2" in selection(Query("q", "s", "How long had I previously been sailing?"), entries())


OPTIONS = (
    "(a) You told me that you play the violin.",
    "(b) You told me that you sail around the islands.",
    "(c) You told me that you paint old doors.",
    "(d) You told me that you bake bread.",
)
HOBBIES = (
    ("user: Last week I went to sail around some islands.", Status.ACTIVE),
    ("user: I used to paint doors.", Status.SUPERSEDED),
    ("assistant: Many people bake bread or play the violin.", Status.ACTIVE),
)


@pytest.mark.parametrize(
    ("question", "view", "letter"), [("Help me.", HOBBIES, "(b)"), ("Help me.", HOBBIES[:0], None)]
)
def test_the_option_with_the_best_support(
    question: str, view: tuple[tuple[str, Status], ...], letter: str | None
) -> None:
    said = answer(Query("q", "s", question, options=OPTIONS), entries(view))
    assert said == letter if letter else said in ("(a)", "(b)", "(c)", "(d)")


@given(st.permutations([option[4:] for option in OPTIONS]), st.booleans())
def test_the_place_of_an_option_does_not_matter(texts: list[str], supported: bool) -> None:
    view = entries(HOBBIES if supported else ())
    options = tuple(f"({letter}) {text}" for letter, text in zip("abcd", texts, strict=True))

    def chosen(shown: tuple[str, ...]) -> str:
        letter = answer(Query("q", "s", "Help me.", options=shown), view)
        return next(option[4:] for option in shown if option.startswith(letter))

    assert chosen(options) == chosen(OPTIONS)


TEXT = st.text(alphabet=st.sampled_from("Ada: 12?.,\"()'muserI -ago\n"), max_size=60)


@given(TEXT, st.lists(st.tuples(TEXT, st.sampled_from(Status)), max_size=5), st.lists(TEXT, max_size=4))
def test_any_question_over_any_talk_is_answered(
    question: str, view: list[tuple[str, Status]], options: list[str]
) -> None:
    shown = entries(tuple((f"user: {text}", status) for text, status in view))
    query = Query("q", "s", question, options=tuple(options))
    assert isinstance(answer(query, shown), str)
    assert set(selection(query, shown)) <= {entry.id for entry in shown}
    source = read_conversation(conversation(tuple(("1", "2024-01-02", "user", text) for text, _ in view)))
    bearing(source, query, closure=True)
    everything(source)
