"""`rdf memory add`, `chat`, `search`, `history`, `expire`, `stats`: the memories of a user."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runners.commands.memory_options import AnyUser, ApiBase, CategoryName, Model, Store, User, Vectors
from runners.commands.options import Json


def add(
    text: Annotated[str, typer.Argument(help="The memory, or - to read it from stdin, past the shell's history.")],
    user: User,
    slot: Annotated[
        str | None, typer.Option(help="subject|relation|scope: the memory replaces the one of that slot before it.")
    ] = None,
    category: CategoryName = "semantic",
    valid_from: Annotated[
        str | None, typer.Option(help="Since when it holds, with a zone: 2024-03-01T00:30:00+02:00. Default: now.")
    ] = None,
    importance: Annotated[float, typer.Option(help="0 to 1.")] = 0.5,
    source: Annotated[str | None, typer.Option(help="Id of the chat that it comes from.")] = None,
    metadata: Annotated[str | None, typer.Option(help="An object of JSON to keep with it.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Store it though it resembles another.")] = False,
    literal: Annotated[
        bool,
        typer.Option("--literal", help="Compare by cosine alone, whatever numbers, dates and names differ."),
    ] = False,
    vectors: Vectors = None,
    store: Store = None,
    json: Json = False,
) -> None:
    """Store one memory of a user.

    Credentials, financial details and what was asked not to be remembered are refused, and never printed: exit code 3.
    """
    from rdforget.store import Category, Outcome, Policy, StoreError, parse_time
    from rdforget.store.identity import slot_key
    from runners.chats import STDIN, object_of, text_of
    from runners.errors import Exit
    from runners.memory_output import fields_json, say, told
    from runners.stores import opened

    if slot is not None and slot_key(slot) is None:
        raise StoreError("--slot is no slot: write subject|relation|scope; the last two may be empty")
    details = {
        "slot": slot,
        "category": Category(category) if category in tuple(Category) else category,
        "valid_from": parse_time(valid_from) if valid_from else None,
        "importance": importance,
        "source": source,
        "metadata": object_of(metadata, "--metadata") if metadata else None,
    }
    text = text_of(STDIN).strip() if text == STDIN else text
    with opened(store, create=True, vectors=vectors, policy=Policy(literal=literal)) as memories:
        decision = memories.add(user, text, force=force, **details)  # type: ignore[arg-type]  # the store checks
    say(told(decision), fields_json(decision), as_json=json)
    raise typer.Exit(int(Exit.FAILED_ITEMS if decision.outcome is Outcome.REFUSED else Exit.DONE))


def chat(
    file: Annotated[
        str,
        typer.Argument(
            help='Lines `Speaker: text`, or one {"speaker": .., "text": .., "recalled": false} a line; - is stdin.'
        ),
    ],
    user: User,
    id: Annotated[str, typer.Option("--id", help="Id of the chat, for delete-chat.")],
    at: Annotated[str, typer.Option("--at", help="When it took place, with a zone: 2024-03-01T00:30:00+02:00.")],
    model: Model = "rules",
    api_base: ApiBase = None,
    cache: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="File for a language model's replies; without it, one inside the store."),
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Keep no replies.")] = False,
    vectors: Vectors = None,
    store: Store = None,
    json: Json = False,
) -> None:
    """Keep a chat that has ended, and store the memories that a model finds in it.

    What the store refuses is blanked before the model or the file sees it. `recalled` marks what a turn repeats from
    the memory: nothing is extracted from it again.
    """
    import asyncio

    from rdforget.store import Decision
    from rdforget.store.identity import valid_user
    from runners.chats import session_of, text_of, time_of
    from runners.console import print_json
    from runners.extraction import remembering
    from runners.memory_output import fields_json, show_decisions
    from runners.stores import REPLIES, opened, texts

    owner, session = valid_user(user), session_of(text_of(file), id, time_of(at))
    with opened(store, create=True, vectors=vectors) as memories:

        async def read() -> list[Decision]:
            replies = None if no_cache else cache or memories.folder / REPLIES
            async with remembering(model, api_base, owner, replies) as caller:
                return await memories.chat(owner, session, caller)

        decisions = asyncio.run(read())
        if json:
            print_json({"chat": id, "decisions": [fields_json(decision) for decision in decisions]})
            return
        found = texts(memories, owner, [decision.id for decision in decisions])
    show_decisions(decisions, found, f"chat {id} is kept, `rdf memory delete-chat` deletes it")


def search(
    query: Annotated[str, typer.Argument(help="Words to look for.")],
    user: User,
    top: Annotated[int, typer.Option(min=1, help="How many.")] = 3,
    historical: Annotated[bool, typer.Option("--historical", help="Superseded and cold memories too.")] = False,
    as_of: Annotated[str | None, typer.Option(help="What was true at a time, given with its zone.")] = None,
    category: Annotated[list[str] | None, typer.Option(help="Only this category. Repeatable.")] = None,
    no_touch: Annotated[bool, typer.Option("--no-touch", help="Do not count what is found as accessed.")] = False,
    store: Store = None,
    json: Json = False,
) -> None:
    """Find memories of a user by words, likeness, freshness and importance; each score is the mean of its terms."""
    from rdforget.store import parse_time
    from runners.memory_output import show_hits
    from runners.stores import opened

    moment = parse_time(as_of) if as_of else None
    with opened(store) as memories:
        hits = memories.search(
            user,
            query,
            top=top,
            historical=historical,
            as_of=moment,
            categories=category or (),  # type: ignore[arg-type]  # the store checks
            touch=not no_touch,
        )
    show_hits(hits, user, as_json=json)


def history(
    user: User,
    slot: Annotated[str | None, typer.Option(help="subject|relation|scope.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Id of any version.")] = None,
    store: Store = None,
    json: Json = False,
) -> None:
    """The versions of a memory, the oldest first: those of a slot, or of the slot of a memory."""
    from runners.memory_output import show_history
    from runners.stores import opened

    with opened(store) as memories:
        rows = memories.history(user, slot=slot, id=id)
    show_history(rows, as_json=json)


def expire(
    user: AnyUser = None,
    apply: Annotated[bool, typer.Option("--apply", help="Do it; without this, only say what would be done.")] = False,
    store: Store = None,
    json: Json = False,
) -> None:
    """Put episodes that no search returned for more than 90 days into cold storage. Meant for every night."""
    from runners.memory_output import show_expired
    from runners.stores import opened

    with opened(store) as memories:
        expired = memories.expire(user=user, dry_run=not apply)
        show_expired(expired, memories.policy.expire_days, applied=apply, as_json=json)


def stats(user: AnyUser = None, store: Store = None, json: Json = False) -> None:
    """Count what a store holds, what it decided and what it withheld."""
    from runners.memory_output import show_stats
    from runners.stores import opened

    with opened(store) as memories:
        show_stats(memories.stats(user), memories.folder, as_json=json)
