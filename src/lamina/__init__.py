"""lamina: typed layers for async services, agents, and applications that agents may use.

The names that most programs begin with. The rest is in the folders: `lamina.effect` (layers, results, clock, ids),
`lamina.schema`, `lamina.model`, `lamina.providers`, `lamina.tools`, `lamina.approval`, `lamina.contract` (hosts,
completions, the audit log), `lamina.agent`, `lamina.engine` (events, failures), `lamina.conversation`,
`lamina.runtime`, `lamina.testing`.

A name is imported when it is first asked for: who uses only the layers does not pay for the agents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lamina._lazy import lazily

if TYPE_CHECKING:
    from lamina.agent import Agent, AgentPolicy, Binding
    from lamina.approval import Approval, Ask
    from lamina.contract import Contract
    from lamina.effect import (
        ConstructionError,
        Handler,
        Layer,
        Try,
        attempt,
        bind,
        fallible,
        handler,
        layer,
        scoped,
        seed,
        tagged,
    )
    from lamina.engine import Completed, RunFailure, RunHandle
    from lamina.runtime import Runtime, RuntimeBuilder, build, try_build
    from lamina.tools import Tool, Toolkit, tool

_HOMES = {
    "agent": ("Agent", "AgentPolicy", "Binding"),
    "approval": ("Approval", "Ask"),
    "contract": ("Contract",),
    "effect": (
        "ConstructionError",
        "Handler",
        "Layer",
        "Try",
        "attempt",
        "bind",
        "fallible",
        "handler",
        "layer",
        "scoped",
        "seed",
        "tagged",
    ),
    "engine": ("Completed", "RunFailure", "RunHandle"),
    "runtime": ("Runtime", "RuntimeBuilder", "build", "try_build"),
    "tools": ("Tool", "Toolkit", "tool"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Agent",
    "AgentPolicy",
    "Approval",
    "Ask",
    "Binding",
    "Completed",
    "ConstructionError",
    "Contract",
    "Handler",
    "Layer",
    "RunFailure",
    "RunHandle",
    "Runtime",
    "RuntimeBuilder",
    "Tool",
    "Toolkit",
    "Try",
    "attempt",
    "bind",
    "build",
    "fallible",
    "handler",
    "layer",
    "scoped",
    "seed",
    "tagged",
    "tool",
    "try_build",
]

__getattr__, __dir__ = lazily(__name__, _HOME_OF, __all__)
