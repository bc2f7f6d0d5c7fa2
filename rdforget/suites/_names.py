"""The words of the made-up worlds: relations and themes in English, small talk, dates, and names that are unique."""
# ruff: noqa: SIM905

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any, NamedTuple

import yaml

_STARTS = (
    "Ad Al An Ar Bel Ber Bra Cal Cor Dal Dra El Er Fal Fen Gal Gor Hal Hes Il Jor Kal Kel Lor Lum "
    "Mar Mor Nar Nev Or Pel Quor Ras Rov Sel Sor Tal Tav Tor Ul Vel Vor Wel Wen Yar Zel"
).split()
_MIDDLES = (
    "a e i o u é an ar ath av em en er eth il in ir ol om on or os ør um ur ven dar min lor bre sta ne vi to ka re lu"
).split()
_ENDS = "da dan dis dor lan len lis ma mar mir na neth ra rik ris sa sen ta tan tor va vin wen yn zo".split()
_PLACES = "bridge burg dale fell ford gate ham haven holm mere mouth port stad stead ton wick".split()
_LANDS = "avia enia istan land mark oria ovia onia".split()
_BUSINESS = "Bank Energy Foods Group Industries Motors Partners Shipping Steel Systems Textiles Works".split()
_TEAMS = "Athletic Falcons Harriers Lions Rangers Rovers Stars United Wanderers Wolves".split()
_TITLES = (
    "The Lantern of {}",
    "A Winter in {}",
    "The Clockmaker of {}",
    "Letters from {}",
    "The Road to {}",
    "Songs of {}",
    "The Orchard at {}",
    "The Glass Bridge of {}",
    "A Garden for {}",
    "The Silence of {}",
)
_DAYS = "Mon Tue Wed Thu Fri Sat Sun".split()
_DAY = 24 * 60  # minutes


class Namer:
    """Draws names from `rng`; no two names of one namer are equal, letter case aside."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._used: set[str] = set()

    def name(self, kind: str) -> str:
        """A new name of the kind: a person, city, company, ... Longer words come once the short ones are taken."""
        syllables = self._rng.randrange(2)
        while (name := self._draw(kind, syllables)).lower() in self._used:
            syllables += 1
        self._used.add(name.lower())
        return name

    def values(self, theme: Theme, told: Container[str] = ()) -> Iterator[str]:
        """Values of a theme in any order, names without end, a list once; those that are `told` come last."""
        while isinstance(theme.values, str):
            yield self.name(theme.values)
        yield from sorted(self._rng.sample(theme.values, len(theme.values)), key=told.__contains__)

    def _draw(self, kind: str, syllables: int) -> str:
        pick = self._rng.choice
        stem = pick(_STARTS) + "".join(pick(_MIDDLES) for _ in range(syllables))
        word = stem + pick(_ENDS)
        match kind:
            case "person":
                return f"{word} {pick(_STARTS)}{pick(_MIDDLES)}{pick(_ENDS)}"
            case "given name":
                return word
            case "city":
                return word + pick(_PLACES)
            case "country":
                return stem + pick(_LANDS)
            case "company":
                return f"{word} {pick(_BUSINESS)}"
            case "club":
                return f"{word} {pick(_TEAMS)}"
            case "book":
                return pick(_TITLES).format(word)
            case "sport":
                return f"{word}ball"
            case "religion":
                return f"{word}ism"
            case "language":
                return f"{word}ish"
            case "continent":
                return f"{word}ica"
        raise ValueError(f"there are no names for a {kind}")


class Relation(NamedTuple):
    """A relation and its wording, as `synthetic_fc.yaml` explains them."""

    name: str
    subject: str
    object: str
    facts: Sequence[str]
    noun: Sequence[str]
    ask: Sequence[str]
    before: Sequence[str]
    not_after: Sequence[str]


@cache
def _table(name: str) -> Any:
    return yaml.safe_load(files(__package__).joinpath(name).read_text(encoding="utf-8"))


@cache
def relations() -> tuple[Relation, ...]:
    found = []
    for name, row in _table("synthetic_fc.yaml")["relations"].items():
        subject, object_ = row["types"]
        words = row["facts"], row["noun"], row["ask"], row.get("before", ()), row.get("not_after", ())
        found.append(Relation(name, subject, object_, *words))
    return tuple(found)


@cache
def relations_of() -> dict[str, list[Relation]]:
    """Relations by the type of their subject."""
    found: dict[str, list[Relation]] = {}
    for relation in relations():
        found.setdefault(relation.subject, []).append(relation)
    return found


def evolution_frames() -> Sequence[str]:
    """Questions for all values of `{noun}` in order."""
    frames: list[str] = _table("synthetic_fc.yaml")["evolution"]
    return frames


class Theme(NamedTuple):
    """What a person has one value of at a time, and its wording, as `synthetic_chat.yaml` explains it."""

    name: str
    noun: str
    values: Sequence[str] | str
    """The values there are, or the kind of a made-up name."""
    tell: Mapping[str, Sequence[str]]
    update: Mapping[str, Sequence[str]]
    ask: Mapping[str, Sequence[str]]
    reasons: Mapping[str, str]
    """By value, for what the user prefers; empty for what can be told of anybody."""


def chat_wording() -> Any:
    """The table of `synthetic_chat.yaml`."""
    return _table("synthetic_chat.yaml")


@cache
def themes() -> tuple[Theme, ...]:
    """What can be told of anybody."""
    rows = chat_wording()["themes"].items()
    return tuple(Theme(name, r["noun"], r["values"], r["tell"], r["update"], r["ask"], {}) for name, r in rows)


@cache
def preferences() -> tuple[Theme, ...]:
    """What the user alone can prefer."""
    tell, update = ({"self": chat_wording()["preference"][step]} for step in ("tell", "update"))
    rows = chat_wording()["preferences"].items()
    return tuple(Theme(n, n, tuple(r["values"]), tell, update, {"self": r["ask"]}, r["values"]) for n, r in rows)


def dates(sessions: int, rng: Random) -> Iterator[str]:
    """Increasing dates without end, the first `sessions` of them within some two years."""
    moment = datetime(2023, 1, 1, tzinfo=UTC) + timedelta(minutes=rng.randrange(365 * _DAY))
    mean = max(1, min(6 * _DAY, 600 * _DAY // sessions))
    while True:
        yield f"{moment:%Y/%m/%d} ({_DAYS[moment.weekday()]}) {moment:%H:%M}"
        moment += timedelta(minutes=rng.randint(1, 2 * mean - 1))


class Person(NamedTuple):
    name: str = ""
    """Empty for the user."""
    role: str = ""


class Topic(NamedTuple):
    """A theme of one person, in sentences of the user, questions of the user and golds about the user."""

    person: Person
    theme: Theme

    @property
    def _voice(self) -> str:
        return "other" if self.person.name else "self"

    def _fill(self, frame: str, user: str, **words: str) -> str:
        owner = f"{self.person.name}'s" if self.person.name else user
        return frame.format(s=self.person.name, p=owner, noun=self.theme.noun, **words)

    def tell(self, value: str, old: str | None, rng: Random) -> str:
        """The user states the value, in place of `old` if there is one."""
        person, theme = self
        frame = rng.choice((theme.tell if old is None else theme.update)[self._voice])
        who = rng.choice((person.name, f"my {person.role} {person.name}"))
        why = theme.reasons.get(value)
        return _capitalised(frame.format(s=who, noun=theme.noun, o=value, old=old, why=why))

    def retract(self, value: str, rng: Random) -> str:
        """The user takes the value back."""
        return self._fill(rng.choice(chat_wording()["retract"]), "my", o=value)

    def ask(self, kind: str, rng: Random) -> str:
        """The user asks: `historical`, `evolution`, or anything else for the present value."""
        frames = chat_wording()[kind] if kind in ("historical", "evolution") else self.theme.ask[self._voice]
        return self._fill(rng.choice(frames), "my")

    def gold(self, sort: str, value: str = "", old: str = "") -> str:
        """A sentence of the table's `golds` about a value."""
        why = self.theme.reasons.get(value, "")
        return self._fill(chat_wording()["golds"][sort], "the user's", o=value, old=old, why=why)


class SmallTalk:
    """Turns about nothing in particular, drawn from `rng`; an exchange of two turns is about one thing."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._words = chat_wording()["talk"]
        self._topic = self._words["topic"][0]

    def user(self, statement: str = "") -> str:
        """The user opens an exchange, with a statement somewhere in it."""
        pick = self._rng.choice
        self._topic = pick(self._words["topic"])
        said = [pick(self._words["user"]).format(topic=self._topic, when=pick(self._words["when"]))]
        extra = [pick(self._words["aside"])] if self._rng.random() < 0.5 else []
        for sentence in filter(None, (*extra, statement)):
            said.insert(self._rng.randrange(len(said) + 1), sentence)
        return " ".join(said)

    def assistant(self, reply: str = "") -> str:
        """The assistant goes into the exchange, after a reply to the statement."""
        frames = self._rng.sample(self._words["assistant"], self._rng.randint(2, 4))
        steps = iter(self._rng.sample(self._words["step"], 2 * len(frames)))
        said = [frame.format(topic=self._topic, step=next(steps), next=next(steps)) for frame in frames]
        return " ".join(filter(None, (reply, *said, self._rng.choice(self._words["close"]))))

    def reply(self, value: str, retracts: bool) -> str:
        """The assistant takes note of a value or of its withdrawal."""
        frame = self._rng.choice(self._words["withdraw" if retracts else "take"])
        return _capitalised(frame.format(o=value))


def _capitalised(text: str) -> str:
    return text[0].upper() + text[1:]
