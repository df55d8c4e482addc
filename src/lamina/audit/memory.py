"""An audit in memory: the last decisions."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from lamina.audit._input import kept_input
from lamina.audit.port import Audit, AuditEntry, Projection
from lamina.effect import Clock


class MemoryAudit(Audit):
    """Keeps the last decisions, as long as the runtime lives.

    Args:
        limit: How many; older ones are let go, and counted.
        principal: What is kept of a principal; nothing without it.
        details: Whether what was said in words is kept.
        inputs: Whether what callers gave to a contract is kept.
        redact: Keys whose values are replaced in it, at any depth.
        clock: Dates the entries of dispatches.

    Example:
        >>> from lamina.audit import record_decision
        >>> audit = MemoryAudit(limit=1, principal=lambda who: "user-7")
        >>> for tool in "read", "write":
        ...     record_decision(audit, "approval", tool, "allowed", by="policy", principal=object())
        >>> [(entry.subject, entry.principal) for entry in audit.entries], audit.dropped
        ([('write', 'user-7')], 1)
    """

    def __init__(
        self,
        limit: int = 2_048,
        *,
        principal: Projection | None = None,
        details: bool = False,
        inputs: bool = False,
        redact: Collection[str] = (),
        clock: Clock | None = None,
    ) -> None:
        if limit < 1:
            raise ValueError("an audit keeps at least one entry")
        if isinstance(redact, str):  # its letters would be, and not the key
            raise TypeError("redact is several keys, and not one text")
        self._entries: deque[AuditEntry] = deque(maxlen=limit)
        self._dropped = 0
        self._principal = principal
        self._redact = frozenset(redact)
        self.details = details
        self.inputs = inputs
        self.clock = clock

    @property
    def entries(self) -> tuple[AuditEntry, ...]:
        """What is kept, oldest first."""
        return tuple(self._entries)

    @property
    def dropped(self) -> int:
        """How many were let go."""
        return self._dropped

    def record(self, entry: AuditEntry) -> None:
        """Keep an entry."""
        if len(self._entries) == self._entries.maxlen:
            self._dropped += 1
        self._entries.append(entry)

    def project(self, principal: object) -> str | None:
        """Give what may be kept of a principal."""
        return None if self._principal is None else self._principal(principal)

    def keep_input(self, given: object) -> object:
        """Copy what a caller gave, with the named fields replaced."""
        return kept_input(given, self._redact) if self.inputs else None

    def clear(self) -> None:
        """Let all go, uncounted."""
        self._entries.clear()
