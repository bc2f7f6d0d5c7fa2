"""Disputed golds: which files are good, which ids are known, and what is left of a score."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rdforget.suites.base import DataError
from runners.errata import Asked, disputed_in, disputes_of, read_errata
from runners.errors import UserError
from runners.stats import Scored

ENTRY = {"suite": "s", "id": "q1", "reason": "the turn says Saturday", "source": "issue 27"}


def errata(tmp_path: Path, *entries: dict[str, object]) -> Path:
    path = tmp_path / "errata.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries or (ENTRY,)), "utf-8")
    return path


def asked(*items: str, suite: str = "s", whole: bool = True) -> Asked:
    return Asked(suite, frozenset(items), whole)


def test_lines_and_yaml_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "errata.yaml"
    path.write_text("- {suite: s, id: q1, reason: the turn says Saturday, source: issue 27}\n", "utf-8")
    assert read_errata(path).entries == read_errata(errata(tmp_path)).entries
    assert len(read_errata(path).sha256) == 64


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({**ENTRY, "resaon": "x"}, "line 2: there is no key 'resaon': did you mean 'reason'?"),
        ({**ENTRY, "id": 3}, "line 2: id 3 is no id"),
        ({**ENTRY, "reason": None}, "line 2 has no reason"),
        (ENTRY, "line 2 disputes q1 again, as .*line 1 does"),
    ],
)
def test_a_bad_entry_is_named_with_its_line(tmp_path: Path, entry: dict[str, object], told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_errata(errata(tmp_path, ENTRY, entry))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("suite: s\n", "no list of mappings"),
        ("- 3\n", "entry 1 is no mapping"),
        ("- {suite: s}\n", "entry 1 has no id"),
        ("- [", "cannot be read"),
    ],
)
def test_a_bad_yaml_file(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "errata.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=told):
        read_errata(path)


def test_ids_of_a_suite_that_was_asked_whole_must_be_known(tmp_path: Path) -> None:
    found = read_errata(errata(tmp_path, ENTRY, {**ENTRY, "id": "q9"}))
    with pytest.raises(UserError, match="no question of these runs: s q9; take it out"):
        disputed_in(found, [asked("q1", "q2")])
    by_suite, notes = disputed_in(found, [asked("q1", "q2", whole=False)])
    assert list(by_suite["s"]) == ["q1"]
    assert notes == ["errata.jsonl disputes 1 questions that were not asked"]


def test_variants_and_other_suites(tmp_path: Path) -> None:
    found = read_errata(errata(tmp_path, ENTRY, {**ENTRY, "suite": "other"}))
    by_suite, notes = disputed_in(found, [asked("q1", suite="s:small"), asked("q2", suite="s:large")])
    assert {suite: list(of_suite) for suite, of_suite in by_suite.items()} == {"s:small": ["q1"], "s:large": []}
    assert notes == ["errata.jsonl has 1 entries for other suites"]


def test_what_is_left_of_a_score(tmp_path: Path) -> None:
    disputes = disputes_of(read_errata(errata(tmp_path)), {"run": asked("q1", "q2")})
    evaluations = {"q1": Scored(0.0, "h"), "q2": Scored(1.0, "h")}
    assert disputes.without("run", evaluations) == {"q2": Scored(1.0, "h")}
    assert disputes.sha256 in disputes.notes[0]
    assert disputes.notes[1] == "disputed: s q1: the turn says Saturday (issue 27)"


def test_reasons_of_others_are_text(tmp_path: Path) -> None:
    evil = "\x1b[31mred\u202e\n# a heading"
    disputes = disputes_of(
        read_errata(errata(tmp_path, {**ENTRY, "reason": evil, "source": evil})), {"run": asked("q1")}
    )
    for note in disputes.notes:
        assert not set(note) & {"\x1b", "\u202e", "\n"}
    assert r"\x1b[31mred\u202e # a heading" in disputes.notes[1]
