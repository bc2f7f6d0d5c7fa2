"""What the store keeps and says: rows, candidates, decisions, hits and its policy. Times are aware, in UTC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from rdforget.errors import MendableError
from rdforget.records import Status


class StoreError(MendableError):
    """Something about a store that its user can mend."""


class Category(StrEnum):
    """What kind of memory a row is. Only episodic rows expire."""

    SEMANTIC = "semantic"
    """A fact that holds until another replaces it."""
    EPISODIC = "episodic"
    """Something that happened."""
    PROCEDURAL = "procedural"
    """How something is done, or is to be done."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that somebody wants stored."""

    text: str
    slot: str | None = None
    """`subject|relation|scope`; None, or a malformed one, replaces nothing."""
    category: Category = Category.SEMANTIC
    valid_from: datetime | None = None
    """Since when it holds; None is the time of writing."""
    importance: float = 0.5
    """0 to 1."""
    source: str | None = None
    """Id of the chat that it was taken from."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """JSON that the caller wants back; it passes the same refusal as the text."""


@dataclass(frozen=True, slots=True)
class Row:
    """A memory as stored."""

    id: str
    user: str
    text: str
    slot: str | None
    category: Category
    status: Status
    """ACTIVE rows are open; SUPERSEDED ones closed by another; DEPRECATED ones cold."""
    valid_from: datetime
    valid_to: datetime | None
    """End of validity, excluded; None while nothing has ended it."""
    recorded_at: datetime
    closed_at: datetime | None
    """When the store closed the row or put it into cold storage."""
    superseded_by: str | None
    last_accessed: datetime
    importance: float
    source: str | None
    metadata: Mapping[str, Any]


class Outcome(StrEnum):
    ADDED = "added"
    DUPLICATE = "duplicate"
    """The same text, or a near-duplicate, is open already: no row was written."""
    SUPERSEDED = "superseded"
    """Added, and it closed the open row of its slot."""
    LATE = "late"
    """Added as history: the open row of its slot is of a later event time."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a candidate."""

    outcome: Outcome
    id: str | None = None
    """Row that was written, or that it duplicates: an open one, or a closed one if late; None where it was refused."""
    other: str | None = None
    """Row that was closed (superseded; duplicate of a text that is open outside its slot), or the next one (late)."""
    reason: str = ""
    """`same text`, `near duplicate`, or the kind of a refusal, such as `credential`. Never the text."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A row that a search returns, with its score and the three terms of it, each 0 to 1."""

    row: Row
    score: float
    relevance: float
    recency: float
    importance: float


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the score's terms; equal ones, as in Generative Agents (arXiv 2304.03442, Sec. 4.1)."""

    relevance: float = 1.0
    recency: float = 1.0
    importance: float = 1.0


@dataclass(frozen=True, slots=True)
class Policy:
    """The constants of the store."""

    top: int = 3
    decay: float = 0.995
    """Recency of a row an hour after its last access; ranking and expiry use the same formula."""
    expire_days: float = 90.0
    """Episodic rows not accessed for longer go cold."""
    weights: Weights = field(default_factory=Weights)
    recency_weights: Mapping[Category, float] = field(default_factory=dict)
    """Recency weights by category, where they differ from `weights.recency`."""
    near_duplicate: float | None = None
    """Cosine above which two texts may be the same; None takes the vector provider's own."""
    literal: bool = False
    """The plain rule: cosine alone, without asking that numbers, dates, names and negation agree."""
    touch_period: timedelta = timedelta(hours=1)
    """A row's last access is written at most once in this time."""
    shown: int = 10
    """Most similar rows that an extractor is shown."""
