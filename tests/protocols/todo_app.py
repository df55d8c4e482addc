"""The todo application, driven from three sides: an agent of its own, MCP on stdio, and MCP over HTTP.

Run as `python todo_app.py REPORT`. It serves until its input ends, and then writes what the host says of itself, and
what the agent was told.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import attrs
from returns.result import Result, Success

from lamina.adapters.mcp import McpHttp, serve_mcp
from lamina.contract import audit_log
from lamina.conversation import History
from lamina.demo.todo import Backend, ListFull, TodoHost, assistant, contract, todo_host
from lamina.demo.todo._agent import TASK, TodoModel
from lamina.effect import bind, handler
from lamina.model import AssistantMessage, LanguageModel, ToolCall, ToolMessage
from lamina.runtime import RuntimeBuilder, build

AT_ONCE, OF_THE_AGENT, LAST = 9, 3, "The end"


class Crowded(Backend):
    """Saves nothing until nine todos of three callers wait, and then the last one first; `The end` waits, too.

    So all three are under way at once, and what one asked for last comes back before what another asked for first.
    """

    def __init__(self) -> None:
        self.saved = 0
        self.others_wait = anyio.Event()
        self.agent_is_done = anyio.Event()
        self._waiting: list[anyio.Event] = []

    async def save(self, title: str) -> Result[str, ListFull]:
        if title == LAST:
            await self.agent_is_done.wait()
        else:
            await self._its_turn()
        self.saved += 1
        return Success(f"todo-{self.saved}")

    async def _its_turn(self) -> None:
        if len(self._waiting) == AT_ONCE - 1:
            for one in reversed(self._waiting):
                one.set()
            return
        mine = anyio.Event()
        self._waiting.append(mine)
        if len(self._waiting) == AT_ONCE - OF_THE_AGENT:
            self.others_wait.set()
        await mine.wait()


def written(message: object) -> dict[str, Any]:
    return {"_tag": type(message).__name__, **attrs.asdict(message)}  # type: ignore[arg-type]


def told(history: History) -> Iterator[dict[str, Any]]:
    """Read what the agent asked for and was told of it, from its own history."""
    asked: tuple[ToolCall, ...] = ()
    for message in history.messages:
        if isinstance(message, AssistantMessage):
            asked = tuple(part for part in message.parts if isinstance(part, ToolCall))
        elif isinstance(message, ToolMessage):
            for call, result in zip(asked, message.results, strict=True):
                assert call.id == result.id
                yield {
                    "name": call.name,
                    "arguments": json.loads(call.arguments),
                    "refused": result.is_error,
                    "content": result.content,
                }


@handler
async def live(_: None, host: TodoHost) -> TodoHost:
    return host


async def main(report: Path) -> None:
    backend, audit = Crowded(), audit_log()
    app = RuntimeBuilder().provide(todo_host(bind(Backend).value(backend)))
    binding = assistant.on(bind(LanguageModel).to(TodoModel))
    async with build(app.agent(binding)) as rt, anyio.create_task_group() as group:
        host = await rt.run(live, None)
        said: list[dict[str, Any]] = []

        async def drive() -> None:
            await backend.others_wait.wait()
            async with rt.start(binding, TASK) as run:
                (await run.result()).unwrap()
                said.extend(told(run.history))
            backend.agent_is_done.set()

        def started(port: int) -> None:
            sys.stderr.write(f"port {port}\n")
            sys.stderr.flush()

        group.start_soon(drive)
        await serve_mcp(rt.bind(contract, host, audit=audit), http=McpHttp(port=0, started=started))
    await anyio.Path(report).write_text(
        json.dumps(
            {
                "log": [written(message) for message in host.messages],
                "model": attrs.asdict(host.model()),
                "replayed": attrs.asdict(host.replayed()),
                "agent": said,
                "audit": [
                    {"request": one.request, "invocation": one.invocation, "decision": one.decision, "at": one.subject}
                    for one in audit.entries
                ],
                "listeners": host.listeners,
            }
        )
    )


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
