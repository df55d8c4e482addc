"""Which decision counts of each call of a suspended run: what is recorded, and what the resume is given (seed 004 §5).

The most specific one counts, and of equals the latest; a denial of a tool beats every approval of it. When those that a
resume is given were made nobody knows, so what was recorded is taken to be later.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TypeAlias

import attrs

from lamina.approval import Approved, Denied
from lamina.conversation import ApprovalDecided, Resumed
from lamina.effect import Value
from lamina.engine._deadline import Expired

Decisions: TypeAlias = Mapping[str, Approved | Denied]
"""By call id, what somebody decided."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Ruling(Value):
    """The decision that counts of one call.

    Attributes:
        decision: What it is, where it is not recorded yet.
        recorded: Its record, where it is.
        under: The request that it was made on, where it covers the tool and was made on another one.
        arguments_digest: What it is bound to.
    """

    decision: Approved | Denied | Expired | None = None
    recorded: ApprovalDecided | None = None
    under: str | None = None
    arguments_digest: str


def rulings(resumed: Resumed, given: Decisions, shown: Mapping[str, str], now: datetime) -> dict[str, Ruling]:
    """Give the ruling of each call that was asked about, has no outcome, and is decided.

    Args:
        resumed: What was suspended.
        given: The decisions that the resume brings with it.
        shown: By call id, the digest of the arguments that somebody saw who made those.
        now: What requests expire by.
    """
    open_ = {call: asked.request for call, asked in resumed.requests.items() if call not in resumed.outcomes}
    tools = _on_tools(resumed, given, shown, now)
    found: dict[str, Ruling] = {}
    for call, request in open_.items():
        recorded = resumed.decisions.get(call)
        own = given.get(call)
        digest = request.arguments_digest
        if recorded is None and request.expired(now):
            found[call] = Ruling(decision=Expired(), arguments_digest=digest)
        elif recorded is not None and (recorded.tool is None and recorded.under is None):
            found[call] = Ruling(recorded=recorded, arguments_digest=recorded.arguments_digest)
        elif own is not None and own.covers == "call":
            found[call] = Ruling(decision=own, arguments_digest=shown.get(call, digest))
        elif request.tool in tools:
            made_on, decision = tools[request.tool]
            if made_on == call:
                found[call] = Ruling(decision=decision, arguments_digest=shown.get(call, digest))
            else:
                under = resumed.requests[made_on].request.id
                found[call] = Ruling(decision=decision, under=under, arguments_digest=digest)
        elif recorded is not None:
            found[call] = Ruling(recorded=recorded, arguments_digest=digest)
        elif own is not None:
            found[call] = Ruling(decision=own, arguments_digest=shown.get(call, digest))
    return found


def _on_tools(
    resumed: Resumed, given: Decisions, shown: Mapping[str, str], now: datetime
) -> dict[str, tuple[str, Approved | Denied]]:
    """Give, by tool, the given decision that covers it and that no recorded one beats, and the call it was made on."""
    found: dict[str, tuple[str, Approved | Denied]] = {}
    for call, decision in given.items():
        asked = resumed.requests.get(call)
        if asked is None or decision.covers != "tool" or call in resumed.outcomes or asked.request.expired(now):
            continue
        tool = asked.request.tool
        if shown.get(call, asked.request.arguments_digest) != asked.request.arguments_digest:
            continue
        before, recorded = found.get(tool), resumed.blanket.get(tool)
        if recorded is not None and not (recorded.decision == "approved" and isinstance(decision, Denied)):
            continue
        if before is not None and isinstance(before[1], Denied) and isinstance(decision, Approved):
            continue
        found[tool] = call, decision
    return found
