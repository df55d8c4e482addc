"""What a connection, or a call over it, may fail with: values, each with one sentence."""

from __future__ import annotations

from typing import TypeAlias

from lamina.call import ContentItem, TextContent
from lamina.effect import tagged
from lamina.schema import JsonValue

LONGEST_TEXT = 2_048
"""Characters that are kept of what a server says of a failure."""
_LONGEST_FAILURE = 4_096


@tagged('The MCP server "{server}" could not be connected to: {why}.')
class McpConnectFailed:
    """There is no connection, and there was none: nothing was called.

    Attributes:
        server: The server's name here.
        why: A short reason: that it was not there, exited, refused, or did not answer in time. What it wrote to its
            standard error is in the application's own log.
    """

    server: str
    why: str


@tagged('The MCP server "{server}" has no list of tools that can be used: {why}.')
class McpDiscoveryFailed:
    """The server answered, but its list of tools is endless, repeats itself, or cannot be read.

    Attributes:
        server: The server's name here.
        why: A short reason.
    """

    server: str
    why: str


@tagged('There is no connection to the MCP server "{server}": {why}.')
class McpConnectionLost:
    """The connection was lost, and has not come back; the call had no effect, or may be repeated without harm.

    Attributes:
        server: The server's name here.
        why: A short reason.
    """

    server: str
    why: str


@tagged('It is not known whether {tool} took effect on the MCP server "{server}": {why}.')
class McpOutcomeUnknown:
    """A call was cut off after it had gone out: it may have happened. A tool of an agent gives `ToolUnknownOutcome`.

    Attributes:
        server: The server's name here.
        tool: What was called.
        why: What cut it off.
    """

    server: str
    tool: str
    why: str


@tagged('{tool} of the MCP server "{server}" did not answer within {seconds:g} s.')
class McpTimedOut:
    """The time was over; the server was told, and the call had no effect, or may be repeated without harm.

    Attributes:
        server: The server's name here.
        tool: What was called.
        seconds: How long it was waited for.
    """

    server: str
    tool: str
    seconds: float


@tagged('{tool} of the MCP server "{server}" is not what it was when it was bound: {change}.')
class McpToolChanged:
    """The server has another tool of that name by now, or none: the call was not sent.

    Attributes:
        server: The server's name here.
        tool: What was called.
        change: What changed: that it is gone, or that its schema is another.
    """

    server: str
    tool: str
    change: str


@tagged('The MCP server "{server}" refused to call {tool}: {message}')
class McpRefused:
    """The server answered with an error of the protocol: it knows no such tool, or takes no such arguments, say.

    The tool did not run. An error that leaves that open (an internal one, or an application's own) is a
    `McpToolFailed`.

    Attributes:
        server: The server's name here.
        tool: What was called.
        code: The protocol's code, or the status of HTTP.
        message: What the server says, at most 2,048 characters.
    """

    server: str
    tool: str
    code: int
    message: str


@tagged('{what} of {tool} on the MCP server "{server}" is larger than {limit} bytes.')
class McpTooLarge:
    """Arguments that were not sent, or an answer that was not kept: the server has done what it was asked.

    Attributes:
        server: The server's name here.
        tool: What was called.
        what: `The input` or `The answer`.
        limit: What is allowed, in bytes of JSON.
    """

    server: str
    tool: str
    what: str
    limit: int


@tagged('The MCP server "{server}" answered the call of {tool} with something that it does not declare.')
class McpMisbehaved:
    """The answer is no result of the protocol, or breaks the tool's own output schema; it is withheld.

    Attributes:
        server: The server's name here.
        tool: What was called.
    """

    server: str
    tool: str


@tagged("{message}")
class McpToolFailed:
    """The tool ran, and said that it failed; or its server did, with an error that is no refusal.

    Attributes:
        server: The server's name here.
        tool: What was called.
        content: What it says, kind by kind.
        structured: The same as a value, where the tool gives one.
    """

    server: str
    tool: str
    content: tuple[ContentItem, ...]
    structured: JsonValue = None

    @property
    def message(self) -> str:
        """The texts of its content."""
        texts = "\n".join(each.text for each in self.content if isinstance(each, TextContent))
        return texts[:_LONGEST_FAILURE] or f'{self.tool} of the MCP server "{self.server}" failed.'


McpConnectError: TypeAlias = McpConnectFailed | McpDiscoveryFailed
McpCallError: TypeAlias = (
    McpConnectionLost
    | McpOutcomeUnknown
    | McpTimedOut
    | McpToolChanged
    | McpRefused
    | McpTooLarge
    | McpMisbehaved
    | McpToolFailed
)
