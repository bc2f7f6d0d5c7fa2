"""litellm as a library ought to be: imported late, quiet, offline, and closed when it is done with."""

from __future__ import annotations

import logging
import os
import warnings
from functools import cache
from typing import Any


@cache
def quiet_litellm() -> Any:
    """litellm, imported once and made quiet."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else the import fetches a price table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import litellm

        litellm.suppress_debug_info = True
        litellm.telemetry = False
        logging.getLogger("LiteLLM").setLevel(logging.ERROR)  # it reports odd replies, which are ours to report
        # The first completion imports more, with warnings that could not be contained in an `await`.
        litellm.completion(
            model="openai/none", messages=[{"role": "user", "content": "-"}], mock_response="-", api_key="none"
        )
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings")  # of odd replies, as above
    # It makes a coroutine and awaits it later: a timeout in between leaves it as it is.
    warnings.filterwarnings("ignore", message=r"coroutine '\w+\.acompletion' was never awaited")
    return litellm


async def close_connections() -> None:
    """Close what litellm keeps open; nothing where it was never imported."""
    if not quiet_litellm.cache_info().currsize:
        return
    import openai
    from litellm.llms.custom_httpx.async_client_cleanup import close_litellm_async_clients

    await close_litellm_async_clients()
    kept = quiet_litellm().in_memory_llm_clients_cache
    for client in kept.cache_dict.values():
        if isinstance(client, openai.OpenAI):  # of embeddings; litellm closes asynchronous ones only
            client.close()
    kept.flush_cache()
