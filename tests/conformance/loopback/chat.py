"""What servers of Chat Completions send, good and hostile: each scenario streamed and whole."""

from __future__ import annotations

import json
from typing import Any

from tests.conformance.loopback.server import Event, Reply, Scenario

SSE = {"content-type": "text/event-stream; charset=utf-8"}
JSON = {"content-type": "application/json"}
GARBLED = Scenario(
    Reply((b"no gzip",), headers={**SSE, "content-encoding": "gzip"}),
    Reply((b"no gzip",), headers={**JSON, "content-encoding": "gzip"}),
)
DONE = b"data: [DONE]\n\n"
USAGE: dict[str, Any] = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
CACHED: dict[str, Any] = {
    **USAGE,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    """One event with one choice."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return event({"choices": [choice], **more})


def event(body: dict[str, Any]) -> bytes:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "test-1"}
    return b"data: " + json.dumps({**head, **body}, ensure_ascii=False).encode() + b"\n\n"


def usage_chunk(usage: dict[str, Any] = USAGE) -> bytes:
    return event({"choices": [], "usage": usage})


def call_piece(index: int, arguments: str, name: str | None = None, call_id: str | None = None) -> dict[str, Any]:
    piece: dict[str, Any] = {"index": index, "function": {"arguments": arguments}}
    if name is not None:
        piece["function"]["name"] = name
    if call_id is not None:
        piece |= {"id": call_id, "type": "function"}
    return {"tool_calls": [piece]}


def whole(message: dict[str, Any], finish: str | None = "stop", usage: dict[str, Any] | None = USAGE) -> Reply:
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "model": "test-1",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}],
    }
    if usage is not None:
        body["usage"] = usage
    return Reply((json.dumps(body, ensure_ascii=False).encode(),), headers=JSON)


def stream(*pieces: bytes | Event) -> Reply:
    return Reply(pieces, headers=SSE)


def error(status: int, message: str, *, code: str | None = None, kind: str = "error", **headers: str) -> Scenario:
    body = json.dumps({"error": {"message": message, "type": kind, "code": code}}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    reply = Reply((body,), status, {**JSON, **named})
    return Scenario(reply, reply)


def text(*deltas: str, usage: dict[str, Any] = USAGE, finish: str = "stop") -> Scenario:
    """A text in deltas, its finish, and its usage in a last chunk without choices."""
    said = [chunk({"content": delta}) for delta in deltas]
    return Scenario(
        stream(chunk({"role": "assistant", "content": ""}), *said, chunk({}, finish), usage_chunk(usage), DONE),
        whole({"content": "".join(deltas)}, finish, usage),
    )


def cut_everywhere(scenario: Scenario) -> Scenario:
    """Cut the streamed answer after every third byte."""
    joined = b"".join(piece for piece in scenario.stream.pieces if isinstance(piece, bytes))
    return Scenario(stream(*(joined[at : at + 3] for at in range(0, len(joined), 3))), scenario.whole)


def _calls(*calls: tuple[str, str, str]) -> list[dict[str, Any]]:
    return [{"id": key, "type": "function", "function": {"name": name, "arguments": args}} for key, name, args in calls]


PLAIN = text("Hel", "lo, ", "world")
EMPTY = text()
UNICODE = cut_everywhere(text("é", "€ 漢", "🙂"))
CACHED_USAGE = text("Hi", usage=CACHED)
CONTENT_FILTER = text("I can", finish="content_filter")
LENGTH = text("Once upon", finish="length")

REASONING = Scenario(
    stream(
        chunk({"reasoning_content": "Let me "}),
        chunk({"reasoning_content": "think."}),
        chunk({"content": "Hi"}),
        chunk({}, "stop"),
        usage_chunk(),
        DONE,
    ),
    whole({"content": "Hi", "reasoning_content": "Let me think."}),
)

PARALLEL = Scenario(
    stream(
        chunk(call_piece(0, "", "add", "call-a")),
        chunk(call_piece(1, "", "lookup", "call-b")),
        chunk(call_piece(0, '{"x": 1,')),
        chunk(call_piece(1, '{"key":')),
        chunk(call_piece(0, ' "y": 2}')),
        chunk(call_piece(1, ' "abc"}')),
        chunk({}, "tool_calls"),
        usage_chunk(),
        DONE,
    ),
    whole(
        {
            "content": None,
            "tool_calls": _calls(("call-a", "add", '{"x": 1, "y": 2}'), ("call-b", "lookup", '{"key": "abc"}')),
        },
        "tool_calls",
    ),
)

TEXT_AND_CALL = Scenario(
    stream(
        chunk({"content": "One moment. "}),
        chunk(call_piece(0, '{"key": "abc"}', "lookup", "call-a")),
        chunk({}, "tool_calls"),
        usage_chunk(),
        DONE,
    ),
    whole({"content": "One moment. ", "tool_calls": _calls(("call-a", "lookup", '{"key": "abc"}'))}, "tool_calls"),
)


def one_call(arguments: str, finish: str = "tool_calls") -> Scenario:
    return Scenario(
        stream(chunk(call_piece(0, arguments, "add", "call-a")), chunk({}, finish), usage_chunk(), DONE),
        whole({"content": None, "tool_calls": _calls(("call-a", "add", arguments))}, finish),
    )


MALFORMED_ARGUMENTS = one_call('{"x": 1, "y": ')
CUT_ARGUMENTS = one_call('{"x": 1, "y"', "length")
DUPLICATE_IDS = Scenario(
    stream(
        chunk(call_piece(0, "{}", "add", "same")),
        chunk(call_piece(1, "{}", "add", "same")),
        chunk({}, "tool_calls"),
        usage_chunk(),
        DONE,
    ),
    whole({"content": None, "tool_calls": _calls(("same", "add", "{}"), ("same", "add", "{}"))}, "tool_calls"),
)

STRUCTURED = text('{"hello": ', '"world"}')

UNAUTHORIZED = error(401, "Incorrect API key provided: sk-canary", code="invalid_api_key")
RATE_LIMITED = error(429, "slow down", code="rate_limit_exceeded", retry_after="7")
RATE_LIMITED_UNTIL = error(
    429, "slow down", date="Mon, 30 Nov 2026 12:00:00 GMT", retry_after="Mon, 30 Nov 2026 12:00:07 GMT"
)
SERVER_ERROR = error(500, "oops", kind="server_error")
OVERLOADED = error(503, "try later", retry_after="3")
CONTEXT_OVERFLOW = error(400, "This model's maximum context length is 8192 tokens.", code="context_length_exceeded")
LLAMA_OVERFLOW = error(
    400,
    "request (9000 tokens) exceeds the available context size (2048 tokens), try increasing it",
    kind="exceed_context_size_error",
)
INVALID_REQUEST = error(422, "messages: field required", kind="invalid_request_error")

HTML = Reply((b"<html>\n<body>It works!</body>\n</html>\n",), headers={"content-type": "text/html"})
UNREADABLE = Scenario(HTML, HTML)
MALFORMED_CHUNK = Scenario(
    stream(chunk({"content": "Hi"}), b'data: {"choices": [\n\n'), Reply((b'{"choices": [',), headers=JSON)
)
OVERSIZED_LINE = Scenario(stream(b"data: " + b"x" * 3_000_000, b"x" * 3_000_000), whole({"content": "x"}))
INVALID_UTF8 = Scenario(stream(b'data: {"a": "\xff"}\n\n'), Reply((b'{"a": "\xff"}',), headers=JSON))

_ERROR = {"error": {"message": "overloaded", "type": "server_error", "code": None}}
ERROR_MIDSTREAM = Scenario(
    stream(chunk({"content": "Hel"}), event(_ERROR)), Reply((json.dumps(_ERROR).encode(),), headers=JSON)
)
LOST = Scenario(
    stream(chunk({"content": "Hel"}), Event.LOST), Reply((b'{"choices": [{"index": 0, "mess', Event.LOST), headers=JSON)
)
LOST_BEFORE_USAGE = Scenario(stream(chunk({"content": "Hi"}), chunk({}, "stop"), Event.LOST), LOST.whole)
NO_FINISH = Scenario(stream(chunk({"content": "Hel"})), whole({"content": "Hel"}, None))
DONE_WITHOUT_FINISH = Scenario(stream(chunk({"content": "Hel"}), DONE), whole({"content": "Hel"}, None))
HANGING = Scenario(stream(chunk({"content": "Hel"}), Event.HANG), Reply((b'{"choices": ', Event.HANG), headers=JSON))

NO_USAGE = Scenario(stream(chunk({"content": "Hi"}), chunk({}, "stop"), DONE), whole({"content": "Hi"}, usage=None))
EMPTY_CHOICES = Scenario(
    stream(
        event({"choices": []}), chunk({"content": "Hi"}), event({"choices": []}), chunk({}, "stop"), usage_chunk(), DONE
    ),
    whole({"content": "Hi"}),
)
COMMENTS = Scenario(
    stream(
        b": OPENROUTER PROCESSING\n\n",
        chunk({"content": "Hi"}),
        b": ping\r\n\r\n",
        chunk({}, "stop"),
        usage_chunk(),
        DONE,
    ),
    whole({"content": "Hi"}),
)
CRLF = Scenario(
    stream(*(piece.replace(b"\n", b"\r\n") for piece in PLAIN.stream.pieces if isinstance(piece, bytes))), PLAIN.whole
)
NO_INDEX_NO_ID = Scenario(
    stream(
        chunk(
            {
                "tool_calls": [
                    {"function": {"name": "add", "arguments": '{"x": 1, "y": 2}'}},
                    {"function": {"name": "lookup", "arguments": '{"key": "abc"}'}},
                ]
            }
        ),
        chunk({}, "stop"),
        usage_chunk(),
        DONE,
    ),
    whole(
        {
            "content": None,
            "tool_calls": [
                {"function": {"name": "add", "arguments": '{"x": 1, "y": 2}'}},
                {"function": {"name": "lookup", "arguments": '{"key": "abc"}'}},
            ],
        },
        "stop",
    ),
)
