"""What a provider's refusal means: from its HTTP status, its error object, and what its words are known to say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from lamina.model import (
    Authentication,
    ContentPolicy,
    ContextOverflow,
    InvalidOutput,
    InvalidRequest,
    ModelError,
    PermissionDenied,
    ProviderDown,
    QuotaExhausted,
    RateLimited,
    Reason,
    UnknownModel,
)
from lamina.providers._wire._broken import Broken
from lamina.providers._wire._reading import Object, count_in, object_in, text_in
from lamina.providers._wire._retry_after import retry_after

_NO_HEADERS: Mapping[str, str] = {}

# OpenAI, Azure, llama.cpp, vLLM, Mistral, Groq, Anthropic's and Google's compatible endpoints.
_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|exceeds? the (available|model'?s)? ?(maximum )?context"
    r"|maximum context length|context (window|length|size) (is |has been )?(exceeded|too)"
    r"|prompt is too long|input is too long|too many (input |prompt )?tokens|reduce the length of the"
    r"|input token count .{0,40}exceeds|larger than the (max|available) context|exceeds? context limit",
    re.IGNORECASE,
)
_CONTENT = re.compile(
    r"content_filter|content_policy|content management policy|content filtering policy|moderation_blocked|safety_block",
    re.IGNORECASE,
)
_QUOTA = re.compile(r"insufficient_quota|billing|exceeded your current quota|credit balance", re.IGNORECASE)
_NO_MODEL = re.compile(
    r"model_not_found|model .{0,200}(not found|does ?n[o']t exist|not exist)|unknown model|not_found_error model: ",
    re.IGNORECASE,
)
# Refused as a bad request, although it is the account that is empty.
_EMPTY = re.compile(r"credit balance is too low|billing_hard_limit", re.IGNORECASE)
_KEY = re.compile(r"invalid_api_key|invalid_authentication|authentication_error", re.IGNORECASE)
_RATE = re.compile(r"rate_?limit|too many requests", re.IGNORECASE)
_DENIED = re.compile(r"permission_error", re.IGNORECASE)
_OVERLOADED = re.compile(r"overloaded_error", re.IGNORECASE)
_TOO_LARGE = re.compile(r"request_too_large", re.IGNORECASE)
_ABSENT = re.compile(r"not_found", re.IGNORECASE)
_INVALID = re.compile(r"invalid_request|bad_request|invalid_argument", re.IGNORECASE)

_STATUS_OF_KIND = (
    (_KEY, 401),
    (_QUOTA, 402),
    (_DENIED, 403),
    (_RATE, 429),
    (_OVERLOADED, 529),
    (_TOO_LARGE, 413),
    (_ABSENT, 404),
    (_INVALID, 400),
)


def reason_of_status(status: int, error: Object, headers: Mapping[str, str], model: str) -> Reason:
    """Say what an HTTP error means.

    Args:
        status: The HTTP status.
        error: The provider's error object; may be empty.
        headers: Of the response.
        model: The model's name, as configured.

    Example:
        >>> reason_of_status(429, {}, {"retry-after": "7"}, "gpt")
        RateLimited(retry_after=7.0)
        >>> reason_of_status(400, {"code": "context_length_exceeded"}, {}, "gpt")
        ContextOverflow()
    """
    words = _words(error)
    if status == 401 or (status == 403 and _KEY.search(words)):
        return Authentication()
    if status == 402 or (status in (403, 429) and _QUOTA.search(words)) or (status == 400 and _EMPTY.search(words)):
        return QuotaExhausted()
    if status == 429:
        return RateLimited(retry_after(headers))
    if _OVERFLOW.search(words) or status == 413:
        return ContextOverflow()
    if _CONTENT.search(words):
        return ContentPolicy()
    if status == 403:
        return PermissionDenied()
    if status == 404 and _NO_MODEL.search(words):
        return UnknownModel(model)
    # 408 and 409 are a server that was too slow and a lock that was taken: neither is the request's fault.
    if status >= 500 or status in (408, 409):
        return ProviderDown(status, retry_after(headers))
    return InvalidRequest() if status >= 400 else InvalidOutput()


def error_of_status(status: int, body: object, headers: Mapping[str, str], model: str) -> ModelError:
    """Make the error of an HTTP status and its body, whose words go into `detail` alone."""
    said: Object = {"message": body} if isinstance(body, str) else {}
    if isinstance(body, dict):
        said = cast("Object", body)
        said = object_in(said, "error") or {"message": text_in(said, "error"), **said}
    return ModelError(reason_of_status(status, said, headers, model), text_in(said, "message"))


def error_in_message(message: Object, model: str) -> None:
    """Look for an error object inside of a response or chunk whose HTTP status was good.

    Raises:
        Broken: There is one.
    """
    if message.get("error") is None:
        return
    error = object_in(message, "error") or {"message": text_in(message, "error")}
    status = count_in(error, "code") or count_in(error, "status") or 0
    if not 400 <= status <= 599:
        kind = f"{text_in(error, 'code')} {text_in(error, 'type')}"
        status = next((status for pattern, status in _STATUS_OF_KIND if pattern.search(kind)), 0)
    reason = reason_of_status(status or 500, error, _NO_HEADERS, model)
    if not status and isinstance(reason, ProviderDown):
        reason = ProviderDown()
    raise Broken(ModelError(reason, text_in(error, "message")))


def _words(error: Object) -> str:
    # Enough for any sentence that is known; a pattern never runs over a megabyte of somebody's text.
    return " ".join(text_in(error, key)[:2000] for key in ("code", "type", "message"))
