"""The backend `rules` through the parsers that language models' replies pass too."""

from __future__ import annotations

import pytest

from rdforget.calls import answer, curate, judge, rubric, select
from rdforget.calls.base import Call
from rdforget.models.base import CallError
from rdforget.models.rules import Rules
from rdforget.reader.conversation import read_conversation
from rdforget.reader.curation import read_source
from rdforget.records import Entry, Gold, Observation, Protocol, Query, Status, Switches, Usage, Verdict

LINES = (
    "Here is a list of facts:",
    "7. Ada Holm lives in Vik.",
    "2. Ada Holm lives in Oslo.",
    "3. Vik is located in the country of Nordia.",
    "4. Bo Lind lives in Rome.",
)
OBSERVATIONS = tuple(Observation(f"#{at}", text) for at, text in enumerate(LINES))
_EMPTY = read_source(())
QUERY = Query("q", "s", "In which country is the city where Ada Holm lives?")


async def curated(query: Query | None = QUERY, switches: Switches | None = None) -> curate.Curation:
    call = curate.build(OBSERVATIONS, "", query, switches or Switches(), Protocol())
    return curate.parse((await Rules().answer(call)).text)


async def test_curation_gives_items_with_slots_times_and_evidence() -> None:
    found = await curated()
    assert [(i.text, i.slot, i.when, i.evidence) for i in found.active] == [
        ("Ada Holm lives in Vik.", "ada holm|seat|", "#7", LINES[1]),
        ("Vik is located in the country of Nordia.", "vik|country|", "#3", LINES[3]),
    ]
    assert [(i.text, i.slot, i.when) for i in found.replaced] == [("Ada Holm lives in Oslo.", "ada holm|seat|", "#2")]
    assert found.status == "whole"


async def test_without_slots_the_statements_are_the_same() -> None:
    full, bare = await curated(), await curated(switches=Switches.without("no-slot"))
    assert [i.text for i in bare.active] == [i.text for i in full.active]
    assert [i.text for i in bare.replaced] == [i.text for i in full.replaced]
    assert not any(i.slot for i in (*bare.active, *bare.replaced))


async def test_without_closure_only_direct_statements_are_given() -> None:
    found = await curated(switches=Switches.without("no-closure"))
    assert [i.text for i in found.active] == ["Ada Holm lives in Vik."]


async def test_without_a_question_everything_is_given() -> None:
    found = await curated(query=None)
    assert [i.text for i in found.active] == [*(LINES[at].split(". ", 1)[1] for at in (1, 3, 4)), LINES[0]]
    assert len(found.replaced) == 1


async def test_sources_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, read = Rules(), []
    monkeypatch.setattr("rdforget.models.rules.read_source", lambda seen: read.append(seen) or _EMPTY)
    for _ in range(3):
        await rules.answer(curate.build((*OBSERVATIONS[:2], *OBSERVATIONS[2:]), "", QUERY, Switches(), Protocol()))
    assert len(read) == 1
    await rules.close()
    await rules.answer(curate.build(OBSERVATIONS, "", QUERY, Switches(), Protocol()))
    assert len(read) == 2


async def test_select_and_answer() -> None:
    view = tuple(
        Entry(f"m{at}", text, Status.ACTIVE)
        for at, text in enumerate(("Vik is located in the country of Nordia.", "Ada Holm lives in Vik."), 1)
    )
    picked = await Rules().answer(select.build(QUERY, view, Protocol()))
    assert select.parse(picked.text) == ("m2", "m1")
    reply = await Rules().answer(answer.build(QUERY, view, Protocol()))
    assert answer.parse(reply).text == "Nordia"
    assert (reply.model, reply.usage, reply.finish_reason) == ("rules", Usage(), "stop")


@pytest.mark.parametrize(
    ("gold", "said", "verdict"),
    [
        (Gold(("New Delhi",)), "It is New Delhi.", Verdict.CORRECT),
        (Gold(("Oslo", "New Delhi")), "new delhi", Verdict.CORRECT),
        (Gold(("New Delhi",)), "Delhi", Verdict.WRONG),
        (Gold(("no",)), "Norway", Verdict.WRONG),
        (Gold(("New Delhi",)), "", Verdict.WRONG),
        (Gold(()), "anything", Verdict.WRONG),
        (Gold(("not said",), abstention=True), "The information is not available.", Verdict.CORRECT),
        (Gold(("not said",), abstention=True), "That is unknown.", Verdict.CORRECT),
        (Gold(("not said",), abstention=True), "Oslo", Verdict.WRONG),
        (Gold(("25 minutes (or 25:00)",)), "25:00", Verdict.CORRECT),
        (Gold(("Yes. (You have a boat too.)",)), "Yes", Verdict.CORRECT),
        (Gold(("a red boat with sails",)), "sails on a boat, a red one", Verdict.CORRECT),
        (Gold(("a red boat",)), "red " + "and green " * 8 + "boat", Verdict.WRONG),
        (Gold(("four",)), "4 boats", Verdict.CORRECT),
    ],
)
async def test_judge(gold: Gold, said: str, verdict: Verdict) -> None:
    reply = await Rules().answer(judge.build(QUERY, gold, said, Protocol()))
    assert judge.parse(reply.text) is verdict


@pytest.mark.parametrize(
    ("criterion", "said", "grade"),
    [
        ("Should state: 12 red boats", "There are twelve red boats.", 1.0),
        ("Should state: 12 red boats", "12 boats", 0.5),
        ("Should state: 12 red boats", "boats", 0.0),
        ("12 red boats", "red boats, 12 of them", 1.0),
        ("Should state: 12 red boats", "", 0.0),
        ("Should state: not available", "The information is not available.", 0.0),
        ("Should state:", "anything", 0.0),
    ],
)
async def test_rubric(criterion: str, said: str, grade: float) -> None:
    reply = await Rules().answer(rubric.build(QUERY, criterion, said, Protocol()))
    assert rubric.parse(reply.text) == grade


TALK = (
    Observation("t1", "I have tried three Korean places in town. It rained.", "1", "2024-01-02", "user"),
    Observation("t2", "Three Korean places are a good start.", "1", "2024-01-02", "assistant"),
    Observation("t3", "I have now tried four Korean places in town.", "2", "2024-02-02", "user"),
)
ASKED = Query("q", "s", "How many Korean places have I tried?")


@pytest.mark.parametrize("query", [ASKED, None])
async def test_in_a_conversation_the_later_value_replaces_the_earlier_one(query: Query | None) -> None:
    reply = await Rules().answer(curate.build(TALK, "", query, Switches(), Protocol()))
    found = curate.parse(reply.text)
    (old,) = found.replaced
    assert "three Korean places" in old.text
    assert old.text.startswith("user: ")
    assert [(i.when, i.evidence) for i in found.active if i.slot == old.slot] == [("2024-02-02", TALK[2].line)]


async def test_many_sources_stay_read(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, read = Rules(), []
    monkeypatch.setattr(
        "rdforget.models.rules.read_conversation", lambda seen: read.append(seen) or read_conversation(seen)
    )
    chunks = [(Observation(f"t{at}", f"I have {at} boats.", speaker="user"),) for at in range(32)]
    for chunk in chunks * 2:
        await rules.answer(curate.build(chunk, "", ASKED, Switches(), Protocol()))
    assert len(read) == len(chunks)


async def test_a_role_for_language_models_only_is_a_bad_request() -> None:
    with pytest.raises(CallError) as error:
        await Rules().answer(Call("reflect", object(), (), None, 1))
    assert error.value.kind == "bad_request"
