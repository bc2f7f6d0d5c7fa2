"""Backend `rules`: fills every role by reading, without a language model; the same call gives the same reply.

It answers from `call.inputs` and writes the JSON that a model would have written. The curate role may use
the order of the source to tell a current value from an older one; the answer role sees only the view.
On conversations it is a floor: what it says is cut out of what was said, found by the words of the question.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

from rdforget.calls.answer import AnswerInputs
from rdforget.calls.base import Call, Reply
from rdforget.calls.condense import CondenseInputs, PressureInputs
from rdforget.calls.curate import CurateInputs
from rdforget.calls.distill import DistillInputs
from rdforget.calls.extract import ExtractInputs, RateInputs
from rdforget.calls.judge import JudgeInputs
from rdforget.calls.memorize import MemorizeInputs
from rdforget.calls.reconcile import ReconcileInputs, RelateInputs
from rdforget.calls.reflect import ReflectInputs
from rdforget.calls.revise import ReviseInputs
from rdforget.calls.rubric import RubricInputs
from rdforget.calls.select import SelectInputs
from rdforget.models.base import CallError
from rdforget.reader import bank, conversation, extracting, memorizing, playbook
from rdforget.reader.answering import answer
from rdforget.reader.conversation import Conversation, Stated, read_conversation
from rdforget.reader.curation import Source, bearing, everything, read_source, selection
from rdforget.reader.facts import Fact
from rdforget.reader.grading import grade, is_right
from rdforget.records import Observation

_SOURCES_KEPT = 64
"""Sources, or chunks of them, that stay read: those of a few long conversations at once."""

Items = list[dict[str, str]]


class Rules:
    """A deterministic reader as a backend."""

    name = "rules"

    def __init__(self) -> None:
        self._sources: OrderedDict[tuple[Observation, ...], Source | Conversation] = OrderedDict()

    async def answer(self, call: Call) -> Reply:
        """The role's JSON; a role that only a language model can fill is a `bad_request`."""
        reply: dict[str, Any]
        match call.inputs:
            case CurateInputs() as inputs:
                active, replaced = self._curate(inputs)
                reply = {"active": active, "replaced": replaced}
            case SelectInputs(query, candidates):
                reply = {"ids": selection(query, candidates)}
            case AnswerInputs(query, entries):
                reply = {"answer": answer(query, entries)}
            case JudgeInputs(_, gold, said):
                reply = {"verdict": "correct" if is_right(said, gold) else "wrong"}
            case RubricInputs(_, criterion, said):
                reply = {"grade": grade(said, criterion)}
            case ReflectInputs() as inputs:
                reply = playbook.reflection(inputs)
            case ReviseInputs() as inputs:
                reply = playbook.delta(inputs)
            case DistillInputs() as inputs:
                reply = bank.distilled(inputs)
            case ExtractInputs() as inputs:
                reply = extracting.extracted(inputs)
            case RateInputs() as inputs:
                reply = extracting.rated(inputs)
            case ReconcileInputs() as inputs:
                reply = extracting.reconciled(inputs)
            case RelateInputs() as inputs:
                reply = extracting.related(inputs)
            case CondenseInputs() as inputs:
                reply = extracting.condensed(inputs)
            case PressureInputs() as inputs:
                reply = extracting.saved(inputs)
            case MemorizeInputs() as inputs:
                reply = memorizing.memorized(inputs)
            case _:
                raise CallError("bad_request", f"rules cannot fill the role {call.role}")
        return Reply(json.dumps(reply, ensure_ascii=False), model=self.name)

    async def close(self) -> None:
        """Forget the sources read."""
        self._sources.clear()

    def _curate(self, inputs: CurateInputs) -> tuple[Items, Items]:
        source, query = self._source(inputs.observations), inputs.query
        if isinstance(source, Conversation):
            if query is None:
                said, unsaid = conversation.everything(source)
            else:
                said, unsaid = conversation.bearing(source, query, closure=inputs.closure)
            return list(_passages(said, inputs.slots)), list(_passages(unsaid, inputs.slots))
        if query is None:
            current, replaced, unread = everything(source)
        else:
            current, replaced, unread = bearing(source, query, closure=inputs.closure)
        slotless = [{"text": seen.line, "when": seen.when or "", "evidence": seen.line} for seen in unread]
        return [*_facts(current, inputs.slots), *slotless], list(_facts(replaced, inputs.slots))

    def _source(self, observations: tuple[Observation, ...]) -> Source | Conversation:
        source = self._sources.pop(observations, None)
        if source is None:
            spoken = any(seen.speaker for seen in observations)
            source = read_conversation(observations) if spoken else read_source(observations)
        self._sources[observations] = source
        if len(self._sources) > _SOURCES_KEPT:
            self._sources.popitem(last=False)
        return source


def _facts(facts: Iterable[Fact], slots: bool) -> Iterator[dict[str, str]]:
    for fact in facts:
        item = {"text": fact.statement.text, "when": fact.when or "", "evidence": fact.line}
        yield item | _slot(fact.slot) if slots else item


def _passages(stated: Iterable[Stated], slots: bool) -> Iterator[dict[str, str]]:
    for passage, slot in stated:
        item = {"text": passage.text, "when": passage.when or "", "evidence": passage.line}
        yield item | _slot(slot) if slots and slot else item


def _slot(slot: tuple[str, str, str]) -> dict[str, str]:
    return dict(zip(("subject", "relation", "scope"), slot, strict=True))
