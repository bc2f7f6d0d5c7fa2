"""Options that the commands on a memory store share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Store = Annotated[
    Path | None,
    typer.Option(
        "--store",
        envvar="RDF_STORE",
        file_okay=False,
        help="Folder of the store; without it, `memory` in rdforget's folder of user data.",
    ),
]
User = Annotated[str, typer.Option("--user", help="Whose memories; ids match exactly.")]
AnyUser = Annotated[str | None, typer.Option("--user", help="Only this user's; without it, everybody's.")]
Vectors = Annotated[
    str | None,
    typer.Option(
        help="For a new store: hashing (the default), wordllama, or litellm:provider/model, which is sent every text."
    ),
]
Model = Annotated[str, typer.Option(help="Who reads chats: a name from `rdf models`, or any litellm string.")]
ApiBase = Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible server.")]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        dir_okay=False,
        help="File with the key that proofs of erasure name users by, made if missing; without it RDF_ERASURE_KEY, "
        "else a file in rdforget's folder of user configuration.",
    ),
]
CategoryName = Annotated[str, typer.Option(help="semantic, episodic or procedural; only episodic ones expire.")]
