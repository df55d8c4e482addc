"""MCP servers as a source of tools: connections, what they offer, and calls of it (seed 004 §8)."""

from lamina.mcp._errors import (
    McpCallError,
    McpConnectError,
    McpConnectFailed,
    McpConnectionLost,
    McpDiscoveryFailed,
    McpMisbehaved,
    McpOutcomeUnknown,
    McpRefused,
    McpTimedOut,
    McpTooLarge,
    McpToolChanged,
    McpToolFailed,
)
from lamina.mcp._layer import Connecting, connect, mcp_connections
from lamina.mcp._limits import ConnectionLimits
from lamina.mcp._names import qualified
from lamina.mcp._servers import (
    INHERITED,
    Elicitation,
    ElicitHook,
    HttpServer,
    SampleHook,
    Sampling,
    ServerSpec,
    StdioServer,
    http_server,
    stdio_server,
)
from lamina.mcp._toolkit import remote_toolkit
from lamina.mcp.port import (
    McpCall,
    McpConnections,
    RemoteResult,
    RemoteServer,
    RemoteTool,
    ServerIdentity,
    TellProgress,
)

__all__ = [
    "INHERITED",
    "Connecting",
    "ConnectionLimits",
    "ElicitHook",
    "Elicitation",
    "HttpServer",
    "McpCall",
    "McpCallError",
    "McpConnectError",
    "McpConnectFailed",
    "McpConnectionLost",
    "McpConnections",
    "McpDiscoveryFailed",
    "McpMisbehaved",
    "McpOutcomeUnknown",
    "McpRefused",
    "McpTimedOut",
    "McpTooLarge",
    "McpToolChanged",
    "McpToolFailed",
    "RemoteResult",
    "RemoteServer",
    "RemoteTool",
    "SampleHook",
    "Sampling",
    "ServerIdentity",
    "ServerSpec",
    "StdioServer",
    "TellProgress",
    "connect",
    "http_server",
    "mcp_connections",
    "qualified",
    "remote_toolkit",
    "stdio_server",
]
