"""One call: its key, its outcome, and the stages that an agent's tool call and a contract's dispatch share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lamina._lazy import lazily
from lamina.call._authorize import (
    Allowed,
    Authorization,
    AuthorizationAnswer,
    AuthorizationRequest,
    NotAllowed,
    check_authorized,
    check_own_authorized,
)
from lamina.call._available import check_available
from lamina.call._bound import DEFAULT_RESULT_BYTES, SMALLEST_RESULT_BYTES, bound
from lamina.call._decode import decode
from lamina.call._encode import encode
from lamina.call._key import CallKey, ExecutionClass
from lamina.call._outcome import (
    DefectKind,
    Outcome,
    OutcomeUnknown,
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

if TYPE_CHECKING:
    from lamina.call._caller import (
        NOBODY,
        Caller,
        CallerFeature,
        CallerUnable,
        Elicited,
        LogLevel,
        NoCaller,
        NotElicited,
        Root,
        Sampled,
        SampleRequest,
    )
    from lamina.call._contents import (
        AudioContent,
        ContentItem,
        Contents,
        DocumentContent,
        ImageContent,
        LinkContent,
        TextContent,
    )
    from lamina.call._forwarding import ForwardingSurface
    from lamina.call._invocation import Invocation, Signal
    from lamina.call._presented import presented
    from lamina.call._surface import (
        AgentResourceError,
        Capability,
        Gives,
        JsonSchema,
        Prompt,
        PromptArgument,
        PromptMessage,
        PromptRefused,
        ReadDefect,
        ResourceContent,
        ResourceInfo,
        Surface,
    )

__all__ = [
    "DEFAULT_RESULT_BYTES",
    "NOBODY",
    "SMALLEST_RESULT_BYTES",
    "AgentResourceError",
    "Allowed",
    "AudioContent",
    "Authorization",
    "AuthorizationAnswer",
    "AuthorizationRequest",
    "CallKey",
    "Caller",
    "CallerFeature",
    "CallerUnable",
    "Capability",
    "ContentItem",
    "Contents",
    "DefectKind",
    "DocumentContent",
    "Elicited",
    "ExecutionClass",
    "ForwardingSurface",
    "Gives",
    "ImageContent",
    "Invocation",
    "JsonSchema",
    "LinkContent",
    "LogLevel",
    "NoCaller",
    "NotAllowed",
    "NotElicited",
    "Outcome",
    "OutcomeUnknown",
    "Prompt",
    "PromptArgument",
    "PromptMessage",
    "PromptRefused",
    "ReadDefect",
    "RejectionReason",
    "ResourceContent",
    "ResourceInfo",
    "Root",
    "SampleRequest",
    "Sampled",
    "Signal",
    "Surface",
    "TextContent",
    "ToolDefect",
    "ToolFailure",
    "ToolInvalidInput",
    "ToolRejected",
    "ToolSuccess",
    "ToolUnknownOutcome",
    "bound",
    "check_authorized",
    "check_available",
    "check_own_authorized",
    "decode",
    "encode",
    "interrupted",
    "presented",
    "resolve",
    "sentence_of",
    "told",
]

# What serves callers from outside is loaded when it is asked for: an agent that nobody serves pays nothing for it.
_HOME_OF = {
    "AgentResourceError": "_surface",
    "AudioContent": "_contents",
    "Caller": "_caller",
    "CallerFeature": "_caller",
    "CallerUnable": "_caller",
    "Capability": "_surface",
    "ContentItem": "_contents",
    "Contents": "_contents",
    "DocumentContent": "_contents",
    "Elicited": "_caller",
    "ForwardingSurface": "_forwarding",
    "Gives": "_surface",
    "ImageContent": "_contents",
    "Invocation": "_invocation",
    "JsonSchema": "_surface",
    "LinkContent": "_contents",
    "LogLevel": "_caller",
    "NOBODY": "_caller",
    "NoCaller": "_caller",
    "NotElicited": "_caller",
    "Prompt": "_surface",
    "PromptArgument": "_surface",
    "PromptMessage": "_surface",
    "PromptRefused": "_surface",
    "ReadDefect": "_surface",
    "ResourceContent": "_surface",
    "ResourceInfo": "_surface",
    "Root": "_caller",
    "SampleRequest": "_caller",
    "Sampled": "_caller",
    "Signal": "_invocation",
    "Surface": "_surface",
    "TextContent": "_contents",
    "presented": "_presented",
}

__getattr__, __dir__ = lazily(__name__, _HOME_OF, __all__)
