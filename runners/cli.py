"""`rdf`: thin wiring. Each command imports what it needs when it is called, so that help is instant."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys

import typer

from rdforget.errors import MendableError
from runners.commands import (
    cache,
    compare,
    data,
    dilution,
    export,
    funnel,
    judge_check,
    lists,
    memory,
    memory_admin,
    models,
    rejudge,
    report,
    run,
    show,
    simulate,
    sweep,
    tables,
    take_in,
    view,
)
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
app.command("judge-check")(judge_check.judge_check)
app.command("show")(show.show)
app.command("compare")(compare.compare)
app.command("export")(export.export)
app.command("import")(take_in.take_in)
app.command("funnel")(funnel.funnel)
app.command("tables")(tables.tables)
app.command("report")(report.report)
app.command("view")(view.view)
app.command("suites")(lists.suites)
app.command("methods")(lists.methods)

models_app = typer.Typer(
    help="The named models and whether they can be asked; `check NAME` tries what one can do.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
models_app.callback()(lists.models)
models_app.command("check")(models.check)
app.add_typer(models_app, name="models")

files = typer.Typer(
    help="The suites' official files: what is here, whether it is whole, and how to get it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
files.command("list")(data.overview)
files.command("check")(data.check)
files.command("fetch")(data.fetch)
files.command("schema")(data.schema)
app.add_typer(files, name="data")

replies = typer.Typer(
    help="The cache of replies, which every run may use: count, clear, export and import it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
replies.command("stats")(cache.stats)
replies.command("clear")(cache.clear)
replies.command("export")(cache.export)
replies.command("import")(cache.take_in)
app.add_typer(replies, name="cache")

memories = typer.Typer(
    help="A persistent memory store: add and find memories, keep their history, forget and erase them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
memories.command("add")(memory.add)
memories.command("chat")(memory.chat)
memories.command("search")(memory.search)
memories.command("history")(memory.history)
memories.command("expire")(memory.expire)
memories.command("stats")(memory.stats)
memories.command("erase")(memory_admin.erase)
memories.command("delete-chat")(memory_admin.delete_chat)
memories.command("export")(memory_admin.export)
memories.command("import")(memory_admin.take_in)
memories.command("verify")(memory_admin.verify)
memories.command("simulate")(simulate.simulate)
memories.command("dilution")(dilution.dilution)
memories.command("serve")(memory_admin.serve)
app.add_typer(memories, name="memory")


def main() -> None:
    """Entry point: whatever a user does wrong is one line and an exit code, never a traceback."""
    if sys.stdout is None or sys.stderr is None:  # closed by the caller
        sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # data of any script, on a console of any encoding
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code)
    except MendableError as error:
        _fail(str(error), error.code if isinstance(error, UserError) else Exit.USAGE)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", Exit.INTERRUPTED)
    except OSError as error:
        # The reader of our output has gone (`rdf show ... | head`), or the disk is full: nothing can be said there.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            sys.exit(Exit.DONE)
        _fail(f"the output cannot be written: {error}", Exit.ABORTED)
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        # An error of the command line itself; the library's class for it is not public.
        _fail(error.format_message(), Exit.USAGE)


def _fail(message: str, code: Exit) -> None:
    from runners.console import print_json, printable

    if "--json" in sys.argv[1:]:
        print_json({"error": message, "exit_code": int(code)})
    sys.stderr.write(f"rdf: {printable(message)}\n")
    sys.exit(int(code))
