"""Tools by signature, and toolkits (design §4, CAP-003)."""

from lamina.tools._asking import approval_request
from lamina.tools._dynamic import DynamicHandler, DynamicToolFailure
from lamina.tools._factory import ToolDecorator, tool
from lamina.tools._group import ConcurrencyGroup
from lamina.tools._needs import requirements_of
from lamina.tools._tool import FailureMode, Tool
from lamina.tools._toolkit import Toolkit, Tools

__all__ = [
    "ConcurrencyGroup",
    "DynamicHandler",
    "DynamicToolFailure",
    "FailureMode",
    "Tool",
    "ToolDecorator",
    "Toolkit",
    "Tools",
    "approval_request",
    "requirements_of",
    "tool",
]
