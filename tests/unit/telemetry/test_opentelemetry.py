from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lamina.effect import ConstructionError
from lamina.telemetry import OpenTelemetry, observe_model, observe_run, observe_tool_call, operation, tool_ended


class Seen:
    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.telemetry = OpenTelemetry(
            tracer_provider=self.tracers, meter_provider=MeterProvider(metric_readers=[self.reader])
        )

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self.exporter.get_finished_spans()}

    def counts(self) -> dict[str, list[tuple[int, dict[str, Any]]]]:
        data = self.reader.get_metrics_data()
        assert data is not None
        return {
            metric.name: [(point.value, dict(point.attributes or {})) for point in metric.data.data_points]
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


def test_spans_stand_in_each_other_with_the_names_of_the_conventions() -> None:
    seen = Seen()

    with observe_run(seen.telemetry, run="run-1", agent="triage", conversation="c-1") as run:
        with observe_model(1, streamed=True):
            pass
        with observe_tool_call("mail", "call-1", execution="uncertain") as tool:
            with seen.tracers.get_tracer("app").start_as_current_span("of the handler"):
                pass
            tool_ended(tool, "ToolFailure", "NoSuchUser")
        with operation("sessions.update", version=2).begin(resource="s-1"):
            pass
        run.ended("success")

    spans = seen.spans
    assert set(spans) == {
        "AgentRuntime.run",
        "AgentRuntime.model",
        "execute_tool mail",
        "of the handler",
        "sessions.update",
    }
    top, tool_span = spans["AgentRuntime.run"], spans["execute_tool mail"]
    assert top.parent is None
    for name in ("AgentRuntime.model", "execute_tool mail", "sessions.update"):
        parent = spans[name].parent
        assert parent is not None
        assert parent.span_id == top.context.span_id
    inner = spans["of the handler"].parent
    assert inner is not None
    assert inner.span_id == tool_span.context.span_id
    attributes = dict(tool_span.attributes or {})
    assert attributes.pop("lamina.operation.duration") >= 0  # type: ignore[operator]
    assert attributes == {
        "lamina.operation.name": "execute_tool",
        "lamina.operation.version": 1,
        "lamina.run.id": "run-1",
        "lamina.resource": "mail",
        "gen_ai.conversation.id": "c-1",
        "gen_ai.agent.name": "triage",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "mail",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call-1",
        "lamina.tool.execution_class": "uncertain",
        "lamina.tool.invocation_kind": "model",
        "lamina.tool.sequence_index": 0,
        "lamina.tool.outcome": "ToolFailure",
        "lamina.operation.outcome": "failure",
        "lamina.operation.retries": 0,
        "error.type": "NoSuchUser",
    }
    assert tool_span.status.status_code is trace.StatusCode.ERROR
    assert top.status.status_code is trace.StatusCode.UNSET
    assert (spans["sessions.update"].attributes or {})["lamina.operation.version"] == 2
    assert not trace.get_current_span().get_span_context().is_valid


def test_counters_are_of_few_values() -> None:
    seen = Seen()

    for number in range(3):
        with (
            observe_run(seen.telemetry, run=f"run-{number}", agent="triage"),
            observe_model(1, streamed=False),
            observe_tool_call("mail", f"call-{number}", execution="readonly") as tool,
        ):
            tool_ended(tool, "ToolSuccess")
    with pytest.raises(KeyboardInterrupt), observe_run(seen.telemetry, run="run-9", agent="triage"):
        raise KeyboardInterrupt

    ran = {"gen_ai.agent.name": "triage", "lamina.operation.outcome": "success"}
    tools = {
        "gen_ai.tool.name": "mail",
        "lamina.tool.execution_class": "readonly",
        "lamina.tool.outcome": "ToolSuccess",
    }
    assert seen.counts() == {
        "lamina_runs_total": [(3, ran), (1, {"gen_ai.agent.name": "triage"})],
        "lamina_model_calls_total": [(3, ran)],
        "lamina_tool_calls_total": [(3, {**ran, **tools})],
    }
    assert "lamina.operation.outcome" not in (seen.spans["AgentRuntime.run"].attributes or {})


def test_no_exception_is_in_a_span() -> None:
    seen = Seen()

    with (
        pytest.raises(ValueError, match="canary"),
        observe_run(seen.telemetry, run="r", agent="a"),
        operation("x").begin(),
    ):
        raise ValueError("canary")

    for span in seen.spans.values():
        assert "canary" not in span.to_json()
        assert span.events == ()
        assert span.status.description is None
        assert (span.attributes or {})["error.type"] == "ValueError"


def test_an_exporter_that_breaks_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Down(SpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            raise RuntimeError("the exporter is down")

    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(Down()))

    with observe_run(OpenTelemetry(tracer_provider=tracers), run="r", agent="a") as run:
        run.ended("success")

    assert not trace.get_current_span().get_span_context().is_valid


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)

    with pytest.raises(ConstructionError, match=r"pip install 'lamina\[otel\]'"):
        OpenTelemetry()


def test_everything_else_works_without_it() -> None:
    program = """
import sys
sys.modules["opentelemetry"] = None
from lamina.telemetry import MemoryTelemetry, observe_run
telemetry = MemoryTelemetry()
with observe_run(telemetry, run="r", agent="a"):
    pass
assert telemetry.observed[0].ended.outcome == "success"
assert "structlog" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
