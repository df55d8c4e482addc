"""Whether an attempt may go on: available, decode, authorize, all on one snapshot of the model (behaviour §2.3)."""

from __future__ import annotations

import inspect
from typing import Any, Final, cast

from returns.result import Failure, Result, Success

from lamina.audit import NOT_RESOLVED
from lamina.call import Invocation
from lamina.contract._errors import (
    AgentAuthorizationError,
    AgentCancelledError,
    AgentCapabilityUnavailableError,
    AgentInvalidInputError,
    Delivery,
    DispatchError,
)
from lamina.contract._ground import Ground, yes
from lamina.contract._values import At, Attempt, Denied
from lamina.contract._variant import Variant
from lamina.contract._waiting import Wait
from lamina.effect import message_of

LONGEST_REASON: Final = 2_048
"""Characters of what an `authorize` says: it goes to the caller."""


class Track:
    """How far an attempt got, for whoever records it.

    Attributes:
        delivery: How far its message got.
        principal: On whose behalf it is; `NOT_RESOLVED` until it is known.
        input: The input in JSON, for an audit that keeps inputs.
    """

    __slots__ = ("delivery", "input", "principal")

    def __init__(self, given: object) -> None:
        self.delivery: Delivery = "none"
        self.principal: object = NOT_RESOLVED
        self.input: object = given


async def admit(
    ground: Ground,
    name: str,
    variant: Variant,
    given: object,
    invocation: Invocation,
    track: Track,
    wait: Wait,
    *,
    decoded: bool,
) -> Result[tuple[Any, At[Any, Any]], DispatchError]:  # Any: a variant's types are erased once it is compiled
    """Take an attempt as far as its authorization.

    Returns:
        The input, and the moment that a message is made in; or why it may not go on.

    Raises:
        CutOff: The wait was cut off meanwhile.
        Exception: Whatever the application's own functions raised.
    """
    signal = invocation.signal
    if signal is not None and signal.aborted:
        return Failure(AgentCancelledError(name))
    model = ground.model()
    # 2. Available: before decoding, so that a refusal tells nothing of the schema or of what the caller may do.
    if variant.available is not None and not yes(variant.available(model), "available"):
        return Failure(AgentCapabilityUnavailableError(name, variant.tag))
    # 3. Decode. An instance is held to its class as strictly as JSON is.
    input_: Any = given
    if decoded:
        encoded = variant.input.encode(given)
        if isinstance(encoded, Failure):
            return Failure(AgentInvalidInputError(name, variant.tag, encoded.failure()))
        track.input = encoded.unwrap()
    else:
        read = variant.input.decode(given)
        if isinstance(read, Failure):
            return Failure(AgentInvalidInputError(name, variant.tag, read.failure()))
        input_ = read.unwrap()
    # 4. Authorize.
    principal = None
    if ground.principal is not None:
        found = ground.principal(invocation)
        principal = await wait.until(found) if inspect.isawaitable(found) else found
    track.principal = principal
    if variant.authorize is not None:
        attempt = Attempt(input_, model, principal, invocation.transport, invocation)
        answer = variant.authorize(attempt)
        refused = _refusal(name, variant, await wait.until(answer) if inspect.isawaitable(answer) else answer)
        if refused is not None:
            return Failure(refused)
    return Success((input_, At(model, principal, invocation)))


def _refusal(name: str, variant: Variant, answer: object) -> AgentAuthorizationError | None:
    reason: object = ""
    if isinstance(answer, Success):
        answer = cast("Success[object]", answer).unwrap()
    if isinstance(answer, Failure):
        answer = cast("Failure[object]", answer).failure()
        if isinstance(answer, AgentAuthorizationError):
            return AgentAuthorizationError(answer.capability, answer.tag, answer.reason[:LONGEST_REASON])
        reason = answer.reason if isinstance(answer, Denied) else message_of(answer)
    elif answer is True:
        return None
    elif isinstance(answer, Denied):
        reason = answer.reason
    elif answer is not False:
        raise TypeError(f'authorize of "{variant.name}" answered with neither a bool nor Denied')
    return AgentAuthorizationError(name, variant.tag, str(reason)[:LONGEST_REASON])
