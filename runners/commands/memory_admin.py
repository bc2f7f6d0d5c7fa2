"""`rdf memory erase`, `delete-chat`, `export`, `import`, `verify`, `serve`: a store as a whole."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runners.commands.memory_options import AnyUser, ApiBase, KeyFile, Model, Store, User, Vectors
from runners.commands.options import Json

if TYPE_CHECKING:
    from rdforget.store import MemoryStore
    from runners.stores import Request


def erase(
    user: Annotated[str, typer.Argument(help="Whom; ids match exactly.")],
    memories: Annotated[
        list[str] | None, typer.Option("--memories", help="Id of a memory: erase only such. Repeatable.")
    ] = None,
    also: Annotated[
        list[Path] | None, typer.Option("--also", help="A further folder or file to search for the user. Repeatable.")
    ] = None,
    cache: Annotated[
        list[Path] | None,
        typer.Option("--cache", help="A further cache of replies, as `chat --cache` was given. Repeatable."),
    ] = None,
    key_file: KeyFile = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: Store = None,
    json: Json = False,
) -> None:
    """Erase a user: memories, vectors, index, history, chats, what was withheld, cached replies. It cannot be undone.

    Then the bytes of the store's files are searched for what was erased. Exit code 0 once nothing is left there or
    there was nothing, 3 while something is: somebody reads an earlier state, or a file named holds a copy.
    """
    from rdforget.store.erasing import State
    from rdforget.store.identity import valid_user
    from runners.errors import Exit
    from runners.memory_output import show_erased
    from runners.stores import Request, default_folder, opened, proof_key
    from runners.stores import erase as erase_from

    user = valid_user(user)
    folder = store or default_folder()
    request = Request(user, tuple(memories or ()), tuple(also or ()), tuple(cache or ()))
    with opened(folder, key=partial(proof_key, path=key_file)) as opened_store:
        if not yes:
            _confirm(opened_store, request)
        erased = erase_from(opened_store, request)
    what = f"{len(request.ids)} memories of {user}" if request.ids else user
    show_erased(erased, what, (folder, *request.also), as_json=json)
    clean = erased.erasure.state in (State.DONE, State.NOTHING) and not erased.waiting
    raise typer.Exit(int(Exit.DONE if clean else Exit.FAILED_ITEMS))


def delete_chat(
    chat: Annotated[str, typer.Argument(help="Id of the chat.")], user: User, store: Store = None, json: Json = False
) -> None:
    """Delete a chat. The memories found in it stay: erase those by their ids."""
    from runners.memory_output import say
    from runners.stores import opened

    with opened(store) as memories:
        deleted = memories.delete_chat(user, chat)
    told = f"chat {chat} is deleted, the memories found in it stay" if deleted else f"{user} has no chat {chat}"
    say(told, {"deleted": deleted}, as_json=json)


def export(
    user: AnyUser = None,
    out: Annotated[Path | None, typer.Option(dir_okay=False, help="A new file; without it, stdout.")] = None,
    store: Store = None,
    json: Json = False,
) -> None:
    """Write memories as JSON lines, closed and cold ones too, without vectors and chats.

    With --json and no --out, all are one object.
    """
    from json import dumps

    from runners.chats import write_lines
    from runners.console import print_json
    from runners.memory_output import say
    from runners.stores import opened

    with opened(store) as memories:
        rows = memories.export(user)
        if out is not None:
            count = write_lines(map(dumps, rows), out)
            say(f"{count:,} memories written to {out}", {"rows": count, "file": str(out)}, as_json=json)
        elif json:
            print_json({"rows": list(rows)})
        else:
            for row in rows:
                sys.stdout.write(dumps(row) + "\n")


def take_in(
    file: Annotated[str, typer.Argument(help="What `rdf memory export` made; - is stdin.")],
    user: AnyUser = None,
    vectors: Vectors = None,
    store: Store = None,
    json: Json = False,
) -> None:
    """Restore exported memories, all or none, with their ids, times and links; those that are here stay.

    What the store refuses is left out: exit code 3.
    """
    from rdforget.store import Outcome
    from runners.chats import objects, text_of
    from runners.errors import Exit
    from runners.memory_output import counted, fields_json, say
    from runners.stores import opened

    lines = list(objects(text_of(file), file))
    with opened(store, create=True, vectors=vectors) as memories:
        decisions = memories.import_rows(user, lines)
    refused = any(decision.outcome is Outcome.REFUSED for decision in decisions)
    say(counted(decisions), {"decisions": [fields_json(decision) for decision in decisions]}, as_json=json)
    raise typer.Exit(int(Exit.FAILED_ITEMS if refused else Exit.DONE))


def verify(store: Store = None, json: Json = False) -> None:
    """Check that a store is whole, and finish erasures that had to wait. Exit code 3 where something is wrong."""
    from runners.errors import Exit
    from runners.memory_output import say
    from runners.stores import default_folder, found_problems

    folder = store or default_folder()
    problems = found_problems(folder)
    if json or not problems:
        say(f"{folder} is sound", {"store": str(folder), "sound": not problems, "problems": problems}, as_json=json)
    for problem in () if json else problems:
        say(problem, {}, as_json=False)
    raise typer.Exit(int(Exit.FAILED_ITEMS if problems else Exit.DONE))


def serve(
    user: Annotated[str | None, typer.Option("--user", help="The one whose memories the agent works with.")] = None,
    any_user: Annotated[
        bool, typer.Option("--any-user", help="Let the agent name the user in each call, and so reach everybody's.")
    ] = False,
    http: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Serve on this port of 127.0.0.1, open to all on this machine, not stdio."),
    ] = None,
    model: Model = "rules",
    api_base: ApiBase = None,
    key_file: KeyFile = None,
    vectors: Vectors = None,
    store: Store = None,
) -> None:
    """Serve a store to an agent as an MCP server on stdin and stdout. Needs `pip install 'rdforget[mcp]'`."""
    from rdforget.store.identity import valid_user
    from runners.errors import UserError
    from runners.stores import opened, proof_key

    if (user is None) is not any_user:
        raise UserError("a server is for one user: give --user ID, or --any-user to let the agent reach everybody's")
    try:
        from runners.mcp_server import Chats, serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise UserError("`rdf memory serve` needs a package: pip install 'rdforget[mcp]'") from None

    key = partial(proof_key, path=key_file)
    with opened(store, create=True, vectors=vectors, key=key) as memories:
        serve(memories, valid_user(user) if user is not None else None, Chats(model, api_base), http)


def _confirm(store: MemoryStore, request: Request) -> None:
    from runners.console import printable
    from runners.errors import UserError

    if not sys.stdin.isatty():
        raise UserError("erasing cannot be undone, and there is no terminal to ask on: pass --yes")
    rows = sum(n.open + n.closed + n.cold for n in store.stats(request.user).rows.values())
    what = f"{len(request.ids)} of the {rows:,}" if request.ids else f"all {rows:,}"
    if not typer.confirm(printable(f"Erase {what} memories of {request.user}? It cannot be undone."), err=True):
        raise UserError("nothing was erased")
