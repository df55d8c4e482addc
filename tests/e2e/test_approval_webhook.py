"""Approvals over HTTP on a real server: a run waits here, and is decided over a socket."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from lamina.adapters.approval_webhook import Key, WaitingDesk, approval_app, sign
from lamina.approval import WaitingApproval
from tests.unit.approval.requests import request
from tests.unit.engine.asking import asked_with, asking
from tests.unit.engine.world import until

ADA = Key(id="ada", secret="ada's secret, which nobody else knows")


@asynccontextmanager
async def served(app: Any) -> AsyncIterator[int]:
    """Serve an application on a port of loopback."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="none"))
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        await until(lambda: server.started)
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        await task
        listening.close()


async def send(port: int, method: str, target: str, body: bytes = b"", **headers: str) -> tuple[int, Any]:
    """Send one request, and give the status and the JSON of its answer."""
    signed = sign(method, target, body, key=ADA.id, secret=ADA.secret) | headers
    head = {"Host": "localhost", "Connection": "close", "Content-Length": str(len(body))} | signed
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        writer.write(f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode() + body)
        received = await asyncio.wait_for(reader.read(), 30)
    finally:
        writer.close()
    top, _, content = received.partition(b"\r\n\r\n")
    return int(top.split(b" ")[1]), json.loads(content)


async def test_a_run_goes_on_when_it_is_decided_over_a_socket() -> None:
    approval, ran_with = WaitingApproval(), list[str]()
    inner = approval_app(WaitingDesk(approval), [ADA])
    async with served(Starlette(routes=[Mount("/approvals", inner)])) as port:
        running = asyncio.create_task(asked_with(approval, asking(ran_with)))
        await until(lambda: bool(approval.waiting))
        status, page = await send(port, "GET", "/approvals/pending?limit=10")
        assert (status, len(page["pending"])) == (200, 1)
        item = page["pending"][0]
        verdict = item["request"]["key"] | {
            "arguments_digest": item["request"]["arguments_digest"],
            "decision": "approve",
        }
        body = json.dumps(verdict).encode()
        assert await send(port, "POST", "/approvals/decide", body) == (200, {"decision": "approved"})
        assert (await running).told == ["x"]
        assert ran_with == ["x"]
        assert (await send(port, "POST", "/approvals/decide", body))[0] == 404


async def test_evil_input_over_a_socket() -> None:
    approval = WaitingApproval()
    task = asyncio.create_task(approval.request(request()))
    await until(lambda: bool(approval.waiting))
    async with served(approval_app(WaitingDesk(approval), [ADA])) as port:
        assert await send(port, "GET", "/pending", **{"Lamina-Signature": "0" * 64}) == (401, {"error": "unauthorized"})
        assert await send(port, "POST", "/decide", b"no JSON") == (422, {"error": "invalid"})
        once = sign("GET", "/pending", key=ADA.id, secret=ADA.secret)
        assert (await send(port, "GET", "/pending", **once))[0] == 200
        assert (await send(port, "GET", "/pending", **once))[0] == 401
        old = sign("GET", "/pending", key=ADA.id, secret=ADA.secret, timestamp=1_000_000_000)
        assert (await send(port, "GET", "/pending", **old))[0] == 401
        # The server has answered, and closed, long before so much has been sent.
        with suppress(ConnectionError):
            assert (await send(port, "POST", "/decide", b"x" * 10_000_000))[0] == 413
        assert (await send(port, "GET", "/pending"))[0] == 200
        assert len(approval.waiting) == 1
    task.cancel()
    await asyncio.wait({task})
