"""synthetic-fc: golds recomputed from the rendered lines, laws over any parameters, and errors of the variant."""

from __future__ import annotations

import hashlib
import itertools
import random
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdforget.scoring.rule import paper_rule
from rdforget.suites._names import Namer, relations, relations_of
from rdforget.suites.base import DataError
from rdforget.suites.synthetic_fc import Parameters, World, build_questions, build_world, load

ANY = st.builds(
    Parameters,
    facts=st.integers(1, 600),
    revisions=st.floats(0, 0.6),
    hops=st.integers(1, 4),
    questions=st.integers(1, 40),
    historical=st.floats(0, 0.5),
    evolution=st.floats(0, 0.5),
    seed=st.integers(0, 2**63 - 1),
)


def read_back(world: World) -> dict[tuple[str, str], list[tuple[int, str]]]:
    """(number, value) of each slot in line order, every one checked against the sentence that the line holds."""
    said: dict[int, tuple[str, str, str]] = {}
    for slot in world.slots.values():
        for number, value in zip(slot.serials, slot.values, strict=True):
            sentences = [frame.format(s=slot.subject, o=value) for frame in slot.relation.facts]
            assert world.lines[number] in [f"{number}. {sentence}" for sentence in sentences]
            assert number not in said
            said[number] = (slot.subject, slot.relation.name, value)
    assert sorted(said) == list(range(len(world.lines))), "every line is the fact of exactly one slot"
    history: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for number in sorted(said):
        subject, relation, value = said[number]
        history.setdefault((subject, relation), []).append((number, value))
    return history


@settings(max_examples=60)
@given(ANY)
def test_golds_follow_from_the_lines(parameters: Parameters) -> None:
    world = build_world(parameters)
    history = read_back(world)
    assert len(world.lines) == parameters.facts
    for question in build_questions(world, parameters):
        way = [slot.relation.name for slot in question.chain]
        versions = history[question.chain[0].subject, way[0]]
        if question.kind == "historical":
            assert len(versions) == 2
            assert (versions[0][1], (versions[0][0],)) == (question.answer, question.evidence)
            assert not paper_rule(versions[1][1], question.answer)
        elif question.kind == "evolution":
            assert 2 <= len(versions) <= 3
            assert ", then ".join(value for _, value in versions) == question.answer
            assert question.evidence == tuple(number for number, _ in versions)
        else:
            assert 1 <= len(way) <= parameters.hops
            assert answer(history, question.chain[0].subject, way) == (question.answer, question.evidence)
            assert question.answer not in question.text
            for step, slot in enumerate(question.chain):
                for _, stale in history[slot.subject, way[step]][:-1]:
                    wrong, _ = answer(history, stale, way[step + 1 :])
                    assert not paper_rule(wrong, question.answer), "an old branch exists and ends elsewhere"


def answer(
    history: dict[tuple[str, str], list[tuple[int, str]]], entity: str, way: list[str]
) -> tuple[str, tuple[int, ...]]:
    """Where the facts with the largest numbers lead, and these numbers."""
    numbers = []
    for relation in way:
        number, entity = max(history[entity, relation])
        numbers.append(number)
    return entity, tuple(numbers)


@settings(max_examples=30)
@given(ANY)
def test_tasks(parameters: Parameters) -> None:
    variant = ",".join(f"{name}={getattr(parameters, name)!r}" for name in Parameters.__slots__)
    if not build_questions(build_world(parameters), parameters):
        with pytest.raises(DataError, match="give no question"):
            load(variant, None)
        return
    suite = load(variant, None)
    tasks = list(suite.tasks())
    assert tasks == list(load(variant, None).tasks()), "the same parameters give the same tasks"
    assert list(itertools.islice(suite.tasks(), 3)) == tasks[:3], "ids do not depend on a limit"
    assert len({task.query.id for task in tasks}) == len({task.query.text for task in tasks}) == len(tasks)
    assert len({id(task.history) for task in tasks}) == 1
    assert {task.query.suite for task in tasks} == {suite.name}
    assert bool(suite.notes) == (len(tasks) < parameters.questions)
    lines = {o.ref: o.text for o in tasks[0].history.observations}
    for task in tasks:
        assert task.gold.evidence
        assert set(task.gold.evidence) <= set(lines)
        if task.query.task_type != "evolution":
            assert task.gold.answers[0] in lines[task.gold.evidence[-1]]


@pytest.mark.parametrize(
    ("facts", "revisions", "replaced"), [(400, 0.3, 120), (400, 0, 0), (1000, 0.6, 600), (1, 0.6, 0), (3, 0.6, 2)]
)
def test_share_of_revisions(facts: int, revisions: float, replaced: int) -> None:
    world = build_world(Parameters(facts=facts, revisions=revisions))
    versions = Counter(len(slot.values) for slot in world.slots.values())
    assert set(versions) <= {1, 2, 3}
    assert versions[2] + 2 * versions[3] == replaced
    assert versions[3] > 0 or replaced < 6
    assert all(len(set(slot.values)) == len(slot.values) for slot in world.slots.values())


def test_the_default_is_telling() -> None:
    suite = load("", None)
    kinds = Counter(task.query.task_type for task in suite.tasks())
    assert kinds == {"current": 42, "historical": 12, "evolution": 6}
    parameters = Parameters()
    questions = build_questions(build_world(parameters), parameters)
    current = [question for question in questions if question.kind == "current"]
    assert Counter(len(question.chain) for question in current) == {1: 21, 2: 21}
    assert sum(any(len(slot.values) > 1 for slot in question.chain) for question in current) >= 33


def test_version_is_raised_with_the_content() -> None:
    """A failure here means that old runs are no longer comparable: raise VERSION and put the new digest."""
    tasks = list(load("facts=300,hops=4", None).tasks())
    lines = [observation.text for observation in tasks[0].history.observations]
    lines += [f"{task.query.text} {task.gold.answers} {task.gold.evidence}" for task in tasks]
    content = "\n".join(lines)
    assert hashlib.sha256(content.encode()).hexdigest()[:16] == "aea92a5a4771fff6"


def test_questions_do_not_change_the_world() -> None:
    first, other = (next(load(variant, None).tasks()) for variant in ("questions=5", "questions=6,hops=3"))
    assert first.history == other.history
    assert first.query.id.rpartition(":")[0] != other.query.id.rpartition(":")[0]
    assert build_world(Parameters(seed=1)).lines != build_world(Parameters(seed=2)).lines


def test_global_randomness_is_left_alone() -> None:
    state = random.getstate()
    load("facts=50", None)
    assert random.getstate() == state


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        ("", "synthetic-fc"),
        ("facts=400,seed=7", "synthetic-fc"),
        (" seed = 8 , facts=50,", "synthetic-fc:facts=50,seed=8"),
        ("revisions=.5", "synthetic-fc:revisions=0.5"),
    ],
)
def test_name_is_canonical(variant: str, name: str) -> None:
    assert Parameters.parse(variant).name == name
    assert Parameters.parse(name.partition(":")[2]) == Parameters.parse(variant)


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ("fact=3", "there is no parameter 'fact': did you mean 'facts'?"),
        ("Revision=0.3", "did you mean 'revisions'?"),
        ("6k", "there is no parameter '6k': there is facts, revisions, hops"),
        ("facts=many", "facts=many is not a whole number from 1 to 1000000"),
        ("facts=0", "facts=0 is not a whole number"),
        ("facts=1.5", "facts=1.5 is not a whole number"),
        ("facts", "facts= is not a whole number"),
        ("hops=5", "hops=5 is not a whole number from 1 to 4"),
        ("revisions=nan", "revisions=nan is not a number from 0 to 0.6"),
        ("revisions=-0.1", "revisions=-0.1 is not a number"),
        ("seed=-1", "seed=-1 is not a whole number"),
        ("seed=1,seed=2", "seed is given twice"),
        ("historical=0.7,evolution=0.4", "at most 1 together"),
        ("facts=5,revisions=0,historical=1,evolution=0", "5 facts give no question"),
    ],
)
def test_bad_variant(variant: str, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        load(variant, None)


def test_wording_is_complete() -> None:
    names = [relation.name for relation in relations()]
    for relation in relations():
        assert set(relation.not_after) <= set(names)
        assert all(frame.count("{s}") == frame.count("{o}") == 1 and frame.endswith(".") for frame in relation.facts)
        assert all(frame.count("{x}") == 1 and frame.endswith("?") for frame in (*relation.ask, *relation.before))
        assert all(frame.count("{x}") == 1 for frame in relation.noun)
        assert relation.noun[0].endswith(" {x}"), "the first noun phrase can be nested"
    assert len(relations()) >= 20
    assert {"person", "company", "city", "country", "book", "club"} <= set(relations_of())


@pytest.mark.parametrize("kind", ["person", "language", "continent"])
def test_names_stay_unique(kind: str) -> None:
    namer = Namer(random.Random(1))
    names = [namer.name(kind) for _ in range(5000)]
    assert len({name.lower() for name in names}) == len(names)


@pytest.mark.parametrize("updates", [1, 3, 10])
def test_every_slot_is_updated_as_often_as_asked(updates: int) -> None:
    parameters = Parameters.parse(f"facts={20 * (updates + 1) + updates},updates={updates},hops=1")
    world = build_world(parameters)
    history = read_back(world)
    assert [len(versions) for versions in history.values()] == [updates + 1] * 20
    assert all(len({value for _, value in versions}) == updates + 1 for versions in history.values())
    assert parameters.sha256 != Parameters.parse(parameters.name.partition(":")[2].partition(",updates")[0]).sha256


def test_a_parameter_that_joined_later_leaves_older_ids_as_they_were() -> None:
    old = "{'facts': 400, 'revisions': 0.3, 'hops': 2, 'questions': 60, 'historical': 0.2, 'evolution': 0.1, 'seed': 7}"
    assert Parameters().sha256 == hashlib.sha256(f"synthetic-fc 1 {old}".encode()).hexdigest()
