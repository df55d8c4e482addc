"""The agent: frozen, model-free data (AUTH-002, AUTH-012)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Generic, Never, TypeVar, overload

import attrs

from lamina.agent._binding import Binding
from lamina.agent._policy import AgentPolicy
from lamina.effect import ConstructionError, Layer, Problem, Where, bind, caller_where
from lamina.model import LanguageModel
from lamina.schema import Codec, codec
from lamina.tools import Toolkit, Tools

In = TypeVar("In", covariant=True)
I = TypeVar("I", contravariant=True)  # noqa: E741 - the input
O = TypeVar("O", covariant=True)  # noqa: E741 - the output
R = TypeVar("R")
R2 = TypeVar("R2")
I2 = TypeVar("I2")
O2 = TypeVar("O2")


@attrs.frozen(eq=False, init=False)
class Agent(Generic[In, I, O]):
    """What an agent is: instructions, tools, input, output and policy. It cannot run: it has no model yet.

    `agent.on(model)` is the value that runs.

    Args:
        id: A name, unique in a runtime.
        instructions: The system message, or a function of the input that gives it, called once a run.
        policy: How far a run may go.
        toolkit: The tools; none without it.
        input: The type of the input: `str` is the user's text as it is, any other type is sent as JSON.
        output: The type of the answer: `str` is plain text, any other type is a JSON contract.

    Raises:
        ConstructionError: The id is empty, or the input or output cannot be described as JSON; with file and line.

    Example:
        >>> greeter = Agent(
        ...     "greeter",
        ...     instructions="Greet people.",
        ...     policy=AgentPolicy(max_turns=2, max_tool_calls=1, max_duration=30, tool_concurrency=1),
        ... )
        >>> greeter.id
        'greeter'
    """

    id: str
    instructions: str | Callable[[Any], str]  # Any: the input, which `Agent[In, I, O]` types
    policy: AgentPolicy
    toolkit: Tools[In]
    input: Codec[Any]
    output: Codec[Any]
    plain_input: bool
    plain_output: bool
    where: Where

    @overload
    def __init__(
        self: Agent[Never, str, str], id: str, *, instructions: str | Callable[[str], str], policy: AgentPolicy
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[R, str, str],
        id: str,
        *,
        instructions: str | Callable[[str], str],
        policy: AgentPolicy,
        toolkit: Tools[R],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[Never, I2, str],
        id: str,
        *,
        instructions: str | Callable[[I2], str],
        policy: AgentPolicy,
        input: type[I2],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[R, I2, str],
        id: str,
        *,
        instructions: str | Callable[[I2], str],
        policy: AgentPolicy,
        toolkit: Tools[R],
        input: type[I2],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[Never, str, O2],
        id: str,
        *,
        instructions: str | Callable[[str], str],
        policy: AgentPolicy,
        output: type[O2],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[R, str, O2],
        id: str,
        *,
        instructions: str | Callable[[str], str],
        policy: AgentPolicy,
        toolkit: Tools[R],
        output: type[O2],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[Never, I2, O2],
        id: str,
        *,
        instructions: str | Callable[[I2], str],
        policy: AgentPolicy,
        input: type[I2],
        output: type[O2],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[R, I2, O2],
        id: str,
        *,
        instructions: str | Callable[[I2], str],
        policy: AgentPolicy,
        toolkit: Tools[R],
        input: type[I2],
        output: type[O2],
    ) -> None: ...
    def __init__(
        self,
        id: str,  # noqa: A002 - an agent's id is its id
        *,
        instructions: str | Callable[[Any], str],
        policy: AgentPolicy,
        toolkit: Tools[Any] | None = None,
        input: type[Any] = str,  # noqa: A002 - an agent's input is its input
        output: type[Any] = str,
    ) -> None:
        """Describe an agent."""
        where = caller_where()
        problems: list[Problem] = []
        if not id or not id.isprintable() or len(id) > 128:
            problems.append(Problem("AGENT", repr(id)[:80], (f"an id has 1 to 128 printable characters  {where}",)))
        if inspect.iscoroutinefunction(instructions):
            line = f"instructions are a text, or a plain function of the input that gives one  {where}"
            problems.append(Problem("AGENT", f'agent "{id}"', (line,)))
        if toolkit is not None and not isinstance(toolkit, Tools):  # pyright: ignore[reportUnnecessaryIsInstance] - past the types
            line = f"its toolkit is a tool, or tools put together with |, and no {type(toolkit).__name__}  {where}"
            problems.append(Problem("AGENT", f'agent "{id}"', (line,), "toolkit=first | second, each under @tool(...)"))
        described: dict[str, Codec[Any] | None] = {}
        for role, kind in (("input", input), ("output", output)):
            try:
                described[role] = codec(kind)
            except ConstructionError as error:
                described[role] = None
                lines = tuple(line for problem in error.problems for line in str(problem).splitlines())
                subject = f'the {role} of agent "{id}" cannot be described'
                problems.append(Problem("SCHEMA", subject, (str(where), *lines)))
        if problems:
            raise ConstructionError(problems)
        fields = {
            "id": id,
            "instructions": instructions,
            "policy": policy,
            "toolkit": Toolkit.empty() if toolkit is None else toolkit,
            "input": described["input"],
            "output": described["output"],
            "plain_input": input is str,
            "plain_output": output is str,
            "where": where,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @overload
    def on(self, model: LanguageModel) -> Binding[In, I, O]: ...
    @overload
    def on(self, model: Layer[R2, LanguageModel, Never]) -> Binding[In | R2, I, O]: ...
    def on(self, model: LanguageModel | Layer[Any, LanguageModel, Never]) -> Binding[Any, I, O]:
        """Give the agent its model: the only value that can run (MODEL-010).

        Args:
            model: A layer that offers `LanguageModel`, private to this binding; or a model that is there already.

        Raises:
            ConstructionError: It is neither.
        """
        where = caller_where()
        layer = bind(LanguageModel).value(model) if isinstance(model, LanguageModel) else model
        if not isinstance(layer, Layer):  # pyright: ignore[reportUnnecessaryIsInstance] - past the types
            line = f"its model is a layer that offers LanguageModel, or a LanguageModel  {where}"
            raise ConstructionError([Problem("AGENT", f'agent "{self.id}"', (line,), 'agent.on(openai_model("..."))')])
        return Binding(agent=self, model=layer, where=where)
