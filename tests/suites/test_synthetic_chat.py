"""synthetic-chat: golds held against the turns, laws over any parameters, the tables, and errors of the variant."""

from __future__ import annotations

import hashlib
import itertools
import random
import re
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rdforget.records import History, Task
from rdforget.scoring.rule import paper_rule, strict_rule
from rdforget.suites._names import Namer, SmallTalk, chat_wording, dates, preferences, themes
from rdforget.suites.base import DataError
from rdforget.suites.synthetic_chat import Chat, Parameters, Slot, build_chat, build_questions, load, write_chat
from rdforget.view.eligibility import history_intent

SHARE = st.floats(0, 1 / 6)
ANY = st.builds(
    Parameters,
    chats=st.integers(1, 3),
    sessions=st.integers(1, 10),
    turns=st.integers(1, 9),
    people=st.integers(1, 5),
    facts=st.integers(1, 90),
    updates=st.floats(0, 1),
    questions=st.integers(1, 60),
    options=SHARE,
    historical=SHARE,
    evolution=SHARE,
    preferences=SHARE,
    retractions=SHARE,
    abstentions=SHARE,
    seed=st.integers(0, 2**63 - 1),
)


def variant_of(parameters: Parameters) -> str:
    return ",".join(f"{item.name}={getattr(parameters, item.name)!r}" for item in fields(parameters))


def moment(date: str) -> datetime:
    """The date, its day of the week checked."""
    numbers, _, rest = date.partition(" (")
    day, _, clock = rest.partition(") ")
    found = datetime.strptime(f"{numbers} {clock}", "%Y/%m/%d %H:%M").replace(tzinfo=UTC)
    assert day == "Mon Tue Wed Thu Fri Sat Sun".split()[found.weekday()]  # noqa: SIM905
    return found


def session_of(ref: str) -> int:
    return int(ref[1:].partition(":")[0])


def read_back(chat: Chat, history: History) -> dict[str, Slot]:
    """The slot that each user turn tells of, every statement found where the plan has it."""
    turns = {o.ref: o for o in history.observations}
    assert len(turns) == len(history.observations)
    owner: dict[str, Slot] = {}
    for slot in chat.slots:
        sessions = [session_of(telling.ref) for telling in slot.tellings]
        assert sessions == sorted(set(sessions)), "every change comes in a later session"
        for telling in slot.tellings:
            assert turns[telling.ref].speaker == "user"
            assert telling.text in turns[telling.ref].text
            assert all(part in telling.text for part in telling.holds)
            assert telling.ref not in owner
            owner[telling.ref] = slot
        for first, second in itertools.combinations(slot.values, 2):
            assert not paper_rule(first, second)
            assert not paper_rule(second, first)
    return owner


@settings(max_examples=60, deadline=None)
@given(ANY)
def test_golds_follow_from_the_turns(parameters: Parameters) -> None:
    chats = [build_chat(parameters, number) for number in range(parameters.chats)]
    questions = build_questions(chats, parameters)
    histories = [write_chat(chat, parameters) for chat in chats]
    owners = [read_back(chat, history) for chat, (history, _) in zip(chats, histories, strict=True)]
    assert [question.chat.number for question in questions] == sorted(question.chat.number for question in questions)
    assert len(questions) <= parameters.questions
    for chat, kind, text, gold, options in questions:
        said = {o.ref: o.text for o in histories[chat.number][0].observations}
        slots = [owners[chat.number][ref] for ref in gold.evidence]
        if kind == "abstention":
            told = [slot for slot in chat.slots if slot.tellings]
            assert gold.abstention
            assert not slots
            assert not any(text in theme.ask["self"] for theme in preferences())
            assert gold.answers[0] not in {slot.topic.gold("abstention") for slot in told}
            continue
        slot = slots[0]
        assert all(other is slot for other in slots)
        assert gold.abstention == (kind == "retraction") == slot.tellings[-1].retracts
        assert (kind == "preference") == bool(gold.rubric) == bool(slot.topic.theme.reasons)
        assert (kind == "choice") == bool(gold.option) == bool(options) == (not gold.answers)
        match kind:
            case "current" | "knowledge-update":
                assert (len(slot.values) > 1) == (kind == "knowledge-update")
                assert gold.answers == (slot.values[-1],)
                assert gold.evidence == (slot.tellings[-1].ref,)
            case "historical":
                assert [*gold.answers, slot.values[1]] == slot.values
                assert gold.evidence == (slot.tellings[0].ref,)
            case "evolution":
                assert gold.answers[0].split(", then ") == slot.values
                assert len(slot.values) > 1
            case "preference":
                assert slot.values[-1] in gold.rubric[0]
                assert slot.topic.theme.reasons[slot.values[-1]] in gold.rubric[1]
                assert [slot.values[-2] in criterion for criterion in gold.rubric[2:]] == [True] * (
                    len(gold.rubric) - 2
                )
                assert len(gold.rubric) == 2 + (len(slot.values) > 1)
            case "retraction":
                assert slot.values[0] in gold.answers[0]
                assert slot.values[0] in said[gold.evidence[-1]]
            case "choice":
                assert [option[:4] for option in options] == ["(a) ", "(b) ", "(c) ", "(d) "]
                right = [option[1] for option in options if paper_rule(option[4:], slot.values[-1])]
                assert right == [gold.option], "exactly one option is the latest value"
                assert len(slot.values) == 1 or f") {slot.values[-2]}" in " ".join(options)
                assert slot.values[-1] in said[gold.evidence[0]]
        if kind in ("current", "knowledge-update", "historical", "evolution"):
            values = gold.answers[0].split(", then ")
            assert all(value in said[ref] for value, ref in zip(values, gold.evidence, strict=True))
            assert not any(strict_rule(text, value) for value in values)


@settings(max_examples=40, deadline=None)
@given(ANY)
def test_tasks(parameters: Parameters) -> None:
    variant = variant_of(parameters)
    assume(build_questions([build_chat(parameters, number) for number in range(parameters.chats)], parameters))
    suite = load(variant, None)
    tasks = list(suite.tasks())
    assert tasks == list(suite.tasks()) == list(load(variant, None).tasks()), "the same parameters give the same tasks"
    assert list(itertools.islice(suite.tasks(), 3)) == tasks[:3], "ids do not depend on a limit"
    assert suite.size == len(tasks) == len({task.query.id for task in tasks})
    assert any("questions" in note for note in suite.notes) == (len(tasks) < parameters.questions)
    assert {task.query.suite for task in tasks} == {suite.name}
    assert {task.query.task_type for task in tasks} <= set(parameters.kinds)
    histories = [history for history, _ in itertools.groupby(task.history for task in tasks)]
    assert len({history.id for history in histories}) == len(histories) <= parameters.chats
    for task in tasks:
        check_history(task, parameters)
        assert not any(answer in task.query.text for answer in task.gold.answers)


def check_history(task: Task, parameters: Parameters) -> None:
    turns = task.history.observations
    assert len(turns) == parameters.sessions * parameters.turns
    assert [o.ref for o in turns] == [
        f"D{session}:{turn}" for session in range(1, parameters.sessions + 1) for turn in range(1, parameters.turns + 1)
    ]
    assert all(o.speaker == ("assistant" if int(o.ref.partition(":")[2]) % 2 == 0 else "user") for o in turns)
    assert {o.session for o in turns} == {f"session {session}" for session in range(1, parameters.sessions + 1)}
    whens = [next(group) for _, group in itertools.groupby(o.when or "" for o in turns)]
    moments = [moment(when) for when in (*whens, task.query.date or "")]
    assert len(whens) == parameters.sessions
    assert moments == sorted(set(moments)), "sessions come one after another, and the question after them"
    assert set(task.gold.evidence) <= {o.ref for o in turns}


def test_the_default_has_every_kind_of_task_and_gold() -> None:
    suite = load("", None)
    tasks = list(suite.tasks())
    assert not suite.notes
    assert Counter(task.query.task_type for task in tasks) == {
        "choice": 10,
        "historical": 4,
        "evolution": 4,
        "preference": 4,
        "retraction": 2,
        "abstention": 4,
        "current": 6,
        "knowledge-update": 6,
    }
    golds = [task.gold for task in tasks]
    assert {len(gold.rubric) for gold in golds} == {0, 2, 3}
    assert len({gold.option for gold in golds}) >= 4
    assert {gold.abstention for gold in golds} == {True, False}
    assert len({task.history.id for task in tasks}) == 4
    assert suite.sources[0].sha256 == Parameters().sha256


def test_only_questions_about_the_past_ask_about_it() -> None:
    for task in load("questions=200", None).tasks():
        past = task.query.task_type in ("historical", "evolution")
        assert history_intent(task.query) == past, task.query.text


def test_version_is_raised_with_the_content() -> None:
    """A failure here means that old runs are no longer comparable: raise VERSION and put the new digest."""
    tasks = list(load("chats=2,sessions=5", None).tasks())
    lines = [f"{o.ref} {o.session} {o.when} {o.line}" for o in tasks[0].history.observations]
    lines += [f"{task.query.text} {task.query.date} {task.query.options} {task.gold}" for task in tasks]
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16] == "c0cd588ad5235427"


def test_questions_do_not_change_the_conversations() -> None:
    first, other = (next(load(variant, None).tasks()) for variant in ("questions=9", "questions=8,options=0.5"))
    assert first.history == other.history
    assert first.query.id.rpartition(":")[0] != other.query.id.rpartition(":")[0]
    assert next(load("seed=8", None).tasks()).history.id != first.history.id


@pytest.mark.parametrize(
    ("variant", "notes"),
    [
        ("sessions=4,turns=6", ["68 of 96 facts"]),
        ("chats=1,people=1", ["2 of 40 questions"]),
        ("chats=1,people=1,sessions=99,facts=99,questions=9", ["63 of 99 facts", "1 of 9 questions"]),
        ("sessions=1", ["84 of 96 facts", "20 of 40 questions"]),
        ("chats=1,sessions=1,turns=1,questions=2", ["23 of 24 facts", "1 of 2 questions"]),
    ],
)
def test_what_does_not_fit_is_said(variant: str, notes: list[str]) -> None:
    found = load(variant, None).notes
    assert [note.partition(" could not be ")[0] for note in found] == notes


def test_small_chats_have_every_kind_of_question() -> None:
    for seed in range(20):
        suite = load(f"sessions=4,turns=6,questions=12,seed={seed}", None)
        assert {task.query.task_type for task in suite.tasks()} == set(Parameters().kinds), seed


def test_memory_is_that_of_the_text() -> None:
    """Ten million tokens, some 48 million characters, then stay far below 1 GB."""
    parameters = Parameters(chats=1, sessions=100, turns=100)
    chat = build_chat(parameters, 0)
    tracemalloc.start()
    history, _ = write_chat(chat, parameters)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * sum(len(o.text) for o in history.observations)


def test_global_randomness_is_left_alone() -> None:
    state = random.getstate()
    list(load("", None).tasks())
    assert random.getstate() == state


@pytest.mark.parametrize("sessions", [1, 50, 200_000])
def test_dates_stay_within_a_few_years(sessions: int) -> None:
    found = list(itertools.islice(dates(sessions, random.Random(1)), min(sessions, 5_000) + 1))
    moments = [moment(date) for date in found]
    assert all(earlier < later for earlier, later in itertools.pairwise(moments))
    assert (moments[-1] - moments[0]).days <= 1_200


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ("session=3", "there is no parameter 'session': did you mean 'sessions'?"),
        ("option=0.3", "did you mean 'options'?"),
        ("abstention=0.3", "did you mean 'abstentions'?"),
        ("32k", "there is no parameter '32k': there is chats, sessions, turns"),
        ("turns=0", "turns=0 is not a whole number from 1 to 1000"),
        ("people=two", "people=two is not a whole number"),
        ("updates=1.1", "updates=1.1 is not a number from 0 to 1"),
        ("chats=1,chats=2", "chats is given twice"),
        (
            "options=0.9,historical=0.2",
            "options, historical, evolution, preferences, retractions and abstentions are shares",
        ),
        ("updates=0,historical=1,options=0,evolution=0,preferences=0,retractions=0,abstentions=0", "give no question"),
    ],
)
def test_bad_variant(variant: str, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        load(variant, Path("nowhere"))


def test_shares_may_add_up_to_one() -> None:
    variant = "options=0.1,historical=0.2,evolution=0.7,preferences=0,retractions=0,abstentions=0"
    kinds = Parameters.parse(variant).kinds
    assert {kind: number for kind, number in kinds.items() if number} == {"choice": 4, "historical": 8, "evolution": 28}


def frames(table: Any) -> Iterator[str]:
    """Every string of a table."""
    if isinstance(table, str):
        yield table
    else:
        for item in table.values() if isinstance(table, dict) else table:
            yield from frames(item)


def fields_of(frame: str) -> set[str]:
    return set(re.findall(r"{(\w*)}", frame))


def test_wording_is_complete() -> None:
    for theme in themes():
        for voice, who in (("self", set()), ("other", {"s"})):
            assert all(fields_of(frame) == {"o"} | who for frame in theme.tell[voice]), theme.name
            assert all({"o"} | who <= fields_of(frame) <= {"o", "old"} | who for frame in theme.update[voice])
            assert all(fields_of(frame) == who and frame.endswith("?") for frame in theme.ask[voice])
    assert all({"noun", "o", "why"} == fields_of(frame) for frame in preferences()[0].tell["self"])
    assert all({"noun", "o", "old", "why"} == fields_of(frame) for frame in preferences()[0].update["self"])
    assert all({"p", "noun", "o"} == fields_of(frame) for frame in chat_wording()["retract"])
    assert all({"p", "noun"} == fields_of(f) for kind in ("historical", "evolution") for f in chat_wording()[kind])
    told = [frame for theme in (*themes(), *preferences()) for frame in frames([theme.tell, theme.update])]
    assert not any(frame.startswith(("{o}", "{why}")) for frame in told), "a value keeps its letter case"


@pytest.mark.parametrize("theme", [*themes(), *preferences()], ids=lambda theme: theme.name)
def test_values_are_told_apart(theme: Any) -> None:
    values = list(itertools.islice(Namer(random.Random(1)).values(theme), 20))
    assert len(values) >= 4, "three wrong options, or two changes"
    for first, second in itertools.permutations(values, 2):
        assert not paper_rule(first, second)


def test_small_talk_names_no_value() -> None:
    listed = [
        value for theme in (*themes(), *preferences()) if not isinstance(theme.values, str) for value in theme.values
    ]
    talk = list(frames(chat_wording()["talk"]))
    assert not [(value, frame) for value in listed for frame in talk if strict_rule(frame, value)]
    assert not any(re.search(r"\d", frame) for frame in talk)


def test_small_talk_varies() -> None:
    talk = SmallTalk(random.Random(1))
    turns = [turn for _ in range(2_000) for turn in (talk.user(), talk.assistant())]
    assert len(set(turns)) > 0.85 * len(turns)
