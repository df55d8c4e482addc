"""Stage 8: *started* is recorded directly before the body, unless the call only reads and nobody approved it."""

from __future__ import annotations

from lamina.call import ToolRejected
from lamina.conversation import CallStarted
from lamina.engine._digest import digest_of
from lamina.engine._events import ToolCallStarted
from lamina.engine._run import Call, Run
from lamina.tools import Tool


async def start(run: Run, call: Call, tool: Tool[object, object, object]) -> bool:
    """Record the start; False where it could not be, or the run is ending, and then the body does not run."""
    if run.journal_failure is not None:
        call.outcome = ToolRejected("not-started")
        return False
    recorded = run.journal is not None and (tool.execution != "readonly" or call.approved_by is not None)
    if recorded:
        approval = None if call.approved_by is None else f"approval:{call.key}"
        digest = digest_of(call.arguments)
        if not await run.commit(CallStarted(call.key, digest, call.approved_by, approval, tool.execution)):
            call.outcome = ToolRejected("not-started")
            return False
    call.started = True
    if run.emit is not None:
        run.emit(ToolCallStarted, turn=call.key.turn, call=call.key.call, tool=call.name)
    return True
