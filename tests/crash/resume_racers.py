"""A process that resumes a suspended run when it is told to: `resume_racers.py KIND WHERE CONVERSATION NOTES`.

It says `ready`, waits for a line, resumes what was decided elsewhere, and says what came of it. The tool's body appends
a line to the file NOTES, which is what really ran, whoever ran it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any, Never

import attrs
from returns.result import Failure

from lamina.agent import Agent, AgentPolicy
from lamina.approval import Approval, DeferredApproval
from lamina.conversation import stored_conversations
from lamina.effect import Try, bind, tag_of
from lamina.runtime import RuntimeBuilder, try_build
from lamina.store import postgres_store, sqlite_store
from lamina.testing import ScriptedModel, say
from lamina.tools import tool


@attrs.frozen
class Payment:
    cents: int


def binding_of(notes: Path, model: ScriptedModel) -> Any:
    """Make the agent that pays."""

    @tool(needs_approval=True)
    async def pay(call: Payment, ok: Try[Never]) -> str:
        """Pay, which is not to be done twice."""
        file = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, f"{call.cents}\n".encode())
        os.close(file)
        return "paid"

    policy = AgentPolicy(max_turns=4, max_tool_calls=4, max_duration=60, tool_concurrency=2)
    return Agent("cashier", instructions="Pay.", toolkit=pay, policy=policy).on(model)


def store_of(kind: str, where: str) -> Any:
    """Make the layer of a database."""
    return sqlite_store(Path(where)) if kind == "sqlite" else postgres_store(where)


def app_of(kind: str, where: str) -> Any:
    """Make the layers over a database."""
    return stored_conversations().provide(store_of(kind, where)) | bind(Approval).value(DeferredApproval())


async def race(kind: str, where: str, conversation: str, notes: Path) -> str:
    """Resume when a line comes in."""
    binding = binding_of(notes, ScriptedModel(say("done")))
    async with try_build(RuntimeBuilder().provide(app_of(kind, where)).agent(binding)) as built:
        rt = built.unwrap()
        reference = (await rt.suspended(binding, conversation)).unwrap()
        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        ended = await rt.resume(binding, reference)
        return tag_of(ended.failure().cause) if isinstance(ended, Failure) else ended.unwrap().output


if __name__ == "__main__":
    print(asyncio.run(race(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]))), flush=True)
