"""Payload is in no span, log or audit entry, and a registered secret in nothing of what the framework passes on.

Here the pieces are held to it one by one, with the framework's own values; runs are held to it where they are run.
"""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from returns.result import Failure

from lamina.approval import ApprovalRequest, Denied
from lamina.audit import MemoryAudit, record_decision
from lamina.call import CallKey, ToolFailure, ToolInvalidInput, ToolRejected, ToolSuccess, told
from lamina.conversation import ResponseDeclared, ResultSettled
from lamina.effect import log, tagged
from lamina.engine import ToolCallDeclared, ToolCallFailed, ToolCallSucceeded
from lamina.model import (
    AssistantMessage,
    Finish,
    ModelRequest,
    Reasoning,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
    reduce,
)
from lamina.redaction import MASK, Secrets, forms_of
from lamina.telemetry import (
    MemoryTelemetry,
    OpenTelemetry,
    configure_logging,
    observe_run,
    observe_tool_call,
    operation,
    tool_ended,
)

CANARY = "canary-58d3a1"
SECRET = 'sk-4f"x/9é2'


@tagged("No file {path}.")
class NoFile:
    path: str


@attrs.frozen
class Write:
    path: str
    extra: dict[str, str]


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    logger = logging.getLogger("lamina")
    before = logger.propagate, logger.level, list(logger.handlers)
    out = io.StringIO()
    configure_logging(stream=out, level="DEBUG")
    yield out
    logger.propagate, logger.handlers[:] = before[0], before[2]
    logger.setLevel(before[1])


def preview() -> ApprovalRequest:
    return ApprovalRequest(
        id="approval:run-1/1/c1",
        key=CallKey("run-1", 1, "c1"),
        agent="a",
        conversation=None,
        tool="write",
        execution="uncertain",
        summary=f"Write {CANARY}",
        targets=(CANARY,),
        risk="high",
        preview={"path": CANARY},
        arguments_digest="0" * 64,
        recoverable=False,
        expires_at=None,
    )


def _break(payload: Any) -> None:
    try:
        raise RuntimeError(payload)
    except RuntimeError:
        log().exception("it broke", thing={payload: payload} if isinstance(payload, str) else payload)
        raise


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(Write(CANARY, {CANARY: CANARY}), id="decoded input"),
        pytest.param({"path": CANARY, CANARY: [CANARY]}, id="arguments"),
        pytest.param({"title": CANARY, "tags": {CANARY: 1}}, id="a session's metadata"),
        pytest.param(preview(), id="an approval with its preview"),
        pytest.param(NoFile(CANARY), id="an error"),
        pytest.param(ValueError(CANARY), id="an exception"),
        pytest.param(CANARY, id="a text"),
    ],
)
def test_payload_is_in_no_span_log_or_audit_entry(payload: Any, lines: io.StringIO) -> None:
    exporter, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    audit, memory = MemoryAudit(principal=lambda who: "user-7"), MemoryTelemetry()
    update = operation("sessions.update", resource="session")

    for telemetry in (OpenTelemetry(tracer_provider=tracers), memory):
        with observe_run(telemetry, run="run-1", agent="a", conversation="c-1"):
            with observe_tool_call("write", "c1", execution="uncertain") as tool:
                tool.note({"input": payload})
                tool.returned(Failure(payload))
                tool_ended(tool, "ToolFailure", "NoFile")
            with update.begin(resource="s-1", attributes={"metadata": payload}):
                log().info("updated", metadata=payload, patch=[payload], session="s-1")
            with pytest.raises(RuntimeError), update.begin():
                _break(payload)
    record_decision(
        audit, "approval", "write", "refused", reason="denied", about=payload, principal=payload, detail=f"no {CANARY}"
    )

    spans = "".join(span.to_json() for span in exporter.get_finished_spans())
    for out in (spans, repr(memory.observed), repr(audit.entries), lines.getvalue()):
        assert out.count("REDACTED") + out.count("write") > 0
        assert CANARY not in out


def everything() -> dict[str, Any]:
    """One of each kind of value that the framework passes on, each with the secret somewhere."""
    key = CallKey("run-1", 1, "c1")
    call = ToolCall("c1", "write", json.dumps({"path": SECRET, SECRET: [{"deep": f"x{SECRET}x"}]}))
    message = AssistantMessage((Text(f"I say {SECRET}", {"provider": {"id": SECRET}}), Reasoning(SECRET), call))
    at: dict[str, Any] = {
        "run": "run-1",
        "conversation": None,
        "agent": "a",
        "sequence": 0,
        "timestamp": datetime(2026, 1, 1, tzinfo=UTC),
        "tool": "write",
    }
    result = ToolSuccess({"content": f"key={SECRET}", SECRET: 1})
    failure = ToolFailure(NoFile(SECRET), {"_tag": "NoFile", "path": SECRET})
    return {
        "request": ModelRequest(
            messages=(
                SystemMessage(f"The key is {SECRET}."),
                UserMessage.of(f"use {SECRET}"),
                message,
                ToolMessage((ToolResult("c1", "write", told(result), False),)),
            ),
            tools=(),
            tool_choice="none",
            output=None,
        ),
        "response": reduce([*message.parts, Finish("stop")]).unwrap(),
        "success": result,
        "failure": failure,
        "rejected": ToolRejected("unauthorized", f"not with {SECRET}"),
        "invalid": ToolInvalidInput((f"$.{SECRET}: unknown field",)),
        "approval": attrs.evolve(preview(), summary=SECRET, targets=(SECRET,), preview={"x": [SECRET]}),
        "denied": Denied("ann", f"because of {SECRET}"),
        "declared": ResponseDeclared("run-1", 1, message),
        "settled": ResultSettled(key, failure),
        "event": ToolCallSucceeded(**at, result={"k": SECRET}),
        "event of a failure": ToolCallFailed(**at, outcome="x", error_tag="NoFile", message=SECRET),
        "event of a call": ToolCallDeclared(**at, parameters={"path": SECRET}),
    }


@pytest.mark.parametrize("name", sorted(everything()))
def test_a_registered_secret_is_in_no_value_of_the_frameworks(name: str) -> None:
    secrets = Secrets(SECRET)
    value = everything()[name]

    out = secrets.redact_in(value)

    assert SECRET in repr(value) or any(form in repr(value) for form in forms_of(SECRET))
    assert type(out) is type(value)
    assert MASK in repr(out)
    for form in forms_of(SECRET):
        assert form not in repr(out)
    if isinstance(out, ToolFailure):
        assert out.message == f"No file {MASK}."
