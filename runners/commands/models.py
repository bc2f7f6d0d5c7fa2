"""`rdf models check`"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from runners.commands.options import Json, Timeout


def check(
    model: Annotated[str, typer.Argument(help="A name from `rdf models`, gguf:PATH, or any litellm string.")],
    api_base: Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible server.")] = None,
    dry_run: Annotated[bool, typer.Option(help="Ask nobody: print what the check may cost.")] = False,
    timeout: Timeout = None,
    json: Json = False,
) -> None:
    """Try what a model can do with nine small calls: roles, schema, output cap, prompt cache, usage, speed, price."""
    import asyncio

    from rdforget.models.parameters import ModelConfig
    from rdforget.models.replay import ReplayConfig
    from runners.backends import backend_of, model_config, unready
    from runners.console import print_json, print_table, printable, stdout
    from runners.errors import Exit, UserError
    from runners.model_check import check as try_out
    from runners.model_check import probes, usd_at_most

    config = model_config(model, api_base)
    if not isinstance(config, ModelConfig) or isinstance(config, ReplayConfig):
        raise UserError(f"{model} is no language model that could be asked: there is nothing to check")
    given = probes(config)
    usd = usd_at_most(config, given)
    most = "at an unknown price" if usd is None else f"{usd:.4f} USD at most"
    if not json:
        stdout().print(printable(f"{model}: {len(given)} calls, {most}"))
    head = {"model": model, "calls": len(given), "usd_at_most": usd}
    if dry_run:
        if json:
            print_json(head)
        return
    if problem := unready(config):
        raise UserError(problem)
    # One attempt: what goes wrong is what a user wants to know.
    config = replace(config, attempts=1, timeout=timeout or config.timeout)
    checked = asyncio.run(try_out(backend_of(config), config, given))
    if json:
        print_json(head | checked.payload())
    else:
        rows = [(finding.what, finding.outcome, finding.detail) for finding in checked.findings]
        print_table(("what", "outcome", "detail"), rows, left=("what", "outcome", "detail"))
    raise typer.Exit(int(Exit.DONE if checked.fit else Exit.FAILED_ITEMS))
