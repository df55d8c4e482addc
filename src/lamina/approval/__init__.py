"""Approval: a person or a policy says yes before a call starts (seed 004 §5)."""

from lamina.approval.deferred import DeferredApproval
from lamina.approval.policy import PolicyApproval, Rule
from lamina.approval.port import (
    LARGEST_PREVIEW,
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
    Risk,
)
from lamina.approval.scripted import Answer, ScriptedApproval
from lamina.approval.terminal import TerminalApproval, show_request

__all__ = [
    "LARGEST_PREVIEW",
    "LONGEST_TEXT",
    "MOST_TARGETS",
    "Answer",
    "Approval",
    "ApprovalDecision",
    "ApprovalRequest",
    "ApprovalUnavailable",
    "Approved",
    "Ask",
    "Covers",
    "Deferred",
    "DeferredApproval",
    "Denied",
    "PolicyApproval",
    "Risk",
    "Rule",
    "ScriptedApproval",
    "TerminalApproval",
    "show_request",
]
