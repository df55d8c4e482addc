"""Telemetry over OpenTelemetry: spans and counters (behaviour §13). Needs the extra `otel`."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import Token
from typing import TYPE_CHECKING

from lamina.effect import ConstructionError, Problem
from lamina.telemetry._runs import MODEL, RUN, TOOL
from lamina.telemetry.port import Attribute, Began, Ended, Observation, Telemetry

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import Counter, MeterProvider
    from opentelemetry.trace import Span, TracerProvider

_COUNTERS = {
    RUN.name: ("lamina_runs_total", "Runs that ended."),
    MODEL.name: ("lamina_model_calls_total", "Requests to a model that ended."),
    TOOL.name: ("lamina_tool_calls_total", "Tool calls that ended."),
}
# What a counter is split by has to be of few values: no id of a run, a conversation or a call.
_COUNTED = ("gen_ai.tool.name", "lamina.tool.execution_class", "lamina.tool.outcome")


class OpenTelemetry(Telemetry):
    """Sends operations to OpenTelemetry, as the application has set it up.

    Spans: `AgentRuntime.run`, `AgentRuntime.model`, `execute_tool {name}`, and one of its own name for every other
    operation. Each stands below the span that it began in, and spans that a handler makes stand below it. Counters:
    `lamina_runs_total`, `lamina_model_calls_total`, `lamina_tool_calls_total`. No attribute holds a payload, and no
    exception is recorded; an interrupted operation has no outcome.

    Args:
        tracer_provider: Where spans go; the process's own without one.
        meter_provider: Where counts go; the process's own without one.

    Raises:
        ConstructionError: The extra `otel` is not installed.
    """

    def __init__(
        self, *, tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
    ) -> None:
        try:
            from opentelemetry import context, metrics, trace
        except ModuleNotFoundError:
            lines = ("opentelemetry is not installed",)
            write = "pip install 'lamina[otel]'"
            raise ConstructionError([Problem("MISSING", "OpenTelemetry", lines, write)]) from None
        self._trace, self._context = trace, context
        self._tracer = trace.get_tracer("lamina", tracer_provider=tracer_provider)
        meter = metrics.get_meter("lamina", meter_provider=meter_provider)
        self._counters: Mapping[str, Counter] = {
            name: meter.create_counter(counter, description=says) for name, (counter, says) in _COUNTERS.items()
        }

    def begin(self, began: Began) -> Observation:
        """Start a span, and make it the current one."""
        name = f"{began.name} {began.resource}" if began.name == TOOL.name and began.resource else began.name
        span = self._tracer.start_span(
            name, attributes=_began(began), record_exception=False, set_status_on_exception=False
        )
        token = self._context.attach(self._trace.set_span_in_context(span))
        return _Open(self, began, span, token)

    def end(self, began: Began, span: Span, token: Token[Context], ended: Ended) -> None:
        """End a span, and count it."""
        try:
            self._context.detach(token)
            span.set_attributes(_ended(ended))
            if ended.outcome in ("failure", "defect"):
                span.set_status(self._trace.StatusCode.ERROR)
        finally:
            span.end()
            counter = self._counters.get(began.name)
            if counter is not None:
                counter.add(1, _counted(began, ended))


class _Open:
    __slots__ = ("_began", "_owner", "_span", "_token")

    def __init__(self, owner: OpenTelemetry, began: Began, span: Span, token: Token[Context]) -> None:
        self._owner = owner
        self._began = began
        self._span = span
        self._token = token

    def end(self, ended: Ended) -> None:
        self._owner.end(self._began, self._span, self._token, ended)


def _began(began: Began) -> dict[str, Attribute]:
    told: dict[str, Attribute | None] = {
        "lamina.operation.name": began.name,
        "lamina.operation.version": began.version,
        "lamina.run.id": began.run,
        "lamina.resource": began.resource,
        "gen_ai.conversation.id": began.conversation,
        "gen_ai.agent.name": began.agent,
        **began.attributes,
    }
    return _there(told)


def _ended(ended: Ended) -> dict[str, Attribute]:
    told: dict[str, Attribute | None] = {
        "lamina.operation.outcome": ended.outcome,
        "lamina.operation.retries": ended.retries,
        "lamina.operation.duration": ended.duration,
        "error.type": ended.category,
        **ended.attributes,
    }
    return _there(told)


def _counted(began: Began, ended: Ended) -> dict[str, Attribute]:
    every = {**began.attributes, **ended.attributes}
    told: dict[str, Attribute | None] = {
        "gen_ai.agent.name": began.agent,
        "lamina.operation.outcome": ended.outcome,
        **{name: every.get(name) for name in _COUNTED},
    }
    return _there(told)


def _there(told: Mapping[str, Attribute | None]) -> dict[str, Attribute]:
    return {name: value for name, value in told.items() if value is not None}
