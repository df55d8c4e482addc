"""The operations of a run: the run itself, a request to the model, and a tool call (behaviour §13)."""

from __future__ import annotations

from types import TracebackType
from typing import Literal, Self, TypeAlias

from lamina.effect import Clock
from lamina.redaction import Secrets
from lamina.telemetry._ambient import AMBIENT, Ambient
from lamina.telemetry._operation import operation
from lamina.telemetry._watched import UNOBSERVED, Live, Watched
from lamina.telemetry.port import Ending, Telemetry

RUN = operation("AgentRuntime.run", names=("lamina.run.finish_reason", "gen_ai.conversation.id"))
MODEL = operation("AgentRuntime.model", names=("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"))
TOOL = operation(
    "execute_tool",
    names=(
        "gen_ai.operation.name",
        "gen_ai.tool.name",
        "gen_ai.tool.type",
        "gen_ai.tool.call.id",
        "lamina.tool.execution_class",
        "lamina.tool.invocation_kind",
        "lamina.tool.parent_call.id",
        "lamina.tool.outcome",
    ),
)
InvocationKind: TypeAlias = Literal["model", "program", "contract"]
"""Who calls a tool: the model, a program that the model wrote, or a client of a contract."""
_ENDINGS: dict[str, Ending] = {"ToolSuccess": "success", "ToolDefect": "defect"}


class _Run(Live):
    """A run, and the ambient of everything that happens in it."""

    __slots__ = ("_outer",)

    def moved(self, conversation: str) -> None:
        """Let everything from here on belong to another conversation."""
        self._ambient.conversation = self._ambient.name(conversation)
        self.note({"gen_ai.conversation.id": conversation})

    def __enter__(self) -> Self:
        self._outer = AMBIENT.set(self._ambient)
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            super().__exit__(kind, error, traceback)
        finally:
            try:
                AMBIENT.reset(self._outer)
            except ValueError:  # left in another context than it was entered in
                AMBIENT.set(None)


def observe_run(
    telemetry: Telemetry | None,
    *,
    run: str,
    agent: str,
    conversation: str | None = None,
    secrets: Secrets | None = None,
    clock: Clock | None = None,
) -> Watched:
    """Observe a run, and every operation in it; without a telemetry, nothing is made.

    Args:
        telemetry: The runtime's, if it offers one.
        run: The run's id.
        agent: The agent's id.
        conversation: The conversation's id.
        secrets: What must not be in a name.
        clock: Measures durations.

    Example:
        >>> with observe_run(None, run="run-1", agent="triage") as observed:
        ...     observed.ended("failure", "PolicyExceeded")
    """
    if telemetry is None:
        return UNOBSERVED
    now = {} if clock is None else {"now": clock.monotonic}
    ambient = Ambient(telemetry, secrets, run=run, conversation=conversation, agent=agent, **now)
    return _Run(ambient, RUN.name, RUN.version, RUN.names, agent, None)


def observe_model(turn: int, *, streamed: bool, provider: str | None = None, model: str | None = None) -> Watched:
    """Observe one request to the model with its retries.

    Args:
        turn: The turn that asks, from 1.
        streamed: Whether its answer is streamed.
        provider: Who answers.
        model: The model's name there.
    """
    ambient = AMBIENT.get()
    if ambient is None:
        return UNOBSERVED
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
        "lamina.turn": turn,
        "lamina.model.streamed": streamed,
    }
    return MODEL.begin_in(ambient, None, attributes)


def observe_tool_call(
    tool: str,
    call: str,
    *,
    execution: str,
    sequence: int = 0,
    kind: InvocationKind = "model",
    parent: str | None = None,
) -> Watched:
    """Observe one tool call from its start to its outcome.

    Args:
        tool: The tool's name, as it is declared; never the text of a model.
        call: The call's id.
        execution: The tool's execution class.
        sequence: The call's place in its batch, from 0.
        kind: Who calls it.
        parent: The call that a program's call belongs to.
    """
    ambient = AMBIENT.get()
    if ambient is None:
        return UNOBSERVED
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": call,
        "lamina.tool.execution_class": execution,
        "lamina.tool.invocation_kind": kind,
        "lamina.tool.parent_call.id": parent,
        "lamina.tool.sequence_index": sequence,
    }
    return TOOL.begin_in(ambient, tool, attributes)


def tool_ended(observed: Watched, outcome: str, category: str | None = None) -> None:
    """Say what came of a tool call.

    Args:
        observed: What `observe_tool_call` gave.
        outcome: The outcome's tag, like `ToolSuccess`.
        category: For a declared failure its own tag.
    """
    if observed is not UNOBSERVED:
        observed.note({"lamina.tool.outcome": outcome})
        ending = _ENDINGS.get(outcome, "failure")
        observed.ended(ending, None if ending == "success" else category or outcome)
