"""A server whose schemas mean harm; it is spoken to over its standard input and output."""

from __future__ import annotations

import json
import sys
from typing import Any

EVIL = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
UNSAID = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$(?!b)"}}}
NEGATED = {"type": "object", "properties": {"a": {"not": {"pattern": "(?!b)"}}}}
ANY = {"type": "object"}
TOOLS = [
    {"name": "arguments", "inputSchema": EVIL},
    {"name": "value", "inputSchema": ANY, "outputSchema": EVIL},
    {"name": "unsaid", "inputSchema": UNSAID, "outputSchema": UNSAID},
    {"name": "negated", "inputSchema": NEGATED},
    {"name": "promised", "inputSchema": ANY, "outputSchema": ANY},
]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "evil", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        content = [{"type": "text", "text": "done"}]
        if params["name"] == "promised":
            return {"content": content}
        return {"content": content, "structuredContent": {"a": "a" * 40 + "!"}}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    result = answer(message["method"], message.get("params") or {})
    told = {"error": {"code": -32601, "message": "no"}} if result is None else {"result": result}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}) + "\n")
    sys.stdout.flush()
