"""Approvals over HTTP: what waits is listed, and decided by whoever holds a key (seed 004 §5; extra `webhook`)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from lamina.adapters.approval_webhook._desk import Desk, Refusal, StoredDesk, Verdict, WaitingDesk, WaitingItem
from lamina.adapters.approval_webhook._keys import Key
from lamina.adapters.approval_webhook._signing import sign

if TYPE_CHECKING:
    from lamina.adapters.approval_webhook._app import approval_app

__all__ = ["Desk", "Key", "Refusal", "StoredDesk", "Verdict", "WaitingDesk", "WaitingItem", "approval_app", "sign"]


def __getattr__(name: str) -> object:
    """Import the server when it is asked for: who only signs needs no Starlette."""
    if name != "approval_app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = import_module(f"{__name__}._app").approval_app
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
