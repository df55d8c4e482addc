"""Serve a surface over the Model Context Protocol: stdio and streamable HTTP, every revision since 2024-11-05.

The adapter stands on the protocol's own SDK, the package `mcp` (extra `lamina[mcp]`), imported when it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from lamina.adapters.mcp._options import Identity, McpHttp, McpLimits, SurfaceFactory, Verify

if TYPE_CHECKING:
    from lamina.adapters.mcp._http import McpApp
    from lamina.adapters.mcp._lines import Ending
    from lamina.adapters.mcp._server import McpServer, serve_mcp

__all__ = [
    "Ending",
    "Identity",
    "McpApp",
    "McpHttp",
    "McpLimits",
    "McpServer",
    "SurfaceFactory",
    "Verify",
    "serve_mcp",
]

_HOME_OF = {"Ending": "_lines", "McpApp": "_http", "McpServer": "_server", "serve_mcp": "_server"}


def __getattr__(name: str) -> object:
    """Import what needs the SDK when it is asked for.

    Raises:
        ConstructionError: The package `mcp` is not installed.
    """
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import mcp_types  # noqa: F401  # pyright: ignore[reportUnusedImport] - whether it is there
    except ImportError:
        from lamina.effect import ConstructionError, Problem  # only for this mistake

        why = ("it speaks the protocol with the package mcp",)
        raise ConstructionError([Problem("EXTRA", name, why, 'pip install "lamina[mcp]"')]) from None
    found: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
