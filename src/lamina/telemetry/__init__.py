"""What is told of every operation, without what was in it: the port, its sinks, the wrapper, and the log's boundary."""

from lamina.telemetry._ambient import LONGEST_NAME, is_observed, observing
from lamina.telemetry._observed import observed, operations_of
from lamina.telemetry._operation import Operation, operation
from lamina.telemetry._runs import InvocationKind, observe_model, observe_run, observe_tool_call, tool_ended
from lamina.telemetry._watched import MOST_ATTRIBUTES, UNOBSERVED, Watched, category_of, retried
from lamina.telemetry.logs import LONGEST_VALUE, PAYLOAD_KEYS, LogBoundary, configure_logging
from lamina.telemetry.memory import MemoryTelemetry, Observed
from lamina.telemetry.opentelemetry import OpenTelemetry
from lamina.telemetry.port import Attribute, Began, Ended, Ending, Observation, Telemetry

__all__ = [
    "LONGEST_NAME",
    "LONGEST_VALUE",
    "MOST_ATTRIBUTES",
    "PAYLOAD_KEYS",
    "UNOBSERVED",
    "Attribute",
    "Began",
    "Ended",
    "Ending",
    "InvocationKind",
    "LogBoundary",
    "MemoryTelemetry",
    "Observation",
    "Observed",
    "OpenTelemetry",
    "Operation",
    "Telemetry",
    "Watched",
    "category_of",
    "configure_logging",
    "is_observed",
    "observe_model",
    "observe_run",
    "observe_tool_call",
    "observed",
    "observing",
    "operation",
    "operations_of",
    "retried",
    "tool_ended",
]
