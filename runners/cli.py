"""`rdf`: thin wiring. Each command imports what it needs when it is called, so that help is instant."""

from __future__ import annotations

import os
import sys

import typer

from rdforget.errors import MendableError
from runners.commands import compare, data, lists, rejudge, run, show, sweep, tables
from runners.errors import Exit, UserError

app = typer.Typer(
    name="rdf",
    help="Measure what an agent should forget: run memory methods on benchmark suites and look into the results.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run")(run.run)
app.command("sweep")(sweep.sweep)
app.command("rejudge")(rejudge.rejudge)
app.command("show")(show.show)
app.command("compare")(compare.compare)
app.command("tables")(tables.tables)
app.command("suites")(lists.suites)
app.command("models")(lists.models)
app.command("methods")(lists.methods)

files = typer.Typer(
    help="The suites' official files: what is here, whether it is whole, and how to get it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
files.command("list")(data.overview)
files.command("check")(data.check)
files.command("fetch")(data.fetch)
app.add_typer(files, name="data")


def main() -> None:
    """Entry point: user errors are one line and an exit code, never a traceback."""
    try:
        app()
    except MendableError as error:
        _fail(str(error), error.code if isinstance(error, UserError) else Exit.USAGE)
    except KeyboardInterrupt:
        _fail("interrupted", Exit.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has gone (`rdf show ... | head`); nothing more can be said to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.DONE)


def _fail(message: str, code: Exit) -> None:
    if "--json" in sys.argv[1:]:
        from runners.console import print_json

        print_json({"error": message, "exit_code": int(code)})
    sys.stderr.write(f"rdf: {message}\n")
    sys.exit(int(code))
