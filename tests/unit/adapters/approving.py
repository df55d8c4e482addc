"""What the tests of approvals over HTTP stand on: a client without a network, which signs, or does so wrongly."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable
from datetime import UTC, datetime
from typing import Any

import attrs
import orjson

from lamina.adapters.approval_webhook import Key, sign
from lamina.effect import Clock
from lamina.testing import VirtualClock

SECRET = "ada's secret, which nobody else knows"
ADA = Key(id="ada", secret=SECRET)
BOB = Key(id="bob", secret="bob's secret, which nobody else knows")


@attrs.frozen
class Answer:
    status: int
    body: Any
    raw: bytes


class Client:
    """Sends requests to an ASGI application, signed by a key at the clock's time."""

    def __init__(self, app: Any, clock: Clock, key: Key = ADA) -> None:
        self.app = app
        self.clock = clock
        self.key = key

    def headers(self, method: str, target: str, body: bytes = b"", **changes: Any) -> dict[str, str]:
        """Give the headers of a request that is signed now."""
        now = int(self.clock.now().timestamp())
        given: dict[str, Any] = {"key": self.key.id, "secret": self.key.secret, "timestamp": now}
        return sign(method, target, body, **given | changes)

    async def get(self, target: str = "/pending", **changes: Any) -> Answer:
        return await self.send("GET", target, b"", self.headers("GET", target, **changes))

    async def decide(self, verdict: Any, **changes: Any) -> Answer:
        body = verdict if isinstance(verdict, bytes) else json.dumps(verdict).encode()
        return await self.send("POST", "/decide", body, self.headers("POST", "/decide", body, **changes))

    async def send(
        self,
        method: str,
        target: str,
        body: bytes | AsyncIterable[bytes],
        headers: dict[str, str],
        *,
        root: str = "",
    ) -> Answer:
        """Send a request as it is."""
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": root,
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        parts = body.__aiter__() if not isinstance(body, bytes) else None
        sent: list[Any] = []

        async def receive() -> Any:
            if parts is None:
                assert isinstance(body, bytes)
                return {"type": "http.request", "body": body, "more_body": False}
            try:
                return {"type": "http.request", "body": await parts.__anext__(), "more_body": True}
            except StopAsyncIteration:
                return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        raw = b"".join(message.get("body", b"") for message in sent)
        return Answer(sent[0]["status"], orjson.loads(raw) if raw[:1] == b"{" else None, raw)


def verdict_on(item: Any, decision: str = "approve", **changes: Any) -> dict[str, Any]:
    """Give a decision on an item of the list, as a client makes it."""
    key = item["request"]["key"]
    return {
        "conversation": item["conversation"],
        "run": key["run"],
        "turn": key["turn"],
        "call": key["call"],
        "arguments_digest": item["request"]["arguments_digest"],
        "decision": decision,
    } | changes


def ticking() -> VirtualClock:
    """Give a clock that is nowhere near the machine's."""
    clock = VirtualClock()
    assert clock.now() != datetime.now(UTC)
    return clock
