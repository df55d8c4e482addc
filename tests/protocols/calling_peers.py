"""Our client against servers that others wrote: `python calling_peers.py BIN`, where BIN holds the Node programs.

It prints one line of JSON for each server: its name, how many checks there were, and the problems.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from returns.result import Failure

from lamina.call import Elicited, Sampled, SampleRequest, TextContent
from lamina.mcp import (
    Elicitation,
    McpCall,
    McpConnections,
    McpToolFailed,
    RemoteResult,
    ServerSpec,
    connect,
    http_server,
    stdio_server,
)

if TYPE_CHECKING:
    from lamina.schema import JsonValue

LEGACY, MODERN = "2025-11-25", "2026-07-28"
SURFACE = str(Path(__file__).with_name("conformance_surface.py"))


class Seen:
    """What came of one server."""

    def __init__(self, name: str, connections: McpConnections) -> None:
        self.name = name
        self.connections = connections
        self.checks = 0
        self.problems: list[str] = []
        self.told: list[float] = []

    def check(self, what: str, holds: bool, saw: object) -> None:
        self.checks += 1
        if not holds:
            self.problems.append(f"{what}: {str(saw)[:300]}")

    def offers(self, count: int, protocol: str) -> None:
        """Hold the server to how many tools it lists, all of which can be used, and to the version it agreed on."""
        found = self.connections.server(self.name)
        assert found is not None
        self.check("tools", len(found.tools) == count and not found.refused, [tool.name for tool in found.tools])
        self.check("protocol", found.identity is not None and found.identity.protocol == protocol, found.identity)

    async def call(self, tool: str, holds: Callable[[Any], bool], **arguments: JsonValue) -> None:
        """Call a tool; what it gave, or why it failed, has to hold."""

        async def progress(done: float, total: float | None, message: str) -> None:
            self.told.append(done)

        called = await self.connections.call(
            McpCall(server=self.name, tool=tool, arguments=arguments, progress=progress)
        )
        ended: Any = called.failure() if isinstance(called, Failure) else called.unwrap()
        try:
            self.check(tool, holds(ended), ended)
        except (AttributeError, LookupError, TypeError) as error:
            self.check(tool, False, f"{error!r}: {ended}")


def text(result: RemoteResult) -> str:
    """Give the texts of a result."""
    return "\n".join(item.text for item in result.contents.content if isinstance(item, TextContent))


def kinds(result: RemoteResult) -> list[str]:
    return [item.type for item in result.contents.content]


async def accept(asked: Elicitation) -> Elicited:
    return Elicited("accept", {"name": "Ada", "username": "ada", "email": "ada@example.com"})


async def answer(request: SampleRequest) -> Sampled:
    return Sampled(text="Paris", model="none")


ANSWERS: dict[str, Any] = {"elicit": accept, "sample": answer, "roots": ["file:///here"]}


# --- the servers ----------------------------------------------------------------------------------------------------


async def everything(seen: Seen) -> None:
    seen.offers(17, LEGACY)
    await seen.call("echo", lambda got: text(got) == "Echo: hi", message="hi")
    await seen.call("get-sum", lambda got: "42" in text(got), a=2, b=40)
    await seen.call("get-tiny-image", lambda got: kinds(got) == ["text", "image", "text"])
    await seen.call("get-resource-links", lambda got: kinds(got).count("link") == 2, count=2)
    await seen.call("get-resource-reference", lambda got: "document" in kinds(got), resourceType="Text", resourceId=1)
    await seen.call("get-structured-content", lambda got: "temperature" in got.structured, location="New York")
    await seen.call("get-roots-list", lambda got: "file:///here" in text(got))
    await seen.call("trigger-sampling-request", lambda got: "Paris" in text(got), prompt="The capital?")
    await seen.call("trigger-elicitation-request", lambda got: '"name": "Ada"' in text(got))
    await seen.call("trigger-long-running-operation", lambda got: seen.told == [1, 2, 3], duration=0.3, steps=3)


async def filesystem(seen: Seen, folder: str) -> None:
    seen.offers(14, LEGACY)
    path = f"{folder}/a.txt"
    await seen.call("write_file", lambda got: Path(path).read_text() == "hello", path=path, content="hello")
    await seen.call("read_text_file", lambda got: text(got) == "hello", path=path)
    await seen.call("list_directory", lambda got: "[FILE] a.txt" in text(got), path=folder)
    await seen.call("read_text_file", lambda got: isinstance(got, McpToolFailed), path="/etc/hostname")


async def memory(seen: Seen) -> None:
    seen.offers(9, LEGACY)
    ada: JsonValue = [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]
    await seen.call("create_entities", lambda got: got.structured == {"entities": ada}, entities=ada)
    await seen.call("read_graph", lambda got: got.structured == {"entities": ada, "relations": []})


async def times(seen: Seen) -> None:
    seen.offers(2, MODERN)
    there: dict[str, JsonValue] = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    await seen.call("convert_time", lambda got: got.structured["time_difference"] == "+9.0h", **there)
    await seen.call("get_current_time", lambda got: got.structured["timezone"] == "UTC", timezone="UTC")
    await seen.call("get_current_time", lambda got: isinstance(got, McpToolFailed), timezone="Nowhere")


async def ours(seen: Seen, protocol: str) -> None:
    seen.offers(28, protocol)
    await seen.call("test_multiple_content_types", lambda got: kinds(got) == ["text", "image", "document"])
    await seen.call("test_error_handling", lambda got: isinstance(got, McpToolFailed))
    await seen.call("test_tool_with_progress", lambda got: seen.told == [0, 50, 100])
    await seen.call("test_elicitation", lambda got: '"username": "ada"' in text(got), message="Who?")
    await seen.call("test_sampling", lambda got: "Paris" in text(got), prompt="The capital?")
    await seen.call("test_input_required_result_multiple_inputs", lambda got: "file:///here" in text(got))
    await seen.call("test_input_required_result_multi_round", lambda got: "Ada" in text(got))


@asynccontextmanager
async def over_http(*command: str, env: dict[str, str]) -> AsyncGenerator[None]:
    """Run a server that says on its standard error when it listens."""
    async with await anyio.open_process(command, env=env, stdout=subprocess.DEVNULL) as process:
        try:
            assert process.stderr is not None
            said = b""
            with anyio.fail_after(30):
                while b"listening" not in said.lower():
                    said += await process.stderr.receive()
            yield
        finally:
            process.kill()


async def main(bin_folder: str) -> None:
    """Connect to all of them at once, and say what came of it."""
    import os
    import socket

    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        bins = Path(bin_folder)
        env = {**os.environ, "PORT": str(port)}
        here = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
        servers: list[tuple[ServerSpec, Callable[[Seen], Any]]] = [
            (stdio_server("everything", str(bins / "mcp-server-everything"), "stdio", **ANSWERS), everything),
            (http_server("everything-http", f"http://127.0.0.1:{port}/mcp", **ANSWERS), everything),
            (
                stdio_server("filesystem", str(bins / "mcp-server-filesystem"), folder),
                lambda seen: filesystem(seen, folder),
            ),
            (stdio_server("memory", str(bins / "mcp-server-memory"), env={"MEMORY_FILE_PATH": f"{folder}/m"}), memory),
            (stdio_server("time", str(Path(sys.executable).with_name("mcp-server-time"))), times),
            *(
                (
                    stdio_server(
                        f"ours-{era}", sys.executable, SURFACE, "stdio", env=here, protocol=protocol, **ANSWERS
                    ),
                    lambda seen, era=era: ours(seen, era),
                )
                for era, protocol in ((LEGACY, "legacy"), (MODERN, MODERN))
            ),
        ]
        async with (
            over_http(str(bins / "mcp-server-everything"), "streamableHttp", env=env),
            connect(*(server for server, _ in servers)) as connected,
        ):
            if isinstance(connected, Failure):
                sys.exit(str(connected.failure()))
            for server, use in servers:
                seen = Seen(server.name, connected.unwrap())
                await use(seen)
                print(json.dumps({"name": seen.name, "checks": seen.checks, "problems": seen.problems}), flush=True)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
