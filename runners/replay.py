"""Asking again what a run asked, from its own journal: does its manifest still lead to the same requests?"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from rdforget.calls.base import Call, Reply
from rdforget.item import Builds, Desk, Ledger, run_item
from rdforget.models.base import CallError
from rdforget.records import CallRecord
from runners.engine import Run, prepare
from runners.journal import read_builds, read_records, read_replies
from runners.runs import spec_of


@dataclass(frozen=True, slots=True)
class Replayed:
    """Keys of the requests that a run made, and of those that its manifest leads to now."""

    then: Counter[str]
    now: Counter[str]

    @property
    def identical(self) -> bool:
        return self.then == self.now


class _Unasked:
    """A backend that is never asked: a request without a recorded reply ends its question."""

    name = "replay"

    async def answer(self, call: Call) -> Reply:
        raise CallError("bad_request", f"the run holds no reply to this {call.role} request")

    async def close(self) -> None: ...


def replay(folder: Path, data_dir: Path | None) -> Replayed:
    """Prepare the run of a manifest anew and answer its requests from its journal; nothing is asked or written."""
    run = prepare(spec_of(folder), data_dir)
    then = [call for record in read_records(folder) for call in record.calls]
    # A build that was gone on with lists again what its earlier session asked.
    built = itertools.chain.from_iterable(read_builds(folder).values())
    then += {call.key: call for call in built}.values()
    now = asyncio.run(_requests(run, folder))
    return Replayed(Counter(call.key for call in then), Counter(call.key for call in now))


async def _requests(run: Run, folder: Path) -> list[CallRecord]:
    calls: list[CallRecord] = []
    desk = Desk(lambda call, reply: None, lambda _, built: calls.extend(built), read_replies(folder), run.spec.repeat)
    builds = Builds(run.setup, _Unasked(), desk)
    for task in itertools.islice(run.suite.tasks(), run.total):
        record = await run_item(task, run.setup, Ledger(_Unasked(), desk), Ledger(_Unasked(), desk), builds)
        calls += record.calls
    return calls
