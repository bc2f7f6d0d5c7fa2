"""What went wrong, out of what litellm raises."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime

_PREFIX = re.compile(r"^(?:litellm\.\w+: )+(?:\w*Error: |Timeout Error: )*(?:\w+Exception - )?")
_TRACEBACK = re.compile(r"\s*Traceback \(most recent call last\):$")
_NO_CREDIT = re.compile(r"\b(?:insufficient_quota|exceeded_current_quota_error|Arrearage)\b|insufficient balance", re.I)
_CREDIT_STATUSES = {400, 403, 429}


def kind_of(error: Exception) -> str:
    """The kind of what litellm raised, as in `rdforget.models.base`.

    The class is asked only where it says more than the status: litellm raises one class for statuses as
    different as 402, 403 and 520, and an internal server error for a broken connection or a key not found.
    """
    import httpx
    import openai
    from litellm import exceptions as known

    if isinstance(error, known.ContextWindowExceededError):
        return "context"
    if isinstance(error, known.ContentPolicyViolationError):
        return "refused"
    if isinstance(error, known.Timeout):
        return "timeout"
    causes = list(_causes(error))
    if isinstance(error, known.APIConnectionError) or any(isinstance(c, httpx.TransportError) for c in causes):
        return "connection"
    status = getattr(error, "status_code", None)
    if status in (401, 402) or any(type(c) is openai.OpenAIError for c in causes):
        return "auth"
    if status in _CREDIT_STATUSES and _out_of_credit(error):
        return "quota"
    if status == 429:
        return "rate_limit"
    if not isinstance(status, int):
        return "internal"
    return "server" if status >= 500 else "bad_request"


def retry_after(error: Exception) -> float | None:
    """Seconds of a Retry-After header, given as such or as a date; None without one that can be read."""
    headers: Mapping[str, str] = getattr(error, "litellm_response_headers", None) or {}
    asked = headers.get("retry-after", "")
    try:
        seconds = float(asked)
    except ValueError:
        try:
            # By the provider's own clock: ours may be wrong.
            seconds = (parsedate_to_datetime(asked) - parsedate_to_datetime(headers["date"])).total_seconds()
        except (ValueError, TypeError, KeyError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def one_line(message: str) -> str:
    """The first line of litellm's message, without its prefixes."""
    return _TRACEBACK.sub("", _PREFIX.sub("", message.strip().partition("\n")[0]))


def _out_of_credit(error: Exception) -> bool:
    said = f"{getattr(error, 'body', None)} {error}"
    found = _NO_CREDIT.search(said)
    # DashScope says insufficient_quota of tokens a minute too.
    return bool(found) and (getattr(error, "llm_provider", "") != "dashscope" or "Arrearage" in said)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
