"""The server: two routes, each answer one of a few fixed ones, so that nothing is learned from a refusal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import anyio
import attrs
import orjson
from returns.result import Failure
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from lamina.adapters.approval_webhook._desk import MOST_ITEMS, Desk, Refusal, Verdict, WaitingItem
from lamina.adapters.approval_webhook._keys import Gate, Key, gate
from lamina.effect import Clock, SystemClock, Value, log
from lamina.schema import codec

LARGEST_BODY = 65_536
BODY_SECONDS = 10.0
"""How long a body may take to come in."""

Work = Callable[[Request, Key, bytes], Awaitable[Response]]

_STATUS: Final[dict[Refusal, int]] = {"not-found": 404, "conflict": 409, "invalid": 422, "unavailable": 503}
_WORDS: Final = {
    401: "unauthorized",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    408: "timeout",
    409: "conflict",
    413: "too-large",
    422: "invalid",
    500: "internal",
    503: "unavailable",
}


@attrs.frozen(kw_only=True, eq=False, repr=False)
class _Page(Value):
    pending: tuple[WaitingItem, ...]
    next: str | None


_PAGE = codec(_Page)
_VERDICT = codec(Verdict)


def approval_app(
    desk: Desk, keys: Iterable[Key], *, clock: Clock | None = None, window: float = 300.0, nonces: int = 65_536
) -> Starlette:
    """Serve what waits for approval: `GET /pending?after=&limit=` lists it, `POST /decide` takes a `Verdict` as JSON.

    When to use: people, or a service of theirs, decide over HTTP. Serve it with any ASGI server, over TLS: what is
    listed is in clear. It may be mounted in another application; what is signed is the path that the server receives.

    Each request is signed, see `sign`, and counts once: also where several processes serve the same keys, if their
    desk stands on one durable store, which then remembers the nonces. Otherwise each process remembers its own, would
    let a request in that another has let in already, and takes none that was signed before it began.

    An error is `{"error": "…"}` and says no more than its status: 401 not signed by a key, too early, too late, or not
    for the first time; 403 the key may not decide; 404 nothing of that waits, or it is another principal's, or there is
    no such path; 405 no such method; 408 the body took too long; 409 decided already, expired, or of other arguments;
    413 more than 64 KiB; 422 no such JSON; 503 the store, or try again.

    Args:
        desk: `WaitingDesk` or `StoredDesk`.
        keys: Who may see and decide. The key's id is who a decision is by.
        clock: What the window is measured by; None is the machine's.
        window: Seconds that a request's time may be off.
        nonces: How many requests are remembered, each for twice the window; what comes above that is refused.

    Raises:
        ConstructionError: With everything that is wrong with the arguments.

    Example:
        >>> from lamina.approval import WaitingApproval
        >>> from lamina.adapters.approval_webhook import WaitingDesk
        >>> app = approval_app(WaitingDesk(WaitingApproval()), [Key(id="ada", secret="s" * 32)])
        >>> [route.path for route in app.routes]
        ['/pending', '/decide']
    """
    door = gate(keys, clock or SystemClock(), window, nonces, desk.store)

    async def pending(request: Request, key: Key, _: bytes) -> Response:
        limit = _limit(request.query_params.get("limit", str(MOST_ITEMS)))
        after = request.query_params.get("after", "")
        if limit is None:
            return _error(422)
        found = await desk.pending(key.principal, after, limit)
        if isinstance(found, Failure):
            return _error(_STATUS[found.failure()])
        items = found.unwrap()
        page = _Page(pending=items, next=items[-1].cursor if len(items) == limit else None)
        return _json(200, _PAGE.encode_json(page).unwrap())

    async def decide(_: Request, key: Key, body: bytes) -> Response:
        if not key.decides:
            return _error(403)
        read = _VERDICT.decode_json(body)
        if isinstance(read, Failure):
            return _error(422)
        made = await desk.decide(read.unwrap(), key.id, key.principal)
        if isinstance(made, Failure):
            return _error(_STATUS[made.failure()])
        log().info("an approval was decided over HTTP", by=key.id, decision=made.unwrap())
        return _json(200, orjson.dumps({"decision": made.unwrap()}))

    app = Starlette(
        routes=[
            Route("/pending", _endpoint(door, pending), methods=["GET"]),
            Route("/decide", _endpoint(door, decide), methods=["POST"]),
        ],
        exception_handlers={HTTPException: _no_route},
    )
    app.router.redirect_slashes = False  # it would send a caller to wherever the Host header says
    return app


def _endpoint(door: Gate, work: Work) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        try:
            body = await _body(request)
            if isinstance(body, int):
                return _error(body)
            key = await door.admit(request.headers, request.method, _target(request), body)
            if not isinstance(key, Key):
                return _error(401 if key == "no" else 503)
            return await work(request, key, body)
        except ClientDisconnect:  # nobody reads the answer
            return _error(408)
        except Exception:
            log().exception("serving an approval broke")
            return _error(500)

    return serve


async def _body(request: Request) -> bytes | int:
    """Read a body that is not too large, in time; give the status of the answer where it is not."""
    body = bytearray()
    with anyio.move_on_after(BODY_SECONDS):
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST_BODY:
                return 413
        return bytes(body)
    return 408


def _target(request: Request) -> str:
    """Give the path with its query as the server received it."""
    scope = request.scope
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope.get("query_string", b"")
    return (path + b"?" + query if query else path).decode("latin-1")


async def _no_route(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    refused = _error(error.status_code)
    refused.headers.update(error.headers or {})
    return refused


def _limit(given: str) -> int | None:
    fits = given.isascii() and given.isdigit() and len(given) <= 4 and int(given) > 0
    return min(int(given), MOST_ITEMS) if fits else None


def _error(status: int) -> Response:
    return _json(status, orjson.dumps({"error": _WORDS[status]}))


def _json(status: int, content: bytes) -> Response:
    return Response(content, status, {"cache-control": "no-store"}, "application/json")
