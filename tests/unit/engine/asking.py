"""A tool that asks for approval, and a run with an approver, for the tests of stage 6."""

from __future__ import annotations

from typing import Any, Never

from lamina.approval import Approval, Ask, ScriptedApproval
from lamina.effect import Try, bind
from lamina.testing import call_tool, say
from lamina.tools import Tool, tool
from tests.unit.engine.world import (
    Ran,
    Word,
    run_turns,
)

YES = ScriptedApproval(lambda request: True)


def asking(ran_with: list[str] | None = None, **ask: Any) -> Tool[Any, Any, Any]:
    @tool(needs_approval=True, approval=Ask[Word](**{"recoverable": True, **ask}))
    async def act(call: Word, ok: Try[Never]) -> str:
        if ran_with is not None:
            ran_with.append(call.text)
        return call.text

    return act


async def asked_with(approval: Approval, made: Any, *turns: Any, layer: Any = None, **options: Any) -> Ran:
    offered: Any = bind(Approval).value(approval)
    return await run_turns(made, *(turns or (ACT, say("done"))), layer=offered | layer if layer else offered, **options)


ACT = call_tool("act", text="x")
