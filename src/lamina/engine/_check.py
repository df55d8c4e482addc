"""Stages 2 to 5 for the calls of a batch, each on its own: resolve, available, decode, authorize (design §4)."""

from __future__ import annotations

from lamina.call import (
    AuthorizationRequest,
    ToolInvalidInput,
    ToolRejected,
    check_authorized,
    check_available,
    check_own_authorized,
    decode,
    resolve,
)
from lamina.engine._prepared import Compiled, Given
from lamina.engine._record import authorization, availability
from lamina.engine._run import Call, Run


async def check(run: Run, call: Call) -> None:
    """Take a call as far as approval, or give it the outcome of the stage that refused it."""
    prepared, given = run.prepared, run.given
    found = resolve(prepared.tools, call.name)
    if isinstance(found, ToolRejected):
        call.outcome = found
        return
    call.tool = found
    available = found.available
    if available is not None:
        asked = _Asked(available, None, given)
        call.outcome = await check_available(asked, call.name)
        availability(run, call, broke=asked.broke)
        if call.outcome is not None:
            return
    decoded = decode(found.tool.input, call.arguments)
    if isinstance(decoded, ToolInvalidInput):
        call.outcome = decoded
        return
    call.input = decoded
    authorize = prepared.authorize
    if authorize is not None:
        request = AuthorizationRequest(call.key, prepared.agent.id, call.name, decoded, found.tool.execution)
        asked = _Asked(authorize, request, given)
        call.outcome = await check_authorized(asked, request)
        authorization(run, call, broke=asked.broke)
        if call.outcome is not None:
            return
    own = found.authorize
    if own is not None:
        asked = _Asked(own, decoded, given)
        call.outcome = await check_own_authorized(asked, decoded, call.name)
        authorization(run, call, "tool", broke=asked.broke)


class _Asked:
    """Asks whoever decides, and knows whether it broke: that and a no have one outcome, and two reasons."""

    __slots__ = ("_about", "_ask", "_given", "broke")

    def __init__(self, ask: Compiled, about: object, given: Given) -> None:
        self._ask = ask
        self._about = about
        self._given = given
        self.broke = False

    async def __call__(self, _: object = None) -> object:
        try:
            return await self._ask(self._about, self._given)
        except Exception:
            self.broke = True
            raise
