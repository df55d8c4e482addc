"""Making an entry: the one place where it is decided what of a decision is kept."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, cast
from uuid import UUID

from lamina.audit.port import Audit, AuditEntry, Decision, Kind
from lamina.effect import Clock, Ids, SystemClock, SystemIds, log
from lamina.redaction import Secrets, shape

LONGEST_NAME = 128
LONGEST_DETAIL = 512
_CLOCK: Final = SystemClock()
_IDS: Final = SystemIds()
_NO_SECRETS: Final = Secrets()
_NOTHING: Final = object()
NOT_RESOLVED: Final = object()
"""The principal of a dispatch that was refused before anybody asked who it is."""


def record_decision(
    audit: Audit | None,
    kind: Kind,
    subject: str,
    decision: Decision,
    *,
    reason: str = "",
    outcome: str = "",
    agent: str | None = None,
    conversation: str | None = None,
    run: str | None = None,
    turn: int | None = None,
    call: str | None = None,
    by: str | None = None,
    principal: object = None,
    about: object = _NOTHING,
    names: Collection[str] = (),
    detail: str = "",
    secrets: Secrets | None = None,
    clock: Clock | None = None,
    ids: Ids | None = None,
) -> None:
    """Record a decision; nothing that goes wrong here changes anything, and without an audit nothing is done.

    Args:
        audit: The runtime's, if it offers one.
        kind: What kind of decision.
        subject: What it is about, by its name or id; never the text of a model.
        decision: What was decided.
        reason: Why, as a code or a tag, never in words.
        outcome: What follows.
        agent: The agent's id.
        conversation: The conversation's id.
        run: The run's id.
        turn: The turn, from 1.
        call: The call's id.
        by: Who decided.
        principal: For whom; the audit's projection says what is kept of it.
        about: What was decided on, like a tool's decoded input: its shape is kept.
        names: Keys in it that are no data.
        detail: What was said in words; kept only where the audit keeps details.
        secrets: What must not be in any of it.
        clock: Dates the entry.
        ids: Names the entry.

    Example:
        >>> from lamina.audit import MemoryAudit
        >>> audit = MemoryAudit()
        >>> record_decision(
        ...     audit, "authorization", "write_file", "refused", reason="unauthorized", about={"path": "/etc/passwd"}
        ... )
        >>> [(entry.subject, entry.decision, entry.shape) for entry in audit.entries]
        [('write_file', 'refused', {'[REDACTED:key]': '[REDACTED:string]'})]
    """
    if audit is None:
        return
    try:
        hidden = secrets or _NO_SECRETS

        def name(text: str | None) -> str | None:
            return None if text is None else hidden.redact_text(storable(text))[:LONGEST_NAME]

        projected = _projected(audit, principal)
        entry = AuditEntry(
            id=(ids or _IDS).new("audit"),
            at=(clock or _CLOCK).now(),
            kind=kind,
            subject=name(subject) or "",
            decision=decision,
            reason=name(reason) or "",
            outcome=name(outcome) or "",
            agent=name(agent),
            conversation=name(conversation),
            run=name(run),
            turn=turn,
            call=name(call),
            by=name(by),
            principal=name(projected),
            shape=None if about is _NOTHING else shape(about, names=names),
            detail=hidden.redact_text(storable(detail))[:LONGEST_DETAIL] if audit.details else "",
        )
        audit.record(entry)
    except Exception as error:
        # Not its text: a projection that breaks may quote the principal.
        log().error("a decision is not in the audit: it could not be recorded", error=type(error).__name__, kind=kind)


def record_dispatch(
    audit: Audit,
    *,
    capability: str,
    tag: str | None,
    decision: Decision,
    outcome: str,
    invocation: str,
    transport: str,
    request: str | int | None = None,
    principal: object = NOT_RESOLVED,
    input: object = None,  # noqa: A002 - the entry's own word
    clock: Clock | None = None,
    ids: Ids | None = None,
) -> None:
    """Record an attempt to dispatch; nothing that goes wrong here changes anything.

    Args:
        audit: Where to.
        capability: What was named.
        tag: The tag of its message, where it is known.
        decision: Whether a message was sent.
        outcome: What came of it: `dispatched`, `completed`, `failed`, `timeout`, `interrupted`, or an error's tag.
        invocation: The invocation's id.
        transport: The way it came.
        request: The protocol's own id.
        principal: On whose behalf; the audit's projection says what is kept.
        input: What the audit has kept of the input.
        clock: Dates the entry, where the audit has none of its own.
        ids: Names the entry.
    """
    try:
        projected = None if principal is NOT_RESOLVED else _projected(audit, principal)
        audit.record(
            AuditEntry(
                id=(ids or _IDS).new("audit"),
                at=(audit.clock or clock or _CLOCK).now(),
                kind="dispatch",
                subject=storable(capability[:LONGEST_NAME]),
                decision=decision,
                outcome=outcome,
                principal=None if projected is None else storable(projected[:LONGEST_NAME]),
                invocation=storable(str(invocation)[:LONGEST_NAME]),  # past the types too: each attempt is an entry
                transport=storable(str(transport)[:LONGEST_NAME]),
                request=storable(request[:LONGEST_NAME]) if isinstance(request, str) else request,
                tag=tag,
                input=input,
            )
        )
    except Exception as error:
        # Not its text: a projection that breaks may quote the principal.
        log().error("a dispatch is not in the audit: it could not be recorded", error=type(error).__name__)


def _projected(audit: Audit, principal: object) -> str | None:
    """Give what may be kept of a principal. A projection that breaks costs its own part of an entry, and not the entry.

    A number or a UUID is an id, too; of anything else it cannot be told what its text would give away.
    """
    if principal is None:
        return None
    try:
        kept = cast("object", audit.project(principal))  # past the types: an application's own id may be a number
    except Exception as error:
        # Not its text: it may quote the principal.
        log().error("a principal is not in the audit: its projection broke", error=type(error).__name__)
        return None
    if kept is None or isinstance(kept, str):
        return kept
    if isinstance(kept, int | UUID) and not isinstance(kept, bool):
        return str(kept)
    log().error("a principal is not in the audit: its projection gave no text", gave=type(kept).__name__)
    return None


def storable(text: str) -> str:
    """Make a text one that every database takes: without NUL, and without half a surrogate pair.

    Example:
        >>> storable("a\\0b")
        'a\\ufffdb'
    """
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
