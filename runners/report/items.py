"""One question as the report needs it: a row of the list, and everything that its own page draws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rdforget.calls.base import Reply
from rdforget.records import AnswerOutcome, CallRecord, Entry, History, Record, Trace, Usage, Verdict
from runners.funnel import Basis, Stage, Stages
from runners.lines import by_ref, stating
from runners.report.payload import Numbering, visible

FAILED = "failed"
"""The verdict of a question that has no answer to judge."""
_CLIP = 240
"""Characters of a text in the list; search finds the rest too."""
_REPLY = 6_000
"""Characters of a reply on a page."""
_LINES = 400
"""Lines of a source on a page."""
STAGES = tuple(Stage)


def verdict_of(record: Record) -> str:
    """By the headline metric."""
    if record.failure or not record.scores:
        return FAILED
    return str(next((s.verdict for s in record.scores if s.verdict is not Verdict.EXCLUDED), Verdict.EXCLUDED))


def faults_of(record: Record) -> Iterator[str]:
    """What went wrong on the way, as `stage: kind`, whether or not it cost the answer."""
    if record.failure:
        yield f"{record.failure.stage}: {record.failure.kind}"
    for score in record.scores:
        if score.verdict is Verdict.INVALID:
            yield f"{score.metric.partition('[')[0]}: {score.detail.partition(':')[0] or 'unknown'}"
    if record.trace:
        stats = record.trace.memory.stats
        if "fallback" in stats:
            yield f"memory: {stats['fallback']} fallback, {stats.get('cause', 'unknown')}"
        elif stats.get("truncated"):
            yield "memory: reply cut at the cap"
        if record.trace.selector_fallback:
            yield "select: candidate order stands in"
        elif record.trace.selector_unusable:
            yield "select: unusable ids"
    if record.answer and record.answer.outcome is not AnswerOutcome.ANSWERED:
        yield f"answer: {record.answer.outcome}"


def row_of(ordinal: int, record: Record, stages: Stages, types: Numbering, faults: Numbering) -> list[Any]:
    """What the list needs of a question; texts are clipped, and the last value tells whether any was."""
    score = next((s for s in record.scores if s.verdict is not Verdict.EXCLUDED), None)
    texts = texts_of(record)
    return [
        ordinal,
        visible(record.query.id),
        types.of(record.query.task_type),
        verdict_of(record),
        score.value if score else None,
        str(stages.outcome),
        str(stages.lost or ""),
        [faults.of(fault) for fault in dict.fromkeys(faults_of(record))],
        *(text[:_CLIP] for text in texts),
        record.trace.view.tokens if record.trace else None,
        int(any(len(text) > _CLIP for text in texts)),
    ]


def texts_of(record: Record) -> tuple[str, str, str]:
    """Question, gold and answer as they are shown."""
    gold = " or ".join(record.gold.answers) or record.gold.option or "; ".join(record.gold.rubric)
    return visible(record.query.text), visible(gold), visible(record.answer.text if record.answer else "")


def page_of(
    ordinal: int, record: Record, stages: Stages, history: History | None, replies: Mapping[str, Reply], memory: Any
) -> dict[str, Any]:
    """The way of a question from source to score; `memory` is its entries, or the name of the file that has them."""
    query, failure = record.query, record.failure
    question, gold, answer = texts_of(record)
    return {
        "ordinal": ordinal,
        "id": visible(query.id),
        "question": question,
        "type": visible(query.task_type),
        "date": visible(query.date or ""),
        "options": list(map(visible, query.options)),
        "gold": gold,
        "abstention": record.gold.abstention,
        "answer": answer if record.answer else None,
        "answered": str(record.answer.outcome) if record.answer else "",
        "verdict": verdict_of(record),
        "scores": [[visible(s.metric), s.value, str(s.verdict), visible(s.detail)] for s in record.scores],
        "faults": [visible(fault) for fault in dict.fromkeys(faults_of(record))],
        "failure": visible(f"{failure.stage}: {failure.kind}: {failure.message}") if failure else "",
        "outcome": str(stages.outcome),
        "lost": str(stages.lost or ""),
        "replaced": stages.replaced,
        "basis": str(stages.basis),
        "units": list(map(visible, stages.units)),
        "shares": [stages.shares[stage] for stage in STAGES],
        "source": _source(record, stages, history),
        "memory": memory,
        "trace": _trace(record.trace, stages) if record.trace else None,
        "calls": [_call(call, replies.get(call.key)) for call in (*record.calls, *record.unanswered)],
    }


def entry_of(entry: Entry) -> list[str | None]:
    parts = (entry.id, entry.text, str(entry.status), entry.slot, entry.superseded_by, entry.when, entry.evidence)
    return [visible(part) if part else part for part in parts]


def _source(record: Record, stages: Stages, history: History | None) -> dict[str, Any] | None:
    """The lines that hold the evidence, each with whether the question may see it; None without the data."""
    if not history:
        return None
    if stages.basis is Basis.LABELS:
        found = [(ref, by_ref(history).get(ref)) for ref in stages.units]
    else:
        found = [(seen.ref, seen) for seen in stating(history, record.gold)] if stages.units else []
    shown = [
        [visible(ref), visible(seen.when or ""), visible(seen.line)] if seen else [visible(ref), "", None]
        for ref, seen in found[:_LINES]
    ]
    return {"total": len(history.observations), "found": len(found), "lines": shown}


def _trace(trace: Trace, stages: Stages) -> dict[str, Any]:
    """Stage after stage by the places of the entries in the memory."""
    places = {entry.id: at for at, entry in enumerate(trace.memory.entries)}
    eligible = set(trace.eligible)

    def placed(ids: tuple[str, ...]) -> list[int]:
        return [places[name] for name in ids if name in places]

    return {
        "past": trace.history_intent,
        "barred": [at for name, at in places.items() if name not in eligible],
        "candidates": placed(trace.candidates),
        "selected": placed(trace.selected),
        "packed": [[places[p.entry.id], p.cost] for p in trace.view.packed if p.entry.id in places],
        "budget": trace.view.budget,
        "tokens": trace.view.tokens,
        "stood_in": trace.selector_fallback,
        "unusable": trace.selector_unusable,
        "carriers": [
            [places[name], [at for at, unit in enumerate(stages.units) if unit in units]]
            for name, units in stages.carriers.items()
            if name in places
        ],
        "stats": [
            [name.replace("_", " "), visible(_told(value))] for name, value in trace.memory.stats.items() if value
        ],
    }


def _told(value: Any) -> str:
    return ", ".join(f"{name} {count}" for name, count in value.items()) if isinstance(value, Mapping) else str(value)


def _call(call: CallRecord, reply: Reply | None) -> list[Any]:
    usage: Usage = call.usage
    text = visible(reply.text) if reply else ""
    cut = f"\n... and {len(text) - _REPLY:,} characters more" if len(text) > _REPLY else ""
    return [
        *(visible(part) for part in (call.role, call.model, call.source, call.finish_reason)),
        *(usage.prompt, usage.cached, usage.completion, usage.reasoning, call.attempts.sent, call.attempts.limited),
        visible(", ".join(f"{name} {value}" for name, value in sorted(call.params.items()))),
        text[:_REPLY] + cut,
    ]
