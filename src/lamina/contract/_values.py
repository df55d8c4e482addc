"""The small values that a contract's functions are given, and those that a dispatch gives."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Generic, Literal, TypeAlias, TypeVar

import attrs
from returns.result import Result

from lamina.call import Invocation
from lamina.effect import Value

M_co = TypeVar("M_co", covariant=True)
P_co = TypeVar("P_co", covariant=True)
I_co = TypeVar("I_co", covariant=True)
V_co = TypeVar("V_co", covariant=True)


@attrs.frozen
class Nothing:
    """An input without fields: the external input of a capability that acts on what is selected."""


@attrs.frozen(eq=False, repr=False)
class At(Value, Generic[M_co, P_co]):
    """The moment in which a message is made.

    Attributes:
        model: The snapshot, the same that `available` and `authorize` saw.
        principal: On whose behalf; None for a contract without principals.
        invocation: The call.
    """

    model: M_co
    principal: P_co
    invocation: Invocation


@attrs.frozen(eq=False, repr=False)
class Attempt(Value, Generic[I_co, M_co, P_co]):
    """What `authorize` is asked about.

    Attributes:
        input: The decoded input, as the caller gave it.
        model: The snapshot.
        principal: On whose behalf; None for a contract without principals.
        transport: How the call came.
        invocation: The call.
    """

    input: I_co
    model: M_co
    principal: P_co
    transport: str
    invocation: Invocation


@attrs.frozen(eq=False, repr=False)
class Denied(Value):
    """An answer of `authorize`: no, and why. The reason is what the caller is told.

    Example:
        >>> Denied("Only the owner may archive a project").reason
        'Only the owner may archive a project'
    """

    reason: str


Answer: TypeAlias = bool | Denied | Result[bool | Denied, object]
"""What `authorize` may answer; a `Failure`'s own sentence is a reason, too."""
Authorized: TypeAlias = Answer | Awaitable[Answer]


@attrs.frozen(eq=False, repr=False)
class Settled(Value):
    """How an operation ended, for a capability that says what ends it.

    Attributes:
        status: Whether a success or a failure ended it.
        message: The message that did; None where a state did.
    """

    status: Literal["completed", "failed"]
    message: object = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Dispatched(Value, Generic[V_co]):
    """A message that the host has taken.

    Attributes:
        capability: The capability's name.
        tag: The message's tag.
        message: The message.
        invocation: The call.
        completion: How the operation ended; None where the contract does not say what ends it.
    """

    capability: str
    tag: str
    message: V_co
    invocation: Invocation
    completion: Settled | None = None


@attrs.frozen(eq=False, repr=False)
class Summary(Value):
    """A dispatch in one sentence.

    Attributes:
        ok: False only for an operation that ended with a failure message.
        text: The sentence.
    """

    ok: bool
    text: str


def summarize(dispatched: Dispatched[object]) -> Summary:
    """Say in one sentence what a dispatch came to.

    Example:
        >>> sent = Dispatched(capability="nothing", tag="Nothing", message=Nothing(), invocation=Invocation(id="i-1"))
        >>> summarize(sent)
        Summary(ok=True, text='Dispatched Nothing')
    """
    ended = dispatched.completion
    if ended is None:
        return Summary(True, f"Dispatched {dispatched.tag}")
    if ended.message is None:
        return Summary(True, f"Completed: {dispatched.tag} reached its declared state")
    by = type(ended.message).__name__
    return Summary(True, f"Completed: {by}") if ended.status == "completed" else Summary(False, f"Failed: {by}")
