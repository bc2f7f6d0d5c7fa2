"""Two runs over the same questions: whether they may be compared, what differs, and which questions flipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rdforget.plugins import nearest
from rdforget.records import Record
from rdforget.scoring.metrics import JUDGED
from runners import manifest
from runners.console import print_table, stdout
from runners.errata import Errata, Undisputed, asked_by, undisputed
from runners.errata import show as show_undisputed
from runners.errors import UserError
from runners.journal import read_records
from runners.stats import RESAMPLES, Interval, Paired, Scored, interval_of, paired_of, scored

FEW_UNITS = 10
"""Below this many conversations a bootstrap over them is too narrow to go unmentioned."""

_SAME = {
    "suite": "the suite",
    "sources": "the data",
    "items": "the number of questions",
    "scorer": "the version of the scorers",
}
"""Settings without which a difference between two runs is no difference between their methods."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two runs."""

    run: str
    method: str
    switches: list[str]
    model: str
    completed: int
    """Questions with a value of the metric."""
    selected: int
    interval: Interval
    """Over the questions that both runs completed."""


@dataclass(frozen=True, slots=True)
class Flip:
    """A question that the two runs score differently."""

    item: str
    question: str
    gold: str
    a_value: float
    b_value: float
    a_answer: str
    b_answer: str


@dataclass(frozen=True, slots=True)
class Comparison:
    metric: str
    a: Side
    b: Side
    paired: Paired
    flips: list[Flip]
    differs: list[str]
    """Settings that are not the same in both runs, by name."""
    notes: list[str]
    undisputed: Undisputed | None = None
    """The same without disputed golds, where a file of them is given."""

    def payload(self) -> dict[str, Any]:
        """What `--json` prints."""
        payload = asdict(self)
        payload["paired"]["verdict"] = self.paired.verdict
        return payload


def compare(a: Path, b: Path, metric: str | None = None, errata: Errata | None = None) -> Comparison:
    """Run `a` less run `b` by `metric`, the headline of `a` unless it is named; and once more without disputed golds.

    UserError where data, questions, scorers or judges differ, where the metric is not in both runs, or where they
    completed no question in common.
    """
    manifests = manifest_of(a), manifest_of(b)
    records = list(read_records(a)), list(read_records(b))
    settings = _settings(manifests[0], records[0]), _settings(manifests[1], records[1])
    _refuse(unlike_data(*settings))
    metric = _metric(metric, records)
    _refuse(unlike_judges(*settings, metric))
    by_item = {record.query.id: record for record in records[0]}, {record.query.id: record for record in records[1]}
    for item in by_item[0]:
        if item in by_item[1] and _asked(by_item[0][item]) != _asked(by_item[1][item]):
            raise UserError(f"question {item} or its gold answer is not the same in both runs: run one of them anew")
    values = scored(records[0], metric), scored(records[1], metric)
    common = [item for item in values[0] if item in values[1]]
    ours, theirs = ({item: run[item] for item in common} for run in values)
    result, intervals = paired_of(ours, theirs), (interval_of(ours), interval_of(theirs))
    if not result or not intervals[0] or not intervals[1]:
        raise UserError(f"no question has a value of {metric} in both runs: nothing can be compared")
    asked = [asked_by(run, of_run) for run, of_run in zip(manifests, records, strict=True)]
    second, more = undisputed(errata, asked, ours, theirs) if errata else (None, [])
    return Comparison(
        metric=metric,
        a=_side(manifests[0], len(values[0]), intervals[0]),
        b=_side(manifests[1], len(values[1]), intervals[1]),
        paired=result,
        flips=[
            _flip(by_item[0][item], by_item[1][item], values[0][item].value, values[1][item].value)
            for item in common
            if values[0][item].value != values[1][item].value
        ],
        differs=sorted(key for key in settings[0].keys() | settings[1].keys() if _unlike(*settings, key)),
        notes=_notes(settings, records, values, metric, result) + more,
        undisputed=second,
    )


def show(comparison: Comparison) -> None:
    """Both values, the difference, what qualifies it, and the questions that flipped."""
    result, console = comparison.paired, stdout()
    columns = ("", "run", "method", "switches", "model", comparison.metric, "95 % interval", "completed")
    rows = [
        (
            name,
            side.run,
            side.method,
            " ".join(side.switches) or "full",
            side.model,
            f"{side.interval.value:.2f}",
            f"{side.interval.low:.2f} to {side.interval.high:.2f}",
            f"{side.completed} of {side.selected}",
        )
        for name, side in (("A", comparison.a), ("B", comparison.b))
    ]
    print_table(columns, rows, left=columns[:5])
    units = "questions" if result.units == result.n else "conversations"
    by = f"{RESAMPLES:,} resamples of {result.units} {units}"
    if result.by == "wilson":
        by = f"Wilson's bound, since all {result.units} {units} have the same difference"
    test = {"mcnemar": "exact McNemar", "sign-flip": "sign-flip permutation"}[result.test]
    verdict = {"better": "A is better", "worse": "B is better", "tie": "a tie: the interval of the difference covers 0"}
    console.print(
        f"\nA - B: {result.difference:+.2f} points, 95 % interval {result.low:+.2f} to {result.high:+.2f} "
        f"({by}), p = {result.p:.4g} ({test})"
    )
    console.print(f"A wins {result.wins}, loses {result.losses}, ties {result.ties} of {result.n} questions")
    console.print(f"verdict: {verdict[result.verdict]}")
    if comparison.undisputed:
        show_undisputed(comparison.undisputed)
        console.print()
    console.print(f"the runs differ in: {', '.join(comparison.differs) or 'nothing that was set'}")
    for note in comparison.notes:
        console.print(f"note: {note}")
    if comparison.flips:
        console.print()
        rows_of_flips = [
            (one.item, f"{one.a_value:g}", f"{one.b_value:g}", one.a_answer, one.b_answer, one.gold, one.question)
            for one in comparison.flips
        ]
        headings = ("item", "A", "B", "answer A", "answer B", "gold", "question")
        print_table(headings, rows_of_flips, left=set(headings) - {"A", "B"})


def manifest_of(folder: Path) -> dict[str, Any]:
    try:
        return manifest.read(folder)
    except (OSError, ValueError) as error:
        raise UserError(f"{folder / manifest.FILE} cannot be read ({error}): name a whole run folder") from error


def _settings(run: Mapping[str, Any], records: Sequence[Record]) -> dict[str, Any]:
    """Settings under the suite's own name: `mab-fc` and `mab-fc:mh_6k` are one suite."""
    suite = records[0].query.suite if records else run["settings"]["suite"]
    return {**run["settings"], "suite": suite}


def _metric(name: str | None, records: tuple[list[Record], list[Record]]) -> str:
    ours, theirs = ([s.metric for record in run for s in record.scores] for run in records)
    both = [metric for metric in dict.fromkeys(ours) if metric in set(theirs)]
    name = name or next(iter(ours), None)
    if not both or name is None:
        raise UserError(f"the runs have no metric in common: A has {_listed(ours)}, B has {_listed(theirs)}")
    if name not in both:
        raise UserError(nearest("metric of both runs", name, both))
    return name


def unlike_data(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """What of two runs' settings makes their scores incomparable, whatever the metric."""
    return [f"{told} ({_shown(a, key)} and {_shown(b, key)})" for key, told in _SAME.items() if _unlike(a, b, key)]


def unlike_judges(a: Mapping[str, Any], b: Mapping[str, Any], metric: str) -> list[str]:
    """What differs in who judged a judged metric, and how.

    A judge that is not named is the model itself; one that judged later is in the name of the metric.
    """
    unlike = []
    caps = [run["protocol"]["judge_cap"] for run in (a, b)]
    if _judged(metric) and caps[0] != caps[1]:
        unlike.append(f"the output cap of the judge ({caps[0]} and {caps[1]})")
    if _judged(metric) and a.get("judge_prompts") != b.get("judge_prompts"):
        unlike.append("the prompts of the judge")
    judges = [run.get("judge") or run.get("model") for run in (a, b)]
    if metric in JUDGED and judges[0] != judges[1]:
        unlike.append(f"the judge ({_short(judges[0])} and {_short(judges[1])}: `rdf rejudge` both with one)")
    return unlike


def _refuse(unlike: Sequence[str]) -> None:
    if unlike:
        raise UserError(f"the runs cannot be compared, since they differ in {', and '.join(unlike)}")


def _notes(
    settings: tuple[Mapping[str, Any], Mapping[str, Any]],
    records: tuple[list[Record], list[Record]],
    values: tuple[Mapping[str, Scored], Mapping[str, Scored]],
    metric: str,
    result: Paired,
) -> list[str]:
    """What a reader has to know before the difference is believed."""
    notes = []
    if values[0].keys() != values[1].keys():
        own = [one.value for one in map(interval_of, values) if one]
        notes.append(
            f"A completed {len(values[0])} questions ({own[0]:.2f} over them) and B {len(values[1])} ({own[1]:.2f}): "
            f"only the {result.n} that both completed are compared"
        )
    expected = settings[0].get("items")
    if short := [name for name, run in zip("AB", records, strict=True) if len(run) != expected]:
        notes.append(f"{' and '.join(short)} did not run to the end: {expected} questions were selected")
    if _unlike(*settings, "prompts"):
        also = ", those of the judge perhaps among them" if _judged(metric) else ""
        notes.append(f"the runs were made with different prompts{also}")
    if not all(record.history for run in records for record in run):
        notes.append("a run does not say which conversation a question is about: questions count as independent")
    if result.by == "bootstrap" and result.units < min(result.n, FEW_UNITS):
        notes.append(f"only {result.units} conversations: the intervals are rough, and rather too narrow")
    if result.test == "mcnemar" and result.units < result.n:
        notes.append("McNemar's p takes questions as independent; the interval does not")
    if result.verdict != "tie" and result.p > 0.05:
        notes.append("borderline: the interval of the difference leaves 0 out, but p is above 0.05")
    return notes


def _side(run: Mapping[str, Any], completed: int, value: Interval) -> Side:
    settings = run["settings"]
    return Side(
        run=run["id"],
        method=settings["method"],
        switches=settings["switches"],
        model=run["spec"]["model"],
        completed=completed,
        selected=settings["items"],
        interval=value,
    )


def _flip(a: Record, b: Record, a_value: float, b_value: float) -> Flip:
    answers = (record.answer.text if record.answer else "" for record in (a, b))
    return Flip(a.query.id, a.query.text, " or ".join(a.gold.answers), a_value, b_value, *answers)


def _asked(record: Record) -> tuple[Any, ...]:
    return record.query, record.gold


def _judged(metric: str) -> bool:
    return metric.partition("[")[0] in JUDGED


def _unlike(a: Mapping[str, Any], b: Mapping[str, Any], key: str) -> bool:
    return bool(a.get(key) != b.get(key))


def _shown(settings: Mapping[str, Any], key: str) -> str:
    value = settings.get(key)
    if isinstance(value, Mapping):
        return " ".join(f"{name} {str(digest)[:8]}" for name, digest in value.items())
    return str(value)


def _short(model: Any) -> str:
    return str(model.get("model") or model.get("backend")) if isinstance(model, Mapping) else str(model)


def _listed(metrics: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(metrics)) or "none"
