"""What all runtimes over one environment share: the plan, what was prepared for it, and who waits for what."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from weakref import WeakKeyDictionary

from lamina.agent import Binding
from lamina.effect import Environment, Handler, Plan, Program
from lamina.engine import CleanHistories, Given, Permits, PreparedAgent, prepare
from lamina.runtime._active import ActiveRuns
from lamina.runtime._lanes import Lanes


class Core:
    """What all runtimes over one environment share, whatever seeds they were given."""

    __slots__ = ("active", "agents", "close_timeout", "environment", "handlers", "lanes", "permits", "plan", "said")

    def __init__(self, plan: Plan, environment: Environment, close_timeout: float) -> None:
        self.plan = plan
        self.environment = environment
        self.close_timeout = close_timeout
        self.permits = Permits()
        self.lanes = Lanes()
        self.active = ActiveRuns()
        self.said = CleanHistories()
        # By identity, and weakly: an agent that its owner drops is gone.
        self.handlers: WeakKeyDictionary[Program[Any], Callable[[Any, Given], Awaitable[Any]]] = WeakKeyDictionary()
        self.agents: WeakKeyDictionary[Program[Any], PreparedAgent] = WeakKeyDictionary()

    async def handler(self, handler: Handler[Any, Any, Any]) -> Callable[[Any, Given], Awaitable[Any]]:
        """Compile a handler, once; one that the plan has not seen is planned first."""
        scope = await self.environment.admit(handler)
        compiled = self.handlers[handler] = scope.compile(handler.needs, handler.fn)
        return compiled

    async def agent(self, binding: Binding[Any, Any, Any]) -> PreparedAgent:
        """Prepare an agent, once; one that the plan has not seen is planned first."""
        scope = await self.environment.admit(binding)
        prepared = self.agents[binding] = prepare(binding, scope, self.permits)
        return prepared

    async def close(self) -> None:
        """End the runs that are active, and then release everything; see `Environment.close`."""
        await self.environment.close(self.active.end)

    async def settle(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run a settlement in a task that the environment owns."""
        await self.environment.settle(work, self.close_timeout)

    async def see_through(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run what has to be known once it has begun in such a task; it takes as long as its caller waits."""
        await self.environment.settle(work, self.close_timeout, patient=True)
