"""Requests for approval, for people and for programs: everything that somebody who decides has to see."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime

from rich.text import Text

from lamina.approval import ApprovalRequest
from lamina.cli._place import StorePlace
from lamina.cli._plain import pretty, printable
from lamina.cli._screen import Screen
from lamina.schema import JsonValue

_RISKS = {"low": "green", "medium": "yellow", "high": "bold red", "critical": "bold white on red"}
_MOST_LINES = 40


def words_of(place: StorePlace, principal: str | None) -> str:
    """Give what another command has to say to look at the same records."""
    return f"{place.words}{'' if principal is None else f' --principal {shlex.quote(principal)}'}"


def show_request(screen: Screen, request: ApprovalRequest) -> None:
    """Print a request; the id stands alone in its line, to be copied."""
    screen.raw(Text(printable(shlex.quote(request.id)), style="bold"))
    screen.line(
        Text.assemble(
            f"  {printable(request.tool)}: {printable(request.summary)} (",
            (f"{request.risk} risk", _RISKS[request.risk]),
            f", {request.execution})",
        ),
        hanging=4,
    )
    if request.targets:
        more = ", and more that is not shown" if request.more_targets else ""
        screen.line(f"  touches {', '.join(map(printable, request.targets))}{more}", hanging=4)
    lines = pretty(request.preview, screen.width - 4)
    for line in lines[:_MOST_LINES]:
        screen.raw(f"    {line}")
    if len(lines) > _MOST_LINES:
        screen.raw(Text(f"    ({len(lines) - _MOST_LINES} lines more: --json has all of them)", style="dim"))
    screen.line(Text(f"  digest {request.arguments_digest[:16]}, {_until(request)}", style="dim"), hanging=4)


def json_of(request: ApprovalRequest) -> dict[str, JsonValue]:
    """Give a request as JSON."""
    return {
        "id": request.id,
        "conversation": request.conversation,
        "run": request.key.run,
        "turn": request.key.turn,
        "call": request.key.call,
        "agent": request.agent,
        "tool": request.tool,
        "execution": request.execution,
        "summary": request.summary,
        "targets": list(request.targets),
        "more_targets": request.more_targets,
        "risk": request.risk,
        "preview": request.preview,
        "arguments_digest": request.arguments_digest,
        "recoverable": request.recoverable,
        "expires_at": None if request.expires_at is None else request.expires_at.isoformat(),
    }


def _until(request: ApprovalRequest) -> str:
    denial = "the model is told of a denial" if request.recoverable else "a denial ends the run"
    if request.expires_at is None:
        return f"no time limit; {denial}"
    over = request.expires_at <= datetime.now(UTC)
    return f"{'lapsed' if over else 'lapses'} at {request.expires_at:%Y-%m-%d %H:%M:%S} UTC; {denial}"
