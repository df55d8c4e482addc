"""A contract as an agent's toolkit: its capabilities are tools, over a host that a layer offers (design §7)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast
from weakref import WeakSet

from returns.result import Failure, Result, Success

from lamina.audit import Audit
from lamina.call import Invocation, ToolRejected
from lamina.contract._dispatch import check, dispatch, payload_of
from lamina.contract._errors import AgentCapabilityUnavailableError, AgentCompletionFailed, DispatchError, wire
from lamina.contract._exposed import Exposed
from lamina.contract._ground import Ground, check_whole, yes
from lamina.contract._variant import Variant
from lamina.effect import Clock, ConstructionError, Ids, Need, Problem, message_of
from lamina.model import ToolSpec
from lamina.redaction import Secrets
from lamina.schema import Codec, JsonValue, Mismatch, codec
from lamina.tools import Tool, Toolkit

_LONGEST_TOOL_NAME = 64
_JSON = codec(JsonValue)


class _Errors(Codec[Any]):
    """Writes what a dispatch ended with, as a contract puts it on the wire: without the causes."""

    def __init__(self) -> None:
        self.type = DispatchError
        self.name = "DispatchError"
        self.json_schema = {
            "type": "object",
            "properties": {"_tag": {"type": "string"}, "message": {"type": "string"}},
            "required": ["_tag", "message"],
        }

    def encode(self, value: Any) -> Result[JsonValue, Mismatch]:
        """Write an error."""
        return Success(cast("JsonValue", wire(value)))


_ERRORS = _Errors()


class _Grounds:
    """Makes the ground of each call's host: a runtime has one host for all calls, or one for each request.

    None is kept: two hosts may be equal and are not the same, and a ground that is kept holds a host that is over.
    """

    def __init__(
        self,
        contract: Exposed[Any],
        audit: Audit | None,
        value: Callable[[object], object | None] = lambda key: None,
    ) -> None:
        self._contract = contract
        self._audit = audit
        clock, ids, secrets = value(Clock), value(Ids), value(Secrets)
        self._clock = clock if isinstance(clock, Clock) else None
        self.ids = ids if isinstance(ids, Ids) else None
        self._secrets = secrets if isinstance(secrets, Secrets) else None
        self._checked: WeakSet[type[object]] = WeakSet()

    def of(self, host: Any) -> Ground:  # Any: the contract's typing has said what it is
        contract = self._contract
        kind: type[object] = host.__class__
        if kind not in self._checked:
            check_whole(contract.name, contract.variants, contract.principal, host, approves=True)
            self._checked.add(kind)
        return Ground(
            host, audit=self._audit, clock=self._clock, ids=self.ids, secrets=self._secrets, name=contract.name
        )

    def among(self, value: Callable[[object], object | None]) -> _Grounds:
        """Make grounds with what a runtime offers."""
        return _Grounds(self._contract, self._audit, value)


def toolkit_of(contract: Exposed[Any], host: type[Any], audit: Audit | None) -> Toolkit[Any]:
    """Make the tools."""
    check_whole(contract.name, contract.variants, contract.principal, host, approves=True)
    too_long = [one for one in contract.variants if len(one.name) > _LONGEST_TOOL_NAME]
    if too_long:
        lines = tuple(f"{one.name}  {one.where}" for one in too_long)
        why = f"a tool's name has at most {_LONGEST_TOOL_NAME} characters"
        raise ConstructionError([Problem("NAME", f'contract "{contract.name}"', (why, *lines), 'name="…"')])
    grounds = _Grounds(contract, audit)
    return Toolkit([_tool(one, host, grounds) for one in contract.variants])


def _tool(variant: Variant, host: type[Any], grounds: _Grounds, *, equipped: bool = False) -> Tool[Any, Any, Any]:
    async def handler(given: object, live: object) -> Result[JsonValue, DispatchError | AgentCompletionFailed]:
        call = Invocation.new("agent", ids=grounds.ids)
        answered = await dispatch(
            grounds.of(live), variant.name, variant, given, call, decoded=True, asked=variant.ask is not None
        )
        if isinstance(answered, Failure):
            return Failure(answered.failure())
        sent = answered.unwrap()
        if sent.completion is not None and sent.completion.status == "failed":
            by = type(sent.completion.message).__name__
            ended = payload_of(sent, variant)["completion"]
            return Failure(AgentCompletionFailed(variant.name, variant.tag, by, ended))
        return Success(cast("JsonValue", payload_of(sent, variant)))

    async def available(live: object) -> bool:
        assert variant.available is not None, "asked of variants that have one"
        return yes(variant.available(grounds.of(live).model()), "available")

    async def authorize(given: object, live: object) -> ToolRejected | None:
        # Nobody is asked to approve what will be refused. The body checks again, on the snapshot that it sends from:
        # between the two lie the approvals of the batch, and perhaps days.
        refused = await check(grounds.of(live), variant, given, Invocation.new("agent", ids=grounds.ids))
        if refused is None:
            return None
        gone = isinstance(refused, AgentCapabilityUnavailableError)
        return ToolRejected("unavailable" if gone else "unauthorized", message_of(refused), error=refused)

    need = Need("host", host)
    return Tool(
        name=variant.name,
        description=variant.description,
        where=variant.where,
        execution=variant.capability.execution,
        failure_mode="return",
        ask=variant.ask,
        needs=(need,),
        handler=cast("Callable[..., Awaitable[object]]", handler),
        input=variant.input,
        success=_JSON,
        failure=_ERRORS,
        available=None if variant.available is None else available,
        available_needs=() if variant.available is None else (need,),
        max_concurrency=None,
        groups=(),
        spec=ToolSpec(variant.name, variant.description, variant.input.json_schema),
        authorize=None if variant.authorize is None else authorize,
        authorize_needs=() if variant.authorize is None else (need,),
        equip=None if equipped else lambda value: _tool(variant, host, grounds.among(value), equipped=True),
    )
