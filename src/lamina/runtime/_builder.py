"""The fluent way to put an application together: layers and the programs that run on them, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Never, TypeVar, cast

import attrs

from lamina.agent import Binding
from lamina.effect import (
    Buildable,
    ConstructionError,
    Layer,
    Parts,
    Plan,
    Problem,
    Program,
    Subset,
    caller_where,
    empty_layer,
)
from lamina.runtime._assemble import assemble, duplicate_agent

if TYPE_CHECKING:
    from lamina.contract import Contract

In = TypeVar("In", covariant=True)
Out = TypeVar("Out")
Err = TypeVar("Err", covariant=True)
R2 = TypeVar("R2")
O2 = TypeVar("O2")
E2 = TypeVar("E2")


@attrs.frozen(eq=False, init=False)
class RuntimeBuilder(Generic[In, Out, Err]):
    """An application: its layers, its agents, its handlers. Immutable: each step gives a new builder.

    `build(builder)` opens it, `builder.plan()` checks it; both look at everything at once. (There is no `.build()`
    method: mypy would accept one although a service is missing.)

    Attributes:
        layer: All layers, as one.
        programs: Everything that will run: its needs join the plan.

    Example:
        >>> from lamina.effect import layer
        >>> class Log: ...
        >>> RuntimeBuilder().provide(layer(Log)).plan().problems
        ()
    """

    layer: Layer[In, Out, Err]
    programs: tuple[Program[In], ...]

    def __init__(self: RuntimeBuilder[Never, Never, Never]) -> None:
        """Begin with nothing."""
        object.__setattr__(self, "layer", empty_layer())
        object.__setattr__(self, "programs", ())

    def __call__(self) -> Parts[In, Out, Err]:
        """Say what the layers are made of; only type checkers call this, see `lamina.effect.Buildable`."""
        return Parts()

    def provide(self, layer: Buildable[R2, O2, E2], /) -> RuntimeBuilder[In | R2, Out | O2, Err | E2]:
        """Add a layer; it sees what all the others offer, and they see what it offers."""
        return _with(self.layer | layer, self.programs)

    def agent(self, binding: Binding[R2, Any, Any], /) -> RuntimeBuilder[In | R2, Out, Err]:
        """Add an agent with its model.

        Raises:
            ConstructionError: Another agent has its id, or this one has no model yet.
        """
        if not isinstance(binding, Binding):  # pyright: ignore[reportUnnecessaryIsInstance] - past the types
            line = f"is no agent with its model  {caller_where()}"
            raise ConstructionError([Problem("AGENT", type(binding).__name__, (line,), ".agent(agent.on(model))")])
        first = self.agents.get(binding.agent.id)
        if first is not None:
            raise ConstructionError([duplicate_agent(first, binding)])
        return self.program(binding)

    def contract(self, contract: Contract[Any, Any, Any, Any, R2], /) -> RuntimeBuilder[In | R2, Out, Err]:
        """Add a contract, so that what its variants need is checked with the rest; `rt.bind` serves it over a host."""
        return self.program(contract)

    def program(self, program: Program[R2], /) -> RuntimeBuilder[In | R2, Out, Err]:
        """Add a handler, or anything else that runs, so that its needs are checked with the rest."""
        return _with(self.layer, (*self.programs, program))

    def replace(self, *fakes: Subset[Out]) -> RuntimeBuilder[In, Out, Err]:
        """Put other implementations in the place of some, for a test; those replaced are never constructed."""
        return _with(self.layer.replace(*fakes), self.programs)

    @property
    def agents(self) -> Mapping[str, Binding[In, Any, Any]]:
        """The agents by their ids, in the order in which they were added."""
        found: dict[str, Binding[In, Any, Any]] = {}
        for program in self.programs:
            if isinstance(program, Binding):
                binding = cast("Binding[In, Any, Any]", program)
                found[binding.agent.id] = binding
        return MappingProxyType(found)

    def plan(self) -> Plan:
        """Check everything, and acquire nothing."""
        return assemble(self.layer, self.programs)


def _with(layer: Layer[Any, Any, Any], programs: tuple[Program[Any], ...]) -> RuntimeBuilder[Any, Any, Any]:
    made = object.__new__(cast("type[RuntimeBuilder[Any, Any, Any]]", RuntimeBuilder))
    object.__setattr__(made, "layer", layer)
    object.__setattr__(made, "programs", programs)
    return made
