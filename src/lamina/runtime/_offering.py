"""What a surface over a toolkit needs of its runtime, found once, and refused at once where it is not there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, cast

import attrs
from returns.result import Result

from lamina.approval import Approval, ApprovalDecision, ApprovalRequest, ApprovalUnavailable
from lamina.audit import Audit
from lamina.call import (
    NOBODY,
    Authorization,
    AuthorizationAnswer,
    AuthorizationRequest,
    Caller,
    CallerFeature,
    Capability,
)
from lamina.effect import (
    Clock,
    ConstructionError,
    Declaration,
    Ids,
    Need,
    Problem,
    Program,
    Requirement,
    Scope,
    SystemClock,
    Where,
)
from lamina.engine import Given, Permits, PreparedTool, prepare_tool
from lamina.redaction import Secrets
from lamina.runtime._guarded import GuardedCaller
from lamina.runtime._offers import OfferedPrompt, OfferedResource
from lamina.tools import Tool, Tools, requirements_of, settled_tools

Compiled = Callable[[Any, Given], Awaitable[Any]]  # Any: services and answers are typed where they were declared


@attrs.frozen(eq=False, kw_only=True)
class Offering(Program[Any]):
    """What a surface offers, as a program: a plan says what is missing for it."""

    name: str
    where: Where
    toolkit: Tools[Any]
    resources: tuple[OfferedResource, ...]
    prompts: tuple[OfferedPrompt, ...]

    def declare(self) -> Declaration:
        """Say everything that its calls and reads need."""
        return Declaration(
            name=f'surface "{self.name}"',
            where=self.where,
            requirements=tuple(self._requirements()),
            problems=tuple(self._problems()),
        )

    def _requirements(self) -> Iterator[Requirement]:
        for tool in self.toolkit:
            yield from requirements_of(tool)
        for kind, offered in (("resource", self.resources), ("prompt", self.prompts)):
            for each in offered:
                for need in each.needs:
                    yield Requirement(need.key, f"{kind} {each.info.name}({need.name})", each.where)
        for optional in (Clock, Ids, Authorization, Secrets, Audit):
            yield Requirement(optional, "its calls", self.where, optional=True)

    def _problems(self) -> Iterator[Problem]:
        for kind, offered in (("resource", self.resources), ("prompt", self.prompts)):
            names: dict[str, Where] = {}
            for each in offered:
                first = names.setdefault(each.info.name, each.where)
                if first is not each.where:
                    lines = (f"{kind} {each.info.name}  {first}", f"{kind} {each.info.name}  {each.where}")
                    yield Problem("DUPLICATE", f"{kind} {each.info.name}", lines, "another name= for one of them")


@attrs.frozen(eq=False, kw_only=True)
class PreparedOffering:
    """An offering whose services are found."""

    asker: str
    tools: Mapping[str, PreparedTool]
    capabilities: tuple[Capability, ...]
    resources: tuple[tuple[OfferedResource, Compiled], ...]
    prompts: Mapping[str, tuple[OfferedPrompt, Compiled]]
    approve: Compiled | None
    authorize: Compiled | None
    audit: Audit | None
    secrets: Secrets
    clock: Clock


def prepare_offering(offering: Offering, scope: Scope, permits: Permits, *, asks_caller: bool) -> PreparedOffering:
    """Compile what a surface offers.

    Args:
        offering: It.
        scope: What its runtime offers.
        permits: The runtime's semaphores.
        asks_caller: Whether approvals come from whoever calls.

    Raises:
        ConstructionError: Approvals come later, and a call on a surface cannot wait for them.
    """
    asking = [tool for tool in offering.toolkit if tool.ask is not None]
    refuse_deferred(scope, asking, offering.name, offering.where)
    authorized = scope.offers(Authorization)
    clock = scope.value(Clock)
    audit = scope.value(Audit)
    secrets = secrets_of(scope)
    toolkit = settled_tools(offering.toolkit, scope.value, secrets)
    return PreparedOffering(
        asker=offering.name,
        tools={tool.name: prepare_tool(tool, scope, permits) for tool in toolkit},
        capabilities=tuple(capability_of(tool, authorized=authorized, asks_caller=asks_caller) for tool in toolkit),
        resources=tuple((each, _by_name(scope, each)) for each in offering.resources),
        prompts={each.info.name: (each, _by_name(scope, each)) for each in offering.prompts},
        approve=scope.compile((Need("approval", Approval),), _ask_approval) if asking else None,
        authorize=scope.compile((Need("authorization", Authorization),), _ask_authorization) if authorized else None,
        audit=audit if isinstance(audit, Audit) else None,
        secrets=secrets,
        clock=clock if isinstance(clock, Clock) else SystemClock(),
    )


def secrets_of(scope: Scope) -> Secrets:
    """Give what must not leave; nothing where the runtime knows of none."""
    offered = scope.value(Secrets)
    return offered if isinstance(offered, Secrets) else Secrets()


def refuse_deferred(scope: Scope, asking: list[Tool[Any, Any, Any]], name: str, where: Where) -> None:
    """Refuse an `Approval` that decides later: nothing on a surface keeps what waits.

    Raises:
        ConstructionError: It does.
    """
    approval = scope.value(Approval) if asking else None
    if isinstance(approval, Approval) and approval.defers:
        why = f'its decisions come later, and a call on surface "{name}" is in no conversation  {where}'
        lines = (why, *(f"tool {tool.name}  {tool.where}" for tool in asking))
        write = '| bind(Approval).to(CallerApproval, life="request")'
        raise ConstructionError([Problem("APPROVAL", type(approval).__name__, lines, write)])


def capability_of(tool: Tool[Any, Any, Any], *, authorized: bool, asks_caller: bool) -> Capability:
    """Describe a tool to callers."""
    asks: set[CallerFeature] = {*tool.asks}
    if tool.ask is not None and asks_caller:
        asks.add("elicit")
    return Capability(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input.json_schema,
        output_schema=None if tool.contents or len(tool.success.json_schema) < 2 else tool.success.json_schema,
        title=tool.title,
        execution=tool.execution,
        gives="contents" if tool.contents else "value",
        conditional=tool.available is not None,
        authorized=authorized or tool.authorize is not None,
        needs_approval=tool.ask is not None,
        asks=frozenset(asks),
    )


async def _ask_approval(request: ApprovalRequest, approval: Approval) -> Result[ApprovalDecision, ApprovalUnavailable]:
    return await approval.request(request)


async def _ask_authorization(request: AuthorizationRequest, authorization: Authorization) -> AuthorizationAnswer:
    return await authorization.authorize(request)


def _by_name(scope: Scope, offered: OfferedResource | OfferedPrompt) -> Compiled:
    """Compile a function whose arguments come by name, among services that do so, too."""
    names, fn = tuple(need.name for need in offered.needs), offered.fn

    async def call(arguments: Mapping[str, str], *services: object) -> object:
        return await fn(**arguments, **dict(zip(names, services, strict=True)))

    return scope.compile(offered.needs, call)


def takes_caller(given: Given, keys: tuple[object, ...], scope: Scope) -> Callable[[Caller], Given]:
    """Make what puts each call's `Caller` among the values of the seeds; it is told no secrets."""
    if Caller not in keys:
        return lambda caller: given
    at, secrets = keys.index(Caller), secrets_of(scope)
    before, after = given[:at], given[at + 1 :]

    def given_for(caller: Caller) -> Given:
        guarded = GuardedCaller(caller, secrets) if secrets.active and caller is not NOBODY else caller
        return (*before, cast("object", guarded), *after)

    return given_for
