"""One call: its key, its outcome, and the stages that an agent's tool call and a contract's dispatch share."""

from lamina.call._authorize import (
    Allowed,
    Authorization,
    AuthorizationAnswer,
    AuthorizationRequest,
    NotAllowed,
    check_authorized,
)
from lamina.call._available import check_available
from lamina.call._bound import DEFAULT_RESULT_BYTES, SMALLEST_RESULT_BYTES, bound
from lamina.call._decode import decode
from lamina.call._encode import encode
from lamina.call._key import CallKey, ExecutionClass
from lamina.call._outcome import (
    DefectKind,
    Outcome,
    RejectionReason,
    ToolDefect,
    ToolFailure,
    ToolInvalidInput,
    ToolRejected,
    ToolSuccess,
    ToolUnknownOutcome,
    interrupted,
    sentence_of,
    told,
)
from lamina.call._resolve import resolve

__all__ = [
    "DEFAULT_RESULT_BYTES",
    "SMALLEST_RESULT_BYTES",
    "Allowed",
    "Authorization",
    "AuthorizationAnswer",
    "AuthorizationRequest",
    "CallKey",
    "DefectKind",
    "ExecutionClass",
    "NotAllowed",
    "Outcome",
    "RejectionReason",
    "ToolDefect",
    "ToolFailure",
    "ToolInvalidInput",
    "ToolRejected",
    "ToolSuccess",
    "ToolUnknownOutcome",
    "bound",
    "check_authorized",
    "check_available",
    "decode",
    "encode",
    "interrupted",
    "resolve",
    "sentence_of",
    "told",
]
