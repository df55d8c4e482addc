"""Making surfaces of what a runtime can run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from lamina.agent import Binding
from lamina.approval import Approval
from lamina.call import (
    NOBODY,
    SMALLEST_RESULT_BYTES,
    Caller,
    CallerFeature,
    Surface,
    presented,
)
from lamina.effect import ConstructionError, Layer, Problem, Scope, Seeds, Where, bind, caller_where
from lamina.engine import Given, RunHandle
from lamina.runtime._agent_surface import AgentSurface
from lamina.runtime._keywords import SurfaceOptions
from lamina.runtime._offering import Offering, prepare_offering, refuse_deferred, secrets_of, takes_caller
from lamina.runtime._running import start_run
from lamina.runtime._toolkit_surface import ToolkitSurface
from lamina.tools import Tools

if TYPE_CHECKING:
    from lamina.runtime._core import Core


def make_surface(core: Core, given: Given, program: object, options: SurfaceOptions) -> Surface:
    """Make a surface of a toolkit, or of an agent with its model.

    Raises:
        ConstructionError: It needs what the runtime does not have, or it is neither.
    """
    where = caller_where()
    if options.result_bytes < SMALLEST_RESULT_BYTES:
        line = f"result_bytes is {SMALLEST_RESULT_BYTES} or more  {where}"
        raise ConstructionError([Problem("SURFACE", options.name or "", (line,))])
    made: Surface
    if isinstance(program, Tools):
        toolkit = cast("Tools[Any]", program)  # type: ignore[redundant-cast]  # not so to pyright
        made = _of_toolkit(core, given, toolkit, options, where)
    elif isinstance(program, Binding):
        binding = cast("Binding[Any, Any, Any]", program)  # type: ignore[redundant-cast]  # not so to pyright
        made = _of_agent(core, given, binding, options, where)
    else:
        line = f"a surface is made of a toolkit, or of an agent with its model  {where}"
        raise ConstructionError([Problem("SURFACE", type(program).__name__, (line,), "rt.surface(first | second)")])
    if options.list_all or options.read_tools or options.inline_defs:
        return presented(
            made, list_all=options.list_all, read_tools=options.read_tools, inline_defs=options.inline_defs
        )
    return made


def seeds_of_surface(seeds: Seeds[Any], given: Layer[Any, Any, Any] | None) -> Given:
    """Read the seeds' values but for the `Caller`, which each call brings itself."""
    nobody = bind(Caller).value(NOBODY)
    if Caller not in seeds.keys:
        return () if given is None and not seeds.keys else seeds.given(nobody if given is None else given)
    return seeds.given(nobody if given is None else given | nobody)


def _of_toolkit(core: Core, given: Given, toolkit: Tools[Any], options: SurfaceOptions, where: Where) -> Surface:
    name = options.name or "lamina"
    offering = Offering(
        name=name,
        where=where,
        toolkit=toolkit,
        resources=tuple(options.resources),
        prompts=tuple(options.prompts),
    )
    # A toolkit has no layer of its own, so all that it needs is up already.
    sight = core.plan.sight_of(offering)
    scope = Scope(core.environment, sight)
    prepared = prepare_offering(offering, scope, core.permits, asks_caller=sight.rests_on(Approval, Caller))
    return ToolkitSurface(
        prepared,
        takes_caller(given, core.plan.seeds.keys, scope),
        name=name,
        version=options.version,
        result_bytes=options.result_bytes,
        changes=options.changes,
    )


def _of_agent(
    core: Core, given: Given, binding: Binding[Any, Any, Any], options: SurfaceOptions, where: Where
) -> Surface:
    agent, name = binding.agent, options.name or binding.agent.id
    if options.resources or options.prompts or options.changes is not None:
        line = f"an agent is served with nothing else beside it  {where}"
        raise ConstructionError([Problem("SURFACE", f'agent "{agent.id}"', (line,), "rt.surface(toolkit, ...)")])
    sight = core.plan.sight_of(binding)
    asking = [tool for tool in agent.toolkit if tool.ask is not None]
    scope = Scope(core.environment, sight)
    refuse_deferred(scope, asking, name, where)
    asks: set[CallerFeature] = {feature for tool in agent.toolkit for feature in tool.asks}
    if asking and sight.rests_on(Approval, Caller):
        asks.add("elicit")
    given_for = takes_caller(given, core.plan.seeds.keys, scope)

    def start(caller: Caller, command: object) -> RunHandle[Any]:
        return start_run(core, given_for(caller), binding, command)

    return AgentSurface(
        agent,
        start,
        name=name,
        version=options.version,
        description=options.description,
        asks=frozenset(asks),
        result_bytes=options.result_bytes,
        secrets=secrets_of(scope),
    )
