"""What servers of the Messages API send, good and hostile; the adapter streams everything, so one reply serves both."""

from __future__ import annotations

import json
from typing import Any

from tests.conformance.loopback.server import Event, Reply, Scenario

SSE = {"content-type": "text/event-stream; charset=utf-8"}
JSON = {"content-type": "application/json"}
USAGE: dict[str, Any] = {"input_tokens": 10, "output_tokens": 1}
CACHED: dict[str, Any] = {
    "input_tokens": 3,
    "cache_read_input_tokens": 5,
    "cache_creation_input_tokens": 2,
    "output_tokens": 1,
}


def event(kind: str, **body: Any) -> bytes:
    data = json.dumps({"type": kind, **body}, ensure_ascii=False)
    return f"event: {kind}\ndata: {data}\n\n".encode()


def begin(usage: dict[str, Any] = USAGE) -> bytes:
    head: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "test-1-20260101",
        "content": [],
    }
    return event("message_start", message={**head, "stop_reason": None, "usage": usage})


def opening(index: int, kind: str, **block: Any) -> bytes:
    return event("content_block_start", index=index, content_block={"type": kind, **block})


def delta(index: int, kind: str, **delta: Any) -> bytes:
    return event("content_block_delta", index=index, delta={"type": kind, **delta})


def closing(index: int) -> bytes:
    return event("content_block_stop", index=index)


def over(reason: str | None = "end_turn", usage: dict[str, Any] | None = None) -> bytes:
    stop = {"stop_reason": reason, "stop_sequence": None, "stop_details": None}
    return event("message_delta", delta=stop, usage=usage or {"output_tokens": 5})


STOP = event("message_stop")
PING = event("ping")


def text_block(index: int, *deltas: str) -> tuple[bytes, ...]:
    said = [delta(index, "text_delta", text=text) for text in deltas]
    return (opening(index, "text", text=""), *said, closing(index))


def call_block(index: int, key: str, name: str, *pieces: str) -> tuple[bytes, ...]:
    said = [delta(index, "input_json_delta", partial_json=piece) for piece in ("", *pieces)]
    return (opening(index, "tool_use", id=key, name=name, input={}), *said, closing(index))


def stream(*pieces: bytes | Event) -> Scenario:
    reply = Reply(pieces, headers=SSE)
    return Scenario(reply, reply)


def message(*pieces: bytes, reason: str = "end_turn", usage: dict[str, Any] = USAGE) -> Scenario:
    """A complete message of these blocks."""
    return stream(begin(usage), PING, *pieces, over(reason), STOP)


def error(status: int, kind: str, said: str, **headers: str) -> Scenario:
    body = json.dumps({"type": "error", "error": {"type": kind, "message": said}, "request_id": "req_1"}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    reply = Reply((body,), status, {**JSON, **named})
    return Scenario(reply, reply)


def cut_everywhere(scenario: Scenario) -> Scenario:
    """Cut the answer after every third byte."""
    joined = b"".join(piece for piece in scenario.stream.pieces if isinstance(piece, bytes))
    return stream(*(joined[at : at + 3] for at in range(0, len(joined), 3)))


PLAIN = message(*text_block(0, "Hel", "lo, ", "world"))
EMPTY = message()
EMPTY_TEXT = message(*text_block(0))
UNICODE = cut_everywhere(message(*text_block(0, "é", "€ 漢", "🙂")))
CACHED_USAGE = message(*text_block(0, "Hi"), usage=CACHED)
CONTENT_FILTER = message(*text_block(0, "I can"), reason="refusal")
STRUCTURED = message(*text_block(0, '{"hello": ', '"world"}'))
REASONING = message(
    opening(0, "thinking", thinking="", signature=""),
    delta(0, "thinking_delta", thinking="Let me "),
    delta(0, "thinking_delta", thinking="think."),
    delta(0, "signature_delta", signature="c2lnbmVk"),
    closing(0),
    opening(1, "redacted_thinking", data="aGlkZGVu"),
    closing(1),
    *text_block(2, "Hi"),
)
PARALLEL = message(
    *call_block(0, "toolu_a", "add", '{"x": 1,', ' "y": 2}'),
    *call_block(1, "toolu_b", "lookup", '{"key":', ' "abc"}'),
    reason="tool_use",
)
INTERLEAVED = message(
    opening(0, "tool_use", id="toolu_a", name="add", input={}),
    opening(1, "tool_use", id="toolu_b", name="lookup", input={}),
    delta(1, "input_json_delta", partial_json='{"key":'),
    delta(0, "input_json_delta", partial_json='{"x": 1,'),
    delta(1, "input_json_delta", partial_json=' "abc"}'),
    closing(1),
    delta(0, "input_json_delta", partial_json=' "y": 2}'),
    closing(0),
    reason="tool_use",
)
TEXT_AND_CALL = message(
    *text_block(0, "One moment. "), *call_block(1, "toolu_a", "lookup", '{"key": "abc"}'), reason="tool_use"
)
MALFORMED_ARGUMENTS = message(*call_block(0, "toolu_a", "add", '{"x": 1, ', '"y": '), reason="tool_use")
CUT_ARGUMENTS = message(*call_block(0, "toolu_a", "add", '{"x": 1, "y"'), reason="max_tokens")
NO_ARGUMENTS = message(*call_block(0, "toolu_a", "now"), reason="tool_use")
DUPLICATE_IDS = message(*call_block(0, "same", "add", "{}"), *call_block(1, "same", "add", "{}"), reason="tool_use")

UNAUTHORIZED = error(401, "authentication_error", "invalid x-api-key sk-canary")
FORBIDDEN = error(403, "permission_error", "Your API key does not have permission to use the specified resource.")
NO_MODEL = error(404, "not_found_error", "model: test-1")
NO_CREDIT = error(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.")
RATE_LIMITED = error(429, "rate_limit_error", "slow down", retry_after="7")
OVERLOADED = error(529, "overloaded_error", "Overloaded", retry_after="3")
SERVER_ERROR = error(500, "api_error", "Internal server error")
CONTEXT_OVERFLOW = error(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
LIMIT_OVERFLOW = error(
    400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"
)
TOO_LARGE = error(413, "request_too_large", "Request exceeds the maximum size")
BLOCKED = error(400, "invalid_request_error", "Output blocked by content filtering policy")
INVALID_REQUEST = error(400, "invalid_request_error", "messages: at least one message is required")

HTML = Reply((b"<html>\n<body>It works!</body>\n</html>\n",), headers={"content-type": "text/html"})
UNREADABLE = Scenario(HTML, HTML)
HEL = (begin(), opening(0, "text", text=""), delta(0, "text_delta", text="Hel"))
MALFORMED_EVENT = stream(*HEL, b'event: content_block_delta\ndata: {"type": "content_block_de\n\n')
NO_OBJECT = stream(*HEL, b"data: [1]\n\n")
STRAY_DELTA = stream(*HEL, delta(7, "text_delta", text="lo"), closing(0), over(), STOP)
STARTED_TWICE = stream(*HEL, opening(0, "text", text=""), closing(0), over(), STOP)
OVERSIZED_LINE = stream(b"data: " + b"x" * 3_000_000, b"x" * 3_000_000)
INVALID_UTF8 = stream(b'data: {"a": "\xff"}\n\n')
ERROR_MIDSTREAM = stream(*HEL, event("error", error={"type": "overloaded_error", "message": "Overloaded"}))
SILENT_ERROR = stream(*HEL, event("error"))
LOST = stream(*HEL, Event.LOST)
LOST_BEFORE_STOP = stream(*HEL, closing(0), over(), Event.LOST)
NO_STOP = stream(*HEL, closing(0), over())
NO_REASON = stream(*HEL, closing(0), over(None), STOP)
HANGING = stream(*HEL, Event.HANG)
HANGING_AFTERWARDS = stream(*HEL, closing(0), over(), STOP, Event.HANG)
LOST_AFTERWARDS = stream(*HEL, closing(0), over(), STOP, Event.LOST)
ONE_PIECE = Scenario(*[Reply((b'{"type": "message", "content": []}',), headers=JSON)] * 2)
ERROR_IN_ONE_PIECE = Scenario(
    *[Reply((b'{"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}',), headers=JSON)] * 2
)

NO_USAGE = stream(begin({}), *text_block(0, "Hel"), over(usage={"output_tokens": 5}), STOP)
NEVER_CLOSED = stream(*HEL, over(), STOP)
UNKNOWN_KINDS = stream(
    *HEL,
    event("weather_report", sunny=True),
    delta(0, "weather_delta", rain=1),
    closing(0),
    opening(1, "weather", text="not a text"),
    delta(1, "text_delta", text="not a text either"),
    closing(1),
    over(),
    STOP,
)
CRLF = stream(*(piece.replace(b"\n", b"\r\n") for piece in NEVER_CLOSED.stream.pieces if isinstance(piece, bytes)))
SEARCHED = message(
    opening(0, "server_tool_use", id="srvtoolu_1", name="web_search", input={}),
    delta(0, "input_json_delta", partial_json='{"query": "tea"}'),
    closing(0),
    opening(
        1,
        "web_search_tool_result",
        tool_use_id="srvtoolu_1",
        content=[{"type": "web_search_result", "url": "https://example.com", "encrypted_content": "eA=="}],
    ),
    closing(1),
    opening(2, "text", text=""),
    delta(
        2,
        "citations_delta",
        citation={"type": "web_search_result_location", "url": "https://example.com", "title": "Tea"},
    ),
    delta(2, "text_delta", text="Tea."),
    closing(2),
)
