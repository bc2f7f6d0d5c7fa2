"""Who holds a claim: a name for this process, and whether the process behind a name has ended.

A process number is used again after its process has ended, so that the name holds its starting time too. Where the
other process cannot be looked at (another machine, another container) nothing is said, and time decides.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
from contextlib import suppress
from pathlib import Path


def new_holder() -> str:
    """A name that nobody else has: `place pid start random`."""
    return f"{_place()} {os.getpid()} {_start(os.getpid())} {secrets.token_hex(8)}"


def has_ended(holder: str) -> bool:
    """Whether the process of a holder is known to have ended; False where that cannot be known."""
    place, pid, start, _ = holder.split(" ")
    if place != _place():
        return False
    if start != "-":
        return _start(int(pid)) != start
    if sys.platform == "win32":  # there a signal of 0 would end the process
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _place() -> str:
    """The machine, and on it the space that its process numbers belong to."""
    space = ""
    with suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")
    return f"{socket.gethostname()}/{space}".replace(" ", "-")


def _start(pid: int) -> str:
    """When a process was started, in the kernel's ticks; `-` without /proc, and where there is no such process.

    A process that has ended and is not yet collected by its parent counts as ended.
    """
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except OSError:
        return "-" if pid == os.getpid() or not Path("/proc/self/stat").exists() else "ended"
    return "ended" if state in "ZX" else fields[18]
