"""Stage 1: a complete response is recorded, and its calls are declared; none has started (design §4)."""

from __future__ import annotations

from returns.result import Failure

from lamina.call import CallKey
from lamina.conversation import ResponseDeclared
from lamina.engine._events import ToolCallDeclared
from lamina.engine._run import Call, Run
from lamina.model import ModelResponse
from lamina.schema import JsonValue, codec

_JSON = codec(JsonValue)


async def declare(run: Run, response: ModelResponse) -> bool:
    """Open the batch of a response; False where the journal does not take it."""
    open_batch(run, response)
    return await run.commit(ResponseDeclared(run.id, run.state.turn, response.message))


def open_batch(run: Run, response: ModelResponse) -> None:
    """Make the calls of a response the run's open batch."""
    turn = run.state.turn
    run.batch = [Call(CallKey(run.id, turn, declared.id), declared) for declared in response.calls]
    run.transcript.open(response.message)
    if run.emit is not None:
        for call in run.batch:
            run.emit(
                ToolCallDeclared, turn=turn, call=call.key.call, tool=call.name, parameters=readable(call.arguments)
            )


def readable(arguments: str) -> JsonValue:
    """Give arguments as JSON for a reader; text that is none stays the text."""
    if not arguments:
        return {}
    # Read as a tool's own schema reads it: every digit counts, and nothing is nested too deeply to be written again.
    read = _JSON.decode_json(arguments)
    return arguments if isinstance(read, Failure) else read.unwrap()
