"""Run scenario c in fifty conversations of one framework at once, and print what it cost as one line of JSON.

`saver.py lamina|langgraph|openai_agents kept|unkept RUNS FOLDER`. Everything of a framework is imported only for it.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "rivals"))

from scenario import FINAL, HITS, TURNS

AT_ONCE = 50
Run = Callable[[str], Awaitable[str]]


async def lamina(path: Path | None, stack: AsyncExitStack) -> Run:
    from adapters.lamina import Fake, add
    from lamina.agent import Agent, AgentPolicy
    from lamina.conversation import stored_conversations
    from lamina.runtime import RuntimeBuilder, build
    from lamina.store import sqlite_store

    policy = AgentPolicy(max_turns=TURNS + 2, max_tool_calls=TURNS + 8, max_duration=600, tool_concurrency=8)
    binding = Agent("c", instructions="Add.", policy=policy, toolkit=add).on(Fake("c", 0.0))
    builder: Any = RuntimeBuilder().agent(binding)
    if path is not None:
        builder = builder.provide(stored_conversations().provide(sqlite_store(path)))
    rt = await stack.enter_async_context(build(builder))

    async def run(conversation: str) -> str:
        result = await rt.run(binding, "go", conversation=None if path is None else conversation)
        return result.unwrap().output

    return run


async def langgraph(path: Path | None, stack: AsyncExitStack) -> Run:
    from langchain.agents import create_agent

    from adapters._langchain import RECURSION_LIMIT, add_tool, fake_model

    saver = None
    if path is not None:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        saver = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(str(path)))
    agent = create_agent(fake_model("c", 0), [add_tool()], checkpointer=saver)

    async def run(conversation: str) -> str:
        options = {"recursion_limit": RECURSION_LIMIT, "configurable": {"thread_id": conversation}}
        kept = {} if saver is None else {"durability": "sync"}
        state = await agent.ainvoke({"messages": [("user", "go")]}, options, **kept)
        return state["messages"][-1].content

    return run


async def openai_agents(path: Path | None, stack: AsyncExitStack) -> Run:
    from agents import Agent, Runner, SQLiteSession

    from adapters.openai_agents import add_tool, fake_model

    agent = Agent(name="a", instructions="", model=fake_model("c", 0), tools=[add_tool()])

    async def run(conversation: str) -> str:
        session = None if path is None else SQLiteSession(conversation, path)
        result = await Runner.run(agent, "go", max_turns=10_000, session=session)
        if session is not None:
            session.close()
        return result.final_output

    return run


FRAMEWORKS = {"lamina": lamina, "langgraph": langgraph, "openai_agents": openai_agents}


class Counting(sqlite3.Connection):
    """Counts commits, by whoever makes them, in the way that each framework does."""

    commits = 0

    def commit(self) -> None:
        Counting.commits += self.in_transaction
        super().commit()

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        Counting.commits += sql == "COMMIT"
        return super().execute(sql, *parameters)


async def measure(name: str, path: Path | None, count: int) -> dict[str, float]:
    async with AsyncExitStack() as stack:
        run = await FRAMEWORKS[name](path, stack)
        assert await run("first") == FINAL
        cpu: list[float] = []
        wall: list[float] = []
        Counting.commits = 0
        HITS[0] = 0
        for number in range(count):
            begun, used = time.perf_counter(), time.process_time()
            answers = await asyncio.gather(*[run(f"c{number}-{each}") for each in range(AT_ONCE)])
            wall.append(time.perf_counter() - begun)
            cpu.append(time.process_time() - used)
            assert answers == [FINAL] * AT_ONCE
        assert HITS[0] == count * AT_ONCE * TURNS, HITS
        commits = Counting.commits / count / AT_ONCE
    size = 0 if path is None else sum(each.stat().st_size for each in path.parent.iterdir()) / (1 + count * AT_ONCE)
    turns = AT_ONCE * (TURNS + 1)
    return {"cpu_us": min(cpu) / turns * 1e6, "wall_us": min(wall) / turns * 1e6, "commits": commits, "bytes": size}


def main() -> None:
    name, kept, count, folder = sys.argv[1:5]
    connect = sqlite3.connect

    def counting(*arguments: Any, **options: Any) -> sqlite3.Connection:
        return connect(*arguments, **{"factory": Counting, **options})

    sqlite3.connect = counting  # type: ignore[assignment]
    path = Path(folder) / "saver.db" if kept == "kept" else None
    print(json.dumps(asyncio.run(measure(name, path, int(count)))))


if __name__ == "__main__":
    main()
