"""Who called, as far as its protocol lets it be asked: a request-life service (design §7)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Final, Literal, TypeAlias, TypeVar

import attrs
from returns.result import Failure, Result, Success

from lamina.effect import Value, tagged
from lamina.model import Message
from lamina.schema import JsonValue, codec

T = TypeVar("T")
CallerFeature: TypeAlias = Literal["progress", "log", "elicit", "sample", "roots"]
"""What a caller may be asked for. What a capability asks for it declares, so that serving it can be refused early."""
LogLevel: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


@tagged("The caller cannot be asked ({feature}): {why}.")
class CallerUnable:
    """The peer turned out unable, or gave no answer that can be used.

    Attributes:
        feature: What it was asked for.
        why: A short reason, without any content.
    """

    feature: CallerFeature
    why: str


@tagged("The caller gave no answer: {action}.")
class NotElicited:
    """A person declined to answer, or dismissed the question.

    Attributes:
        action: Which of the two.
    """

    action: Literal["decline", "cancel"]


@attrs.frozen(eq=False, repr=False)
class Elicited(Value):
    """What came back of a question.

    Attributes:
        action: Whether it was answered.
        content: The answer; empty where there is none. It is the peer's word, and fits no schema for certain.
    """

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, JsonValue] = attrs.field(factory=dict[str, JsonValue], hash=False)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class SampleRequest(Value):
    """What the caller's own model is asked.

    Attributes:
        messages: What is said to it.
        max_tokens: The longest answer.
        system: Instructions; None leaves them to the caller.
        temperature: How free the answer is; None leaves it to the caller.
        stop: Texts that end the answer.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    system: str | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Sampled(Value):
    """What the caller's model said.

    Attributes:
        text: The answer's text.
        model: The model's name.
        stop_reason: Why it ended; None where it was not said.
    """

    text: str
    model: str
    stop_reason: str | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Root(Value):
    """A folder that the caller says it works in.

    Attributes:
        uri: Where it is: `file:///srv/project`. It is the peer's word, and opens nothing by itself.
        name: What people call it; empty where nobody said.
    """

    uri: str
    name: str = ""


class Caller(ABC):
    """The peer behind one call: it is told how far the work is, and asked what only it can say.

    When to use: a handler that takes a `Caller` works for whoever calls it over a protocol. An adapter offers one for
    each call, as far as its protocol goes; a capability says what it asks for (`asks=`), and serving one that asks for
    more than the adapter offers is a `ConstructionError`. A peer that turns out unable is a `CallerUnable`.

    `progress` and `log` never fail a call: what cannot be delivered is dropped.

    Attributes:
        features: What this caller can be asked for.
    """

    _write: ClassVar[str] = "build(…, seeds=seed(Caller))"

    features: frozenset[CallerFeature]

    @abstractmethod
    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Say how far the work is; `done` grows from call to call.

        Args:
            done: How much is done.
            total: How much there is; None where nobody knows.
            message: One sentence for a person.
        """

    @abstractmethod
    async def log(self, level: LogLevel, data: JsonValue, logger: str = "") -> None:
        """Send a log message to the peer; nothing secret belongs into it."""

    @abstractmethod
    async def elicit(
        self, message: str, schema: Mapping[str, JsonValue], *, key: str | None = None
    ) -> Result[Elicited, CallerUnable]:
        """Ask a person for something.

        Args:
            message: The question.
            schema: The JSON Schema of the answer: an object of plain members, as the protocol demands.
            key: What the question is called, where a protocol names questions. A peer that knows the name may answer
                along with its first request, before it is asked; without one, that cannot be.
        """

    @abstractmethod
    async def sample(self, request: SampleRequest, *, key: str | None = None) -> Result[Sampled, CallerUnable]:
        """Ask the peer's model.

        Args:
            request: What it is asked.
            key: As for `elicit`.
        """

    async def roots(self, *, key: str | None = None) -> Result[tuple[Root, ...], CallerUnable]:
        """Ask which folders the peer works in.

        Args:
            key: As for `elicit`.
        """
        return Failure(CallerUnable("roots", "it works in no folder that it could tell"))

    async def elicit_as(
        self, message: str, form: type[T], *, key: str | None = None
    ) -> Result[T, NotElicited | CallerUnable]:
        """Ask a person for the fields of an attrs class, and check the answer.

        Args:
            message: The question.
            form: The class; its members are texts, numbers, bools and enumerations.
            key: As for `elicit`.
        """
        asked = codec(form)
        answered = await self.elicit(message, asked.json_schema, key=key)
        if isinstance(answered, Failure):
            return Failure(answered.failure())
        elicited = answered.unwrap()
        if elicited.action != "accept":
            return Failure(NotElicited(elicited.action))
        decoded = asked.decode(dict(elicited.content))
        if isinstance(decoded, Failure):
            return Failure(CallerUnable("elicit", "the answer does not fit what was asked for"))
        return Success(decoded.unwrap())


class NoCaller(Caller):
    """Nobody can be asked, and nobody is told: what a call from within the application has."""

    features: frozenset[CallerFeature] = frozenset()

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Do nothing."""

    async def log(self, level: LogLevel, data: JsonValue, logger: str = "") -> None:
        """Do nothing."""

    async def elicit(
        self, message: str, schema: Mapping[str, JsonValue], *, key: str | None = None
    ) -> Result[Elicited, CallerUnable]:
        """Say that nobody is there."""
        return Failure(CallerUnable("elicit", "there is nobody to ask"))

    async def sample(self, request: SampleRequest, *, key: str | None = None) -> Result[Sampled, CallerUnable]:
        """Say that nobody is there."""
        return Failure(CallerUnable("sample", "there is no model to ask"))


NOBODY: Final = NoCaller()
"""The one caller of that kind that is ever needed."""
