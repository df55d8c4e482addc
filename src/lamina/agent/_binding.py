"""An agent with its model: a program that a runtime can run (AUTH-012)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs

from lamina.audit import Audit
from lamina.call import Authorization
from lamina.conversation import Conversations, Journal
from lamina.effect import Clock, Declaration, Ids, Layer, Problem, Program, Requirement, Where
from lamina.model import LanguageModel
from lamina.redaction import Secrets
from lamina.steering import Steering
from lamina.telemetry import Telemetry
from lamina.tools import requirements_of

if TYPE_CHECKING:
    from lamina.agent._agent import Agent

In = TypeVar("In", covariant=True)
I = TypeVar("I", contravariant=True)  # noqa: E741 - the input
O = TypeVar("O", covariant=True)  # noqa: E741 - the output


_WRITE_STEERING = '| memory_steering(), or | stored_steering() | sqlite_store("lamina.db")'

_LATER = {
    "cost_budget": "PriceBook",
    "context_token_limit": "Compaction",
}
"""Policy fields whose service this version does not have yet: refused by name, never weakened (CAP-002)."""


@attrs.frozen(eq=False, kw_only=True)
class Binding(Program[In], Generic[In, I, O]):
    """An agent on exactly one model; made by `agent.on(...)`.

    Attributes:
        agent: The agent.
        model: The layer of its model; two bindings with two models do not meet.
        where: Where the two were put together.
    """

    agent: Agent[Any, I, O]
    model: Layer[Any, Any, Any]
    where: Where

    def declare(self) -> Declaration:
        """Say everything that a run of this agent needs (design §4, the table under `assemble`)."""
        agent = self.agent
        return Declaration(
            name=f'agent "{agent.id}"',
            where=agent.where,
            requirements=tuple(self._requirements()),
            problems=tuple(self._problems()),
            private=self.model,
        )

    def _requirements(self) -> Iterator[Requirement]:
        agent = self.agent
        yield Requirement(LanguageModel, "its model", self.where, write="agent.on(bind(LanguageModel).to(...))")
        for tool in agent.toolkit:
            yield from requirements_of(tool)
        for optional in (Clock, Ids, Authorization, Journal, Conversations, Secrets, Telemetry, Audit):
            yield Requirement(optional, "its runs", agent.where, optional=True)
        # What only `busy="steer"` asks for is found at preflight.
        steers = agent.policy.steering
        yield Requirement(
            Steering, f'agent "{agent.id}" (steering)', agent.where, write=_WRITE_STEERING, optional=not steers
        )

    def _problems(self) -> Iterator[Problem]:
        agent = self.agent
        for field, service in _LATER.items():
            asked = getattr(agent.policy, field)
            if asked is not None and asked is not False:  # a budget of 0 is one
                line = f'agent "{agent.id}" ({field})  {agent.where}'
                yield Problem("MISSING", service, (line, f"this version has no {service}"), f"leave {field} out")
        groups: dict[str, object] = {}
        for tool in agent.toolkit:
            for group in tool.groups:
                if groups.setdefault(group.name, group) is not group:
                    line = f"tool {tool.name}  {tool.where}"
                    yield Problem("DUPLICATE", f"ConcurrencyGroup {group.name}", (line,), "share one group value")
