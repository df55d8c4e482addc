"""What applications get for their own tests: scripted models, and suites that hold an implementation to its port."""

from lamina.testing._clock import VirtualClock
from lamina.testing._conversations import check_conversations
from lamina.testing._ids import FixedIds
from lamina.testing._language_model import check_language_model
from lamina.testing._live import LiveShapedModel, Seen, Step, see
from lamina.testing._mcp import FakeMcp, RemoteFunction
from lamina.testing._operations import OperationReport, check_operations
from lamina.testing._scripted import ScriptedModel, ScriptMismatch
from lamina.testing._situations import (
    HISTORY_REQUEST,
    OUTPUT_REQUEST,
    PLAIN_REQUEST,
    TOOLS_REQUEST,
    ModelSituations,
    Prepared,
)
from lamina.testing._steering import check_steering
from lamina.testing._store import check_store
from lamina.testing._suite import ConformanceError, ConformanceReport
from lamina.testing._turns import SCRIPTED_USAGE, Turn, call_tool, fail, give, hang, raw, say, think
from lamina.testing._valid import request_problem

__all__ = [
    "HISTORY_REQUEST",
    "OUTPUT_REQUEST",
    "PLAIN_REQUEST",
    "SCRIPTED_USAGE",
    "TOOLS_REQUEST",
    "ConformanceError",
    "ConformanceReport",
    "FakeMcp",
    "FixedIds",
    "LiveShapedModel",
    "ModelSituations",
    "OperationReport",
    "Prepared",
    "RemoteFunction",
    "ScriptMismatch",
    "ScriptedModel",
    "Seen",
    "Step",
    "Turn",
    "VirtualClock",
    "call_tool",
    "check_conversations",
    "check_language_model",
    "check_operations",
    "check_steering",
    "check_store",
    "fail",
    "give",
    "hang",
    "raw",
    "request_problem",
    "say",
    "see",
    "think",
]
