"""The audit of a contract that serves by itself: the last decisions, in memory (behaviour §1.7)."""

from __future__ import annotations

from collections.abc import Collection

from lamina.audit import MemoryAudit, Projection
from lamina.effect import Clock


def audit_log(
    *,
    capacity: int = 500,
    include_input: bool = False,
    redact: Collection[str] = (),
    principal: Projection | None = None,
    clock: Clock | None = None,
) -> MemoryAudit:
    """Make a log of every attempt, refusals included, bounded, and careful about what it keeps.

    The model is never kept, by any setting; the principal only through a projection; the input only where it is asked
    for. A sink or a projection that breaks never changes a dispatch.

    Args:
        capacity: How many entries are kept, the last ones; at least one.
        include_input: Whether inputs are kept, as copies.
        redact: Fields whose values are replaced in them, at any depth.
        principal: What is kept of a principal, a text, a number or a UUID: its id, say.
        clock: Dates the entries.

    Example:
        >>> audit = audit_log(capacity=2, principal=lambda user: user.id)
        >>> audit.entries
        ()
    """
    return MemoryAudit(max(1, capacity), principal=principal, inputs=include_input, redact=redact, clock=clock)
