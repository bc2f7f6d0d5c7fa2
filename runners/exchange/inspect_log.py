"""A run as an evaluation log of inspect-ai (its `EvalLog`, version 2), built by its schema and without the package.

`inspect view` opens it, `inspect_ai.log.read_eval_log` and the data frames of `inspect_ai.analysis` read it. What a
question's memory held stands in its sample's metadata; its messages are the answer call as it was sent, where the
prompts are still those of the run.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

import rdforget
from rdforget.calls import answer as answer_role
from rdforget.records import AnswerOutcome, Protocol, Record, Score, Usage, Verdict
from rdforget.scoring.metrics import names_of
from runners.exchange.rows import Exported

VERSION = 2
_GRADER_FAILED = "grader_failed"
"""inspect-ai's reason for a score without a value whose judge gave none."""


def eval_log(run: Exported) -> dict[str, Any]:
    """The log as JSON; a score without a value is NaN, which is inspect-ai's own mark for it."""
    samples, usage = [], defaultdict[str, Usage](Usage)
    scores: dict[str, list[Score]] = {metric: [] for metric in names_of(run.settings["metrics"])}
    completed = 0
    for record in run.records():
        samples.append(_sample(run, record))
        completed += record.completed
        for score in record.scores:
            scores.setdefault(score.metric, []).append(score)
        for model, used in _usage(record).items():
            usage[model] += used
    whole = len(samples) == run.settings["items"]
    return {
        "version": VERSION,
        "status": "success" if whole else "cancelled",
        "eval": _spec(run, [sample["id"] for sample in samples]),
        "plan": {
            "name": "rdforget",
            "steps": [{"solver": run.settings["method"], "params": {"switches": list(run.settings["switches"])}}],
        },
        "results": {
            "total_samples": run.settings["items"],
            "completed_samples": completed,
            "scores": [_result(metric, found) for metric, found in scores.items()],
        },
        "stats": {
            "started_at": run.manifest["created"],
            "completed_at": run.manifest["created"],  # a run keeps no time of its end, and "" is shown as NaN days
            "model_usage": {model: _tokens(used) for model, used in usage.items()},
        },
        "samples": samples,
    }


def short_id(run: Exported) -> str:
    """An id without dashes and underscores, which part the names of logs; equal runs have different ones."""
    return hashlib.sha256(run.id.encode()).hexdigest()[:22]


def _spec(run: Exported, ids: list[str]) -> dict[str, Any]:
    settings, spec, environment = run.settings, run.manifest["spec"], run.manifest.get("environment", {})
    revision = environment.get("git")
    told = ("sources", "switches", "metrics", "protocol", "uses_gold", "repeat", "prompts", "judge_prompts", "scorer")
    return {
        "eval_id": short_id(run),
        "run_id": run.id,
        "created": run.manifest["created"],
        "task": settings["suite"],
        "task_id": short_id(run),
        "task_args": {name: value for name, value in spec.items() if value not in (None, [], ())},
        "solver": settings["method"],
        "solver_args": {"switches": list(settings["switches"])},
        "tags": ["rdforget", *settings["switches"]],
        "dataset": {"name": settings["suite"], "samples": settings["items"], "sample_ids": ids, "shuffled": False},
        "model": spec["model"],
        "model_generate_config": {},
        "model_args": dict(settings["model"]),
        "config": {"epochs": 1, **({"limit": spec["limit"]} if spec["limit"] else {})},
        "packages": {"rdforget": environment.get("rdforget") or rdforget.__version__},
        "metadata": {"fingerprint": run.manifest["fingerprint"], **{name: settings.get(name) for name in told}},
        **({"revision": {"type": "git", "origin": "", "commit": revision.partition("+")[0]}} if revision else {}),
    }


def _sample(run: Exported, record: Record) -> dict[str, Any]:
    query, gold, model = record.query, record.gold, run.manifest["spec"]["model"]
    said = record.answer.text if record.answer else ""
    asked = _asked(run, record)
    reply = {"id": _message_id(query.id, len(asked)), "role": "assistant", "content": said, "source": "generate"}
    reply |= {"model": model}
    cut = record.answer is not None and record.answer.outcome is AnswerOutcome.EMPTY_LENGTH
    sample: dict[str, Any] = {
        "id": query.id,
        "epoch": 1,
        "uuid": f"{short_id(run)}-{query.id}",
        "input": query.text,
        "target": gold.option.upper() if gold.option else list(gold.answers) or list(gold.rubric) or "",
        "messages": [*asked, *([reply] if record.answer else [])],
        "scores": {s.metric: _score(s, said) for s in record.scores if s.verdict is not Verdict.EXCLUDED},
        "metadata": _metadata(record),
        "model_usage": {name: _tokens(used) for name, used in _usage(record).items()},
    }
    if query.options:
        sample["choices"] = list(query.options)
    if record.answer:
        choice = {"message": reply, "stop_reason": "max_tokens" if cut else "stop"}
        sample["output"] = {"model": model, "choices": [choice], "completion": said}
        sample["events"] = [_event(run, asked, sample["output"])]
    if record.failure:
        message = f"{record.failure.stage}: {record.failure.kind}: {record.failure.message}"
        sample["error"] = {"message": message, "traceback": "", "traceback_ansi": ""}
    return sample


def _asked(run: Exported, record: Record) -> list[dict[str, str]]:
    """What the answer model was sent, or the bare question where that is not known."""
    said = [("user", record.query.text)]
    if record.trace and run.prompts_are_ours:
        call = answer_role.build(record.query, record.trace.view.entries, Protocol())
        said = [(message.role, message.content) for message in call.messages]
    return [
        {"id": _message_id(record.query.id, at), "role": role, "content": content}
        for at, (role, content) in enumerate(said)
    ]


def _event(run: Exported, asked: list[dict[str, str]], output: Mapping[str, Any]) -> dict[str, Any]:
    """The answer call, from which inspect-ai takes the rows of its data frame of messages; a run keeps no times."""
    return {
        "event": "model",
        "timestamp": run.manifest["created"],
        "working_start": 0.0,
        "model": output["model"],
        "role": "answer",
        "input": asked,
        "tools": [],
        "tool_choice": "none",
        "config": {},
        "output": output,
    }


def _message_id(item: str, at: int) -> str:
    return f"{item}-{at}"


def _metadata(record: Record) -> dict[str, Any]:
    query, gold, trace = record.query, record.gold, record.trace
    told: dict[str, Any] = {"type": query.task_type, "date": query.date, "history": record.history}
    told |= {"abstention": gold.abstention, "evidence": list(gold.evidence), "rubric": list(gold.rubric)}
    if trace:
        told |= {
            "stored": len(trace.memory.entries),
            "eligible": len(trace.eligible),
            "candidates": len(trace.candidates),
            "selected": len(trace.selected),
            "view_tokens": trace.view.tokens,
            "rescues": trace.rescues,
            "view": [
                {"id": p.entry.id, "text": p.entry.text, "status": str(p.entry.status), "tokens": p.cost}
                for p in trace.view.packed
            ],
            "memory_stats": dict(trace.memory.stats),
        }
    return told


def _score(score: Score, answer: str) -> dict[str, Any]:
    told: dict[str, Any] = {"value": math.nan, "answer": answer, "metadata": {"verdict": str(score.verdict)}}
    if score.value is None:
        told["reason"] = _GRADER_FAILED
    else:
        told["value"] = score.value
    return told | ({"explanation": score.detail} if score.detail else {})


def _result(metric: str, scores: Iterable[Score]) -> dict[str, Any]:
    asked = [score for score in scores if score.verdict is not Verdict.EXCLUDED]
    values = [score.value for score in asked if score.value is not None]
    means = {"mean": {"name": "mean", "value": fmean(values)}} if values else {}
    return {
        "name": metric,
        "scorer": metric,
        "scored_samples": len(values),
        "unscored_samples": len(asked) - len(values),
        "params": {},
        "metrics": means,
    }


def _usage(record: Record) -> Mapping[str, Usage]:
    """Tokens by the model that the provider named; a reader without tokens has none."""
    used: defaultdict[str, Usage] = defaultdict(Usage)
    for call in record.calls:
        if call.source == "asked" and call.usage != Usage():
            used[call.model] += call.usage
    return used


def _tokens(used: Usage) -> dict[str, int]:
    return {
        "input_tokens": used.prompt - used.cached,
        "input_tokens_cache_read": used.cached,
        "output_tokens": used.completion,
        "total_tokens": used.prompt + used.completion,
        "reasoning_tokens": used.reasoning,
    }
