"""`rdf suites`, `rdf models`, `rdf methods`: what is there, and what is ready to use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import typer

from runners.commands.options import DataDir, Json


def suites(data_dir: DataDir = None, json: Json = False) -> None:
    """List the suites and whether their data is here."""
    from rdforget.suites.registry import SUITES, is_ready

    rows = [
        {"suite": name, "title": spec.title, "questions": spec.expected, "ready": is_ready(name, data_dir)}
        for name, spec in SUITES.items()
    ]
    _print("suites", rows, as_json=json)


def models(context: typer.Context, json: Json = False) -> None:
    """List the named models and whether they can be asked; `rdf models check NAME` tries what one can do."""
    from runners.backends import model_config, unready
    from runners.config import RulesConfig, model_configs, server_configs

    if context.invoked_subcommand:
        return
    rows = []
    for name, entry in model_configs().items():
        config = model_config(name)
        model = "deterministic reader, no language model" if isinstance(config, RulesConfig) else config.model
        rows.append({"model": name, "label": entry.label, "calls": model, "ready": unready(config) or "ready"})
    for name, server in server_configs().items():
        calls = f"{server.provider}/NAME at {server.client.api_base}"
        rows.append({"model": f"{name}/NAME", "label": server.label, "calls": calls, "ready": "where it runs"})
    _print("models", rows, as_json=json)


def methods(json: Json = False) -> None:
    """List the methods and the ablations that each one has."""
    from rdforget.methods.registry import BUILDERS
    from runners.config import method_configs
    from runners.engine import make_method

    rows = []
    for name in dict.fromkeys([*method_configs(), *BUILDERS.names()]):
        method = make_method(name)
        rows.append({"method": name, "title": method.title, "ablations": " ".join(sorted(method.switches))})
    _print("methods", rows, as_json=json)


def _print(kind: str, rows: Sequence[Mapping[str, object]], *, as_json: bool) -> None:
    from runners.console import print_json, print_table

    if as_json:
        print_json({kind: rows})
    else:
        columns = tuple(rows[0])
        print_table(columns, [["" if v is None else str(v) for v in row.values()] for row in rows], left=columns)
