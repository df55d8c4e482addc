"""A contract served by a runtime: its variants may need services, and it uses what the runtime offers (design §7)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from returns.result import Result

from lamina.approval import Approval, ApprovalDecision, ApprovalRequest, ApprovalUnavailable
from lamina.audit import Audit
from lamina.call import Caller
from lamina.contract import BoundContract, Contract
from lamina.contract import Ground as ContractGround
from lamina.effect import Clock, ConstructionError, Ids, Need, Problem, Scope, caller_where
from lamina.engine import Given
from lamina.redaction import Secrets
from lamina.runtime._offering import takes_caller
from lamina.telemetry import Telemetry

if TYPE_CHECKING:
    from lamina.runtime._core import Core

S = TypeVar("S")


def bind_contract(
    core: Core,
    given: Given,
    contract: Contract[Any, Any, Any, Any, Any],  # Any: `Runtime.bind` has typed it against its host
    host: object,
    audit: Audit | None,
) -> BoundContract[Any, Any]:
    """Bind a contract to a host, with the services of a runtime.

    Raises:
        ConstructionError: As `Contract.bind`; and what the runtime does not have, or an approval that decides later.
    """
    sight = core.plan.sight_of(contract)
    scope = Scope(core.environment, sight)
    asking = any(one.ask is not None for one in contract.variants)
    if asking:
        _refuse_deferred(scope, contract)
    ground = ContractGround(
        host,
        audit=audit or _service(scope, Audit),
        telemetry=_service(scope, Telemetry),
        clock=_service(scope, Clock),
        ids=_service(scope, Ids),
        approve=_approver(core, given, scope) if asking else None,
        asks_caller=asking and sight.rests_on(Approval, Caller),
        secrets=_service(scope, Secrets),
        name=contract.name,
    )
    return BoundContract(contract, ground)


def _approver(
    core: Core, given: Given, scope: Scope
) -> Callable[[ApprovalRequest, Caller], Awaitable[Result[ApprovalDecision, ApprovalUnavailable]]]:
    compiled = scope.compile((Need("approval", Approval),), _ask)
    given_for = takes_caller(given, core.plan.seeds.keys, scope)

    async def approve(request: ApprovalRequest, caller: Caller) -> Result[ApprovalDecision, ApprovalUnavailable]:
        answered: Result[ApprovalDecision, ApprovalUnavailable] = await compiled(request, given_for(caller))
        return answered

    return approve


async def _ask(request: ApprovalRequest, approval: Approval) -> Result[ApprovalDecision, ApprovalUnavailable]:
    return await approval.request(request)


def _refuse_deferred(scope: Scope, contract: Contract[Any, Any, Any, Any, Any]) -> None:
    """Refuse an `Approval` that decides later: nothing on a surface keeps what waits."""
    approval = scope.value(Approval)
    if isinstance(approval, Approval) and approval.defers:
        why = f"its decisions come later, and a dispatch is in no conversation  {caller_where()}"
        asking = [f"{one.name}  {one.where}" for one in contract.variants if one.ask is not None]
        write = '| bind(Approval).to(CallerApproval, life="request")'
        raise ConstructionError([Problem("APPROVAL", type(approval).__name__, (why, *asking), write)])


def _service(scope: Scope, key: Callable[..., S]) -> S | None:
    return cast("S | None", scope.value(key))  # what is offered under a class is one of it
