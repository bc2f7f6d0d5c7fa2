"""`fademem-style`: the laws of decay, what labels do to older memories, and what is forgotten or fused."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.calls import condense, reconcile
from rdforget.calls.base import Call, Reply
from rdforget.calls.condense import CondenseInputs
from rdforget.calls.extract import Fact
from rdforget.calls.reconcile import Label, Pair, RelateInputs, Relation
from rdforget.methods.extraction import clock
from rdforget.methods.fademem_style import BUILDER, Options, Store, groups, preservation
from rdforget.methods.fading import BETA, Trace, decay_rate, decayed, importance, reinforced, suppressed
from rdforget.reader import extracting
from rdforget.records import Gold, History, Memory, Observation, Status
from rdforget.tokens import count_tokens
from tests.builders import query
from tests.methods.building import (
    MIRA,
    MIRA_CHUNKS,
    NOW,
    build,
    calls_of_an_item,
    check_entries,
    method,
    refs,
    reply,
    shared,
    wild,
)

UNIT = st.floats(0, 1)
DAYS = st.floats(0, 500)


# The laws.


@pytest.mark.parametrize(("beta", "days"), [(BETA["long"], 11.25), (BETA["short"], 5.02)])
def test_half_lives_at_importance_0(beta: float, days: float) -> None:
    assert decayed(1.0, decay_rate(0.0), 0.0, days, beta) == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize(("days", "factor"), [(-5, 1.0), (0, 1.0), (15, math.exp(-0.25)), (30, 0.6065), (900, 0.6065)])
def test_one_contradiction_never_removes_a_memory(days: float, factor: float) -> None:
    assert suppressed(1.0, days) == pytest.approx(factor, abs=1e-4)
    assert suppressed(1.0, days) > Options().prune_below


def test_importance_and_rate_by_hand() -> None:
    assert importance(0.0, 0.0) == pytest.approx(0.2 + 0.3)
    assert importance(1.0, 10.0) == pytest.approx(0.2 + 0.15 + 0.3 * math.exp(-1))
    assert decay_rate(0.5) == pytest.approx(0.1 * math.exp(-0.5))
    assert reinforced(0.5, 0) == pytest.approx(0.6)
    assert reinforced(0.5, 10) == pytest.approx(0.5 + 0.1 * math.exp(-1))


@given(UNIT, UNIT, st.lists(DAYS, min_size=2, max_size=5), st.sampled_from(sorted(BETA.values())))
def test_decay_in_steps_is_decay_at_once_and_never_grows(
    strength: float, important: float, ages: list[float], beta: float
) -> None:
    ages.sort()
    rate, now = decay_rate(important), strength
    for before, age in pairwise(ages):
        after = decayed(now, rate, before, age, beta)
        assert 0 <= after <= now
        now = after
    assert now == pytest.approx(decayed(strength, rate, ages[0], ages[-1], beta))


@given(UNIT, st.integers(0, 50), DAYS)
def test_strength_stays_between_0_and_1(strength: float, recent: int, days: float) -> None:
    assert strength <= reinforced(strength, recent) <= 1
    assert 0 <= suppressed(strength, days) <= strength


@given(st.lists(st.tuples(st.floats(0, 60), st.sampled_from(["fade", "hit"])), max_size=12))
def test_reinforcement_outlives_later_decay(steps: list[tuple[float, str]]) -> None:
    """What an access adds is not wiped out when time passes: a trace with accesses is never the weaker one."""
    touched, alone = Trace(Fact("x"), 0.0), Trace(Fact("x"), 0.0)
    now = 0.0
    for days, what in steps:
        now += days
        for trace in (touched, alone):
            trace.layer = "short"
            trace.fade(now)
        if what == "hit":
            touched.access(now)
        assert touched.strength >= alone.strength - 1e-12


def test_layers_are_changed_by_importance() -> None:
    trace = Trace(Fact("x"), 0.0)
    for _ in range(4):
        trace.access(0.0)
    trace.fade(0.0)
    assert trace.layer == "long"  # 0.2 + 0.3 * 4/5 + 0.3
    trace.fade(10.0)
    assert trace.layer == "long"  # between the bounds it stays
    trace.fade(100.0)
    assert trace.layer == "short"


def test_a_fused_memory_fades_more_slowly() -> None:
    one, many = Trace(Fact("x"), 0.0), Trace(Fact("x"), 0.0, size=3)
    for trace in (one, many):
        trace.fade(9.0)
    assert math.log(one.strength) / math.log(many.strength) == pytest.approx(1 + math.log(3))


# Labels, forgetting, fusion.


def store(*traces: Trace, **options: Any) -> Store:
    made = Store(Options(**options))
    for trace in traces:
        made.insert(trace)
    return made


OLD, NEW = Fact("Mira works at Acme", "#1", ("#1",)), Fact("Mira works at Beryl", "#3", ("#3",))


@pytest.mark.parametrize(
    ("relation", "texts", "strength", "damp", "hits"),
    [
        (Relation(Label.COMPATIBLE), [OLD.text, NEW.text], 0.6, 0.85, 1),
        (Relation(Label.CONTRADICTS), [OLD.text, NEW.text], 0.5 * math.exp(-0.25), 1.0, 0),
        (Relation(Label.SUBSUMES), [NEW.text], 0.6, 1.0, 1),
        (Relation(Label.SUBSUMED), [OLD.text], 0.6, 1.0, 1),
        (Relation(Label.SUBSUMED, "Mira works"), ["Mira works"], 0.6, 1.0, 1),
    ],
)
def test_what_a_label_does_to_the_older_memory(
    relation: Relation, texts: list[str], strength: float, damp: float, hits: int
) -> None:
    made = store(Trace(OLD, 0.0, strength=0.5))
    made.apply({"n1": Trace(NEW, 15.0)}, [("n1", "m1", 0.5)], [relation])
    assert [trace.fact.text for trace in made.traces.values()] == texts
    old = made.traces["m1"]
    assert (old.strength, old.damp, len(old.hits)) == (pytest.approx(strength), pytest.approx(damp), hits)
    assert made.counts == Counter({relation.label: 1})
    if len(texts) == 1:
        assert old.fact.refs == ("#1", "#3")


def test_a_fact_that_became_part_of_a_memory_stands_for_it() -> None:
    made = store(Trace(OLD, 0.0))
    facts = {name: Trace(fact, 1.0) for name, fact in (("n1", OLD), ("n2", NEW), ("n3", NEW))}
    pairs = [("n1", "m1", 1.0), ("n2", "n1", 0.6), ("n3", "n2", 1.0)]
    made.apply(facts, pairs, [Relation(label) for label in (Label.SUBSUMED, Label.CONTRADICTS, Label.SUBSUMED)])
    assert {name: trace.fact.text for name, trace in made.traces.items()} == {"m1": OLD.text, "m2": NEW.text}
    assert made.traces["m1"].strength < made.traces["m2"].strength


@pytest.mark.parametrize("mode", ["hard", "soft"])
def test_a_full_layer_forgets_its_weakest_memory_the_older_first(mode: str) -> None:
    traces = [Trace(Fact(name), born, strength=s) for name, born, s in (("a", 1, 0.5), ("b", 0, 0.5), ("c", 2, 0.4))]
    made = store(*traces, Trace(Fact("d"), 0.0, strength=0.1, layer="long"), capacity_short=1, prune_mode=mode)
    made.prune()
    kept = [(entry.text, entry.status) for entry in made.entries() if entry.status is Status.ACTIVE]
    assert kept == [("a", Status.ACTIVE), ("d", Status.ACTIVE)]
    assert {e.text for e in made.entries()} - {"a", "d"} == ({"b", "c"} if mode == "soft" else set())
    assert made.counts["evicted"] == 2


@pytest.mark.parametrize(
    ("options", "kept"), [({}, "ac"), ({"prune_below": 0.0}, "abc"), ({"idle_days": 30, "prune_below": 0.0}, "bc")]
)
def test_what_is_weak_or_idle_is_forgotten(options: dict[str, Any], kept: str) -> None:
    traces = [
        Trace(Fact("a"), 0.0, strength=0.05),
        Trace(Fact("b"), 40.0, strength=0.049),
        Trace(Fact("c"), 0.0, hits=[50.0]),
    ]
    made = store(*traces, **options)
    made.now = 60.0
    made.prune()
    assert "".join(trace.fact.text for trace in made.traces.values()) == kept


def test_groups_are_alike_and_of_one_week() -> None:
    texts = ["Orla jogs in Metz park", "Orla jogs in Metz", "Orla jogs in Metz daily", "Orla jogs in Metz now", "rain"]
    days = [0.0, 3.0, 7.0, 8.0, 0.0]
    traces = {f"m{at}": Trace(Fact(text), day) for at, (text, day) in enumerate(zip(texts, days, strict=True))}
    assert groups(traces, Options(fuse_similar=0.3)) == [("m0", "m1", "m2")]
    assert groups(traces, Options(fuse_similar=0.3, fuse_least=4)) == [("m1", "m0", "m2", "m3")]
    assert groups(traces, Options(fuse_similar=0.99)) == []


@pytest.mark.parametrize(
    ("fused", "share"),
    [("the Orla club has 12 members", 1.0), ("Orla's club", 1 / 2), ("a club", 0.0), ("orla 12", 1.0)],
)
def test_a_fusion_is_measured_by_its_numbers_and_names(fused: str, share: float) -> None:
    assert preservation(["a club of Orla", "it has 12 members"], fused) == pytest.approx(share)
    assert preservation(["nothing here"], fused) == 1.0


# Builds.


def talk(*days: str) -> History:
    """One unit a session; the sessions are the chunks."""
    return History("talk", tuple(Observation(f"s{at}", "x " * 20, f"S{at}", day) for at, day in enumerate(days)))


def fading(facts: dict[str, list[str]], relations: str = '{"relations": []}', **more: str) -> Any:
    """A script that gives each unit's facts."""

    def script(call: Call) -> str:
        if call.role == "extract":
            return reply("facts", *({"text": text, "refs": [ref]} for ref in refs(call) for text in facts.get(ref, [])))
        return more.get(call.role, relations)

    return script


def remembered(memory: Memory) -> dict[str, float]:
    check_entries(memory)
    return {entry.text.partition(" (")[0]: entry.meta["strength"] for entry in memory.entries}


def test_time_is_that_of_the_source() -> None:
    made = method(BUILDER, chunk_tokens=40)
    facts = {"s0": ["Orla sings"], "s1": ["rain fell"], "s2": ["Finch left"]}
    memory, asked = build(made, talk("1 May 2023", "6 May 2023", "8 May 2023"), fading(facts))
    assert [call.role for call in asked] == ["extract"] * 3
    found = remembered(memory)
    assert found["Finch left"] == 1.0
    assert found["Orla sings"] < found["rain fell"] < 1.0
    assert found == remembered(build(made, talk("1 May 2019", "6 May 2019", "8 May 2019"), fading(facts))[0])
    late, _ = build(made, talk("1 May 2023", "6 June 2023", "8 June 2023"), fading(facts))
    assert set(remembered(late)) == {"rain fell", "Finch left"}
    assert late.stats["pruned"] == 1


@pytest.mark.parametrize(("days", "kept"), [(0.01, 3), (30.0, 1)])
def test_without_dates_units_pass_the_time(days: float, kept: int) -> None:
    history = History("h", tuple(Observation(f"s{at}", "x " * 20) for at in range(3)))
    facts = {"s0": ["Orla sings"], "s1": ["rain fell"], "s2": ["Finch left"]}
    memory, _ = build(method(BUILDER, chunk_tokens=21, days_per_unit=days), history, fading(facts))
    assert len(memory.entries) == kept


def test_the_clock_goes_on_where_a_date_is_missing() -> None:
    units = [Observation(f"#{at}", "x", when=when) for at, when in enumerate((None, None, "1 May 2023", None, "soon"))]
    days = clock(units, 0.5)
    first = days["#2"]
    assert list(days.values()) == [0.0, 0.5, first, first + 0.5, first + 1.0]
    assert clock(units[:3], 0.5) == {ref: days[ref] for ref in ("#0", "#1", "#2")}


def test_one_call_labels_all_pairs_of_a_chunk() -> None:
    facts = {"s0": ["Mira works at Acme", "Orla sings"], "s1": ["Mira works at Beryl", "Mira works at Beryl"]}
    script = fading(facts, reply("relations", {"pair": "p1", "label": "contradicts"}, {"pair": 3, "label": "SUBSUMED"}))
    memory, asked = build(method(BUILDER, chunk_tokens=40), talk("1 May 2023", "16 May 2023"), script)
    assert [call.role for call in asked] == ["extract", "extract", "relate"]
    acme, beryl = "Mira works at Acme (1 May 2023)", "Mira works at Beryl (16 May 2023)"
    assert isinstance(asks := asked[-1].inputs, RelateInputs)
    assert asks.pairs == (Pair(acme, beryl), Pair(beryl, beryl), Pair(acme, beryl))
    assert list(remembered(memory)) == ["Mira works at Acme", "Orla sings", "Mira works at Beryl"]


def test_fusion_keeps_the_best_strength_and_all_refs() -> None:
    facts = {f"s{at}": [f"Orla jogs in Metz {word}"] for at, word in enumerate(("early", "often", "gladly", "alone"))}
    history = talk(*(f"{day} May 2023" for day in (1, 2, 3, 4)))
    text = "Orla jogs in Metz early, often, gladly and alone, May 1 2 3 4 2023"
    options = {"chunk_tokens": 40, "fuse_similar": 0.2}
    memory, asked = build(method(BUILDER, **options), history, fading(facts, condense=json.dumps({"text": text})))
    assert [call.role for call in asked].count("condense") == 1
    [fused] = memory.entries
    assert (fused.id, fused.text, fused.when) == ("m5", text, None)
    assert fused.meta["refs"] == ["s0", "s1", "s2", "s3"]
    assert fused.meta["strength"] == 1.0
    for refused in ("Someone jogs", ""):
        memory, _ = build(method(BUILDER, **options), history, fading(facts, condense=json.dumps({"text": refused})))
        assert (len(memory.entries), memory.stats["fusion_refused"]) == (4, 1)
    _, asked = build(method(BUILDER, **options, fuse_every=None), history, fading(facts))
    assert "condense" not in {call.role for call in asked}


def test_soft_forgetting_leaves_deprecated_entries_for_rescue() -> None:
    soft, hard = method(BUILDER, prune_mode="soft", chunk_tokens=40), method(BUILDER)
    memory, _ = build(soft, talk("1 May 2023", "6 June 2023"), fading({"s0": ["Orla sings"], "s1": ["rain fell"]}))
    assert [(e.id, e.status) for e in memory.entries] == [("m1", Status.DEPRECATED), ("m2", Status.ACTIVE)]
    assert (soft.switches, hard.switches) == ({"no-rescue"}, frozenset())


def test_strength_ranks_only_where_it_is_asked_to() -> None:
    memory, _ = build(
        method(BUILDER, chunk_tokens=40), talk("1 May 2023", "8 May 2023"), fading({"s0": ["rain"], "s1": ["wind"]})
    )
    asked = query("Was there sun?")
    assert [e.id for e in method(BUILDER).rank(memory.entries, asked)] == ["m1", "m2"]
    assert [e.id for e in method(BUILDER, rank_by_strength=True).rank(memory.entries, asked)] == ["m2", "m1"]


def test_histories_that_begin_alike_share_their_calls() -> None:
    longer = replace(MIRA, id="longer", observations=(*MIRA.observations, Observation("#4", "4. Orla is in Metz.")))
    script = fading(
        {"#1": ["Mira is at Acme"], "#2": ["Mira is at home"], "#3": ["Mira is at Beryl"], "#4": ["Mira is"]}
    )
    asked = shared(method(BUILDER, chunk_tokens=9), script, MIRA, longer)
    assert len({call.key for call in asked}) == len(asked)
    assert [call.role for call in asked].count("relate") == 3


def test_no_request_holds_the_question_or_anything_of_the_gold() -> None:
    gold = Gold(("MARKER",), ("MARKER",), ("MARKER",), "MARKER")
    script = fading({"#1": ["Mira is at Acme"], "#3": ["Mira is at Beryl"]}, select='{"ids": []}', answer="{}")
    for call in calls_of_an_item(method(BUILDER), script, MIRA, gold):
        assert "MARKER" not in repr((call.messages, call.inputs, call.schema))
        assert call.role in ("select", "answer") or NOW.text not in repr((call.messages, call.inputs))


WORDS = ["p1", "p2", "contradicts", "subsumes", "subsumed", "compatible", "#1", "#3"]


@given(
    st.lists(wild(["facts", "text", "when", "refs"], WORDS), min_size=3, max_size=3),
    st.lists(wild(["relations", "pair", "label", "text"], WORDS), min_size=3, max_size=3),
    wild(["text", "facts"], WORDS),
)
def test_no_reply_breaks_a_build(facts: list[str], relations: list[str], fused: str) -> None:
    asked: list[str] = []
    usual = reply("facts", *({"text": f"Mira works at {at}", "refs": ["#1"]} for at in ("Acme", "Beryl", "Metz")))

    def script(call: Call) -> str | Reply:
        asked.append(call.role)
        replies = {"extract": usual if len(asked) % 2 else facts[len(asked) % 3], "condense": fused}
        return replies.get(call.role, relations[len(asked) % 3])

    made = method(BUILDER, chunk_tokens=MIRA_CHUNKS, fuse_every=1, fuse_similar=0.1, prune_mode="soft", days_per_unit=9)
    check_entries(build(made, MIRA, script)[0])


# The deterministic reader in the same roles.


@pytest.mark.parametrize(
    ("older", "newer", "label"),
    [
        ("Ada Holm lives in Vik. (#1)", "Ada Holm lives in Oslo. (#7)", Label.CONTRADICTS),
        ("Ada Holm lives in Vik. (#1)", "Ada Holm lives in Vik (#7)", Label.SUBSUMED),
        ("we went by train", "on Monday we went by train", Label.SUBSUMES),
        ("on Monday we went by train", "we went by train", Label.SUBSUMED),
        ("Ada Holm lives in Vik.", "Bo Lind lives in Rome.", Label.COMPATIBLE),
    ],
)
def test_rules_label_pairs(older: str, newer: str, label: Label) -> None:
    inputs = RelateInputs((Pair("a", "b"), Pair(older, newer)), "")
    found = reconcile.parse_pairs(json.dumps(extracting.related(inputs)), inputs)
    assert [relation.label for relation in found.relations] == [Label.COMPATIBLE, label]


@given(st.lists(st.text("abc ", min_size=1, max_size=30), max_size=8), st.integers(1, 40))
def test_rules_condense_to_the_newest_texts_that_fit(texts: list[str], limit: int) -> None:
    found = extracting.condensed(CondenseInputs(tuple(texts), limit))["text"]
    assert count_tokens(found) <= limit
    assert condense.parse(json.dumps({"text": found})).text == " ".join(found.split())
