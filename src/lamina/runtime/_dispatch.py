"""One call on a surface, inline: the stages of a call without a batch around it (design §4, stages 2 to 11)."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import anyio
from returns.result import Failure, Result, Success

from lamina.approval import ApprovalRequest, ApprovalUnavailable, Approved, Denied
from lamina.audit import Decision, Kind, record_decision
from lamina.call import (
    AuthorizationRequest,
    CallKey,
    Invocation,
    Outcome,
    ToolDefect,
    ToolInvalidInput,
    ToolRejected,
    bound,
    check_authorized,
    check_available,
    check_own_authorized,
    encode,
    interrupted,
    resolve,
)
from lamina.effect import log
from lamina.engine import Expired, Given, PreparedTool, permitted, within
from lamina.runtime._offering import Compiled, PreparedOffering
from lamina.schema import JsonValue
from lamina.tools import approval_request


async def dispatch(
    prepared: PreparedOffering, name: str, payload: JsonValue, invocation: Invocation, given: Given, limit: int
) -> Outcome:
    """Take one call through its stages; an abort reaches the handler as a cancellation, and is told honestly.

    Args:
        prepared: What is offered.
        name: Which of it.
        payload: With what, not looked at yet.
        invocation: Who calls how, and what aborts it.
        given: The values of the seeds.
        limit: The bound of a result, in bytes.
    """
    signal = invocation.signal
    found = resolve(prepared.tools, name)
    if isinstance(found, ToolRejected):
        return found
    if signal is not None and signal.aborted:
        return ToolRejected("not-started")
    call = _Call(prepared, found, payload, invocation, given, limit)
    if signal is None:
        return _without_secrets(await call.run(), prepared)
    with anyio.CancelScope() as scope:
        stop = signal.on_abort(scope.cancel)
        try:
            return _without_secrets(await call.run(), prepared)
        finally:
            stop()
    return interrupted(started=call.started, execution=found.tool.execution)


def _without_secrets(outcome: Outcome, prepared: PreparedOffering) -> Outcome:
    """Keep secrets out of what a stage says of a refusal; what a body gave was looked through before it was cut."""
    if prepared.secrets.active and isinstance(outcome, ToolRejected | ToolInvalidInput):
        return prepared.secrets.redact_in(outcome)
    return outcome


class _Call:
    __slots__ = ("_by", "_given", "_invocation", "_key", "_limit", "_payload", "_prepared", "_tool", "started")

    def __init__(
        self,
        prepared: PreparedOffering,
        tool: PreparedTool,
        payload: JsonValue,
        invocation: Invocation,
        given: Given,
        limit: int,
    ) -> None:
        self._prepared = prepared
        self._tool = tool
        self._payload = payload
        self._invocation = invocation
        self._given = given
        self._limit = limit
        self._key = CallKey(invocation.id, 1, "call")
        self._by = "runtime"
        self.started = False

    async def run(self) -> Outcome:
        """Go through the stages, until one of them refuses."""
        prepared, tool, given = self._prepared, self._tool.tool, self._given
        available, authorize = self._tool.available, prepared.authorize
        if available is not None:
            refused = await check_available(lambda: available(None, given), tool.name)
            if refused is not None:
                self._decided("availability", "refused", reason=refused.reason, outcome="not-run", by="tool")
                return refused
        decoded = tool.input.decode({} if self._payload is None else self._payload)
        if isinstance(decoded, Failure):
            return ToolInvalidInput(decoded.failure().problems)
        command = decoded.unwrap()
        if authorize is not None:
            request = AuthorizationRequest(self._key, prepared.asker, tool.name, command, tool.execution)
            refused = await check_authorized(lambda asked: authorize(asked, given), request)
            if refused is not None:
                detail = {"detail": refused.detail, "about": command}
                self._decided(
                    "authorization", "refused", reason=refused.reason, outcome="not-run", by="policy", **detail
                )
                return refused
            self._decided("authorization", "allowed", outcome="goes-on", by="policy", about=command)
        own = self._tool.authorize
        if own is not None:
            refused = await check_own_authorized(lambda asked: own(asked, given), command, tool.name)
            if refused is not None:
                detail = {"detail": refused.message, "about": command}
                self._decided("authorization", "refused", reason=refused.reason, outcome="not-run", by="tool", **detail)
                return refused
            self._decided("authorization", "allowed", outcome="goes-on", by="tool", about=command)
        if tool.ask is not None:
            denied = await self._approve(command)
            if denied is not None:
                return denied
        if not self._tool.permits:
            return await self._execute(command)
        async with permitted(None, self._tool.permits):
            return await self._execute(command)

    async def _approve(self, command: object) -> ToolRejected | ToolDefect | None:
        prepared, tool, approve = self._prepared, self._tool.tool, self._prepared.approve
        assert approve is not None
        assert tool.ask is not None
        try:
            request = approval_request(
                tool,
                self._key,
                command,
                {} if self._payload is None else self._payload,
                asker=prepared.asker,
                now=prepared.clock.now(),
                secrets=prepared.secrets,
            )
        except Exception:
            log().exception("the tool's Ask broke; the call does not run", tool=tool.name, call=str(self._key))
            return ToolDefect("raised")
        if request is None:
            return None
        self._decided("approval", "asked", reason="needs-approval", outcome="waits", about=command)
        refused = await self._ask(request, approve)
        if refused is None:
            self._decided("approval", "allowed", reason="approved", outcome="goes-on", by=self._by, about=command)
        else:
            said: Decision = "expired" if refused.reason == "expired" else "refused"
            more = {"by": self._by, "detail": refused.detail, "about": command}
            self._decided("approval", said, reason=refused.reason, outcome="not-run", **more)
        return refused

    async def _ask(self, request: ApprovalRequest, approve: Compiled) -> ToolRejected | None:
        prepared, tool, given = self._prepared, self._tool.tool, self._given
        assert tool.ask is not None
        try:
            answered: object = await within(prepared.clock, tool.ask.expires, lambda: approve(request, given))
        except Exception:
            log().exception("the approval service broke; the call is denied", tool=tool.name, call=str(self._key))
            return ToolRejected("denied")
        if isinstance(answered, Expired):
            return ToolRejected("expired")
        decision: object = answered
        if isinstance(answered, Failure):
            decision = cast("Result[object, object]", answered).failure()
        elif isinstance(answered, Success):
            decision = cast("Result[object, object]", answered).unwrap()
        if isinstance(decision, Approved):
            self._by = decision.by
            return None
        reason = ""
        if isinstance(decision, Denied):
            self._by = decision.by
            reason = prepared.secrets.redact_text(str(decision.reason))
        elif isinstance(decision, ApprovalUnavailable):
            reason = str(decision)
        return ToolRejected("denied", f"The call was denied: {reason}"[:2_048] if reason else "")

    def _decided(self, kind: Kind, decision: Decision, **more: Any) -> None:  # Any: what `record_decision` takes
        """Keep a decision, where the runtime has an audit."""
        prepared, key = self._prepared, self._key
        if prepared.audit is not None:
            record_decision(
                prepared.audit,
                kind,
                self._tool.tool.name,
                decision,
                agent=prepared.asker,
                run=key.run,
                turn=key.turn,
                call=key.call,
                secrets=prepared.secrets,
                clock=prepared.clock,
                **more,
            )

    async def _execute(self, command: object) -> Outcome:
        tool = self._tool.tool
        self.started = True
        try:
            returned = await self._tool.invoke(command, self._given)
            outcome = encode(tool.success, tool.failure, returned, tool.name)
            secrets = self._prepared.secrets
            if secrets.active:
                outcome = secrets.redact_in(outcome)  # before the cut, which would leave half a secret
            return bound(outcome, self._limit)
        except Exception:
            log().exception("a tool raised", tool=tool.name, call=str(self._key))
            return ToolDefect("raised")
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise  # whoever cancels gets it, and gives the outcome
            log().warning("a tool was cancelled by something of its own", tool=tool.name, call=str(self._key))
            return interrupted(started=True, execution=tool.execution)
