"""An agent as one capability: a call is a run, its events are progress, its end is the outcome (design §7)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from returns.result import Failure, Result, Success

from lamina.agent import Agent
from lamina.call import (
    DEFAULT_RESULT_BYTES,
    NOBODY,
    Caller,
    CallerFeature,
    Capability,
    ExecutionClass,
    Invocation,
    Outcome,
    Prompt,
    PromptMessage,
    PromptRefused,
    Surface,
    TextContent,
    ToolDefect,
    ToolFailure,
    ToolInvalidInput,
    ToolRejected,
    ToolSuccess,
    bound,
    interrupted,
    sentence_of,
)
from lamina.effect import log, tag_of
from lamina.engine import (
    AgentInputError,
    Completed,
    RunDefect,
    RunEvents,
    RunFailure,
    RunHandle,
    RunInterrupted,
    ToolCallFailed,
    ToolCallStarted,
    ToolCallSucceeded,
    TurnStarted,
)
from lamina.redaction import Secrets
from lamina.schema import JsonValue

Start = Callable[[Caller, object], RunHandle[Any]]
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_FIELD: Final = "input"


class AgentSurface(Surface):
    """Serves one agent as one capability, named by the agent's id."""

    def __init__(
        self,
        agent: Agent[Any, Any, Any],
        start: Start,
        *,
        name: str,
        version: str,
        description: str,
        asks: frozenset[CallerFeature],
        result_bytes: int = DEFAULT_RESULT_BYTES,
        secrets: Secrets,
    ) -> None:
        self._agent = agent
        self._secrets = secrets
        self._start = start
        self._result_bytes = result_bytes
        self.name = name
        self.version = version
        capability = _NO_NAME.sub("_", agent.id)
        readonly = all(tool.execution == "readonly" for tool in agent.toolkit)
        schema = agent.input.json_schema
        self._wrapped = agent.plain_input or schema.get("type") != "object"
        self._execution: ExecutionClass = "readonly" if readonly else "uncertain"
        self.capabilities = (
            Capability(
                name=capability,
                description=description or f"Ask the agent {agent.id}.",
                input_schema=_wrapped(schema) if self._wrapped else schema,
                output_schema=agent.output.json_schema,
                execution=self._execution,
                needs_approval=any(tool.ask is not None for tool in agent.toolkit),
                asks=asks,
            ),
        )
        if isinstance(agent.instructions, str):
            self.prompts = (Prompt(name=capability, description=f"What the agent {agent.id} is told to be."),)

    async def available(self) -> frozenset[str]:
        """Give the agent's name: it is always there."""
        return frozenset((self.capabilities[0].name,))

    async def invoke(self, name: str, payload: JsonValue, invocation: Invocation, caller: Caller) -> Outcome:
        """Run the agent; an abort interrupts the run, which settles its calls first."""
        if name != self.capabilities[0].name:
            return ToolRejected("no-such-tool", nearest=(self.capabilities[0].name,))
        signal = invocation.signal
        if signal is not None and signal.aborted:
            return ToolRejected("not-started")
        decoded = self._decode(payload)
        if isinstance(decoded, Failure):
            return ToolInvalidInput(decoded.failure())
        async with self._start(caller, decoded.unwrap()) as run:
            stop = None if signal is None else signal.on_abort(run.interrupt)
            try:
                if "progress" in caller.features:
                    await _report(run.events(), caller)  # until the run has ended
                ended = await run.result()
            finally:
                if stop is not None:
                    stop()
            outcome, secrets = self._outcome(ended), self._secrets
            return bound(secrets.redact_in(outcome) if secrets.active else outcome, self._result_bytes)

    def _decode(self, payload: JsonValue) -> Result[object, tuple[str, ...]]:
        given: object = {} if payload is None else payload
        if self._wrapped:
            if not isinstance(given, dict):
                return Failure(("$: expected object",))
            members = cast("dict[str, JsonValue]", given)
            others = tuple(f"$.{key[:128]}: an undeclared key" for key in members if key != _FIELD)
            if others or _FIELD not in members:
                return Failure(others or (f"$.{_FIELD}: missing",))
            given = members[_FIELD]
        decoded = self._agent.input.decode(given)
        if isinstance(decoded, Failure):
            at = f"$.{_FIELD}" if self._wrapped else "$"
            return Failure(tuple(at + problem.removeprefix("$") for problem in decoded.failure().problems))
        return Success(decoded.unwrap())

    def _outcome(self, ended: Result[Completed[Any], RunFailure]) -> Outcome:
        if isinstance(ended, Failure):
            cause = ended.failure().cause
            if isinstance(cause, RunInterrupted):
                return interrupted(started=True, execution=self._execution)
            if isinstance(cause, RunDefect):
                return ToolDefect("raised")
            if isinstance(cause, AgentInputError):
                return ToolInvalidInput(cause.problems)
            return ToolFailure(cause, {"_tag": tag_of(cause), "message": sentence_of(cause)})
        encoded = self._agent.output.encode(ended.unwrap().output)
        if isinstance(encoded, Failure):
            log().error("an agent's answer breaks its own schema", agent=self._agent.id)
            return ToolDefect("output")
        return ToolSuccess(encoded.unwrap())

    def summary(self, name: str, outcome: ToolSuccess) -> str | None:
        """Give a text answer as it is."""
        return outcome.value if isinstance(outcome.value, str) else None

    async def prompt(
        self, name: str, arguments: Mapping[str, str], caller: Caller = NOBODY
    ) -> Result[tuple[PromptMessage, ...], PromptRefused]:
        """Give the agent's instructions."""
        instructions = self._agent.instructions
        if not isinstance(instructions, str) or name != self.capabilities[0].name:
            return Failure(PromptRefused(f"No such prompt: {name[:128]}"))
        return Success((PromptMessage("user", TextContent(self._secrets.redact_text(instructions))),))


async def _report(events: RunEvents, caller: Caller) -> None:
    """Tell the caller what the run does; each event that is told is one step."""
    done = 0
    async for event in events:
        match event:
            case TurnStarted():
                said = f"turn {event.turn}"
            case ToolCallStarted():
                said = f"calls {event.tool}"
            case ToolCallSucceeded():
                said = f"{event.tool} is done"
            case ToolCallFailed():
                said = f"{event.tool} failed"
            case _:
                continue
        done += 1
        await caller.progress(done, None, said)


def _wrapped(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Describe an input that is no object as the only member of one."""
    body = {key: value for key, value in schema.items() if key not in ("$schema", "$defs")}
    made: dict[str, JsonValue] = {
        "type": "object",
        "properties": {_FIELD: body},
        "required": [_FIELD],
        "additionalProperties": False,
    }
    return {**made, "$defs": schema["$defs"]} if "$defs" in schema else made
