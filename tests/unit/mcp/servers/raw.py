"""An MCP server in lines of JSON, without the SDK, that misbehaves as it is told: `raw.py [FLAG...]`.

It speaks the handshake of 2025-11-25. Its flags and its tools are what the tests are about.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

FLAGS = set(sys.argv[1:])
STATE = {name: value for name, _, value in (flag.partition("=") for flag in FLAGS)}
LOCK = threading.Lock()
RENAMED = False
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
CANCELLED: dict[object, threading.Event] = {}


def send(message: dict[str, Any]) -> None:
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def note(text: str) -> None:
    """Append a line to the file that the test reads: what reached this server."""
    if path := os.environ.get("NOTES"):
        with LOCK, open(path, "a", encoding="utf-8") as notes:
            notes.write(text + "\n")


def tools() -> list[dict[str, Any]]:
    names = ["add", "big", "big_last", "die", "die_once", "hang", "slow", "lie", "bare", "kinds", "fail", "progress"]
    names += [
        "garbage",
        "ask",
        "nag",
        "rename",
        "env",
        "image",
        "flood",
        "refuse",
        "break",
        "own_error",
        "reschema",
        "close_out",
        "two",
        "nan",
        "held",
    ]
    made: list[dict[str, Any]] = []
    for name in names:
        shown = "renamed" if name == "two" and RENAMED else name
        tool: dict[str, Any] = {"name": shown, "description": f"The tool {shown}.", "inputSchema": NOTHING}
        if name == "add":
            tool["inputSchema"] = NUMBER
            tool["outputSchema"] = NUMBER
        if name == "lie":
            tool["outputSchema"] = NUMBER
        if name in ("die_once", "hang") and "idempotent" in FLAGS:
            tool["annotations"] = {"idempotentHint": True}
        if name == "slow" and "reschema" in STATE and RENAMED:
            tool["inputSchema"] = NUMBER
        made.append(tool)
    if "badtools" in FLAGS:
        made.append({"name": "badschema", "inputSchema": {"type": "object", "properties": {"a": {"type": "nothing"}}}})
        made.append({"name": "twice", "inputSchema": NOTHING})
        made.append({"name": "twice", "inputSchema": NUMBER})
        made.append({"name": "endless", "inputSchema": {"type": "object", "maxProperties": float("inf")}})
        deep: dict[str, Any] = NOTHING
        for _ in range(60):
            deep = {"type": "object", "properties": {"a": deep}}
        made.append({"name": "deep", "inputSchema": deep})
        made.append({"name": "large", "inputSchema": {"type": "object", "description": "x" * 100_000}})
    return made


def listing(params: dict[str, Any]) -> dict[str, Any]:
    if "loop" in FLAGS:
        return {"tools": [], "nextCursor": "again"}
    if "endless" in FLAGS:
        return {"tools": [], "nextCursor": str(int(params.get("cursor") or 0) + 1)}
    if "hundreds" in FLAGS:
        return {"tools": [{"name": f"tool_{n}", "inputSchema": NOTHING} for n in range(300)]}
    if "many" in FLAGS:
        return {"tools": [{"name": f"tool_{n}", "inputSchema": NOTHING} for n in range(5_000)]}
    if "pages" in FLAGS:
        at = int(params.get("cursor") or 0)
        found: dict[str, Any] = {"tools": tools()[at : at + 5]}
        if at + 5 < len(tools()):
            found["nextCursor"] = str(at + 5)
        elif "blank" in FLAGS:
            found["nextCursor"] = ""
        return found
    if "notools" in FLAGS:
        return {"tools": "none"}
    if "huge_list" in FLAGS:
        return {"tools": [{"name": "a", "description": "x" * 5_000_000, "inputSchema": NOTHING}]}
    return {"tools": tools()}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **more}


def call(request: object, name: str, arguments: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any] | None:
    global RENAMED
    note(f"call {name}")
    match name:
        case "add":
            return text("sum", structuredContent={"n": arguments["n"] + 1})
        case "big":
            return text("x" * int(os.environ.get("BIG", "10000000")))
        case "big_last":
            body = json.dumps(text("x" * int(os.environ.get("BIG", "10000000"))))
            with LOCK:
                sys.stdout.write(f'{{"result":{body},"jsonrpc":"2.0","id":{json.dumps(request)}}}\n')
                sys.stdout.flush()
            return None
        case "nan":
            with LOCK:
                sys.stdout.write(
                    f'{{"jsonrpc":"2.0","id":{json.dumps(request)},"result":{{"content":[],"structuredContent":{{"a":NaN}}}}}}\n'
                )
                sys.stdout.flush()
            return None
        case "held":
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            os._exit(6)
        case "flood":
            with LOCK:
                while True:
                    sys.stdout.write("x" * 65_536)
        case "die":
            os._exit(3)
        case "die_once":
            with open(os.environ["NOTES"], encoding="utf-8") as notes:
                if notes.read().count("call die_once") == 1:
                    os._exit(4)
            return text("alive")
        case "close_out":
            os.close(1)
            time.sleep(60)
        case "hang" | "slow":
            event = CANCELLED.setdefault(request, threading.Event())
            stopped = event.wait(None if name == "hang" else 0.2)
            note(f"{name} {'cancelled' if stopped else 'done'}")
            return None if stopped else text("slept")
        case "lie":
            return text("no number", structuredContent={"n": "secret-looking-value"})
        case "bare":
            return {"content": "none at all"}
        case "kinds":
            return {
                "content": [
                    {"type": "text", "text": "words"},
                    {"type": "image", "data": "aGk=", "mimeType": "image/png"},
                    {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
                    {"type": "resource", "resource": {"uri": "app://a", "mimeType": "text/plain", "text": "doc"}},
                    {"type": "resource", "resource": {"uri": "app://b", "blob": "aGk="}},
                    {"type": "resource_link", "uri": "app://c", "name": "a link"},
                ]
            }
        case "fail":
            return text("the disk is full", isError=True)
        case "refuse":
            send({"id": request, "error": {"code": -32602, "message": "no such thing", "data": {"a": 1}}})
            return None
        case "break":
            send({"id": request, "error": {"code": -32603, "message": "something broke"}})
            return None
        case "own_error":
            send({"id": request, "error": {"code": 0, "message": "the disk is full"}})
            return None
        case "progress":
            for done in (1, 2, 3):
                token = meta.get("progressToken")
                send(
                    {
                        "method": "notifications/progress",
                        "params": {"progressToken": token, "progress": done, "total": 3, "message": "step"},
                    }
                )
            return text("finished")
        case "garbage":
            with LOCK:
                sys.stdout.write("this is no JSON\n\n[1, 2]\n" + json.dumps({"jsonrpc": "2.0"}) + "\n")
                sys.stdout.buffer.write(b"\xff\xfe\n")
                sys.stdout.flush()
            return text("after it")
        case "ask":
            ASKED[7] = request
            send(
                {
                    "id": 7,
                    "method": "elicitation/create",
                    "params": {
                        "message": "Who?",
                        "requestedSchema": {
                            "type": "object",
                            "properties": {"name": {"type": "string"}, "city": {"type": "string", "default": "Rome"}},
                        },
                    },
                }
            )
            return None
        case "nag":  # asks until somebody says no
            NAGS[:] = [request]
            nag()
            return None
        case "rename" | "reschema":
            RENAMED = True
            if "quiet" not in FLAGS:
                send({"method": "notifications/tools/list_changed"})
            return text("done")
        case "renamed":
            return text("renamed")
        case "env":
            return text(json.dumps(dict(os.environ)))
        case "image":
            return {"content": []}
    send({"id": request, "error": {"code": -32602, "message": f"Unknown tool: {name}"}})
    return None


ASKED: dict[object, object] = {}
NAGS: list[object] = []  # the call, and then each question of it


def nag() -> None:
    NAGS.append(f"nag-{len(NAGS)}")
    send({"id": NAGS[-1], "method": "elicitation/create", "params": {"message": "Again?", "requestedSchema": NOTHING}})


def handle(message: dict[str, Any]) -> None:
    method, request, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method is None and request in NAGS[1:]:
        if "result" in message:
            nag()
        else:
            send({"id": NAGS[0], "result": text(f"{len(NAGS) - 1}: {message['error']['message']}")})
    elif method is None:
        asked = ASKED.pop(request, None)
        if asked is not None:
            send({"id": asked, "result": text(json.dumps(message.get("result") or message.get("error")))})
    elif method == "initialize":
        if "mute" in FLAGS:
            return
        if "huge_hello" in FLAGS:
            send({"id": request, "result": {"instructions": "x" * 5_000_000}})
            return
        version = "1999-01-01" if "ancient" in FLAGS else params["protocolVersion"]
        info = {"name": "raw", "version": "9.1", "title": "The raw server"}
        send(
            {
                "id": request,
                "result": {
                    "protocolVersion": version,
                    "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": info,
                    "instructions": "Be careful.",
                },
            }
        )
    elif method == "tools/list":
        note("list")
        if "slow_list" in FLAGS:
            time.sleep(60)
        send({"id": request, "result": listing(params)})
    elif method == "tools/call":

        def run() -> None:
            result = call(request, params["name"], params.get("arguments") or {}, params.get("_meta") or {})
            if result is not None:
                send({"id": request, "result": result})

        threading.Thread(target=run, daemon=True).start()
    elif method == "notifications/cancelled":
        note("cancelled")
        CANCELLED.setdefault(params["requestId"], threading.Event()).set()
    elif request is not None and "mute" not in FLAGS:
        send({"id": request, "error": {"code": -32601, "message": "Method not found"}})


def main() -> None:
    global RENAMED
    note(f"start {os.getpid()}")
    if "exit" in FLAGS:
        sys.stderr.write("cannot open the vault: password hunter2-hunter2\n" + os.environ.get("TOKEN", ""))
        sys.exit(3)
    if "once" in FLAGS:
        with open(os.environ["NOTES"], encoding="utf-8") as notes:
            if notes.read().count("start ") > 1:
                sys.exit(5)
    if FLAGS & {"restart_renamed", "mute_again"}:
        with open(os.environ["NOTES"], encoding="utf-8") as notes:
            if notes.read().count("start ") > 1:
                RENAMED = "restart_renamed" in FLAGS
                FLAGS.update({"mute"} if "mute_again" in FLAGS else ())
    if "stubborn" in FLAGS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        note(f"child {child.pid}")
    if "noise" in FLAGS:
        sys.stdout.write("Welcome to the raw server!\n")
        sys.stderr.write("e" * 1_000_000 + "\n")
    for line in sys.stdin:
        handle(json.loads(line))
        if "deaf" in FLAGS and "tools/call" in line:
            time.sleep(600)
    if "stubborn" in FLAGS:
        time.sleep(600)


main()
