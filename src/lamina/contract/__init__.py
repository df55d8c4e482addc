"""Contracts: which of its own messages an application lets agents send, bound once, served over any protocol."""

from lamina.contract._action import Action, MessageSet
from lamina.contract._audit_log import audit_log
from lamina.contract._bound import BoundContract
from lamina.contract._completion import (
    DEFAULT_TIMEOUT,
    Completion,
    MessageCompletion,
    StateCompletion,
    completes,
    when,
)
from lamina.contract._contract import Contract
from lamina.contract._describe import CompletionInfo, MessageInfo, Wiring
from lamina.contract._errors import (
    AgentApprovalError,
    AgentAuthorizationError,
    AgentCancelledError,
    AgentCapabilityUnavailableError,
    AgentCompletionFailed,
    AgentCompletionTimeoutError,
    AgentDefect,
    AgentInvalidInputError,
    AgentProjectionError,
    AgentUnknownCapabilityError,
    Delivery,
    DispatchError,
)
from lamina.contract._ground import Ground
from lamina.contract._projection import Projection, Reading, compose, pick, struct
from lamina.contract._resource import DeclaredResource
from lamina.contract._values import (
    Answer,
    At,
    Attempt,
    Authorized,
    Denied,
    Dispatched,
    Nothing,
    Settled,
    Summary,
    summarize,
)
from lamina.contract.memory import Command, MemoryHost, command, replay
from lamina.contract.plain import PlainHost
from lamina.contract.port import Host, HostWithPrincipal, Source

__all__ = [
    "DEFAULT_TIMEOUT",
    "Action",
    "AgentApprovalError",
    "AgentAuthorizationError",
    "AgentCancelledError",
    "AgentCapabilityUnavailableError",
    "AgentCompletionFailed",
    "AgentCompletionTimeoutError",
    "AgentDefect",
    "AgentInvalidInputError",
    "AgentProjectionError",
    "AgentUnknownCapabilityError",
    "Answer",
    "At",
    "Attempt",
    "Authorized",
    "BoundContract",
    "Command",
    "Completion",
    "CompletionInfo",
    "Contract",
    "DeclaredResource",
    "Delivery",
    "Denied",
    "DispatchError",
    "Dispatched",
    "Ground",
    "Host",
    "HostWithPrincipal",
    "MemoryHost",
    "MessageCompletion",
    "MessageInfo",
    "MessageSet",
    "Nothing",
    "PlainHost",
    "Projection",
    "Reading",
    "Settled",
    "Source",
    "StateCompletion",
    "Summary",
    "Wiring",
    "audit_log",
    "command",
    "completes",
    "compose",
    "pick",
    "replay",
    "struct",
    "summarize",
    "when",
]
