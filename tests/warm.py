"""Imported once by the parent of killed runs, so that each of them starts in milliseconds."""

from __future__ import annotations

from unittest import mock

from litellm.litellm_core_utils.thread_pool_executor import executor

import runners.cache
import runners.output
from rdforget.models.quiet import quiet_litellm

__all__ = ["runners"]

# litellm does its book-keeping in a thread. One that is in the middle of an import when the parent forks leaves the
# import's lock taken in the child, which then waits for ever.
with mock.patch.object(executor, "submit", lambda work, *given, **named: work(*given, **named)):
    quiet_litellm()
