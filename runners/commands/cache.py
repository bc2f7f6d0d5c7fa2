"""`rdf cache stats`, `clear`, `export`, `import`: the replies that every run may use."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runners.commands.options import CACHE, Cache, Json

if TYPE_CHECKING:
    from runners.cache import ReplyCache

File = Annotated[Path, typer.Argument(dir_okay=False, help="JSON lines; compressed where the name ends in .gz.")]


def stats(cache: Cache = CACHE, json: Json = False) -> None:
    """Count the replies by model and role."""
    from runners.console import print_json, print_table, stdout

    with _existing(cache) as store:
        counts, claimed = store.counts(), store.claimed()
    total, size = sum(count for _, _, count in counts), cache.stat().st_size
    if json:
        rows = [{"model": model, "role": role, "replies": count} for model, role, count in counts]
        print_json({"cache": str(cache), "replies": total, "asking": claimed, "bytes": size, "by": rows})
        return
    print_table(("model", "role", "replies"), [(m, r, f"{n:,}") for m, r, n in counts], left=("model", "role"))
    stdout().print(f"\n{cache}: {total:,} replies, {size / 1e6:.1f} MB, {claimed} being asked now")


def clear(cache: Cache = CACHE, json: Json = False) -> None:
    """Erase every reply. Runs keep their own."""
    with _existing(cache) as store:
        erased = store.clear()
    _say(f"erased {erased:,} replies from {cache}", {"erased": erased}, as_json=json)


def export(
    file: File,
    run: Annotated[
        str | None, typer.Option(help="The replies of this run instead: a recording, for `--model replay:FILE`.")
    ] = None,
    results: Annotated[Path, typer.Option(help="Where runs and sweeps are kept.")] = Path("results"),
    cache: Cache = CACHE,
    json: Json = False,
) -> None:
    """Write the replies to a file, without prompts or keys of providers; those of a run can be its model again."""
    from runners.cache_files import entries_of_run, write
    from runners.recordings import head_of_run
    from runners.runs import find_run

    if run is not None:
        folder = find_run(run, results)
        count = write(entries_of_run(folder), file, head_of_run(folder))
    else:
        with _existing(cache) as store:
            count = write(store.entries(), file)
    _say(f"{count:,} replies written to {file}", {"replies": count, "file": str(file)}, as_json=json)


def take_in(file: File, cache: Cache = CACHE, json: Json = False) -> None:
    """Take the replies of a file in; those that are here already stay."""
    from runners.cache import ReplyCache
    from runners.cache_files import read_into

    with closing(ReplyCache(cache)) as store:
        new, known, left_out = read_into(store, file)
    more = f", {left_out:,} left out that are empty or cut off" if left_out else ""
    found = {"new": new, "known": known, "left_out": left_out}
    _say(f"{new:,} new replies in {cache}, {known:,} were known{more}", found, as_json=json)


def _existing(path: Path) -> closing[ReplyCache]:
    from runners.cache import ReplyCache
    from runners.errors import UserError

    if not path.is_file():
        raise UserError(f"there is no cache {path}: give --cache, or run something with a language model first")
    return closing(ReplyCache(path))


def _say(text: str, payload: Mapping[str, object], *, as_json: bool) -> None:
    from runners.console import print_json, printable, stdout

    if as_json:
        print_json(payload)
    else:
        stdout().print(printable(text))
