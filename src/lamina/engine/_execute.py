"""Stages 7 to 12 of one call: permit, start, execute, encode, redact, bound, settle (design §4)."""

from __future__ import annotations

import asyncio

from lamina.call import Outcome, ToolDefect, bound, encode
from lamina.effect import log
from lamina.engine._observe import call_ended
from lamina.engine._permit import permitted
from lamina.engine._prepared import PreparedTool
from lamina.engine._run import Call, Run
from lamina.engine._settle import cut_off, settle
from lamina.engine._start import start
from lamina.telemetry import is_observed, observe_tool_call


async def execute(run: Run, call: Call, batch_limit: asyncio.Semaphore | None) -> None:
    """Run a call that passed every check; it has an outcome afterwards, unless the run is being cancelled."""
    assert call.tool is not None
    if batch_limit is None and not call.tool.permits:
        await _perform(run, call, call.tool)
        return
    async with permitted(batch_limit, call.tool.permits):
        await _perform(run, call, call.tool)


async def _perform(run: Run, call: Call, prepared: PreparedTool) -> None:
    tool = prepared.tool
    if await start(run, call, tool):
        if is_observed():
            with observe_tool_call(tool.name, call.key.call, execution=tool.execution, sequence=call.place) as watched:
                await _invoke(run, call, prepared)
                call_ended(watched, call.outcome)
        else:
            await _invoke(run, call, prepared)
    await settle(run, call)


async def _invoke(run: Run, call: Call, prepared: PreparedTool) -> None:
    tool, secrets = prepared.tool, run.prepared.secrets
    try:
        returned = await prepared.invoke(call.input, run.given)
        outcome: Outcome = encode(tool.success, tool.failure, returned, tool.name)
        if secrets.active:  # before the cut, which would leave half a secret
            outcome = secrets.redact_in(outcome)
        call.outcome = bound(outcome, run.prepared.policy.tool_result_bytes)
    except Exception:
        log().exception("a tool raised", tool=tool.name, call=str(call.key))
        call.outcome = ToolDefect("raised")
    except asyncio.CancelledError:
        if run.interruption.asked():
            raise  # the settlement of the whole batch gives the outcome
        log().warning("a tool was cancelled by something of its own", tool=tool.name, call=str(call.key))
        cut_off(call)
