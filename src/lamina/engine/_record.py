"""Decisions of a run, as the audit keeps them: each with its reason and what follows; never what it was about.

Each function does nothing where the runtime offers no `Audit`.
"""

from __future__ import annotations

from returns.result import Failure, Result

from lamina.audit import Decision, Kind, record_decision
from lamina.call import Outcome, ToolRejected
from lamina.conversation import ApprovalDecided
from lamina.effect import tag_of
from lamina.engine._failures import Exhausted, PolicyExceeded
from lamina.engine._run import Call, Run
from lamina.steering import CommandKind, Receipt, SteeringError

_NO_TOOL = "unknown-tool"
_VERDICTS: dict[str, Decision] = {"approved": "allowed", "denied": "refused", "expired": "expired"}


def availability(run: Run, call: Call, *, broke: bool) -> None:
    """A tool's own predicate has said whether it can be used now."""
    if run.prepared.audit is not None:
        _checked(run, "availability", call, call.outcome, "tool", broke=broke)


def authorization(run: Run, call: Call, by: str = "policy", *, broke: bool) -> None:
    """The host's policy, or a tool's own, has let a call pass, or not."""
    if run.prepared.audit is not None:
        _checked(run, "authorization", call, call.outcome, by, broke=broke)


def asked(run: Run, call: Call) -> None:
    """Somebody is asked to approve a call."""
    if run.prepared.audit is not None:
        _record(run, "approval", _tool(run, call), "asked", reason="needs-approval", outcome="waits", call=call)


def unasked(run: Run, call: Call, reason: str) -> None:
    """A call cannot be put before anybody, so it does not run."""
    if run.prepared.audit is not None:
        decision: Decision = "failed" if reason == "raised" else "refused"
        _record(run, "approval", _tool(run, call), decision, reason=reason, outcome="not-run", call=call, by="runtime")


def approval(run: Run, call: Call, decided: ApprovalDecided, *, ends: bool) -> None:
    """A call was approved, or not."""
    if run.prepared.audit is None:
        return
    what, by = _VERDICTS[decided.decision], decided.by
    if what == "refused" and by == "runtime":  # it says no where whoever decides cannot be reached, or breaks
        what = "failed"
    outcome = "run-ends" if ends else "goes-on" if call.outcome is None else "not-run"
    words = {"reason": decided.decision, "outcome": outcome, "detail": decided.reason}
    _record(run, "approval", _tool(run, call), what, call=call, by=by, **words)


def budget(run: Run, call: Call, limit: Exhausted | None) -> None:
    """A call does not run, for a budget is used up."""
    if run.prepared.audit is not None:
        reason = limit or "budget"
        subject = _tool(run, call)
        _record(run, "budget", subject, "refused", reason=reason, outcome="not-run", call=call, by="runtime")


def policy(run: Run, exceeded: PolicyExceeded) -> None:
    """The agent's policy ends the run."""
    if run.prepared.audit is not None:
        agent = run.prepared.agent.id
        _record(run, "policy", agent, "refused", reason=exceeded.limit, outcome="run-ends", by="runtime")


def admission(run: Run, kind: CommandKind, answer: Result[Receipt, SteeringError]) -> None:
    """Something was said to an active run, and was admitted, or not."""
    if run.prepared.audit is not None:
        refused = answer.failure() if isinstance(answer, Failure) else None
        what: Decision = "allowed" if refused is None else "refused"
        reason, outcome = ("", "waits") if refused is None else (tag_of(refused), "not-run")
        _record(run, "steering", kind, what, reason=reason, outcome=outcome, by="runtime")


def _checked(run: Run, kind: Kind, call: Call, refused: Outcome | None, by: str, *, broke: bool) -> None:
    subject = _tool(run, call)
    if refused is None:
        _record(run, kind, subject, "allowed", outcome="goes-on", call=call, by=by)
        return
    reason = "raised" if broke else refused.reason if isinstance(refused, ToolRejected) else kind
    what: Decision = "failed" if broke else "refused"
    detail = "" if broke else getattr(refused, "message", "")
    _record(run, kind, subject, what, reason=reason, outcome="not-run", call=call, by=by, detail=detail)


def _tool(run: Run, call: Call) -> str:
    """Name a call's tool; what the model made up is no name."""
    return call.name if call.name in run.prepared.tools else _NO_TOOL


def _record(
    run: Run,
    kind: Kind,
    subject: str,
    decision: Decision,
    *,
    reason: str = "",
    outcome: str,
    call: Call | None = None,
    by: str | None = None,
    detail: str = "",
) -> None:
    prepared = run.prepared
    about = {} if call is None or call.input is None else {"about": call.input}
    record_decision(
        prepared.audit,
        kind,
        subject,
        decision,
        reason=reason,
        outcome=outcome,
        agent=prepared.agent.id,
        conversation=run.conversation,
        run=run.id,
        turn=run.state.turn or None,
        call=None if call is None else call.key.call,
        by=by,
        principal=run.author,
        detail=detail,
        secrets=prepared.secrets,
        clock=prepared.clock,
        ids=prepared.ids,
        **about,
    )
