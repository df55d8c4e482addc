"""What a dispatch may end with instead of a result, written for the calling agent (behaviour §2.4, seed 000)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

from lamina.effect import tag_of, tagged
from lamina.schema import JsonValue

Delivery: TypeAlias = Literal["none", "attempted", "sent"]
"""How far the message got: never given to the host; given, and not known whether it arrived; taken by the host."""


@tagged("No such capability: {capability}")
class AgentUnknownCapabilityError:
    """The contract exposes nothing of that name, or nothing that takes such an input.

    Attributes:
        capability: What was asked for, at most 128 characters.
    """

    capability: str


@tagged('Capability "{capability}" is not available right now')
class AgentCapabilityUnavailableError:
    """The capability is not offered in the model of this moment; whether the caller would be allowed is not told.

    Attributes:
        capability: Its name.
        tag: Its message's tag.
    """

    capability: str
    tag: str


@tagged('Invalid input for "{capability}"')
class AgentInvalidInputError:
    """The input does not fit. What is wrong with it is for the application alone.

    Attributes:
        capability: Its name.
        tag: Its message's tag.
        cause: The `Mismatch`, with every problem; not on the wire.
    """

    capability: str
    tag: str
    cause: object = attrs.field(default=None, eq=False, repr=False)


@tagged("{message}")
class AgentAuthorizationError:
    """`authorize` refused.

    Attributes:
        capability: Its name.
        tag: Its message's tag.
        reason: What it said; empty where it only said no.
    """

    capability: str
    tag: str
    reason: str = ""

    @property
    def message(self) -> str:
        """The reason, or that it is not allowed."""
        return self.reason or f'Not authorized to invoke "{self.capability}"'


@tagged("{message}")
class AgentApprovalError:
    """Somebody had to say yes, and did not.

    Attributes:
        capability: Its name.
        tag: Its message's tag.
        verdict: Whether it was denied, or nobody answered in time.
        reason: What was said.
    """

    capability: str
    tag: str
    verdict: Literal["denied", "expired"] = "denied"
    reason: str = ""

    @property
    def message(self) -> str:
        """The reason, or the verdict."""
        if self.reason:
            return self.reason
        if self.verdict == "expired":
            return f'Nobody approved "{self.capability}" in time'
        return f'"{self.capability}" was not approved'


@tagged("{message}")
class AgentCancelledError:
    """The invocation was aborted. That undoes nothing.

    Attributes:
        capability: Its name.
        delivery: How far the message had got.
    """

    capability: str
    delivery: Delivery = "none"

    @property
    def dispatched(self) -> bool:
        """Whether the message certainly reached update."""
        return self.delivery == "sent"

    @property
    def message(self) -> str:
        """What is known of the message."""
        if self.delivery == "none":
            return f'Invocation of "{self.capability}" was cancelled before it was dispatched'
        if self.delivery == "attempted":
            return (
                f'Invocation of "{self.capability}" was cancelled while the host was still dispatching it. '
                "Whether the Message reached update is unknown."
            )
        return (
            f'"{self.capability}" was dispatched, and waiting for it to complete was cancelled. '
            "The Message still reached update."
        )


@tagged("{message}")
class AgentCompletionTimeoutError:
    """The wait for completion ended; nothing was undone.

    Attributes:
        capability: Its name.
        invocation: The invocation's id.
        timeout: Seconds that were waited.
        delivery: How far the message had got.
    """

    capability: str
    invocation: str
    timeout: float
    delivery: Delivery = "sent"

    @property
    def dispatched(self) -> bool:
        """Whether the message certainly reached update."""
        return self.delivery == "sent"

    @property
    def message(self) -> str:
        """What is known of the message."""
        if self.delivery == "sent":
            return (
                f'"{self.capability}" was dispatched but did not complete within {self.timeout:g}s. '
                "The Message still reached update."
            )
        return (
            f'The host was still dispatching "{self.capability}" after {self.timeout:g}s. '
            "Whether the Message reached update is unknown."
        )


@tagged("Failed: {completed_by}")
class AgentCompletionFailed:
    """The operation ended with one of its failure messages: what a surface's caller and an agent's model are told.

    Attributes:
        capability: Its name.
        tag: Its message's tag.
        completed_by: The failure message's tag.
        completion: How it ended, in JSON, with what the failure message says: a model can do better next time only by
            what went wrong.
    """

    capability: str
    tag: str
    completed_by: str
    completion: JsonValue = None


DispatchError: TypeAlias = (
    AgentUnknownCapabilityError
    | AgentCapabilityUnavailableError
    | AgentInvalidInputError
    | AgentAuthorizationError
    | AgentApprovalError
    | AgentCancelledError
    | AgentCompletionTimeoutError
)
"""Everything that a dispatch may end with and that is not a programmer's mistake."""

_TOLD = ("capability", "tag", "invocation", "delivery", "dispatched", "verdict", "reason", "completed_by", "completion")


def wire(error: DispatchError | AgentCompletionFailed) -> dict[str, JsonValue]:
    """Give an error's JSON form, with its message and without the cause.

    Example:
        >>> wire(AgentCancelledError("delete_todo"))["delivery"]
        'none'
    """
    told: dict[str, JsonValue] = {"_tag": tag_of(error), "message": str(error)}
    for name in _TOLD:
        value: JsonValue = getattr(error, name, None)
        if value is not None and value != "":
            told[name] = value
    return told


class AgentDefect(Exception):
    """A mistake of the application's showed while a capability was dispatched or a projection was read.

    Raised to callers in the application, with what was raised as `__cause__`; an adapter's caller reads the sentence
    alone. A host that raises may have taken the message first: `delivery` is then `attempted`.

    Attributes:
        capability: The capability's name, or the resource's.
        delivery: How far the message had got.
    """

    def __init__(self, capability: str, delivery: Delivery = "none") -> None:
        super().__init__(f'Capability "{capability}" failed unexpectedly')
        self.capability = capability
        self.delivery: Delivery = delivery


class AgentProjectionError(Exception):
    """A projection gave something that does not fit the schema it declares; the text holds nothing of the value.

    Attributes:
        problems: What does not fit, as `$.path: why`.
    """

    def __init__(self, resource: str | None, problems: tuple[str, ...]) -> None:
        what = "context projection" if resource is None else f'resource "{resource}" projection'
        super().__init__(f"The {what} does not match its declared schema")
        self.problems = problems
