"""Tools by signature, and toolkits (design §4, CAP-003)."""

from lamina.tools._asking import approval_request
from lamina.tools._dynamic import DynamicHandler, DynamicToolFailure, SchemaCodec, dynamic_tool
from lamina.tools._factory import ToolDecorator, tool
from lamina.tools._group import ConcurrencyGroup
from lamina.tools._late import Late, settled_tools
from lamina.tools._needs import requirements_of
from lamina.tools._options import ToolOptions
from lamina.tools._tool import FailureMode, Tool
from lamina.tools._toolkit import Toolkit, Tools

__all__ = [
    "ConcurrencyGroup",
    "DynamicHandler",
    "DynamicToolFailure",
    "FailureMode",
    "Late",
    "SchemaCodec",
    "Tool",
    "ToolDecorator",
    "ToolOptions",
    "Toolkit",
    "Tools",
    "approval_request",
    "dynamic_tool",
    "requirements_of",
    "settled_tools",
    "tool",
]
