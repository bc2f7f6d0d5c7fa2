"""Bounded concurrency over work that is pulled one piece at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from rdforget.models.base import CallError
from runners.errors import Exit, UserError

T = TypeVar("T")


async def in_parallel(todo: Iterator[T], work: Callable[[T], Awaitable[None]], workers: int) -> None:
    """Do all the work with at most `workers` pieces at once; a piece is taken from `todo` when a worker is free.

    A CallError that a piece lets through (a refused key) ends everything as UserError.
    """

    async def worker() -> None:
        for piece in todo:
            await work(piece)
            await asyncio.sleep(0)  # work that never waits would shut out the others, and Ctrl-C

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(worker())
    except* CallError as errors:
        message = f"stopped: {errors.exceptions[0]}; what was answered so far is kept"
        raise UserError(message, Exit.ABORTED) from errors
