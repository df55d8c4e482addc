"""Stage 6: ask for the calls that need approval, all of a batch at once, before any of them starts (AUTH-007)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import islice
from typing import Any, Literal, cast, get_args

from returns.result import Failure, Result, Success

from lamina.approval import (
    LARGEST_PREVIEW,
    LARGEST_TARGETS,
    LONGEST_TEXT,
    MOST_TARGETS,
    ApprovalDecision,
    ApprovalRequest,
    ApprovalUnavailable,
    Approved,
    Ask,
    Covers,
    Deferred,
    Denied,
)
from lamina.call import ToolDefect, ToolRejected, ToolSuccess, bound
from lamina.conversation import ApprovalDecided as DecisionRecorded
from lamina.conversation import ApprovalRequested as RequestRecorded
from lamina.conversation import stronger
from lamina.effect import log
from lamina.engine._deadline import Expired, within
from lamina.engine._declare import readable
from lamina.engine._digest import digest_of
from lamina.engine._events import ApprovalDecided, ApprovalRequested
from lamina.engine._failures import ApprovalDenied, RunSuspended, Waiting
from lamina.engine._prepared import Compiled
from lamina.engine._record import approval, asked, unasked
from lamina.engine._run import Call, Run
from lamina.redaction import Secrets

LONGEST_NAME = 256
"""Characters of a name that are kept."""


async def approve(run: Run, calls: Sequence[Call]) -> ApprovalDenied | RunSuspended | None:
    """Ask for each call that needs it.

    Returns:
        The first denial, in declaration order, that ends the run; what the run waits for, where a decision comes
        later; None where the run goes on.
    """
    asking = [(call, request) for call in calls if (request := _request_for(run, call)) is not None]
    if not asking:
        return None
    # All requests of a batch surface at once: what is decided of one answers no other before it was asked, too.
    covering = dict(run.blanket)
    if len(asking) == 1:
        answers = [await _decide(run, *asking[0], covering)]
    else:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_decide(run, call, request, covering)) for call, request in asking]
        answers = [task.result() for task in tasks]
    if run.blanket:  # a decision on a tool may have come after other answers of the batch
        answers = [await _cover(run, *each, answer) for each, answer in zip(asking, answers, strict=True)]
    for answer in answers:
        if isinstance(answer, ApprovalDenied):
            return answer
    waiting = tuple([answer for answer in answers if isinstance(answer, Waiting)])
    if not waiting or run.conversation is None:
        return None
    return RunSuspended(run.conversation, run.id, run.prepared.agent.id, run.state.turn, waiting)


def _request_for(run: Run, call: Call) -> ApprovalRequest | None:
    """Make the request of a call, if it needs one; a callable of the tool's `Ask` that breaks is the tool's defect."""
    if call.outcome is not None or call.tool is None or call.tool.tool.ask is None:
        return None
    ask, agent, secrets = call.tool.tool.ask, run.prepared.agent, run.prepared.secrets
    try:
        if ask.when is not None and not ask.when(call.input):
            return None
        summary, (targets, more) = secrets.redact_text(_summary(ask, call)), _targets(ask, call, secrets)
        expires = None if ask.expires is None else run.prepared.clock.now() + timedelta(seconds=ask.expires)
    except Exception:
        log().exception("the tool's Ask broke; the call does not run", tool=call.name, call=str(call.key))
        call.outcome = ToolDefect("raised")
        unasked(run, call, "raised")
        return None
    return ApprovalRequest(
        id=f"approval:{call.key}",
        key=call.key,
        agent=agent.id,
        conversation=run.conversation,
        tool=call.name,
        execution=call.tool.tool.execution,
        summary=summary[:LONGEST_TEXT],
        targets=targets,
        more_targets=more,
        risk=ask.risk,
        preview=cast(
            "ToolSuccess", bound(ToolSuccess(secrets.redact(readable(call.arguments))), LARGEST_PREVIEW)
        ).value,
        arguments_digest=digest_of(call.arguments),
        recoverable=ask.recoverable,
        expires_at=expires,
        on_expiry=ask.on_expiry,
    )


def _summary(ask: Ask[Any], call: Call) -> str:
    if ask.summary is None:
        return f"Call {call.name}."
    return ask.summary if isinstance(ask.summary, str) else str(ask.summary(call.input))


def _targets(ask: Ask[Any], call: Call, secrets: Secrets) -> tuple[tuple[str, ...], bool]:
    """Give the targets that are shown, and whether that is not all of them."""
    if ask.targets is None:
        return (), False
    # One more than is shown is asked for: a source without end has to stop somewhere.
    named = [secrets.redact_text(str(target)) for target in islice(ask.targets(call.input), MOST_TARGETS + 1)]
    shown: list[str] = []
    room = LARGEST_TARGETS
    for target in named[:MOST_TARGETS]:
        cut = target[:LONGEST_TEXT]
        room -= len(cut.encode(errors="replace"))
        if room < 0:
            break
        shown.append(cut)
    return tuple(shown), shown != named


async def _decide(
    run: Run, call: Call, request: ApprovalRequest, covering: Mapping[str, DecisionRecorded]
) -> ApprovalDenied | Waiting | None:
    tool, emit = request.tool, run.emit
    if run.journal is not None and not await run.commit(RequestRecorded(request)):
        call.outcome = ToolRejected("not-started")
        return None
    where = {"turn": call.key.turn, "call": call.key.call, "tool": tool}
    if emit is not None:
        emit(ApprovalRequested, **where, summary=request.summary, risk=request.risk)
    asked(run, call)
    if (covers := covering.get(tool)) is not None:
        return await honour(run, call, request, said(covers), under=covers.approval_id)
    decision = await _ask(run, cast("Compiled", run.prepared.approve), call, request)
    if isinstance(decision, Expired) and request.on_expiry == "suspend":
        decision = Deferred()
    if isinstance(decision, Deferred):
        if run.conversation is not None:
            return Waiting(
                call=call.key.call,
                tool=tool,
                approval=request.id,
                summary=request.summary,
                arguments_digest=request.arguments_digest,
            )
        decision = Denied("runtime", "The run is in no conversation that could wait for a decision.")
    return await honour(run, call, request, decision)


async def _cover(
    run: Run, call: Call, request: ApprovalRequest, answer: ApprovalDenied | Waiting | None
) -> ApprovalDenied | Waiting | None:
    """Let a decision on the tool answer what nobody decided, and its denial undo an approval of the tool."""
    covering, ruling = run.blanket.get(request.tool), call.ruling
    if covering is None:
        return answer
    undone = (
        covering.decision != "approved"
        and ruling is not None
        and ruling.decision == "approved"
        and (ruling.tool is not None or ruling.under is not None)
    )
    if undone or isinstance(answer, Waiting):
        return await honour(run, call, request, said(covering), under=covering.approval_id)
    return answer


async def honour(
    run: Run, call: Call, request: ApprovalRequest, decision: Approved | Denied | Expired, *, under: str | None = None
) -> ApprovalDenied | None:
    """Record a decision, and only then act on it (CAP-006); the start of the call is what uses it up.

    Args:
        run: The run.
        call: The call that is decided on.
        request: What was asked.
        decision: What was decided.
        under: The request whose decision, which covers the tool, this is; None where the request was decided itself.
    """
    decision = run.prepared.secrets.redact_in(decision)
    verdict, by, reason = _in_words(decision)
    covers = not isinstance(decision, Expired) and decision.covers == "tool" and under is None
    record = DecisionRecorded(
        call.key,
        request.id,
        verdict,
        by,
        reason,
        request.arguments_digest,
        request.tool if covers else None,
        under,
        call.rulings + 1,
    )
    call.rulings += 1
    if run.journal is not None and not await run.commit(record):
        call.outcome = call.outcome or ToolRejected("not-started")
        return None  # what ends the run is the journal, whatever was decided: nobody has said no on record
    return act_on(run, call, request, record)


def act_on(run: Run, call: Call, request: ApprovalRequest, record: DecisionRecorded) -> ApprovalDenied | None:
    """Act on a decision that is recorded; give the denial, where that ends the run."""
    call.ruling = record = run.prepared.secrets.redact_in(record)  # one that was made elsewhere may not be clean
    if record.tool is not None:
        run.blanket[record.tool] = stronger(run.blanket.get(record.tool), record)
    if record.decision == "approved":
        call.approved_by = record.by
    elif record.decision == "expired":
        call.approved_by, call.outcome = None, call.outcome or ToolRejected("expired")
    else:
        why = f"The call was denied: {record.reason}" if record.reason else ""
        call.approved_by, call.outcome = None, call.outcome or ToolRejected("denied", why)
    if run.emit is not None:
        where = {"turn": call.key.turn, "call": call.key.call, "tool": request.tool}
        run.emit(ApprovalDecided, **where, decision=record.decision, by=record.by)
    ends = not (call.outcome is None or request.recoverable)
    approval(run, call, record, ends=ends)
    if not ends:
        return None
    return ApprovalDenied(call.key, request.tool, record.reason)


def said(record: DecisionRecorded) -> Approved | Denied | Expired:
    """Give the decision that a record is of."""
    if record.decision == "approved":
        return Approved(record.by)
    return Denied(record.by, record.reason) if record.decision == "denied" else Expired()


def _in_words(decision: Approved | Denied | Expired) -> tuple[Literal["approved", "denied", "expired"], str, str]:
    match decision:
        case Approved():
            return "approved", str(decision.by)[:LONGEST_NAME], ""
        case Denied():
            return "denied", str(decision.by)[:LONGEST_NAME], str(decision.reason)[:LONGEST_TEXT]
        case Expired():
            return "expired", "nobody", "Nobody answered in time."


def _is_sound(decision: object) -> bool:
    """Tell whether an answer can be recorded as it is: what nobody could have decided is no decision."""
    if not isinstance(decision, Approved | Denied) or decision.covers not in get_args(Covers):
        return False
    words: tuple[object, ...] = (decision.by, "" if isinstance(decision, Approved) else decision.reason)
    return all(_is_text(word) for word in words)


def _is_text(word: object) -> bool:
    try:
        return isinstance(word, str) and len(word.encode()) >= 0
    except UnicodeEncodeError:
        return False


async def _ask(run: Run, approve: Compiled, call: Call, request: ApprovalRequest) -> ApprovalDecision | Expired:
    """Get an answer in time; an approver that is out of reach, breaks, or answers with something else says no."""
    assert call.tool is not None
    assert call.tool.tool.ask is not None
    try:
        answered: Result[ApprovalDecision, ApprovalUnavailable] | Expired = await within(
            run.prepared.clock, call.tool.tool.ask.expires, lambda: approve(request, run.given)
        )
    except Exception:
        log().exception("the approval service broke; the call is denied", tool=request.tool, call=str(request.key))
        return Denied("runtime", "The approval service broke.")
    if isinstance(answered, Expired):
        return answered
    if isinstance(answered, Failure):
        return Denied("runtime", str(answered.failure()))
    decision: object = answered.unwrap() if isinstance(answered, Success) else answered
    if isinstance(decision, Deferred) or _is_sound(decision):
        return cast("ApprovalDecision", decision)
    return Denied("runtime", "There was no decision.")
