"""synthetic-chat: made-up conversations of any length, whose golds are known by construction.

In each chat a user tells an assistant, between small talk, what holds of made-up people and of the user. A slot is what
is told of one person under one theme; a later session may replace its value or take it back. What is told is planned
when the suite is loaded and is small whatever the length; the turns are written chat by chat as tasks are drawn.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, islice, repeat, zip_longest
from pathlib import Path
from random import Random
from typing import NamedTuple

from rdforget.records import Gold, History, Observation, Query, Task
from rdforget.scoring.rule import paper_rule
from rdforget.suites._names import Namer, Person, SmallTalk, Topic, chat_wording, dates, preferences, themes
from rdforget.suites._parameters import GeneratedParameters
from rdforget.suites.base import DataError, Source, Suite

NAME = "synthetic-chat"
VERSION = 1
"""Raise it whenever the same parameters would give other turns or questions."""
NOTE = "Sessions are in order of time. What the user says later replaces what it contradicts or takes back."

_KINDS = {
    "options": "choice",
    "historical": "historical",
    "evolution": "evolution",
    "preferences": "preference",
    "retractions": "retraction",
    "abstentions": "abstention",
}
"""Task types by the parameters that are their shares; what is left is `current` and `knowledge-update`."""
_PEERS = 200  # people whose values are looked at for a wrong option; where there are more, every listed value is told


@dataclass(frozen=True, slots=True)
class Parameters(GeneratedParameters):
    """What stands in the variant, as `chats=4,sessions=8`."""

    suite = NAME
    version = VERSION
    shares = tuple(_KINDS)

    chats: int = field(default=4, metadata={"range": (1, 1_000)})
    sessions: int = field(default=8, metadata={"range": (1, 200_000)})
    """Sessions of each chat."""
    turns: int = field(default=12, metadata={"range": (1, 1_000)})
    """Turns of each session, user and assistant by turns."""
    people: int = field(default=4, metadata={"range": (1, 10_000)})
    """People of each chat beside the user."""
    facts: int = field(default=24, metadata={"range": (1, 100_000)})
    """Slots of each chat, as far as its people have so many and its turns hold them."""
    updates: float = field(default=0.4, metadata={"range": (0, 1)})
    """Share of the slots whose value is replaced, every fourth of them twice."""
    questions: int = field(default=40, metadata={"range": (1, 10_000)})
    """Questions over all chats. Those that the shares leave are for present values, half of them replaced ones."""
    options: float = field(default=0.25, metadata={"range": (0, 1)})
    """Share of questions with four options."""
    historical: float = field(default=0.1, metadata={"range": (0, 1)})
    """Share of questions for the value before the present one."""
    evolution: float = field(default=0.1, metadata={"range": (0, 1)})
    """Share of questions for all values in order."""
    preferences: float = field(default=0.1, metadata={"range": (0, 1)})
    """Share of the slots that are preferences of the user, and of the questions whose answer has to fit one."""
    retractions: float = field(default=0.05, metadata={"range": (0, 1)})
    """Share of the slots that are taken back, and of the questions for one of them."""
    abstentions: float = field(default=0.1, metadata={"range": (0, 1)})
    """Share of questions for what is never told."""
    seed: int = field(default=7, metadata={"range": (0, 2**63 - 1)})

    @property
    def kinds(self) -> dict[str, int]:
        """Numbers of questions by task type, `questions` together."""
        numbers, left = {}, self.questions
        for name, kind in _KINDS.items():
            numbers[kind] = min(round(getattr(self, name) * self.questions), left)
            left -= numbers[kind]
        return numbers | {"current": left // 2, "knowledge-update": left - left // 2}


@dataclass(slots=True)
class Telling:
    """One statement of the user."""

    text: str
    holds: tuple[str, ...]
    """What a gold may rest on, as it stands in `text`: the value, then the reason if there is one."""
    retracts: bool = False
    ref: str = ""
    """Of the turn that it stands in."""

    def __post_init__(self) -> None:
        assert all(part in self.text for part in self.holds), self


@dataclass(slots=True)
class Slot:
    """All that is told of a topic, oldest first; nothing where it is never touched."""

    topic: Topic
    tellings: list[Telling] = field(default_factory=list)

    @property
    def values(self) -> list[str]:
        return [telling.holds[0] for telling in self.tellings if not telling.retracts]

    @property
    def kinds(self) -> tuple[str, ...]:
        """Task types of the questions that it can be asked for."""
        if self.topic.theme.reasons:
            return ("preference",) if self.tellings else ()
        if not self.tellings:
            return ("abstention",)
        if self.tellings[-1].retracts:
            return ("retraction",)
        if len(self.tellings) == 1:
            return ("current", "choice")
        return ("knowledge-update", "evolution", "choice", *["historical"] * (len(self.tellings) == 2))


class Chat(NamedTuple):
    number: int
    namer: Namer
    slots: list[Slot]
    """Those that are told and those that are not."""
    said: dict[str, list[Slot]]
    """Those that are told, by the name of their theme."""


class Question(NamedTuple):
    chat: Chat
    kind: str
    text: str
    gold: Gold
    options: tuple[str, ...]


def build_chat(parameters: Parameters, number: int) -> Chat:
    """What is told in chat `number`, and in which turns; the same for any number of questions."""
    rng = Random(f"{NAME} {VERSION} chat {number} {parameters.seed}")
    namer, roles = Namer(rng), chat_wording()["roles"]
    people = [Person(), *(Person(namer.name("given name"), rng.choice(roles)) for _ in range(parameters.people))]
    topics = [Topic(person, theme) for person in people for theme in themes()]
    rng.shuffle(topics)
    statements = 1 + 1.25 * parameters.updates + parameters.retractions  # of a slot, on average
    room = parameters.sessions * ((parameters.turns + 1) // 2)
    facts = max(1, min(parameters.facts, int(room / statements)))
    tastes = min(round(parameters.preferences * facts), len(preferences()))
    told = min(facts - tastes, len(topics))
    preferred = [Topic(Person(), theme) for theme in rng.sample(preferences(), tastes)]
    slots = [*_tell(preferred, parameters, namer, rng), *_tell(topics[:told], parameters, namer, rng)]
    slots.sort(key=lambda slot: -len(slot.tellings))  # where room is short, facts without an update go first
    _place(slots, parameters, rng)
    said: dict[str, list[Slot]] = {}
    for slot in slots:
        if slot.tellings:
            said.setdefault(slot.topic.theme.name, []).append(slot)
    return Chat(number, namer, slots + [Slot(topic) for topic in topics[told:]], said)


def _tell(topics: Sequence[Topic], parameters: Parameters, namer: Namer, rng: Random) -> Iterator[Slot]:
    """A slot with its statements for each topic: the first ones are updated, the next ones taken back."""
    updated = round(parameters.updates * len(topics))
    retracted = updated + math.ceil(parameters.retractions * len(topics))
    for number, topic in enumerate(topics):
        slot = Slot(topic)
        old = None
        for _ in range(1 + (number < updated) + (number < updated // 4)):
            value = next(value for value in namer.values(topic.theme) if not _is_like(value, slot.values))
            reasons = (topic.theme.reasons[value],) if topic.theme.reasons else ()
            slot.tellings.append(Telling(topic.tell(value, old, rng), (value, *reasons)))
            old = value
        if updated <= number < retracted and not topic.theme.reasons:
            slot.tellings.append(Telling(topic.retract(value, rng), (value,), retracts=True))
        yield slot


def _place(slots: Sequence[Slot], parameters: Parameters, rng: Random) -> None:
    """Give each statement a turn of its own, a slot's in later and later sessions; drop those that have no room."""
    places = range(0, parameters.turns, 2)
    order = rng.sample(range(parameters.sessions), parameters.sessions)
    room = chain.from_iterable(repeat(order, len(places)))  # any `sessions` neighbours in it are different
    told: dict[int, list[Telling]] = {}
    for slot in slots:
        sessions = sorted(islice(room, min(len(slot.tellings), parameters.sessions)))
        del slot.tellings[len(sessions) :]
        for session, telling in zip(sessions, slot.tellings, strict=True):
            told.setdefault(session, []).append(telling)
    for session, tellings in told.items():
        for turn, telling in zip(rng.sample(places, len(tellings)), tellings, strict=True):
            telling.ref = f"D{session + 1}:{turn + 1}"


def write_chat(chat: Chat, parameters: Parameters) -> tuple[History, str]:
    """The history of a chat and the date of the questions about it, in time linear in the number of turns."""
    rng = Random(f"{NAME} {VERSION} talk {chat.number} {parameters.seed}")
    whens, talk = dates(parameters.sessions, rng), SmallTalk(rng)
    told = {telling.ref: telling for slot in chat.slots for telling in slot.tellings}
    observations, digest = [], hashlib.sha256()
    for session in range(parameters.sessions):
        label, when = f"session {session + 1}", next(whens)
        for turn in range(parameters.turns):
            ref = f"D{session + 1}:{turn + 1}"
            if turn % 2 == 0:
                telling = told.get(ref)
                speaker, text = "user", talk.user(telling.text if telling else "")
            else:
                reply = talk.reply(telling.holds[0], telling.retracts) if telling else ""
                speaker, text = "assistant", talk.assistant(reply)
            observations.append(Observation(ref, text, label, when, speaker))
            digest.update(f"{when} {speaker}: {text}\n".encode())
    return History(f"{NAME}:{digest.hexdigest()[:12]}", tuple(observations), NOTE), next(whens)


def build_questions(chats: Sequence[Chat], parameters: Parameters) -> list[Question]:
    """Up to `questions` questions, chat by chat, of mixed kinds; once only, since it draws on the chats' names."""
    rng = Random(f"{NAME} {VERSION} questions {parameters.sha256}")
    questions: list[Question] = []
    for kind, wanted in parameters.kinds.items():
        pools = []
        for chat in rng.sample(chats, len(chats)):
            slots = [slot for slot in chat.slots if kind in slot.kinds]
            rng.shuffle(slots)
            if kind == "choice":  # those with an old value first: it is the most telling wrong option
                slots.sort(key=lambda slot: len(slot.tellings) == 1)
            pools.append([(chat, slot) for slot in slots])
        dealt = (pair for row in zip_longest(*pools) for pair in row if pair)
        questions += (_question(chat, slot, kind, rng) for chat, slot in islice(dealt, wanted))
    rng.shuffle(questions)
    return sorted(questions, key=lambda question: question.chat.number)


def _question(chat: Chat, slot: Slot, kind: str, rng: Random) -> Question:
    topic, values, refs = slot.topic, slot.values, tuple(telling.ref for telling in slot.tellings)
    options: tuple[str, ...] = ()
    match kind:
        case "preference":
            criteria = ("fit", "reason", "change")[: len(values[-2:]) + 1]
            rubric = tuple(topic.gold(sort, values[-1], values[-2:][0]) for sort in criteria)
            gold = Gold((topic.gold("fitting", values[-1]),), refs[-2:], rubric)
        case "retraction" | "abstention":
            gold = Gold((topic.gold(kind, *values),), refs, abstention=True)
        case "choice":
            offered = [values[-1], *_wrong(chat, slot, rng)]
            rng.shuffle(offered)
            options = tuple(f"({letter}) {value}" for letter, value in zip("abcd", offered, strict=True))
            gold = Gold(evidence=refs[-1:], option="abcd"[offered.index(values[-1])])
        case _:
            part = {"historical": slice(-2, -1), "evolution": slice(None)}.get(kind, slice(-1, None))
            gold = Gold((", then ".join(values[part]),), refs[part])
    return Question(chat, kind, topic.ask(kind, rng), gold, options)


def _wrong(chat: Chat, slot: Slot, rng: Random) -> list[str]:
    """Three wrong options: the old value and another person's as far as there are such, else ones never told."""
    everybody = chat.said[slot.topic.theme.name]
    same = rng.sample(everybody, min(len(everybody), _PEERS))
    peers = [other.values[-1] for other in same if other is not slot]
    fresh = chat.namer.values(slot.topic.theme, {value for other in same for value in other.values})
    wrong: list[str] = []
    for source in (slot.values[-2:-1], peers, fresh, fresh, fresh):
        fitting = (value for value in source if not _is_like(value, (slot.values[-1], *wrong)))
        wrong += islice(fitting, len(wrong) < 3)
    return wrong


def _is_like(value: str, others: Sequence[str]) -> bool:
    """Whether a scorer could take it for one of the others."""
    return any(paper_rule(value, other) or paper_rule(other, value) for other in others)


def load(variant: str, data_dir: Path | None) -> Suite:
    """The suite of a variant such as `chats=4,sessions=8,seed=7`; see `Parameters`. Needs no data folder."""
    parameters = Parameters.parse(variant)
    chats = [build_chat(parameters, number) for number in range(parameters.chats)]
    questions = build_questions(chats, parameters)
    if not questions:
        raise DataError(f"{NAME}: these chats give no question of this kind: raise facts, sessions or turns")

    def tasks() -> Iterator[Task]:
        for chat, asked in groupby(enumerate(questions), key=lambda item: item[1].chat.number):
            history, date = write_chat(chats[chat], parameters)
            for number, (_, kind, text, gold, options) in asked:
                name = f"{NAME}:{parameters.sha256[:8]}:{number:04d}"
                yield Task(Query(name, parameters.name, text, kind, date, options), history, gold)

    asked_for = parameters.facts * parameters.chats
    told = sum(bool(slot.tellings) for chat in chats for slot in chat.slots)
    lacking = (
        (asked_for - told, f"of {asked_for} facts could not be told: raise people, sessions or turns."),
        (parameters.questions - len(questions), f"of {parameters.questions} questions could not be built."),
    )
    notes = tuple(f"{number} {text}" for number, text in lacking if number)
    return Suite(parameters.name, tasks, (Source(NAME, parameters.sha256),), len(questions), notes=notes)
