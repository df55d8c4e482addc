"""Stage 1: a complete response is recorded, and its calls are declared; none has started (design §4)."""

from __future__ import annotations

from returns.result import Failure

from lamina.call import CallKey
from lamina.conversation import ResponseDeclared
from lamina.engine._events import ToolCallDeclared, ToolCallFailed, ToolCallSucceeded
from lamina.engine._run import Call, Run
from lamina.model import ModelResponse, ToolCall, ToolResult
from lamina.schema import JsonValue, codec

_JSON = codec(JsonValue)


async def declare(run: Run, response: ModelResponse) -> bool:
    """Open the batch of a response; False where the journal does not take it."""
    open_batch(run, response)
    if run.journal is None:
        return True
    tools = run.prepared.tools
    known = [(call.key.call, tools.get(call.name)) for call in run.batch]
    readonly = tuple([call for call, found in known if found is not None and found.tool.execution == "readonly"])
    record = ResponseDeclared(run.id, run.state.turn, response.message, response.usage, readonly)
    if len(run.batch) == 1:  # one call is recorded together with what comes first of it: nothing happens in between
        run.later(record)
        return True
    return await run.commit(record)


def open_batch(run: Run, response: ModelResponse) -> None:
    """Make the calls of a response the run's open batch."""
    turn = run.state.turn
    run.batch = [
        Call(CallKey(run.id, turn, declared.id), declared, place) for place, declared in enumerate(response.calls)
    ]
    run.transcript.open(response.message)
    if run.emit is not None:
        for call in run.batch:
            run.emit(
                ToolCallDeclared, turn=turn, call=call.key.call, tool=call.name, parameters=readable(call.arguments)
            )


def tell_of_provider(run: Run, response: ModelResponse) -> None:
    """Tell the observers what the provider ran itself; it stays part of the answer (behaviour §3)."""
    emit, turn = run.emit, run.state.turn
    if emit is None:
        return
    for part in response.message.parts:
        if isinstance(part, ToolCall) and part.executor == "provider":
            where = {"turn": turn, "call": part.id, "tool": part.name, "provider_executed": True}
            emit(ToolCallDeclared, **where, parameters=readable(part.arguments))
        elif isinstance(part, ToolResult):
            where = {"turn": turn, "call": part.id, "tool": part.name, "provider_executed": True}
            if part.is_error:
                tag = "ToolFailure"
                emit(ToolCallFailed, **where, outcome=tag, error_tag=tag, message="The provider's own tool failed.")
            else:
                emit(ToolCallSucceeded, **where, result=part.content)


def readable(arguments: str) -> JsonValue:
    """Give arguments as JSON for a reader; text that is none stays the text."""
    if not arguments:
        return {}
    # Read as a tool's own schema reads it: every digit counts, and nothing is nested too deeply to be written again.
    read = _JSON.decode_json(arguments)
    return arguments if isinstance(read, Failure) else read.unwrap()
