"""The loss funnel of whole runs: every question of a run in one category, counted by type of question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

from rdforget.records import History, Record
from rdforget.suites.base import DataError
from rdforget.suites.registry import is_folder, is_ready, load_suite
from runners.compare import manifest_of, unlike_data
from runners.errors import UserError
from runners.funnel import Basis, Outcome, Stage, Stages, funnel_of
from runners.journal import read_records

ALL = "all"
"""The type that stands for the questions of every type."""

FOLLOWED = (Outcome.KEPT, Outcome.RECOVERED, Outcome.LOST)


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a run and its way."""

    item: str
    type: str
    question: str
    gold: str
    answer: str
    stages: Stages

    @property
    def end(self) -> str:
        """How it ended, in words."""
        where = {Outcome.RECOVERED: ", lost at", Outcome.LOST: " at"}.get(self.stages.outcome, "")
        return f"{self.stages.outcome}{where} {self.stages.lost}" if where else str(self.stages.outcome)


@dataclass(frozen=True, slots=True)
class Funnel:
    """One run's questions with their ways."""

    run: str
    suite: str
    method: str
    switches: tuple[str, ...]
    model: str
    budget: int
    repeat: int
    selected: int
    questions: tuple[Question, ...]
    notes: tuple[str, ...]
    """What qualifies its counts."""
    revision: str = ""
    """Of rdforget, by which it was run."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How far evidence came at one stage, over the followed questions of which that is known."""

    known: int
    whole: int
    some: int
    share: float | None
    """Mean share of the units, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Count:
    """The questions of one type: kept + recovered + lost + untraced + abstention + failed + missing = selected."""

    type: str
    selected: int
    followed: int
    kept: int
    recovered: Mapping[Stage, int]
    """By the first stage without the whole evidence."""
    lost: Mapping[Stage, int]
    untraced: int
    abstention: int
    failed: int
    missing: int
    """Not asked yet; of no type."""
    reach: Mapping[Stage, Reach]


@dataclass(frozen=True, slots=True)
class Change:
    """A question that ends otherwise in a second run."""

    item: str
    question: str
    gold: str
    a: str
    b: str
    a_answer: str
    b_answer: str


def read_funnel(folder: Path, data_dir: Path | None) -> Funnel:
    """The ways of a run's questions. Without the suite's data no history is known, and a note says so."""
    manifest = manifest_of(folder)
    histories, lacking = histories_of(manifest, data_dir)
    questions, suite = [], manifest["settings"]["suite"]
    for record in read_records(folder):
        suite = record.query.suite
        questions.append(_question(record, funnel_of(record, histories.get(record.history))))
    settings, environment = manifest["settings"], manifest.get("environment", {})
    return Funnel(
        run=folder.resolve().name,
        suite=suite,
        method=settings["method"],
        switches=tuple(settings["switches"]),
        model=manifest["spec"]["model"],
        budget=settings["protocol"]["budget"],
        repeat=settings["repeat"],
        selected=settings["items"],
        questions=tuple(questions),
        notes=(*((lacking,) if lacking else ()), *_basis_notes(questions)),
        revision=f"rdforget {environment.get('rdforget')} (git {environment.get('git') or 'unknown'})",
    )


def read_funnels(folders: Sequence[Path], data_dir: Path | None) -> list[Funnel]:
    """The funnels of several runs. UserError where they are not over the same questions."""
    funnels = [read_funnel(folder, data_dir) for folder in folders]
    # `mab-fc` and `mab-fc:mh_6k` are one suite, by the name that its questions have.
    settings = [
        {**manifest_of(folder)["settings"], "suite": funnel.suite}
        for folder, funnel in zip(folders, funnels, strict=True)
    ]
    for other in settings[1:]:
        if unlike := unlike_data(settings[0], other):
            raise UserError(f"the runs cannot be compared, since they differ in {', and '.join(unlike)}")
    return funnels


def histories_of(manifest: Mapping[str, Any], data_dir: Path | None) -> tuple[Mapping[str, History], str]:
    """The histories of a run by their ids, and why there are none; nothing is downloaded."""
    name = manifest["spec"]["suite"]
    try:
        ready = is_ready(name, data_dir)
        if ready.startswith("needs") or not (data_dir or ready == "generated" or is_folder(name)):
            return {}, f"the data of {name} is not at hand ({ready}): what histories hold is unknown"
        sources, histories = _loaded(name, data_dir)
    except DataError as error:
        return {}, f"the data of {name} cannot be read ({error}): what histories hold is unknown"
    if sources != manifest["settings"]["sources"]:
        return {}, f"the data of {name} at hand is not what the run read: what histories hold is unknown"
    return histories, ""


@lru_cache(maxsize=1)  # the runs of one table are over one suite
def _loaded(name: str, data_dir: Path | None) -> tuple[dict[str, str], dict[str, History]]:
    suite = load_suite(name, data_dir)
    histories = {task.history.id: task.history for task in suite.tasks()}
    return {source.name: source.sha256 for source in suite.sources}, histories


def counts(funnel: Funnel) -> list[Count]:
    """The count of all questions, and where there are several types that of each."""
    types = list(dict.fromkeys(question.type for question in funnel.questions))
    missing = funnel.selected - len(funnel.questions)
    found = [_count(ALL, funnel.questions, missing)]
    for kind in types if len(types) > 1 else ():
        found.append(_count(kind, [question for question in funnel.questions if question.type == kind], 0))
    return found


def changes(a: Funnel, b: Funnel) -> list[Change]:
    """Questions that both runs asked and that end otherwise in the second."""
    other = {question.item: question for question in b.questions}
    return [
        Change(one.item, one.question, one.gold, one.end, two.end, one.answer, two.answer)
        for one in a.questions
        if (two := other.get(one.item)) and one.end != two.end
    ]


def payload(funnel: Funnel) -> dict[str, Any]:
    """A funnel as `--json` prints it."""
    head = {name: getattr(funnel, name) for name in ("run", "suite", "method", "model", "budget", "repeat", "selected")}
    questions = [
        {
            "item": one.item,
            "type": one.type,
            "basis": one.stages.basis,
            "units": list(one.stages.units),
            "shares": one.stages.shares,
            "outcome": one.stages.outcome,
            "lost": one.stages.lost,
        }
        for one in funnel.questions
    ]
    return {
        **head,
        "switches": list(funnel.switches),
        "counts": [asdict(count) for count in counts(funnel)],
        "questions": questions,
        "notes": list(funnel.notes),
    }


def _question(record: Record, stages: Stages) -> Question:
    answer = record.answer.text if record.answer else ""
    gold = " or ".join(record.gold.answers)
    return Question(record.query.id, record.query.task_type, record.query.text, gold, answer, stages)


def _count(kind: str, questions: Sequence[Question], missing: int) -> Count:
    ways = [question.stages for question in questions]
    outcomes = Counter(way.outcome for way in ways)
    followed = [way for way in ways if way.outcome in FOLLOWED]
    return Count(
        type=kind,
        selected=len(ways) + missing,
        followed=len(followed),
        kept=outcomes[Outcome.KEPT],
        recovered=_by_stage(followed, Outcome.RECOVERED),
        lost=_by_stage(followed, Outcome.LOST),
        untraced=outcomes[Outcome.UNTRACED],
        abstention=outcomes[Outcome.ABSTENTION],
        failed=outcomes[Outcome.FAILED],
        missing=missing,
        reach={stage: _reach([way.shares[stage] for way in followed]) for stage in Stage},
    )


def _by_stage(ways: Iterable[Stages], outcome: Outcome) -> dict[Stage, int]:
    found = Counter(way.lost for way in ways if way.outcome is outcome)
    return {stage: found[stage] for stage in Stage}


def _reach(shares: Sequence[float | None]) -> Reach:
    known = [share for share in shares if share is not None]
    return Reach(
        known=len(known),
        whole=sum(share == 1 for share in known),
        some=sum(share > 0 for share in known),
        share=round(fmean(known), 4) if known else None,
    )


def _basis_notes(questions: Sequence[Question]) -> list[str]:
    followed = Counter(one.stages.basis for one in questions if one.stages.outcome in FOLLOWED)
    notes = []
    if followed[Basis.LABELS]:
        notes.append(f"{followed[Basis.LABELS]} questions are followed by the lines that the data labels as evidence")
    if followed[Basis.GOLD]:
        notes.append(
            f"{followed[Basis.GOLD]} questions are followed by the text of their gold, which another fact may hold too"
        )
    gone = [one.stages for one in questions if one.stages.lost is Stage.ELIGIBLE]
    if replaced := sum(way.replaced for way in gone):
        notes.append(
            f"of {len(gone)} lost at eligible, {replaced} miss a labelled line that another labelled one superseded: "
            "forgetting at its work, unless the question asks about the past"
        )
    return notes
