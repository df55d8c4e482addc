"""The approval request of one call, from what the tool's `Ask` says."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Protocol, cast

from lamina.approval import LARGEST_PREVIEW, LONGEST_TEXT, MOST_TARGETS, ApprovalRequest, Ask
from lamina.call import CallKey, ExecutionClass, ToolSuccess, bound
from lamina.redaction import Secrets
from lamina.schema import JsonValue, canonical_json


class Asking(Protocol):
    """What may need approval: a tool, or a capability of a contract."""

    @property
    def name(self) -> str: ...
    @property
    def execution(self) -> ExecutionClass: ...
    @property
    def ask(self) -> Ask[Any] | None: ...  # Any: the input's type is erased once it is made


def approval_request(
    tool: Asking,
    key: CallKey,
    given: object,
    arguments: JsonValue,
    *,
    asker: str,
    now: datetime,
    secrets: Secrets,
) -> ApprovalRequest | None:
    """Make the request of a call; None where the tool needs no approval for this input.

    Args:
        tool: The tool, or the capability.
        key: The call.
        given: Its input, decoded.
        arguments: The same, as it came.
        asker: Who calls: an agent's id, or a surface's name.
        now: When it is asked.
        secrets: What is not shown.

    Raises:
        Exception: A callable of the tool's `Ask` broke: the call must not run.
    """
    ask = tool.ask
    if ask is None or (ask.when is not None and not ask.when(given)):
        return None
    targets, more = _targets(ask, given, secrets)
    return ApprovalRequest(
        id=f"approval:{key}",
        key=key,
        agent=asker,
        conversation=None,
        tool=tool.name,
        execution=tool.execution,
        summary=secrets.redact_text(_summary(ask, tool.name, given))[:LONGEST_TEXT],
        targets=targets,
        more_targets=more,
        risk=ask.risk,
        preview=cast("ToolSuccess", bound(ToolSuccess(secrets.redact(arguments)), LARGEST_PREVIEW)).value,
        arguments_digest=hashlib.sha256(canonical_json(arguments)).hexdigest(),
        recoverable=ask.recoverable,
        expires_at=None if ask.expires is None else now + timedelta(seconds=ask.expires),
    )


def _summary(ask: Ask[Any], name: str, given: object) -> str:
    if ask.summary is None:
        return f"Call {name}."
    return ask.summary if isinstance(ask.summary, str) else str(ask.summary(given))


def _targets(ask: Ask[Any], given: object, secrets: Secrets) -> tuple[tuple[str, ...], bool]:
    """Give the targets that are shown, and whether that is not all of them."""
    if ask.targets is None:
        return (), False
    # One more than is shown is asked for: a source without end has to stop somewhere.
    named = [secrets.redact_text(str(target)) for target in islice(ask.targets(given), MOST_TARGETS + 1)]
    shown = tuple(target[:LONGEST_TEXT] for target in named[:MOST_TARGETS])
    return shown, len(named) > MOST_TARGETS or any(len(target) > LONGEST_TEXT for target in named)
