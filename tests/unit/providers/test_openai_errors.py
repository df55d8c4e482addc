"""What refusals mean."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from lamina.model import (
    Authentication,
    ContentPolicy,
    ContextOverflow,
    InvalidOutput,
    InvalidRequest,
    PermissionDenied,
    ProviderDown,
    QuotaExhausted,
    RateLimited,
    Reason,
    UnknownModel,
)
from lamina.providers._wire import Broken, error_in_message, error_of_status, reason_of_status, retry_after

MODEL = "test-1"


@pytest.mark.parametrize(
    ("status", "error", "reason"),
    [
        (401, {}, Authentication()),
        (403, {"message": "not in your region"}, PermissionDenied()),
        (403, {"code": "invalid_api_key"}, Authentication()),
        (402, {}, QuotaExhausted()),
        (429, {}, RateLimited()),
        (429, {"code": "insufficient_quota"}, QuotaExhausted()),
        (429, {"message": "Request too large: maximum context length"}, RateLimited()),
        (404, {"code": "model_not_found"}, UnknownModel(MODEL)),
        (404, {"message": 'model "x" not found, try pulling it first'}, UnknownModel(MODEL)),
        (404, {"message": "The model `x` does not exist"}, UnknownModel(MODEL)),
        (404, {"message": "no such path"}, InvalidRequest()),
        (400, {"code": "context_length_exceeded"}, ContextOverflow()),
        (400, {"message": "This model's maximum context length is 8192 tokens."}, ContextOverflow()),
        (400, {"message": "the request exceeds the available context size. try increasing it"}, ContextOverflow()),
        (400, {"type": "exceed_context_size_error"}, ContextOverflow()),
        (400, {"message": "prompt is too long: 210000 tokens > 200000 maximum"}, ContextOverflow()),
        (500, {"message": "context size has been exceeded"}, ContextOverflow()),
        (413, {}, ContextOverflow()),
        (400, {"code": "content_filter"}, ContentPolicy()),
        (400, {"message": "triggered Azure OpenAI's content management policy"}, ContentPolicy()),
        (400, {"message": "temperature must be below 2"}, InvalidRequest()),
        (422, {}, InvalidRequest()),
        (408, {}, ProviderDown(408)),
        (409, {}, ProviderDown(409)),
        (500, {}, ProviderDown(500)),
        (503, {}, ProviderDown(503)),
        (529, {}, ProviderDown(529)),
        (302, {}, InvalidOutput()),
    ],
)
def test_each_status_has_its_reason(status: int, error: dict[str, str], reason: Reason) -> None:
    assert reason_of_status(status, error, {}, MODEL) == reason


def test_rate_limits_and_overloads_keep_the_waiting_time() -> None:
    assert reason_of_status(429, {}, {"retry-after": "7"}, MODEL) == RateLimited(7.0)
    assert reason_of_status(503, {}, {"retry-after-ms": "1500"}, MODEL) == ProviderDown(503, 1.5)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "no"}}, "no"),
        ({"message": "no"}, "no"),
        ({"error": "no"}, "no"),
        ("no", "no"),
        (None, ""),
        ({"error": {"message": ["no"]}}, ""),
    ],
)
def test_the_providers_words_are_detail_and_nothing_else(body: Any, said: str) -> None:
    error = error_of_status(500, body, {}, MODEL)
    assert (error.detail, str(error)) == (said, "The model's provider cannot answer now.")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ({"code": 429, "message": "slow"}, RateLimited()),
        ({"code": "rate_limit_exceeded"}, RateLimited()),
        ({"code": "insufficient_quota"}, QuotaExhausted()),
        ({"type": "authentication_error"}, Authentication()),
        ({"type": "invalid_request_error", "message": "bad"}, InvalidRequest()),
        ({"type": "invalid_request_error", "code": "context_length_exceeded"}, ContextOverflow()),
        ({"type": "server_error"}, ProviderDown()),
        ({"code": 502}, ProviderDown(502)),
        ("it broke", ProviderDown()),
        ({"code": True}, ProviderDown()),
    ],
)
def test_an_error_under_a_good_status_has_its_reason(error: Any, reason: Reason) -> None:
    with pytest.raises(Broken) as broken:
        error_in_message({"error": error}, MODEL)
    assert broken.value.error.reason == reason


def test_a_message_whose_error_is_null_is_none() -> None:
    error_in_message({"error": None, "choices": []}, MODEL)
    with pytest.raises(Broken):
        error_in_message({"error": {}}, MODEL)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "20", "retry-after": "7"}, 0.02),
        ({"retry-after-ms": "x", "retry-after": "7"}, 7.0),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:09 GMT"}, 9.0),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:09 GMT", "date": "Mon, 30 Nov 2026 12:00:05 GMT"}, 4.0),
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)) == seconds
