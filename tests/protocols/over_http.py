"""A real MCP server on a port of this machine, and a client that speaks plain HTTP to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from lamina.adapters.mcp import McpHttp, McpServer

LEGACY, MODERN = "2025-11-25", "2026-07-28"
BOTH = "application/json, text/event-stream"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Caller:
    """One HTTP client: its token, and its session once it has one."""

    def __init__(self, http: httpx2.AsyncClient, token: str | None = None) -> None:
        self.http = http
        self.session: str | None = None
        self.token = token
        self._id = 0

    def headers(self, **more: str | None) -> dict[str, str]:
        given: dict[str, str | None] = {
            "accept": BOTH,
            "content-type": "application/json",
            "mcp-session-id": self.session,
            "authorization": None if self.token is None else f"Bearer {self.token}",
            **{name.replace("_", "-"): value for name, value in more.items()},
        }
        return {name: value for name, value in given.items() if value is not None}

    async def post(self, body: Any, **headers: str | None) -> httpx2.Response:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.http.post("/mcp", content=data, headers=self.headers(**headers))

    def message(self, method: str, params: Any = None) -> dict[str, Any]:
        self._id += 1
        return {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params or {}}

    async def begin(self, version: str = LEGACY) -> httpx2.Response:
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
        response = await self.post(self.message("initialize", params))
        self.session = response.headers.get("mcp-session-id")
        if response.status_code == 200:
            await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return response

    async def call(self, name: str, arguments: Any = None, **headers: str | None) -> Any:
        params = {"name": name, "arguments": arguments or {}}
        return told(await self.post(self.message("tools/call", params), **headers))

    async def modern(self, method: str, params: Any = None, **headers: str | None) -> httpx2.Response:
        message = self.message(method, {**(params or {}), "_meta": META})
        name = (params or {}).get("name") or (params or {}).get("uri")
        given = {"mcp_protocol_version": MODERN, "mcp_method": method, "mcp_name": name, **headers}
        return await self.post(message, **given)


def told(response: httpx2.Response) -> Any:
    """Read the one answer of a response, plain or as the last event of a stream."""
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        data = [line[5:] for line in response.text.splitlines() if line.startswith("data:") and line[5:].strip()]
        return json.loads(data[-1])
    return response.json()


@asynccontextmanager
async def listening(server: McpServer, settings: McpHttp | None = None) -> AsyncGenerator[httpx2.AsyncClient]:
    """Serve on a free port, and give a client for it."""
    import attrs

    ports: asyncio.Queue[int] = asyncio.Queue()
    settings = attrs.evolve(settings or McpHttp(), port=0, started=ports.put_nowait)
    task = asyncio.create_task(server.http(settings))
    try:
        async with asyncio.timeout(10):
            port = await ports.get()
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=10) as http:
            yield http
    finally:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled() and task.exception() is not None:
            raise task.exception()  # type: ignore[misc]
