"""What shows a run: the timeline for people, or one JSON text a line for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any, Protocol, TextIO, TypeAlias

import attrs
from returns.result import Failure, Result

from lamina.cli._plain import printable
from lamina.effect import message_of, tag_of
from lamina.engine import (
    Completed,
    EventsMissed,
    RunCompleted,
    RunEvent,
    RunFailure,
    RunInterrupted,
    RunSuspended,
    Steered,
)
from lamina.schema import JsonValue, codec

Ended: TypeAlias = Result[Completed[Any], RunFailure]  # Any: the agent's own output, shown as JSON
Observed: TypeAlias = RunEvent | EventsMissed


class Output(Protocol):
    """Shows one run, from its beginning to its end."""

    def begin(self, agent: str, model: str) -> None:
        """Say which agent runs, and on which model."""
        ...

    def event(self, event: Observed) -> None:
        """Show what happened."""
        ...

    def note(self, text: str) -> None:
        """Say something about the run that is no event."""
        ...

    def end(self, ended: Ended, elapsed: float, steps: Sequence[str] = ()) -> None:
        """Show how it ended, what it took in seconds, and the commands that go on."""
        ...


class JsonLines:
    """One event a line, as `RunEvent.to_json` gives it; the last line is the result.

    The text is ASCII: it can be printed whatever the terminal's encoding is, and no control character is in it.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._output: JsonValue = None

    def begin(self, agent: str, model: str) -> None:
        """Say nothing: each event names its agent."""

    def event(self, event: Observed) -> None:
        """Write an event."""
        if isinstance(event, RunCompleted):
            self._output = event.output
        if isinstance(event, EventsMissed):
            self._write({"event": "EventsMissed", "count": event.count})
        else:
            self._write(event.to_json())

    def note(self, text: str) -> None:
        """Say it on standard error: what is read by a program stays JSON."""
        print(f"lamina: {printable(text)}", file=sys.stderr)

    def end(self, ended: Ended, elapsed: float, steps: Sequence[str] = ()) -> None:
        """Write the result."""
        more: dict[str, JsonValue] = {"next": list(steps)} if steps else {}
        self._write({**result_of(ended, self._output), **more, "elapsed_seconds": round(elapsed, 3)})

    def _write(self, value: dict[str, JsonValue]) -> None:
        self._stream.write(json.dumps(value) + "\n")
        self._stream.flush()


def result_of(ended: Ended, output: JsonValue) -> dict[str, JsonValue]:
    """Give a run's result as JSON: `result` is `completed`, `failed`, `suspended`, `steered` or `interrupted`."""
    failure = ended.failure() if isinstance(ended, Failure) else None
    report = ended.unwrap().report if failure is None else failure.report
    took: dict[str, JsonValue] = {
        "run": report.run,
        "conversation": report.conversation,
        "turns": report.turns,
        "tool_calls": report.tool_calls,
        "usage": attrs.asdict(report.usage),
    }
    if failure is None:
        completed = ended.unwrap()
        how: dict[str, JsonValue] = {"finish_reason": completed.finish_reason, "exhausted": completed.exhausted}
        return {"result": "completed", "output": output, **how, **took}
    error: JsonValue = {"_tag": tag_of(failure.cause), "message": message_of(failure.cause)}
    if isinstance(failure.cause, RunSuspended):
        # What `lamina.schema.codec(RunSuspended)` reads: a program may keep it, and resume it.
        return {"result": "suspended", "suspended": codec(RunSuspended).encode(failure.cause).unwrap(), **took}
    if isinstance(failure.cause, Steered):
        receipt = failure.cause.receipt
        handed: JsonValue = {"run": receipt.run, "command": receipt.command, "position": receipt.position}
        return {"result": "steered", "steered": handed, **took}
    stopped = isinstance(failure.cause, RunInterrupted)
    return {"result": "interrupted" if stopped else "failed", "error": error, **took}
