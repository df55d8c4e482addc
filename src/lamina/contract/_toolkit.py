"""A contract as an agent's toolkit: its capabilities are tools, over a host that a layer offers (design §7)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast
from weakref import WeakSet

from returns.result import Failure, Result, Success

from lamina.audit import Audit
from lamina.call import Invocation
from lamina.contract._contract import AnyContract
from lamina.contract._dispatch import dispatch, payload_of
from lamina.contract._errors import AgentCompletionFailed, DispatchError, wire
from lamina.contract._ground import Ground, check_whole
from lamina.contract._variant import Variant
from lamina.effect import ConstructionError, Need, Problem
from lamina.model import ToolSpec
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

    def __init__(self, contract: AnyContract, audit: Audit | None) -> None:
        self._contract = contract
        self._audit = audit
        self._checked: WeakSet[type[object]] = WeakSet()

    def of(self, host: Any) -> Ground:  # Any: the contract's typing has said what it is
        contract = self._contract
        kind: type[object] = host.__class__
        if kind not in self._checked:
            check_whole(contract.name, contract.variants, contract.principal, host, approves=True)
            self._checked.add(kind)
        return Ground(host, audit=self._audit, name=contract.name)


def toolkit_of(contract: AnyContract, host: type[Any], audit: Audit | None) -> Toolkit[Any]:
    """Make the tools."""
    check_whole(contract.name, contract.variants, contract.principal, host, approves=True)
    too_long = [one for one in contract.variants if len(one.name) > _LONGEST_TOOL_NAME]
    if too_long:
        lines = tuple(f"{one.name}  {one.where}" for one in too_long)
        why = f"a tool's name has at most {_LONGEST_TOOL_NAME} characters"
        raise ConstructionError([Problem("NAME", f'contract "{contract.name}"', (why, *lines), 'name="…"')])
    grounds = _Grounds(contract, audit)
    return Toolkit([_tool(one, host, grounds) for one in contract.variants])


def _tool(variant: Variant, host: type[Any], grounds: _Grounds) -> Tool[Any, Any, Any]:
    async def handler(given: object, live: object) -> Result[JsonValue, DispatchError | AgentCompletionFailed]:
        call = Invocation.new("agent")
        answered = await dispatch(
            grounds.of(live), variant.name, variant, given, call, decoded=True, asked=variant.ask is not None
        )
        if isinstance(answered, Failure):
            return Failure(answered.failure())
        sent = answered.unwrap()
        if sent.completion is not None and sent.completion.status == "failed":
            by = type(sent.completion.message).__name__
            return Failure(AgentCompletionFailed(variant.name, variant.tag, by))
        return Success(cast("JsonValue", payload_of(sent, variant)))

    async def available(live: object) -> bool:
        assert variant.available is not None, "asked of variants that have one"
        return bool(variant.available(grounds.of(live).model()))

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
    )
