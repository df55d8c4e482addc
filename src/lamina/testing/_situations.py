"""What a model adapter is brought into by its tests: one method per situation (TEST-004, TEST-007)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from lamina.model import (
    AssistantMessage,
    LanguageModel,
    ModelRequest,
    OutputSpec,
    Reasoning,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from lamina.schema import JsonValue

PLAIN_REQUEST: Final = ModelRequest((SystemMessage("Be brief."), UserMessage.of("Say hello.")))
"""A request without tools."""

_NUMBERS: Mapping[str, JsonValue] = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
    "required": ["x", "y"],
    "additionalProperties": False,
}
_KEY: Mapping[str, JsonValue] = {
    "type": "object",
    "properties": {"key": {"type": "string"}},
    "required": ["key"],
    "additionalProperties": False,
}

TOOLS_REQUEST: Final = ModelRequest(
    (SystemMessage("Use the tools."), UserMessage.of("Add 1 and 2, and look up the key abc.")),
    (ToolSpec("add", "Add two numbers.", _NUMBERS), ToolSpec("lookup", "Look a key up.", _KEY)),
)
"""A request with two tools."""

HISTORY_REQUEST: Final = ModelRequest(
    (
        SystemMessage("Be brief.", {"elsewhere": {"cache": True}}),
        UserMessage.of("Add 1 and 2."),
        AssistantMessage(
            (
                Reasoning("I need the tool.", {"elsewhere": {"signature": "c2ln"}}),
                Text("One moment.", {"elsewhere": {"id": "t1"}}),
                ToolCall("call-1", "add", '{"x": 1, "y": 2}', metadata={"elsewhere": {"item": 1}}),
                ToolCall("call-2", "lookup", "not JSON", metadata={"elsewhere": {"item": 2}}),
            )
        ),
        ToolMessage((ToolResult("call-1", "add", 3), ToolResult("call-2", "lookup", {"problem": "é"}, is_error=True))),
        AssistantMessage(()),
        UserMessage.of("And now say hello."),
    ),
    TOOLS_REQUEST.tools,
)
"""A request with every kind of message, an empty answer, broken arguments, and another provider's metadata."""

OUTPUT_REQUEST: Final = attrs.evolve(
    PLAIN_REQUEST,
    output=OutputSpec(
        "greeting",
        {
            "type": "object",
            "properties": {"hello": {"type": "string"}},
            "required": ["hello"],
            "additionalProperties": False,
        },
    ),
)
"""A request whose answer has to be JSON."""


@attrs.frozen
class Prepared:
    """A model that is ready for a situation, and what the situation's author knows about the answer.

    Attributes:
        model: Answers every call in the situation's way, any number of times.
        text: The exact text of the answer; `None` where any is right.
        calls: The name and raw arguments of each call; `None` where any are right.
        usage: The exact usage; `None` where any is right.
        repeatable: Whether two calls give equal answers; false for a model that samples.
    """

    model: LanguageModel
    text: str | None = None
    calls: tuple[tuple[str, str], ...] | None = None
    usage: Usage | None = None
    repeatable: bool = True


class ModelSituations:
    """Override each method whose situation your model can be brought into; the others are reported as left out.

    Most adapters are given a loopback server that replays what their provider sends. Each method is called anew for
    each probe, so a server may be told there what to send next.

    Example:
        >>> class Mine(ModelSituations):
        ...     async def plain_text(self) -> Prepared:
        ...         return Prepared(ScriptedModel(*[say("Hello")] * 9), text="Hello")
    """

    async def plain_text(self) -> Prepared | None:
        """A text, with a usage and the finish reason `stop`; at least two deltas when streamed."""

    async def empty(self) -> Prepared | None:
        """An answer without any text, which is still an answer."""

    async def reasoning(self) -> Prepared | None:
        """A thought, then a text."""

    async def split_unicode(self) -> Prepared | None:
        """A text whose bytes arrive cut inside of characters of two, three and four bytes; give the `text`."""

    async def usage_last(self) -> Prepared | None:
        """A text whose usage comes after its finish reason, in a message of its own; give the `usage`."""

    async def cached_usage(self) -> Prepared | None:
        """A text whose usage has cached input; give the `usage`, whose input total includes it."""

    async def parallel_calls(self) -> Prepared | None:
        """Two calls or more in one answer, interleaved where the provider can do that; give the `calls`."""

    async def text_and_call(self) -> Prepared | None:
        """A text, then one call."""

    async def structured_output(self) -> Prepared | None:
        """A JSON text, asked for with an `OutputSpec`."""

    async def malformed_arguments(self) -> Prepared | None:
        """A call whose arguments are no JSON, in a complete answer; give the `calls`, which pass as they are."""

    async def cut_arguments(self) -> Prepared | None:
        """A call whose arguments end in the middle, because the answer reached its length limit."""

    async def content_filter(self) -> Prepared | None:
        """A content filter stops the answer: either finish reason `content-filter` or the reason `ContentPolicy`."""

    async def unauthorized(self) -> Prepared | None:
        """The provider does not accept the key: `Authentication`."""

    async def rate_limited(self) -> Prepared | None:
        """Too many requests, come back in 7 seconds: `RateLimited(7.0)`."""

    async def server_error(self) -> Prepared | None:
        """The provider fails before it answers: `ProviderDown`."""

    async def context_overflow(self) -> Prepared | None:
        """The request is too long: `ContextOverflow`."""

    async def invalid_request(self) -> Prepared | None:
        """The request is wrong in some other way: `InvalidRequest`."""

    async def unreadable(self) -> Prepared | None:
        """What arrives is not the provider's protocol at all: `InvalidOutput`."""

    async def error_midstream(self) -> Prepared | None:
        """A streamed answer breaks off with an error message of the provider's: any reason but `Unclassified`."""

    async def no_connection(self) -> Prepared | None:
        """Nobody listens: `ConnectionLost`."""

    async def connection_lost(self) -> Prepared | None:
        """The connection breaks in the middle of the answer, after the first part: `ConnectionLost`."""

    async def timed_out(self) -> Prepared | None:
        """The adapter's own time limit passes, which is short: `TimedOut`."""

    async def hanging(self) -> Prepared | None:
        """The first call sends some parts and then never ends; later ones answer with a text."""

    async def released(self) -> bool:
        """Wait, for a moment at most, until nothing of an ended call is held; say whether that is so.

        Override it where held resources can be counted: a server counts its open responses, a pool its connections.
        """
        return True
