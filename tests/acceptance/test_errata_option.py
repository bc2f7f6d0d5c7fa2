"""`--errata`: the raw score first and as it was, a second one beside it, and the disputed ids named."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runners.journal import read_records
from tests.acceptance.conftest import Done

Rdf = Callable[..., Done]
SUITE = "synthetic-fc:facts=120,questions=20,seed=3"


@pytest.fixture
def swept(rdf: Rdf, tmp_path: Path) -> Path:
    (tmp_path / "mine.yaml").write_text(f'suites: ["{SUITE}"]\nswitches: [[], [no-forget]]\n', "utf-8")
    return tmp_path / rdf("sweep", "mine.yaml", "--json").json["run_dir"]


@pytest.fixture
def overlay(swept: Path, tmp_path: Path) -> Path:
    """Every question that the ablated run has wrong is disputed."""
    ablated = next(swept.glob("002-*"))
    wrong = [record.query.id for record in read_records(ablated) if record.scores[0].value == 0]
    assert 0 < len(wrong) < 20
    entries = [{"suite": SUITE, "id": id, "reason": "made \x1b[31mup", "source": "test"} for id in wrong]
    path = tmp_path / "errata.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), "utf-8")
    return path


def test_a_column_beside_the_raw_score(rdf: Rdf, swept: Path, overlay: Path, tmp_path: Path) -> None:
    raw = rdf("tables", swept, "--json", "--out", tmp_path / "raw").json["rows"]
    done = rdf("tables", swept, "--errata", overlay, "--json", "--out", tmp_path / "out")
    rows = done.json["rows"]
    disputed = overlay.read_text("utf-8").count("\n")
    for before, after in zip(raw, rows, strict=True):
        assert {key: after[key] for key in before} == before  # not one figure of the raw table moves
        assert after["undisputed_n"] == 20 - disputed
        assert after["n_total"] == after["n_completed"] == 20
    assert rows[1]["value"] < rows[1]["undisputed_value"] == 100
    sha256 = hashlib.sha256(overlay.read_bytes()).hexdigest()
    text = (tmp_path / "out" / "tables.md").read_text("utf-8")
    assert sha256 in text
    head = next(line for line in text.splitlines() if line.startswith("| suite"))
    assert head.index("| score |") < head.index("| without disputed golds |") < head.index("| completed |")
    assert text.count("disputed: synthetic-fc") == disputed
    with (tmp_path / "out" / "tables.csv").open(encoding="utf-8", newline="") as file:
        assert {row["errata_sha256"] for row in csv.DictReader(file)} == {sha256}
    assert "\x1b" not in rdf("tables", swept, "--errata", overlay).out


def test_a_comparison_without_them(rdf: Rdf, swept: Path, overlay: Path) -> None:
    runs = [str(next(swept.glob(f"00{n}-*"))) for n in (1, 2)]
    raw = rdf("compare", *runs, "--json").json
    found: dict[str, Any] = rdf("compare", *runs, "--errata", overlay, "--json").json
    second = found.pop("undisputed")
    assert raw.pop("undisputed") is None
    assert found == raw
    assert second["b"]["value"] == 100
    assert second["paired"]["n"] == 20 - len(second["disputed"])
    out = rdf("compare", *runs, "--errata", overlay).out
    assert out.index("A - B: ") < out.index("disputed golds (errata.jsonl, sha256 ") < out.index("the runs differ in")
    assert "\x1b" not in out


def test_user_errors(rdf: Rdf, swept: Path, overlay: Path, tmp_path: Path) -> None:
    more = {"suite": SUITE, "id": "nobody", "reason": "r", "source": "s"}
    overlay.write_text(overlay.read_text("utf-8") + json.dumps(more) + "\n", "utf-8")
    for args, named in (
        (["tables", swept, "--errata", overlay], f"{SUITE} nobody"),
        (["tables", swept, "--errata", overlay, "--paper"], "nobody"),
        (["tables", swept, "--errata", tmp_path / "gone"], "gone"),
    ):
        done = rdf(*args)
        assert (done.code, named in done.err) == (2, True)
        assert "Traceback" not in done.err
