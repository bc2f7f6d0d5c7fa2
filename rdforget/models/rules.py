"""Backend `rules`: fills every role by reading, without a language model; the same call gives the same reply.

It answers from `call.inputs` and writes the JSON that a model would have written. The curate role may use
the order of the source to tell a current value from an older one; the answer role sees only the view.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from rdforget.calls.answer import AnswerInputs
from rdforget.calls.base import Call, Reply
from rdforget.calls.curate import CurateInputs
from rdforget.calls.judge import JudgeInputs
from rdforget.calls.rubric import RubricInputs
from rdforget.calls.select import SelectInputs
from rdforget.models.base import CallError
from rdforget.reader import conversation
from rdforget.reader.answering import UNAVAILABLE, answer
from rdforget.reader.curation import Source, bearing, everything, read_source, selection
from rdforget.reader.facts import Fact
from rdforget.reader.grading import grade, is_right
from rdforget.records import Observation

_SOURCES_KEPT = 4


class Rules:
    """A deterministic reader as a backend."""

    name = "rules"

    def __init__(self) -> None:
        self._talks={}
        self._sources: list[tuple[tuple[Observation, ...], Source]] = []

    async def answer(self, call: Call) -> Reply:
        """The role's JSON; a role that only a language model can fill is a `bad_request`."""
        match call.inputs:
            case CurateInputs() as inputs:
                reply = self._curate(inputs)
            case SelectInputs(query, candidates):
                reply = {"ids": conversation.selection(query, candidates) if _talk(candidates) else selection(query, candidates)}
            case AnswerInputs(query, entries):
                reply = {"answer": (conversation.answer(query, entries) or UNAVAILABLE) if _talk(entries) else answer(query, entries)}
            case JudgeInputs() as inputs:
                reply = {"verdict": "correct" if is_right(inputs.answer, inputs.gold) else "wrong"}
            case RubricInputs(_, criterion, said):
                reply = {"grade": grade(said, criterion)}
            case _:
                raise CallError("bad_request", f"rules cannot fill the role {call.role}")
        return Reply(json.dumps(reply, ensure_ascii=False), model=self.name)

    async def close(self) -> None:
        """Forget the sources read."""
        self._sources.clear()

    def _curate(self, inputs: CurateInputs) -> dict[str, Any]:
        if any(seen.speaker for seen in inputs.observations):
            return self._curate_talk(inputs)
        source = self._source(inputs.observations)
        if inputs.query is None:
            current, replaced, unread = everything(source)
        else:
            current, replaced, unread = bearing(source, inputs.query, closure=inputs.closure)
        slotless = [{"text": seen.line, "when": seen.when or "", "evidence": seen.line} for seen in unread]
        return {
            "active": [*_items(current, inputs.slots), *slotless],
            "replaced": list(_items(replaced, inputs.slots)),
        }

    def _curate_talk(self, inputs):
        key=inputs.observations
        t=self._talks.get(id(key))
        if t is None or t[0] is not key:
            t=(key,conversation.read_talk(key)); self._talks[id(key)]=t
        if inputs.query is None: return {"active":[],"replaced":[]}
        a,r=conversation.bearing(t[1],inputs.query,closure=inputs.closure)
        def it(p,slot):
            d={"text":p.text,"when":p.when or "","evidence":p.line}
            if slot and inputs.slots: d|={"subject":slot[0],"relation":slot[1],"scope":""}
            return d
        return {"active":[it(*x) for x in a],"replaced":[it(*x) for x in r]}

    def _source(self, observations: tuple[Observation, ...]) -> Source:
        for seen, source in self._sources:
            if seen == observations:
                return source
        source = read_source(observations)
        self._sources = [(observations, source), *self._sources][:_SOURCES_KEPT]
        return source


def _talk(es):
    return sum(bool(conversation.passage_of(e.text).speaker) for e in es)*2>len(es)

def _items(facts: Iterable[Fact], slots: bool) -> Iterable[dict[str, str]]:
    for fact in facts:
        item = {"text": fact.statement.text, "when": fact.when or "", "evidence": fact.line}
        if slots:
            subject, relation, scope = fact.slot
            item |= {"subject": subject, "relation": relation, "scope": scope}
        yield item
