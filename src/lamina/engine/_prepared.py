"""An agent made ready for one runtime: everything that does not change from run to run, found once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

import attrs
import orjson
from returns.result import Result

from lamina.agent import Agent, AgentPolicy, Binding
from lamina.approval import Approval, ApprovalDecision, ApprovalRequest, ApprovalUnavailable
from lamina.audit import Audit
from lamina.call import Authorization, AuthorizationAnswer, AuthorizationRequest
from lamina.conversation import Conversations, Journal
from lamina.effect import Clock, ConstructionError, Ids, Need, Problem, Scope, SystemClock, SystemIds, name_of
from lamina.model import LanguageModel, Message, OutputSpec, SystemMessage, ToolSpec
from lamina.redaction import Secrets
from lamina.steering import Steering
from lamina.telemetry import Telemetry
from lamina.tools import ConcurrencyGroup, Tool, settled_tools

S = TypeVar("S")
Given: TypeAlias = tuple[object, ...]
"""The values of a runtime's seeds, in their order."""
Compiled: TypeAlias = Callable[[Any, Given], Awaitable[Any]]

_CONTRACT = (
    "Your final answer is one JSON value and nothing else: no text before or after it, and no code fence. "
    "It is valid against this JSON Schema:\n"
)


_FOR_RUNS: tuple[type[Any], ...] = (LanguageModel, Clock, Ids, Journal, Steering, Secrets, Telemetry, Audit)


class Permits:
    """The semaphores of a runtime's tools and groups, over all of its runs."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        # Weakly: a tool that its owner drops is gone. While a prepared tool uses a semaphore, it holds the tool, too.
        self._made: WeakKeyDictionary[Tool[Any, Any, Any] | ConcurrencyGroup, asyncio.Semaphore] = WeakKeyDictionary()

    def of(self, tool: Tool[Any, Any, Any]) -> tuple[asyncio.Semaphore, ...]:
        """Give what a call has to hold, always in the same order, so that two calls never wait for each other."""
        own = () if tool.max_concurrency is None else (self._semaphore(tool, tool.max_concurrency),)
        return (*own, *(self._semaphore(group, group.limit) for group in tool.groups))

    def _semaphore(self, owner: Tool[Any, Any, Any] | ConcurrencyGroup, limit: int) -> asyncio.Semaphore:
        made = self._made.get(owner)
        if made is None:
            made = self._made[owner] = asyncio.Semaphore(limit)
        return made


@attrs.frozen(eq=False)
class PreparedTool:
    """A tool whose needs are resolved.

    Attributes:
        tool: The tool.
        invoke: `invoke(input, given)` opens the call's request and runs the handler.
        available: `available(None, given)`; None where it always is.
        authorize: `authorize(input, given)`, the tool's own; None where every call may pass.
        permits: What a call has to hold while it runs.
    """

    tool: Tool[Any, Any, Any]
    invoke: Compiled
    available: Compiled | None
    authorize: Compiled | None
    permits: tuple[asyncio.Semaphore, ...]


@attrs.frozen(eq=False)
class Shown:
    """What every request of an agent shows its model besides what was said."""

    tools: tuple[ToolSpec, ...]
    contract: tuple[Message, ...]
    output: OutputSpec | None


class Constants:
    """What an agent shows its model, without secrets: looked through once for each set of them.

    Attributes:
        written: As it is written.
    """

    __slots__ = ("_clean", "_known", "written")

    def __init__(self, written: Shown) -> None:
        self.written = self._clean = written
        self._known: object = None

    def without(self, secrets: Secrets) -> Shown:
        """Give it without what is known as a secret now."""
        known = secrets.matcher()
        if known is not self._known:
            self._clean, self._known = secrets.redact_in(self.written), known
        return self._clean


@attrs.frozen(eq=False)
class PreparedAgent:
    """An agent whose services are found.

    Attributes:
        admit: `await admit(None, ())` raises where the runtime is not open any more.
        constants: What every request shows the model.
        secrets: What must not leave; nothing where the runtime offers none.
        telemetry: Where operations are told, if anywhere.
        audit: Where decisions are kept, if anywhere.
    """

    admit: Compiled
    agent: Agent[Any, Any, Any]
    policy: AgentPolicy
    model: LanguageModel
    tools: Mapping[str, PreparedTool]
    constants: Constants
    approve: Compiled | None
    authorize: Compiled | None
    conversations: Conversations | None
    defers: bool
    journal: Journal | None
    steering: Steering | None
    clock: Clock
    ids: Ids
    secrets: Secrets
    telemetry: Telemetry | None
    audit: Audit | None


async def _ask_approval(request: ApprovalRequest, approval: Approval) -> Result[ApprovalDecision, ApprovalUnavailable]:
    return await approval.request(request)


async def _ask_authorization(request: AuthorizationRequest, authorization: Authorization) -> AuthorizationAnswer:
    return await authorization.authorize(request)


def prepare(binding: Binding[Any, Any, Any], scope: Scope, permits: Permits) -> PreparedAgent:
    """Compile an agent for a runtime whose plan has no problem with it."""
    agent = binding.agent
    schema = None if agent.plain_output else agent.output.json_schema
    contract = () if schema is None else (SystemMessage(_CONTRACT + orjson.dumps(schema).decode()),)
    for_request = [key for key in _FOR_RUNS if scope.offers(key) and scope.value(key) is None]
    if problems := list(short_lived(binding, for_request)):
        raise ConstructionError(problems)
    conversations = _service(scope, Conversations) if scope.offers(Conversations) else None
    output = None if schema is None else OutputSpec("answer", schema)
    model = _service(scope, LanguageModel)
    if scope.offers(Secrets):
        secrets = _service(scope, Secrets)
        model.register_secrets(secrets)
    else:
        secrets = Secrets()
    known = settled_tools(agent.toolkit, scope.value, secrets)
    tools = {tool.name: prepare_tool(tool, scope, permits) for tool in known}
    return PreparedAgent(
        admit=scope.compile((), _admitted),
        agent=agent,
        policy=agent.policy,
        model=model,
        tools=tools,
        constants=Constants(Shown(tuple(each.tool.spec for each in tools.values()), contract, output)),
        approve=_compiled(scope, Approval, _ask_approval),
        authorize=_compiled(scope, Authorization, _ask_authorization),
        conversations=conversations,
        defers=_defers(binding, scope, conversations),
        journal=_service(scope, Journal) if scope.offers(Journal) else None,
        steering=_service(scope, Steering) if scope.offers(Steering) else None,
        clock=_service(scope, Clock) if scope.offers(Clock) else SystemClock(),
        ids=_service(scope, Ids) if scope.offers(Ids) else SystemIds(),
        secrets=secrets,
        telemetry=_service(scope, Telemetry) if scope.offers(Telemetry) else None,
        audit=_service(scope, Audit) if scope.offers(Audit) else None,
    )


def short_lived(binding: Binding[Any, Any, Any], for_request: Collection[object]) -> Iterator[Problem]:
    """Report what a run needs for longer than a request: a run is none, so a shorter life would end under it.

    Args:
        binding: The agent with its model.
        for_request: The services that it is offered, but for one request only.
    """
    for key in _FOR_RUNS:
        if key in for_request:
            line = f'agent "{binding.agent.id}"  {binding.agent.where}, whose runs are no requests'
            yield Problem("LIFETIME", name_of(key), (line,), f'life="app" for {name_of(key)}')


def _defers(binding: Binding[Any, Any, Any], scope: Scope, conversations: Conversations | None) -> bool:
    """Whether decisions on the agent's calls may come later; refused where nothing would remember what waits."""
    agent = binding.agent
    asking = [tool for tool in agent.toolkit if tool.ask is not None]
    approval = scope.value(Approval) if asking else None
    same_process = isinstance(approval, Approval) and approval.same_process
    if not (isinstance(approval, Approval) and approval.defers):
        asking = [tool for tool in asking if tool.ask is not None and tool.ask.on_expiry == "suspend"]
    if not asking:
        return False
    if conversations is None or not (conversations.durable or same_process):
        lines = tuple([f'tool {tool.name}  {tool.where}, in agent "{agent.id}"  {agent.where}' for tool in asking])
        why = "its decisions come later, and nothing here remembers what waits for them when this process ends"
        write = '| stored_conversations() | sqlite_store("lamina.db"), or DeferredApproval(same_process=True)'
        raise ConstructionError([Problem("MISSING", "durable Conversations", (why, *lines), write)])
    return True


async def _admitted(_: None) -> None: ...


def _service(scope: Scope, key: Callable[..., S]) -> S:
    return cast("S", scope.value(key))  # the plan has found it, and that it lives for the app


def _compiled(scope: Scope, key: type[Any], fn: Callable[..., Awaitable[Any]]) -> Compiled | None:
    return scope.compile((Need(key.__name__.lower(), key),), fn) if scope.offers(key) else None


def prepare_tool(tool: Tool[Any, Any, Any], scope: Scope, permits: Permits) -> PreparedTool:
    """Compile a tool for a program of a runtime."""
    check = tool.available
    available: Compiled | None = None
    if check is not None:

        async def ask(_: None, *services: object) -> bool:
            return await check(*services)

        available = scope.compile(tool.available_needs, ask)
    authorize = None if tool.authorize is None else scope.compile(tool.authorize_needs, tool.authorize)
    return PreparedTool(tool, scope.compile(tool.needs, tool.handler), available, authorize, permits.of(tool))
