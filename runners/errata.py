"""Golds that somebody disputes, in a file beside the data: a second score without them; no gold is ever edited.

A file is JSON lines, or YAML with a list of the same mappings:

    {"suite": "lme-ku", "id": "lme-ku:0a1b2c3d", "reason": "the cited turn says Saturday", "source": "https://..."}
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rdforget.records import Record
from rdforget.suites.base import DataError, file_sha256
from rdforget.suites.jsonl import Line, read_lines, refuse
from rdforget.suites.keys import ID, TEXT, Key, complaints
from runners.console import printable, stdout
from runners.errors import UserError
from runners.stats import Interval, Paired, Scored, interval_of, paired_of

KEYS = (
    Key("suite", ID, "the suite's name, with or without a variant", required=True),
    Key("id", ID, "the question's id, as `rdf show RUN` has it", required=True),
    Key("reason", TEXT, "what is wrong with the gold", required=True),
    Key("source", TEXT, "who says so, and where", required=True),
)


@dataclass(frozen=True, slots=True)
class Disputed:
    """A question whose gold is disputed."""

    suite: str
    id: str
    reason: str
    source: str


@dataclass(frozen=True, slots=True)
class Errata:
    name: str
    """Of the file."""
    sha256: str
    entries: tuple[Disputed, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run asked."""

    suite: str
    items: frozenset[str]
    whole: bool
    """Every question of the suite, so that an id that is not here is not in the suite."""


@dataclass(frozen=True, slots=True)
class Disputes:
    """The disputed golds of a table's runs."""

    sha256: str
    by_run: Mapping[str, frozenset[str]]
    """Ids of the questions, by the run's id."""
    notes: list[str]
    """What stands under the table."""

    def without(self, run: str, evaluations: Mapping[str, Scored]) -> dict[str, Scored]:
        """A run's evaluations of questions whose golds are not disputed."""
        return without(evaluations, self.by_run[run])


@dataclass(frozen=True, slots=True)
class Undisputed:
    """Two runs compared without the questions whose golds are disputed."""

    errata: str
    sha256: str
    disputed: tuple[Disputed, ...]
    a: Interval | None
    b: Interval | None
    paired: Paired | None


def read_errata(path: Path) -> Errata:
    """A file of disputed golds. DataError names the first thing that is wrong with it."""
    lines, problems = read_lines(path) if path.suffix == ".jsonl" else _yaml(path)
    entries: dict[tuple[str, str], str] = {}
    for line in lines:
        found = list(complaints(line, KEYS))
        problems += found
        if not found:
            key = line.row["suite"], line.row["id"]
            if key in entries:
                problems.append(f"{line.where} disputes {key[1]} again, as {entries[key]} does: keep one")
            entries.setdefault(key, line.where)
    refuse(problems, " in this file")
    return Errata(path.name, file_sha256(path), tuple(Disputed(**line.row) for line in lines))


def asked_by(manifest: Mapping[str, Any], records: Collection[Record]) -> Asked:
    """What a run asked, by its manifest and its records."""
    settings, items = manifest["settings"], frozenset(record.query.id for record in records)
    whole = manifest["spec"]["limit"] is None and len(items) == settings["items"]
    suite = next((record.query.suite for record in records), settings["suite"])
    return Asked(suite, items, whole)


def disputed_in(errata: Errata, runs: Sequence[Asked]) -> tuple[dict[str, dict[str, Disputed]], list[str]]:
    """The disputed questions of each suite by id, and what else is to be said of the file.

    UserError names ids that no run has, where a run asked the whole suite.
    """
    found: dict[str, dict[str, Disputed]] = {run.suite: {} for run in runs}
    unknown, unasked, foreign = [], 0, 0
    for entry in errata.entries:
        of_suite = [run for run in runs if entry.suite in (run.suite, run.suite.partition(":")[0])]
        having = {run.suite for run in of_suite if entry.id in run.items}
        for suite in having:
            found[suite][entry.id] = entry
        if not of_suite:
            foreign += 1
        elif not having and any(run.whole for run in of_suite):
            unknown.append(f"{entry.suite} {entry.id}")
        elif not having:
            unasked += 1
    if unknown:
        raise UserError(f"{errata.name} disputes what is no question of these runs: {', '.join(unknown)}; take it out")
    notes = [f"{errata.name} disputes {unasked} questions that were not asked"] if unasked else []
    notes += [f"{errata.name} has {foreign} entries for other suites"] if foreign else []
    return found, notes


def without(evaluations: Mapping[str, Scored], disputed: Iterable[str]) -> dict[str, Scored]:
    """The evaluations of questions whose golds are not disputed."""
    left_out = set(disputed)
    return {item: one for item, one in evaluations.items() if item not in left_out}


def undisputed(
    errata: Errata, runs: Sequence[Asked], a: Mapping[str, Scored], b: Mapping[str, Scored]
) -> tuple[Undisputed, list[str]]:
    """Two runs over one suite, on the questions that both completed and nobody disputes."""
    found, notes = disputed_in(errata, runs)
    entries = {item: entry for of_suite in found.values() for item, entry in of_suite.items()}
    ours, theirs = without(a, entries), without(b, entries)
    compared = Undisputed(
        errata.name,
        errata.sha256,
        tuple(entries.values()),
        interval_of({item: ours[item] for item in ours if item in theirs}),
        interval_of({item: theirs[item] for item in theirs if item in ours}),
        paired_of(ours, theirs),
    )
    return compared, notes


def disputes_of(errata: Errata, runs: Mapping[str, Asked]) -> Disputes:
    """The disputed golds of several runs by their ids. UserError as `disputed_in`."""
    found, notes = disputed_in(errata, list(runs.values()))
    entries = list(dict.fromkeys(entry for of_suite in found.values() for entry in of_suite.values()))
    told = printable(
        f"without disputed golds: as score, over the completed questions that {errata.name} (sha256 {errata.sha256}) "
        f"does not dispute; no gold is changed, and every other column counts all questions. Disputed: {len(entries)}."
    )
    listed = [printable(f"disputed: {one.suite} {one.id}: {one.reason} ({one.source})") for one in entries]
    by_run = {run: frozenset(found[asked.suite]) for run, asked in runs.items()}
    return Disputes(errata.sha256, by_run, [told, *listed, *notes])


def show(compared: Undisputed) -> None:
    """The second comparison, and what it leaves out."""
    console = stdout()
    console.print(
        f"\nwithout {len(compared.disputed)} disputed golds ({printable(compared.errata)}, sha256 {compared.sha256})"
    )
    if compared.a and compared.b and compared.paired:
        result = compared.paired
        console.print(
            f"A {compared.a.value:.2f}, B {compared.b.value:.2f}, A - B: {result.difference:+.2f} points, "
            f"95 % interval {result.low:+.2f} to {result.high:+.2f}, p = {result.p:.4g}, {result.n} questions"
        )
    else:
        console.print("no question is left")
    for one in compared.disputed:
        console.print(f"disputed: {printable(f'{one.id}: {one.reason} ({one.source})')}")


def _yaml(path: Path) -> tuple[list[Line], list[str]]:
    """The entries of a YAML file, each with its number."""
    try:
        rows: Any = yaml.safe_load(path.read_text("utf-8-sig"))
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        raise DataError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(rows, list):
        return [], [f"{path} is no list of mappings with {', '.join(key.name for key in KEYS)}"]
    placed = [(f"{path}, entry {at}", row) for at, row in enumerate(rows, start=1)]
    bad = [f"{where} is no mapping" for where, row in placed if not isinstance(row, dict)]
    lines = [Line(where, {str(key): row[key] for key in row}) for where, row in placed if isinstance(row, dict)]
    return lines, bad
