"""Decisions, kept: the port, and its sinks in memory and in the store (design §§7-8)."""

from lamina.audit._record import LONGEST_DETAIL, LONGEST_NAME, NOT_RESOLVED, record_decision, record_dispatch
from lamina.audit.memory import MemoryAudit
from lamina.audit.port import Audit, AuditEntry, Decision, Kind, Projection
from lamina.audit.stored import StoredAudit, audit_entries, stored_audit

__all__ = [
    "LONGEST_DETAIL",
    "LONGEST_NAME",
    "NOT_RESOLVED",
    "Audit",
    "AuditEntry",
    "Decision",
    "Kind",
    "MemoryAudit",
    "Projection",
    "StoredAudit",
    "audit_entries",
    "record_decision",
    "record_dispatch",
    "stored_audit",
]
