"""Stages 2 to 5 for the calls of a batch, each on its own: resolve, available, decode, authorize (design §4)."""

from __future__ import annotations

from lamina.call import (
    AuthorizationRequest,
    ToolInvalidInput,
    ToolRejected,
    check_authorized,
    check_available,
    decode,
    resolve,
)
from lamina.engine._run import Call, Run


async def check(run: Run, call: Call) -> None:
    """Take a call as far as approval, or give it the outcome of the stage that refused it."""
    prepared, given = run.prepared, run.given
    found = resolve(prepared.tools, call.name)
    if isinstance(found, ToolRejected):
        call.outcome = found
        return
    call.tool = found
    available = found.available
    if available is not None:
        call.outcome = await check_available(lambda: available(None, given), call.name)
        if call.outcome is not None:
            return
    decoded = decode(found.tool.input, call.arguments)
    if isinstance(decoded, ToolInvalidInput):
        call.outcome = decoded
        return
    call.input = decoded
    authorize = prepared.authorize
    if authorize is not None:
        request = AuthorizationRequest(call.key, prepared.agent.id, call.name, decoded, found.tool.execution)
        call.outcome = await check_authorized(lambda asked: authorize(asked, given), request)
