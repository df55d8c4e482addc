"""The one port that protocol adapters know: what can be done, what can be read, and nothing of how (design §7)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

import attrs
from returns.result import Failure, Result

from lamina.call._caller import NOBODY, Caller, CallerFeature
from lamina.call._contents import ContentItem
from lamina.call._invocation import Invocation
from lamina.call._key import ExecutionClass
from lamina.call._outcome import Outcome, ToolSuccess
from lamina.effect import Value, tagged
from lamina.schema import JsonValue

JsonSchema: TypeAlias = Mapping[str, JsonValue]
Gives: TypeAlias = Literal["value", "contents"]
"""Whether a success is a value of the output schema, or `Contents`, encoded."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Capability(Value):
    """Something that a caller may do; plain data, the same for every caller.

    Attributes:
        name: 1 to 128 letters, digits, `_` and `-`.
        description: For the agent that chooses.
        input_schema: JSON Schema 2020-12 of the payload, an object.
        output_schema: Of a success's value; None where nothing is promised.
        title: For people; empty where the name will do.
        execution: What doing it twice would do.
        gives: Whether a success is a value or content.
        conditional: Whether it may come and go while the application runs.
        authorized: Whether who calls is asked about.
        needs_approval: Whether somebody has to say yes first.
        asks: What its caller is asked for.
        tag: The message that it stands for; None where it stands for none.
    """

    name: str
    description: str
    input_schema: JsonSchema = attrs.field(hash=False)
    output_schema: JsonSchema | None = attrs.field(default=None, hash=False)
    title: str = ""
    execution: ExecutionClass = "uncertain"
    gives: Gives = "value"
    conditional: bool = False
    authorized: bool = False
    needs_approval: bool = False
    asks: frozenset[CallerFeature] = frozenset()
    tag: str | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ResourceInfo(Value):
    """Something that a caller may read.

    Attributes:
        name: Its name, unlike that of every other resource of the surface.
        uri: What it is called on the wire; a template has its parameters in braces.
        description: What it is.
        media_type: Of its content.
        schema: JSON Schema of its value; None for text and bytes.
        title: For people.
    """

    name: str
    uri: str
    description: str = ""
    media_type: str = "application/json"
    schema: JsonSchema | None = attrs.field(default=None, hash=False)
    title: str = ""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ResourceContent(Value):
    """What was read.

    Attributes:
        uri: What it is called.
        media_type: Of the content.
        text: The text; None for bytes.
        blob: The bytes, in base64; None for a text.
    """

    uri: str
    media_type: str
    text: str | None = None
    blob: str | None = None


@tagged('Cannot read resource "{resource}": no such resource')
class AgentResourceError:
    """There is nothing of that name to be read (seed 000, Dispatch)."""

    resource: str


@tagged('Reading "{resource}" failed unexpectedly')
class ReadDefect:
    """Reading broke; what is known of it is in the application's own log."""

    resource: str


@attrs.frozen(kw_only=True, eq=False, repr=False)
class PromptArgument(Value):
    """One thing that a prompt is filled with.

    Attributes:
        name: Its name.
        description: What it is.
        required: Whether it must be given.
        values: What it may be, where that is a fixed set.
    """

    name: str
    description: str = ""
    required: bool = False
    values: tuple[str, ...] = ()


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Prompt(Value):
    """A text that a person may begin with.

    Attributes:
        name: Its name.
        description: What it is for.
        arguments: What it is filled with.
        title: For people.
        asks: What its caller is asked for.
    """

    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()
    title: str = ""
    asks: frozenset[CallerFeature] = frozenset()


@attrs.frozen(eq=False, repr=False)
class PromptMessage(Value):
    """One message of a prompt.

    Attributes:
        role: Who speaks.
        content: What is said.
    """

    role: Literal["user", "assistant"]
    content: ContentItem


@tagged("{message}")
class PromptRefused:
    """There is no such prompt, or its arguments are not what it asks for.

    Attributes:
        message: One sentence for the caller.
    """

    message: str


class Surface(ABC):
    """What an application offers to callers, whatever the protocol.

    When to use: adapters take one; `contract.bind(host)`, `rt.surface(toolkit)` and `rt.surface(agent)` make one. To
    serve something else, implement it.

    An adapter translates and has no authority of its own: input is decoded, callers are authorized, and outcomes are
    made here. `invoke` never raises for what a caller sends, and no outcome holds the text of an exception.

    Attributes:
        name: The surface's, for people and protocols.
        version: Its version.
        capabilities: All that it has, in order, whether available now or not.
        resources: All that can be read.
        templates: Resources whose `uri` has parameters.
        prompts: Texts to begin with.
    """

    name: str
    version: str = "0.1.0"
    capabilities: tuple[Capability, ...] = ()
    resources: tuple[ResourceInfo, ...] = ()
    templates: tuple[ResourceInfo, ...] = ()
    prompts: tuple[Prompt, ...] = ()

    @abstractmethod
    async def available(self) -> frozenset[str]:
        """Give the names of the capabilities that are offered now."""

    @abstractmethod
    async def invoke(self, name: str, payload: JsonValue, invocation: Invocation, caller: Caller) -> Outcome:
        """Do something for a caller.

        Args:
            name: What, as it came from the wire.
            payload: With what; not looked at yet.
            invocation: Its id, the way it came, and what aborts it.
            caller: Who can be asked meanwhile.
        """

    def summary(self, name: str, outcome: ToolSuccess) -> str | None:
        """Say in one sentence what a success came to; None where its value says it best."""
        return None

    async def read(self, uri: str) -> Result[ResourceContent, AgentResourceError | ReadDefect]:
        """Read a resource by its uri, of `resources` or after one of the `templates`."""
        return Failure(AgentResourceError(uri))

    async def prompt(
        self, name: str, arguments: Mapping[str, str], caller: Caller = NOBODY
    ) -> Result[tuple[PromptMessage, ...], PromptRefused]:
        """Fill a prompt, for a caller who can be asked meanwhile."""
        return Failure(PromptRefused(f"No such prompt: {name[:128]}"))

    async def complete(
        self, kind: Literal["prompt", "template"], of: str, argument: str, begun: str
    ) -> tuple[str, ...]:
        """Give what an argument may be that begins so: of a prompt by its name, of a template by its uri."""
        return ()

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Be told when `available` or a resource may have changed.

        Returns:
            What ends it; calling it again does nothing.
        """
        return _nothing


def _nothing() -> None: ...
