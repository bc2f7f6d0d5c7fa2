"""Ctrl-C while requests are on their way: they are paid for, so their replies are waited for, but not for ever."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from runners.errors import Exit, UserError
from runners.halt import Halt

GRACE = 10.0
"""Seconds that the replies on their way are given to come in."""


@contextmanager
def interruptible(halt: Halt, tell: Callable[[str], None]) -> Iterator[None]:
    """Inside, Ctrl-C halts: nothing more is asked, and after GRACE, or at the next Ctrl-C, nothing waited for.

    `tell` is told so. Where a loop takes no signals (outside the main thread, on Windows) Ctrl-C ends everything at
    once, as it does by itself.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    waiting: list[asyncio.TimerHandle] = []

    def interrupted() -> None:
        if halt.reason:
            task.cancel()
            return
        halt.now(UserError("interrupted; what was answered so far is kept", Exit.INTERRUPTED))
        tell(f"interrupted: waiting up to {GRACE:g} s for replies on their way; Ctrl-C again to stop at once")
        waiting.append(loop.call_later(GRACE, task.cancel))

    try:
        loop.add_signal_handler(signal.SIGINT, interrupted)
    except (NotImplementedError, RuntimeError, ValueError):
        yield
        return
    try:
        yield
    except asyncio.CancelledError:
        if halt.reason:
            raise halt.reason from None
        raise
    finally:
        for timer in waiting:
            timer.cancel()
        loop.remove_signal_handler(signal.SIGINT)
