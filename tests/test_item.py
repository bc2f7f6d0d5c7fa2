"""One question from history to scores, against scripted replies."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from rdforget.calls.base import Call, Reply
from rdforget.item import Builds, Desk, Ledger, Setup, run_item
from rdforget.methods.rd_forget import BUILDER
from rdforget.models.base import CallError
from rdforget.models.scripted import Scripted
from rdforget.records import AnswerOutcome, Gold, Protocol, Query, Record, Status, Switches, Task, Usage, Verdict
from tests.builders import history

HISTORY = history("11. Finch is in Nancy.", "12. Orla is in Metz.", " ")
TASK = Task(Query("q1", "test", "Where is Orla?"), HISTORY, Gold(("Metz",)))

REPLIES: dict[str, Reply | str | Exception] = {
    "curate": json.dumps(
        {
            "active": [
                {"text": "Orla is in Metz", "subject": "Orla", "relation": "city", "scope": "", "when": "#12"},
                {"text": "Finch is in Nancy", "subject": "Finch", "relation": "city", "scope": ""},
            ],
            "replaced": [{"text": "Orla is in Nancy", "subject": "orla", "relation": "city", "scope": ""}],
        }
    ),
    "select": '{"ids": ["m1"]}',
    "answer": '{"answer": "Metz"}',
    "judge": '{"verdict": "correct"}',
}


def run(setup: Setup, *tasks: Task, **replies: Reply | str | Exception) -> tuple[list[Record], list[Call]]:
    """Records of the tasks, and every call in the order asked."""
    asked: list[Call] = []

    def script(call: Call) -> Reply | str | Exception:
        asked.append(call)
        return (REPLIES | replies)[call.role]

    async def run_all() -> list[Record]:
        backend = Scripted(script)
        desk = Desk(lambda call, reply: None, lambda history, calls: None)
        builds = Builds(setup, backend, desk)
        ledgers = [(Ledger(backend, desk), Ledger(backend, desk)) for _ in tasks]
        return await asyncio.gather(
            *(run_item(task, setup, *pair, builds) for task, pair in zip(tasks, ledgers, strict=True))
        )

    return asyncio.run(run_all()), asked


RD_FORGET = BUILDER.build("rd-forget", {})
FULL = Setup(RD_FORGET, metrics=("rule", "judge"))


def without(*switches: str) -> Setup:
    return replace(FULL, switches=Switches.without(*switches))


def test_the_whole_way_of_a_question() -> None:
    [record], asked = run(FULL, TASK)
    assert [call.role for call in asked] == ["curate", "select", "answer", "judge"]
    assert record.completed
    assert record.trace is not None
    assert [(e.id, e.status, e.superseded_by) for e in record.trace.memory.entries] == [
        ("m1", Status.ACTIVE, None),
        ("m2", Status.ACTIVE, None),
        ("m3", Status.SUPERSEDED, "m1"),
    ]
    assert record.trace.eligible == ("m1", "m2")
    assert [e.id for e in record.trace.view.entries] == ["m1"]
    assert record.trace.rescues == 0
    assert {s.metric: s.value for s in record.scores} == {
        "rule": 1.0,
        "rule_strict": 1.0,
        "rule_upstream": 1.0,
        "judge": 1.0,
    }


def test_a_question_about_the_past_may_use_superseded_entries_unless_rescue_is_off() -> None:
    past = replace(TASK, query=replace(TASK.query, text="Where was Orla before?"))
    [rescued], _ = run(FULL, past, select='{"ids": ["m3"]}')
    [refused], _ = run(without("no-rescue"), past, select='{"ids": ["m3"]}')
    assert rescued.trace is not None
    assert refused.trace is not None
    assert (rescued.trace.rescues, rescued.trace.selector_fallback) == (1, False)
    assert (refused.trace.rescues, refused.trace.selector_fallback) == (0, True)


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        ('{"active": [], "replaced": []}', "empty"),
        ("I found nothing.", "parse"),
        (Reply('{"active": [{"text": "Orl', "length"), "truncated"),
        (Reply("", "length"), "truncated"),
    ],
)
def test_an_empty_memory_falls_back_to_ranked_source_lines(reply: Reply | str, cause: str) -> None:
    [record], _ = run(FULL, TASK, curate=reply)
    assert record.trace is not None
    memory = record.trace.memory
    assert [entry.text for entry in memory.entries] == ["12. Orla is in Metz.", "11. Finch is in Nancy."]
    assert {entry.status for entry in memory.entries} == {Status.ACTIVE}
    assert (memory.stats["fallback"], memory.stats["cause"]) == ("lexical", cause)


def test_a_cut_off_curation_with_usable_items_is_no_fallback_and_is_not_asked_again() -> None:
    cut = Reply('{"active":[{"fact":"Orla is in Metz","slot":"orla|city|"},{"fact":"Ines lik', "length")
    [record], asked = run(FULL, TASK, curate=cut)
    assert record.trace is not None
    assert len(record.trace.memory.entries) == 1
    assert (record.trace.memory.stats["truncated"], "fallback" in record.trace.memory.stats) == (1, False)
    assert [call.role for call in asked].count("curate") == 1


def test_an_answer_lost_to_the_output_cap_is_completed_and_wrong() -> None:
    lost = Reply("", "length", Usage(prompt=10, completion=256, reasoning=256))
    [record], asked = run(FULL, TASK, answer=lost, judge='{"verdict": "wrong"}')
    assert record.answer is not None
    assert (record.answer.text, record.answer.outcome) == ("", AnswerOutcome.EMPTY_LENGTH)
    assert record.completed
    assert record.scores[0].value == 0.0
    assert [c.usage.completion for c in record.calls if c.role == "answer"] == [256]
    assert [call.role for call in asked].count("answer") == 1


@pytest.mark.parametrize("stage", ["curate", "select", "answer"])
def test_a_provider_failure_is_not_a_wrong_answer(stage: str) -> None:
    [record], _ = run(FULL, TASK, **{stage: CallError("rate_limit", "too many requests")})
    assert not record.completed
    assert record.scores == ()
    assert record.failure is not None
    assert (record.failure.kind, record.failure.stage) == ("rate_limit", stage)


def test_a_poisoned_item_fails_alone() -> None:
    [record], _ = run(FULL, TASK, answer=ZeroDivisionError("boom"))
    assert record.failure is not None
    assert (record.failure.kind, record.failure.stage) == ("internal", "answer")
    assert "boom" in record.failure.message


@pytest.mark.parametrize("stage", ["select", "judge"])
def test_a_refused_key_is_the_failure_of_the_item_which_keeps_what_it_got(stage: str) -> None:
    [record], _ = run(FULL, TASK, **{stage: CallError("auth", "the key was refused")})
    assert record.failure is not None
    assert (record.failure.kind, record.failure.stage) == ("auth", stage)
    assert (record.answer is not None) is (stage == "judge")


def test_a_failed_question_is_missing_only_in_metrics_that_apply_to_it() -> None:
    abstains = replace(TASK, gold=Gold(("It was never said.",), abstention=True))
    [record], _ = run(FULL, abstains, answer=CallError("timeout", "no reply"))
    assert {(s.metric, s.verdict) for s in record.scores} == {
        (name, Verdict.EXCLUDED) for name in ("rule", "rule_strict", "rule_upstream")
    }


@pytest.mark.parametrize("reply", ["", "CORRECT or INCORRECT?", CallError("timeout", "no reply in 120 s")])
def test_a_judge_that_fails_gives_no_value(reply: str | Exception) -> None:
    [record], asked = run(FULL, TASK, judge=reply)
    score = record.scores[-1]
    assert (score.metric, score.value, score.verdict) == ("judge", None, Verdict.INVALID)
    assert not record.completed
    assert record.failure is None
    judged = [call.repeat for call in asked if call.role == "judge"]
    assert judged == ([0] if isinstance(reply, Exception) else [0, 1])  # one more try, only on a bad reply


def test_without_query_conditioning_questions_over_one_history_share_one_memory() -> None:
    other = replace(TASK, query=replace(TASK.query, id="q2", text="Where is Finch?"))
    records, asked = run(without("no-qc"), TASK, other)
    assert [call.role for call in asked].count("curate") == 1
    assert "Where is" not in next(c for c in asked if c.role == "curate").messages[1].content
    assert all(record.completed for record in records)
    _, asked = run(FULL, TASK, other)
    assert [call.role for call in asked].count("curate") == 2


def test_a_shared_memory_that_fails_fails_every_question_over_it() -> None:
    records, _ = run(without("no-qc"), TASK, TASK, curate=CallError("server", "500"))
    assert [r.failure and (r.failure.kind, r.failure.stage) for r in records] == [("server", "curate")] * 2


def test_an_empty_fallback_of_a_shared_memory_still_sees_each_question() -> None:
    other = replace(TASK, query=replace(TASK.query, id="q2", text="Where is Finch?"))
    records, _ = run(without("no-qc"), TASK, other, curate="nothing")
    assert [r.trace and r.trace.memory.entries[0].text for r in records] == [
        "12. Orla is in Metz.",
        "11. Finch is in Nancy.",
    ]


def test_no_request_before_the_judge_holds_anything_of_the_gold() -> None:
    marked = Gold(
        answers=("MARKER-answer",),
        evidence=("MARKER-evidence",),
        rubric=("MARKER-rubric",),
        option="MARKER-option",
    )
    task = replace(TASK, gold=marked)
    for setup in (FULL, *(without(name) for name in sorted(RD_FORGET.switches))):
        _, asked = run(setup, task)
        for call in asked:
            if call.role not in ("judge", "rubric"):
                assert "MARKER" not in repr((call.messages, call.inputs, call.schema))
        assert any("MARKER-answer" in call.messages[1].content for call in asked if call.role == "judge")


def test_the_same_replies_give_the_same_record() -> None:
    assert run(FULL, TASK)[0] == run(FULL, TASK)[0]


def test_the_budget_holds_whatever_the_selector_wants() -> None:
    tight = replace(FULL, protocol=Protocol(budget=15))
    [record], _ = run(tight, TASK, select='{"ids": ["m1", "m2"]}')
    assert record.trace is not None
    assert [p.cost for p in record.trace.view.packed] == [13]
