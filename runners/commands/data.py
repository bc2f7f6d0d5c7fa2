"""`rdf data list`, `check`, `fetch` and `schema`: the suites' official files, and folders of own data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runners.commands.options import DataDir, Json

FetchDir = Annotated[
    Path | None,
    typer.Option("--data-dir", envvar="RDF_DATA_DIR", file_okay=False, help="Folder to put the files into."),
]

_SHOWN = 20
"""Mistakes of a folder that are listed; `--json` has all."""


def overview(data_dir: DataDir = None, json: Json = False) -> None:
    """List where each suite's files come from and which of them are here."""
    from rdforget.suites.registry import REGISTRY
    from rdforget.suites.sources import SOURCES
    from runners.console import print_json, print_table
    from runners.data import file_rows, presence, suite_spec

    rows = []
    for name in REGISTRY.names():
        spec, source = suite_spec(name), SOURCES.get(name)
        rows.append(
            {
                "suite": name,
                "source": source.origin if source else spec.origin,
                "licence": source.licence if source else spec.licence,
                "revision": source.revision if source else "",
                "files": presence(name, data_dir),
            }
        )
    if json:
        print_json({"suites": [row | {"official": file_rows(SOURCES.get(row["suite"]))} for row in rows]})
    else:
        print_table(tuple(rows[0]), [tuple(row.values()) for row in rows], left=tuple(rows[0]))


def check(
    suites: Annotated[
        list[str] | None, typer.Argument(help="Suites, or folders of own data; without any, all that have files.")
    ] = None,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Load the suites, count their questions and compare their files with the official ones.

    Of a folder of own data every mistake is named, with file and line.
    Exit code 2 where data is broken, or missing of a suite that is named.
    """
    from dataclasses import asdict

    from rdforget.suites.registry import REGISTRY, is_folder
    from runners.console import print_json, print_table, printable, stdout
    from runners.data import check_suite, file_table, suite_spec
    from runners.errors import Exit, UserError

    names = suites or [name for name in REGISTRY.names() if suite_spec(name).files]
    if data_dir is None and any(suite_spec(name).files for name in names if not is_folder(name)):
        raise UserError("there is no data folder to check: pass --data-dir, or set RDF_DATA_DIR")
    reports = [check_suite(name, data_dir) for name in names]
    bad = {"broken", "missing"} if suites else {"broken"}
    code = Exit.USAGE if any(report.state in bad for report in reports) else Exit.DONE
    if json:
        print_json({"suites": [asdict(report) for report in reports], "exit_code": int(code)})
    else:
        told = [
            (r.suite, r.state, "" if r.questions is None else str(r.questions), str(r.expected or ""), r.detail)
            for r in reports
        ]
        print_table(("suite", "state", "questions", "expected", "detail"), told, left=("suite", "state", "detail"))
        files = [row for report in reports if report.state != "missing" for row in file_table(report)]
        if files:
            typer.echo()
            print_table(("suite", "file", "status", "found"), files, left=("suite", "file", "status", "found"))
        for problems in filter(None, (report.problems for report in reports)):
            shown = [*problems[:_SHOWN], *([f"... and {len(problems) - _SHOWN} more"] if problems[_SHOWN:] else [])]
            stdout().print("", *map(printable, shown), sep="\n")
    raise typer.Exit(int(code))


def fetch(
    suites: Annotated[list[str], typer.Argument(help="Suites, as `rdf data list` names them.")],
    data_dir: FetchDir = None,
    json: Json = False,
) -> None:
    """Download the official files that are missing, and check their hashes. Files that are there are kept."""
    from dataclasses import asdict

    from runners.console import print_json, print_table
    from runners.data import bars, fetch_suites
    from runners.errors import UserError

    if data_dir is None:
        raise UserError("there is no data folder to fetch into: pass --data-dir, or set RDF_DATA_DIR")
    with bars(json) as progress:
        done = fetch_suites(suites, data_dir, progress)
    if json:
        print_json({"files": [asdict(file) for file in done]})
    else:
        columns = ("suite", "file", "action", "status", "note")
        print_table(columns, [(f.suite, f.file, f.action, f.status, f.note) for f in done], left=columns)


def schema(
    of: Annotated[str, typer.Argument(help="own (a folder of own data), answers, errata or export.")] = "own",
    json: Json = False,
) -> None:
    """Print the keys of a format: own data, answers for `rdf import`, disputed golds, records of `rdf export`."""
    from rdforget.plugins import nearest
    from runners.console import print_json
    from runners.errors import UserError
    from runners.schemas import SCHEMAS

    if of not in SCHEMAS:
        raise UserError(nearest("schema", of, SCHEMAS))
    found = SCHEMAS[of]()
    if json:
        print_json({"schema": of, "files": found.files})
    else:
        typer.echo(found.words, nl=False)
