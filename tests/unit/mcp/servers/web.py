"""An MCP server over HTTP, without the SDK, that misbehaves as its tools are called; it prints its port.

It speaks the handshake of 2025-11-25, with sessions; `NOTES` names a file for what reached it.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FLAGS = set(sys.argv[1:])
NOTHING = {"type": "object", "properties": {}}
NAMES = ["ok", "hang", "big", "big_event", "broken", "refuse", "cut", "gzip", "moved", "not_json", "headers", "reset"]
NAMES += ["page", "accepted"]
SESSIONS: set[str] = set()
STOPPED = threading.Event()
LOCK = threading.Lock()


def note(text: str) -> None:
    if path := os.environ.get("NOTES"):
        with LOCK, open(path, "a", encoding="utf-8") as notes:
            notes.write(text + "\n")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None: ...

    def do_GET(self) -> None:
        self.answer(405, b"")

    def do_DELETE(self) -> None:
        note("delete")
        self.answer(200, b"")

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, request, params = message.get("method"), message.get("id"), message.get("params") or {}
        if "locked" in FLAGS and self.headers.get("Authorization") != "Bearer t0ken-t0ken":
            self.answer(401, b"who are you", "text/plain")
        elif request is None:
            note(str(method))
            self.answer(202, b"")
        elif method == "initialize":
            with LOCK:
                session = f"session-{len(SESSIONS) + 1}"
                SESSIONS.add(session)
            note(f"initialize {session}")
            info = {"name": "web", "version": "2"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            self.result(request, result, {"Mcp-Session-Id": session})
        elif method == "server/discover":
            self.error(request, -32601, "Method not found")
        elif self.headers.get("Mcp-Session-Id") not in SESSIONS:
            self.answer(404, b"")
        elif method == "tools/list":
            self.result(request, {"tools": [{"name": name, "inputSchema": NOTHING} for name in NAMES]})
        elif method == "tools/call":
            note(f"call {params['name']}")
            self.call(request, params["name"])
        else:
            self.error(request, -32601, "Method not found")

    def call(self, request: object, name: str) -> None:
        done = {"content": [{"type": "text", "text": "done"}]}
        match name:
            case "hang":
                STOPPED.wait(30)
            case "big":
                self.result(request, {"content": [{"type": "text", "text": "x" * 10_000_000}]})
            case "big_event":
                body = json.dumps(
                    {
                        "jsonrpc": "2.0",
                        "id": request,
                        "result": {"content": [{"type": "text", "text": "x" * 10_000_000}]},
                    }
                )
                self.answer(200, f"event: message\ndata: {body}\n\n".encode(), "text/event-stream")
            case "broken":
                self.answer(502, b"a gateway's page with secret-looking text", "text/html")
            case "refuse":
                self.answer(403, b"", "text/plain")
            case "cut":
                self.answer(200, b": nothing\n\n", "text/event-stream")
            case "gzip":
                packed = gzip.compress(json.dumps({"jsonrpc": "2.0", "id": request, "result": done}).encode())
                self.answer(200, packed, headers={"Content-Encoding": "gzip"})
            case "moved":
                self.answer(307, b"", headers={"Location": "http://example.invalid/mcp"})
            case "page":
                self.answer(200, b"<html>", "text/html")
            case "accepted":
                self.answer(202, b"")
            case "not_json":
                self.answer(200, b"{ this is no JSON")
            case "headers":
                text = json.dumps({name.lower(): value for name, value in self.headers.items()})
                self.result(request, {"content": [{"type": "text", "text": text}]})
            case "reset":
                SESSIONS.clear()
                self.answer(404, b"")
            case _:
                self.result(request, done)

    def result(self, request: object, result: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        self.answer(200, json.dumps({"jsonrpc": "2.0", "id": request, "result": result}).encode(), headers=headers)

    def error(self, request: object, code: int, text: str) -> None:
        body = {"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": text}}
        self.answer(200, json.dumps(body).encode())

    def answer(
        self, status: int, body: bytes, kind: str = "application/json", headers: dict[str, str] | None = None
    ) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            note("client left")


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        note("client left")


server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
