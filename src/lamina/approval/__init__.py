"""Approval: a person or a policy says yes before a call starts (seed 004 §5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lamina.approval.deferred import DeferredApproval
from lamina.approval.policy import PolicyApproval, Rule
from lamina.approval.port import (
    LARGEST_PREVIEW,
    LARGEST_TARGETS,
    LONGEST_TEXT,
    MOST_TARGETS,
    Approval,
    ApprovalDecision,
    ApprovalRequest,
    ApprovalUnavailable,
    Approved,
    Ask,
    Covers,
    Deferred,
    Denied,
    OnExpiry,
    Risk,
)
from lamina.approval.scripted import Answer, ScriptedApproval
from lamina.approval.terminal import TerminalApproval, show_request
from lamina.approval.waiting import MOST_WAITING, NotWaiting, WaitingApproval

if TYPE_CHECKING:
    from lamina.approval.caller import CallerApproval

__all__ = [
    "LARGEST_PREVIEW",
    "LARGEST_TARGETS",
    "LONGEST_TEXT",
    "MOST_TARGETS",
    "MOST_WAITING",
    "Answer",
    "Approval",
    "ApprovalDecision",
    "ApprovalRequest",
    "ApprovalUnavailable",
    "Approved",
    "Ask",
    "CallerApproval",
    "Covers",
    "Deferred",
    "DeferredApproval",
    "Denied",
    "NotWaiting",
    "OnExpiry",
    "PolicyApproval",
    "Risk",
    "Rule",
    "ScriptedApproval",
    "TerminalApproval",
    "WaitingApproval",
    "show_request",
]


def __getattr__(name: str) -> object:
    """Import what only served applications use when it is asked for."""
    if name != "CallerApproval":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lamina.approval.caller import CallerApproval

    globals()[name] = CallerApproval
    return CallerApproval


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
