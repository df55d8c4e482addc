"""Approval requests for the tests of this folder."""

from __future__ import annotations

from typing import Any

from lamina.approval import ApprovalRequest
from lamina.call import CallKey


def request(**changes: Any) -> ApprovalRequest:
    """Give a request that changes one label."""
    given: dict[str, Any] = {
        "id": "approval:r/1/c",
        "key": CallKey("r", 1, "c"),
        "agent": "tester",
        "conversation": None,
        "tool": "write_label",
        "execution": "uncertain",
        "summary": "Write a label",
        "targets": ("labels/a",),
        "risk": "medium",
        "preview": {},
        "arguments_digest": "0" * 64,
        "recoverable": False,
        "expires_at": None,
    }
    return ApprovalRequest(**given | changes)
