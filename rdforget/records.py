"""The records that flow through a run, all frozen.

Two things are kept apart by type. What is **stored** is a `History` of observations and is never
changed. What is **used** is a `View` of entries, built for one question under a token budget.
And what a method may see (`Query`, `History`) is another type than what only a scorer may see (`Gold`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal


class Status(StrEnum):
    """What the archive knows of an entry (Sec. 3.3, 3.4)."""

    ACTIVE = "ACTIVE"
    SUPERSEDED = "SUPERSEDED"
    """Explicitly replaced within its slot; `superseded_by` names the entry that replaced it."""
    DEPRECATED = "DEPRECATED"
    """Retired without a replacement; only the incremental memory interface makes these."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One unit of the archive: a fact line, a turn of a conversation."""

    ref: str
    """Stable id inside the source, from its position: `#12`, `D3:12`."""
    text: str
    """The line as the source has it."""
    session: str = ""
    when: str | None = None
    """Date of the session as the source writes it; None where the source has no dates."""
    speaker: str | None = None

    @property
    def line(self) -> str:
        """The line as every prompt and every fallback shows it."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


@dataclass(frozen=True, slots=True)
class History:
    """The archive `H` that a question may look at, in source order."""

    id: str
    """The same for every question that sees exactly these observations."""
    observations: tuple[Observation, ...]
    note: str = ""
    """The suite's own rule of precedence, such as: a larger number is later."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question `q` with what the protocol shows of it to curation and selection (Sec. 4.2)."""

    id: str
    suite: str
    text: str
    task_type: str = ""
    date: str | None = None
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gold:
    """What only a scorer may see. No call role but `judge` takes one."""

    answers: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    """Refs of the observations that hold the answer, where the data names them."""
    rubric: tuple[str, ...] = ()
    """Criteria, each judged 0, 0.5 or 1."""
    option: str | None = None
    """Letter of the right option, `a` to `d`."""
    abstention: bool = False
    """Right is to say that the history does not hold the answer."""


@dataclass(frozen=True, slots=True)
class Task:
    """One question of a suite. Methods and prompts receive its parts, never the task."""

    query: Query
    history: History
    gold: Gold


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory entry `m` of `M_q`."""

    id: str
    text: str
    status: Status
    slot: str | None = None
    """`subject|relation|scope`, normalised; None never matches another slot."""
    superseded_by: str | None = None
    when: str | None = None
    """Validity time proposed at curation; neither counted nor ranked unless it is in `text`."""
    evidence: str = ""
    """The source line that the entry rests on; kept out of the answer context."""
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Memory:
    """What a method remembers, with the figures that explain it."""

    entries: tuple[Entry, ...]
    stats: Mapping[str, Any] = field(default_factory=dict)
    """Counts and causes: items dropped, parse status, fallback and its cause."""


@dataclass(frozen=True, slots=True)
class Packed:
    """An entry in the view with its cost `c(m)` in tokens (eq. 3)."""

    entry: Entry
    cost: int


@dataclass(frozen=True, slots=True)
class View:
    """The view `Z(q)`: the entries that the answer model sees, in the order it sees them."""

    packed: tuple[Packed, ...]
    budget: int | None
    """`B`; None for the control without one."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(p.entry for p in self.packed)

    @property
    def tokens(self) -> int:
        """Summed cost, at most `budget` where there is one."""
        return sum(p.cost for p in self.packed)


class AnswerOutcome(StrEnum):
    """How an answer came about. Every one of these is completed: the answer is scored."""

    ANSWERED = "answered"
    EMPTY = "empty"
    EMPTY_LENGTH = "empty_length"
    """The model's own output cap left no answer: completed and wrong."""


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    outcome: AnswerOutcome


class Verdict(StrEnum):
    CORRECT = "correct"
    WRONG = "wrong"
    PARTIAL = "partial"
    INVALID = "invalid"
    """No verdict could be had; the value is None and never counts as 0."""
    EXCLUDED = "excluded"
    """The metric does not apply to this question: neither completed nor failed."""


@dataclass(frozen=True, slots=True)
class Score:
    """One metric's value for one answer, 0 to 1, or None where the evaluation did not complete."""

    metric: str
    value: float | None
    verdict: Verdict
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Switches:
    """The five ablations (Sec. 5.2); True is the full method."""

    forget: bool = True
    rescue: bool = True
    slot: bool = True
    closure: bool = True
    qc: bool = True

    @classmethod
    def without(cls, *names: str) -> Switches:
        """`Switches.without("no-forget")` turns that part of the method off."""
        return cls(**{name.removeprefix("no-"): False for name in names})

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parts that are off, sorted: `("no-forget",)`."""
        return tuple(sorted(f"no-{name}" for name in SWITCHES if not getattr(self, name)))


SWITCHES = ("forget", "rescue", "slot", "closure", "qc")


@dataclass(frozen=True, slots=True)
class Protocol:
    """The constants of a run that shape what is measured (Sec. 3, 4.2); defaults are the paper's."""

    budget: int = 2_048
    """`B`, tokens of the view."""
    collect_tokens: int = 10_000
    """Serialisation target of the candidate collector."""
    fallback_lines: int = 20
    chunk_tokens: int | None = None
    """Source chunk target; None curates the whole history in one call."""
    chunk_limit: int | None = None
    """Most that a chunk may have, whatever the target, for a model with a small window."""
    cross_chunk: Literal["keep", "demote"] = "keep"
    """Whether an active item of a later chunk supersedes an active one of an earlier chunk in its slot;
    the paper's letter has no such rule."""
    supersession: Literal["model", "order"] = "model"
    """Who says what was replaced: the curating model, or code too, by the order of the active items in a slot, for
    models that cannot."""
    curate_cap: int = 4_096
    curate_cap_general: int = 8_192
    """Curation output cap of -QC, "larger" in the paper: the only larger cap that it names."""
    select_cap: int = 256
    answer_cap: int = 256
    judge_cap: int = 256

    def chunk_target(self, own: int | None = None, default: int | None = None) -> int | None:
        """Source tokens of a chunk: the method's own target, else the suite's, else a default, under the limit."""
        target = own or self.chunk_tokens or default
        return min(target or self.chunk_limit, self.chunk_limit) if self.chunk_limit else target


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or several calls, as the provider counts them."""

    prompt: int = 0
    cached: int = 0
    """Part of `prompt` that the provider read from its cache."""
    completion: int = 0
    reasoning: int = 0
    """Part of `completion` spent on thinking."""
    uncounted: int = 0
    """Calls in it of which the provider does not tell all: where there are any, the figures are lower bounds."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.cached + other.cached,
            self.completion + other.completion,
            self.reasoning + other.reasoning,
            self.uncounted + other.uncounted,
        )


@dataclass(frozen=True, slots=True)
class Attempts:
    """The requests that one call took."""

    sent: int = 1
    limited: int = 0
    """How many of them were answered 429."""
    lost: Usage | None = None
    """Tokens of replies that could not be used, where the provider counts them."""

    def __add__(self, other: Attempts) -> Attempts:
        lost = self.lost + other.lost if self.lost and other.lost else self.lost or other.lost
        return Attempts(self.sent + other.sent, self.limited + other.limited, lost)


@dataclass(frozen=True, slots=True)
class CallRecord:
    """What one call asked and got; the text of both lives in the journal under `key`."""

    role: str
    key: str
    model: str
    finish_reason: str
    usage: Usage
    params: Mapping[str, Any]
    """Parameters as sent, without key and messages."""
    source: Literal["asked", "cache"] = "asked"
    """Whether this run asked, or was served what another had been answered; only the first costs it anything."""
    attempts: Attempts = field(default_factory=Attempts)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an item has no answer or no score. Its text never reaches a scorer."""

    kind: str
    stage: str
    message: str


@dataclass(frozen=True, slots=True)
class Trace:
    """A question's way from what is stored to what is used, by entry id."""

    memory: Memory
    history_intent: bool
    """`h(q)`"""
    eligible: tuple[str, ...]
    candidates: tuple[str, ...]
    selected: tuple[str, ...]
    selector_fallback: bool
    selector_unusable: int
    """Ids of the selector's reply that name no candidate, or name one again."""
    view: View

    @property
    def rescues(self) -> int:
        """`archive_rescues`: entries of the view that are not active."""
        return sum(e.status is not Status.ACTIVE for e in self.view.entries)


@dataclass(frozen=True, slots=True)
class Record:
    """The outcome of one question; the same inputs and replies give the same record."""

    query: Query
    gold: Gold
    """Kept so that a stored answer can be scored again without the data."""
    history: str = ""
    """`History.id`, so that questions over one conversation can be told from independent ones."""
    trace: Trace | None = None
    answer: Answer | None = None
    scores: tuple[Score, ...] = ()
    calls: tuple[CallRecord, ...] = ()
    failure: Failure | None = None
    unanswered: tuple[CallRecord, ...] = ()
    """Calls that brought no reply, each with its failure's kind as `finish_reason`."""

    @property
    def completed(self) -> bool:
        """Answered, and every metric that applies has a value."""
        return self.failure is None and all(s.value is not None or s.verdict is Verdict.EXCLUDED for s in self.scores)
