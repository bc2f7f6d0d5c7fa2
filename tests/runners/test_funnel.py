"""Where evidence is lost: a case for every stage, and every question of a run in exactly one category."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rdforget.records import (
    Answer,
    AnswerOutcome,
    Entry,
    Failure,
    Gold,
    History,
    Memory,
    Observation,
    Packed,
    Query,
    Record,
    Score,
    Status,
    Trace,
    Verdict,
    View,
)
from runners.funnel import EVIDENCE, Basis, Outcome, Stage, Stages, funnel_of
from runners.funnel_sheets import ends_of, names_of, rows_of, sheets_of
from runners.losses import Funnel, Question, changes, counts, payload
from tests.builders import entry

SOURCE = History(
    "h",
    (
        Observation("#1", "Orla works at Finch.", speaker="Ines"),
        Observation("#2", "Finch is in Metz. It is big.", speaker="Ines"),
        Observation("#3", "It is big.", speaker="Rui"),
    ),
)
LABELLED = Gold(("Metz",), ("#2",))
RIGHT = Score("rule", 1.0, Verdict.CORRECT)
WRONG = Score("rule", 0.0, Verdict.WRONG)
CARRIER = entry("m1", "Finch sits in Metz", meta={"refs": ["#2"]})


def record(
    *entries: Entry,
    gold: Gold = LABELLED,
    until: Stage = Stage.PACKED,
    answer: str = "in Metz",
    score: Score | None = RIGHT,
    failure: Failure | None = None,
) -> Record:
    """A question whose entries all come as far as `until`."""
    ids = tuple(one.id for one in entries)
    reached = {stage: ids if EVIDENCE.index(stage) <= EVIDENCE.index(until) else () for stage in EVIDENCE}
    trace = Trace(
        memory=Memory(entries),
        history_intent=False,
        eligible=reached[Stage.ELIGIBLE],
        candidates=reached[Stage.CANDIDATES],
        selected=reached[Stage.SELECTED],
        selector_fallback=False,
        selector_unusable=0,
        view=View(tuple(Packed(one, 9) for one in entries if one.id in reached[Stage.PACKED]), 64),
    )
    return Record(
        Query("q1", "test", "Where is Finch?"),
        gold,
        "h",
        trace,
        Answer(answer, AnswerOutcome.ANSWERED),
        (score,) if score else (),
        failure=failure,
    )


def test_the_whole_way() -> None:
    found = funnel_of(record(CARRIER), SOURCE)
    assert (found.outcome, found.lost, found.basis, found.units) == (Outcome.KEPT, None, Basis.LABELS, ("#2",))
    assert set(found.shares.values()) == {1.0}
    assert found.carriers == {"m1": {"#2"}}


@pytest.mark.parametrize("stage", EVIDENCE[1:])
@pytest.mark.parametrize(("score", "outcome"), [(WRONG, Outcome.LOST), (RIGHT, Outcome.RECOVERED)])
def test_lost_at_every_stage_of_the_memory(stage: Stage, score: Score, outcome: Outcome) -> None:
    before = EVIDENCE[EVIDENCE.index(stage) - 1]
    entries = (CARRIER,) if stage is not Stage.STORED else (entry("m1", "Finch is big"),)
    found = funnel_of(record(*entries, until=before, score=score), SOURCE)
    assert (found.outcome, found.lost) == (outcome, stage)
    assert (found.shares[before], found.shares[stage]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("answer", "gold", "score", "lost"),
    [
        ("in Nancy", LABELLED, WRONG, Stage.ANSWER),
        ("in Metz", LABELLED, WRONG, Stage.CREDIT),
        ("(b)", Gold(evidence=("#2",), option="a"), WRONG, Stage.ANSWER),
        ("in Metz", Gold(("Metz",), ("#2",), rubric=("says Metz",)), WRONG, Stage.ANSWER),
        ("in Metz", LABELLED, Score("rubric", 0.5, Verdict.PARTIAL), Stage.CREDIT),
    ],
)
def test_lost_in_the_answer_or_by_the_scorer(answer: str, gold: Gold, score: Score, lost: Stage) -> None:
    found = funnel_of(record(CARRIER, gold=gold, answer=answer, score=score), SOURCE)
    assert (found.outcome, found.lost) == (Outcome.LOST, lost)


def test_a_metric_that_does_not_apply_is_passed_over() -> None:
    excluded = Score("judge", None, Verdict.EXCLUDED)
    both = replace(record(CARRIER), scores=(excluded, RIGHT))
    assert funnel_of(both, SOURCE).outcome is Outcome.KEPT
    assert funnel_of(replace(both, scores=(excluded,)), SOURCE).outcome is Outcome.UNTRACED


@pytest.mark.parametrize("gold", [Gold(("Metz",), ("#9",)), Gold(("Metz",), ("#2", "#9"))])
def test_evidence_that_the_question_may_not_look_at(gold: Gold) -> None:
    found = funnel_of(record(CARRIER, gold=gold, score=WRONG), SOURCE)
    assert (found.outcome, found.lost) == (Outcome.LOST, Stage.HISTORY)


def test_without_data_the_history_is_unknown_and_not_lost() -> None:
    found = funnel_of(record(CARRIER))
    assert (found.outcome, found.shares[Stage.HISTORY]) == (Outcome.KEPT, None)


@pytest.mark.parametrize(
    ("one", "carries"),
    [
        (entry("m1", "a place", evidence="Ines: Finch is in Metz. It is big."), True),  # the line
        (entry("m1", "a place", evidence="ines:  Finch is in METZ - it is big"), True),  # but for case and marks
        (entry("m1", "a place", evidence="Finch is in Metz."), True),  # a part of this line alone
        (entry("m1", "a place", evidence="Ines: Finch is in Metz."), True),
        (entry("m1", "It is big", evidence="It is big."), False),  # a part of two lines
        (entry("m1", "Finch is in Metz", evidence="Orla works at Finch."), False),  # another line, whatever it says
        (entry("m1", "Finch is in Metz", meta={"refs": ["#1"]}), False),
        (entry("m1", "Finch is in Metz"), True),  # names no line: its text counts
        (entry("m1", "Finch is in Metz", evidence="Finch's seat, in my words"), True),
        (entry("m1", "Finch is in Metzingen"), False),
        (entry("m1", "Finch is in Metz", meta={"refs": "#2"}), True),  # refs of another shape name no line
    ],
)
def test_what_carries_a_labelled_line(one: Entry, carries: bool) -> None:
    assert funnel_of(record(one), SOURCE).shares[Stage.STORED] == float(carries)


def test_several_labels_are_needed_together() -> None:
    gold = Gold(("Metz",), ("#1", "#2", "#2"))
    first = entry("m2", "Orla works at Finch", meta={"refs": ["#1"]})
    part = funnel_of(record(first, gold=gold, score=WRONG), SOURCE)
    assert (part.units, part.lost, part.shares[Stage.STORED]) == (("#1", "#2"), Stage.STORED, 0.5)
    whole = record(CARRIER, first, gold=gold)
    assert funnel_of(whole, SOURCE).outcome is Outcome.KEPT
    assert whole.trace
    dropped = replace(whole.trace, selected=("m1",), view=View((Packed(CARRIER, 9),), 64))
    found = funnel_of(replace(whole, trace=dropped), SOURCE)
    assert (found.outcome, found.lost, found.shares[Stage.PACKED]) == (Outcome.RECOVERED, Stage.SELECTED, 0.5)


@pytest.mark.parametrize(("target", "replaced"), [("m1", True), ("m3", False)])
def test_an_outdated_label_that_the_current_one_supersedes(target: str, replaced: bool) -> None:
    gold = Gold(("Metz",), ("#1", "#2"))
    old = entry("m2", "Finch was in Nancy", Status.SUPERSEDED, superseded_by=target, meta={"refs": ["#1"]})
    whole = record(CARRIER, old, entry("m3"), gold=gold)
    assert whole.trace
    found = funnel_of(replace(whole, trace=replace(whole.trace, eligible=("m1", "m3"))), SOURCE)
    assert (found.outcome, found.lost, found.replaced) == (Outcome.RECOVERED, Stage.ELIGIBLE, replaced)


@pytest.mark.parametrize(
    ("gold", "history", "text", "outcome", "lost"),
    [
        (Gold(("Metz", "Divodurum")), SOURCE, "Finch is in Metz", Outcome.KEPT, None),
        (Gold(("Metz",)), None, "Finch is in Metz", Outcome.KEPT, None),
        (Gold(("Metz",)), None, "Finch is big", Outcome.RECOVERED, Stage.STORED),
        (Gold(("Lyon",)), SOURCE, "Finch is in Lyon", Outcome.UNTRACED, None),  # no line states it
        (Gold(rubric=("says so",)), SOURCE, "text", Outcome.UNTRACED, None),
        (Gold(option="a"), SOURCE, "text", Outcome.UNTRACED, None),
    ],
)
def test_without_labels_the_gold_is_looked_for(
    gold: Gold, history: History | None, text: str, outcome: Outcome, lost: Stage | None
) -> None:
    found = funnel_of(record(entry("m1", text), gold=gold), history)
    assert (found.outcome, found.lost) == (outcome, lost)
    assert found.basis is (Basis.NONE if outcome is Outcome.UNTRACED else Basis.GOLD)


def test_a_gold_in_a_retired_entry_alone_is_lost_at_eligible() -> None:
    retired = entry("m1", "Finch is in Metz", Status.SUPERSEDED, superseded_by="m2")
    found = funnel_of(record(retired, gold=Gold(("Metz",)), until=Stage.STORED, score=WRONG), SOURCE)
    assert (found.outcome, found.lost, found.replaced) == (Outcome.LOST, Stage.ELIGIBLE, False)


def test_labels_that_cannot_be_compared_without_data_give_way_to_the_gold() -> None:
    quoting = record(entry("m1", "Finch is in Metz", evidence="Ines: Finch is in Metz."))
    assert funnel_of(quoting).basis is Basis.GOLD
    assert funnel_of(quoting, SOURCE).basis is Basis.LABELS


@pytest.mark.parametrize(
    "broken",
    [
        replace(record(CARRIER, failure=Failure("timeout", "curate", "no reply")), trace=None, answer=None, scores=()),
        replace(record(CARRIER, failure=Failure("timeout", "answer", "no reply")), answer=None, scores=()),
        record(CARRIER, score=Score("judge", None, Verdict.INVALID)),
    ],
)
def test_a_failure_is_no_loss(broken: Record) -> None:
    assert (funnel_of(broken, SOURCE).outcome, funnel_of(broken, SOURCE).lost) == (Outcome.FAILED, None)


@pytest.mark.parametrize("score", [RIGHT, WRONG])
def test_an_abstention_has_nothing_to_carry(score: Score) -> None:
    found = funnel_of(record(CARRIER, gold=Gold(("no such thing",), abstention=True), score=score), SOURCE)
    assert (found.outcome, found.lost) == (Outcome.ABSTENTION, None)


def question(item: str, stages: Stages, kind: str = "") -> Question:
    return Question(item, kind, "Where?", "Metz", "in Metz", stages)


def run(*questions: Question, selected: int = 0, switches: tuple[str, ...] = (), name: str = "r") -> Funnel:
    selected = selected or len(questions)
    return Funnel(name, "test", "rd-forget", switches, "rules", 64, 0, selected, questions, ("a note",))


WAYS = {
    "kept": funnel_of(record(CARRIER), SOURCE),
    "recovered": funnel_of(record(CARRIER, until=Stage.STORED), SOURCE),
    "lost": funnel_of(record(CARRIER, until=Stage.SELECTED, score=WRONG), SOURCE),
    "untraced": funnel_of(record(CARRIER, gold=Gold(("Lyon",))), SOURCE),
    "abstention": funnel_of(record(CARRIER, gold=Gold(("none",), abstention=True)), SOURCE),
    "failed": funnel_of(record(CARRIER, failure=Failure("timeout", "judge", "no reply")), SOURCE),
}


def test_every_selected_question_is_in_one_category() -> None:
    funnel = run(*(question(name, way, name[:1]) for name, way in WAYS.items()), selected=9)
    for count in counts(funnel):
        assert sum(ends_of(count).values()) == count.selected
        assert count.kept + sum(count.recovered.values()) + sum(count.lost.values()) == count.followed
    whole, *types = counts(funnel)
    assert (whole.type, whole.selected, whole.followed, whole.missing) == ("all", 9, 3, 3)
    assert (whole.kept, whole.recovered[Stage.ELIGIBLE], whole.lost[Stage.PACKED]) == (1, 1, 1)
    assert (whole.untraced, whole.abstention, whole.failed) == (1, 1, 1)
    assert [count.type for count in types] == ["k", "r", "l", "u", "a", "f"]
    packed = whole.reach[Stage.PACKED]
    assert (packed.known, packed.whole, packed.some, packed.share) == (3, 1, 1, 0.3333)
    assert sum(one.selected for one in types) + whole.missing == 9


def test_one_type_is_not_counted_twice_and_nothing_is_nothing() -> None:
    assert [count.type for count in counts(run(question("q1", WAYS["kept"])))] == ["all"]
    empty = counts(run(selected=4))[0]
    assert (empty.followed, empty.missing, empty.reach[Stage.PACKED].share) == (0, 4, None)
    assert "n/a" in str(sheets_of([run(selected=4)])[0].plain())


def test_what_two_runs_end_otherwise_in() -> None:
    a = run(question("q1", WAYS["kept"]), question("q2", WAYS["lost"]), question("q3", WAYS["kept"]), name="a")
    b = run(question("q1", WAYS["recovered"]), question("q2", WAYS["lost"]), name="b", switches=("no-forget",))
    changed = changes(a, b)
    assert [(one.item, one.a, one.b) for one in changed] == [("q1", "kept", "recovered, lost at eligible")]
    stages, outcomes, ended = sheets_of([a, b], changed)
    assert list(stages.columns) == ["stage", "full", "no-forget", "difference"]
    assert ["eligible", "3", "1", "+2"] in stages.plain()
    assert ["lost at packed", "1", "1", "+0"] in outcomes.plain()
    assert ended.plain()[0][:3] == ["q1", "kept", "recovered, lost at eligible"]
    assert payload(b)["questions"][0]["lost"] == "eligible"
    assert names_of([a, run(name="c")]) == ["a", "c"]


def test_rows_for_programs_and_the_table_of_types() -> None:
    funnel = run(question("q1", WAYS["kept"], "one"), question("q2", WAYS["lost"], ""))
    rows = rows_of([funnel])
    assert [row["type"] for row in rows] == ["all", "one", ""]
    assert (rows[0]["packed.lost"], rows[0]["packed.whole"], rows[0]["packed.known"]) == (1, 1, 2)
    types = sheets_of([funnel])[2].plain()
    assert types[2][:3] == ["rd-forget full", "(none)", "packed 1"]
