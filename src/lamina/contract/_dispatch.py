"""One dispatch: five steps over one snapshot, in the task of whoever calls (seed 000, Dispatch; behaviour §2.3).

A contract's capability passes the stages of a tool call (design §4), with this driver of its own: one call, inline.
Every attempt is one audit entry and one operation, refusals included.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import Any, Final, cast

import anyio
from returns.result import Failure, Result, Success

from lamina.audit import NOT_RESOLVED, Audit, Decision, record_dispatch
from lamina.call import Caller, Invocation, NoCaller
from lamina.contract._approve import approve
from lamina.contract._errors import (
    AgentAuthorizationError,
    AgentCancelledError,
    AgentCapabilityUnavailableError,
    AgentCompletionTimeoutError,
    AgentDefect,
    AgentInvalidInputError,
    AgentUnknownCapabilityError,
    Delivery,
    DispatchError,
)
from lamina.contract._ground import Ground, yes
from lamina.contract._values import At, Attempt, Denied, Dispatched
from lamina.contract._variant import Variant
from lamina.contract._waiting import CutOff, Wait, ending_of
from lamina.effect import is_cancelled, log, message_of, tag_of
from lamina.schema import JsonValue
from lamina.telemetry import Watched, observing, operation

LONGEST_REASON: Final = 2_048
"""Characters of what an `authorize` says: it goes to the caller."""
_NOBODY: Final = NoCaller()
_OPERATION: Final = operation("Agent.dispatch", names=("capability", "transport", "invocation"))
_DECISIONS: Final[dict[Delivery, Decision]] = {"none": "refused", "attempted": "unknown", "sent": "dispatched"}


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


async def dispatch(
    ground: Ground,
    name: str,
    variant: Variant | None,
    given: object,
    invocation: Invocation,
    *,
    decoded: bool,
    asked: bool = False,
    caller: Caller = _NOBODY,
) -> Result[Dispatched[Any], DispatchError]:
    """Carry one attempt out.

    Args:
        ground: What it runs over.
        name: The capability as it was named.
        variant: What was found of that name.
        given: The input: JSON from outside, or an instance of the input's class.
        invocation: The call.
        decoded: Whether it is an instance already.
        asked: Whether it has been approved already.
        caller: Who can be asked for approval, where that is whoever calls.

    Raises:
        AgentDefect: A mistake of the application's showed.
    """
    if ground.telemetry is not None:
        with observing(ground.telemetry, secrets=ground.secrets, clock=ground.clock):
            return await _attempt(ground, name, variant, given, invocation, decoded=decoded, asked=asked, caller=caller)
    return await _attempt(ground, name, variant, given, invocation, decoded=decoded, asked=asked, caller=caller)


async def _attempt(
    ground: Ground,
    name: str,
    variant: Variant | None,
    given: object,
    invocation: Invocation,
    *,
    decoded: bool,
    asked: bool,
    caller: Caller,
) -> Result[Dispatched[Any], DispatchError]:
    audit = ground.audit
    track = Track(given)
    if audit is not None and audit.inputs and not decoded:
        track.input = _kept(ground, audit, given)
    outcome = "interrupted"
    try:
        with _begin(name, invocation) as watched:
            try:
                answered = await _steps(
                    ground, name, variant, given, invocation, track, decoded=decoded, asked=asked, caller=caller
                )
            except Exception as error:
                outcome = "AgentDefect"
                raise AgentDefect(name, track.delivery) from error
            except anyio.get_cancelled_exc_class() as error:
                if is_cancelled():
                    raise  # whoever cancels gets it
                outcome = "AgentDefect"  # something of the application's own was cancelled, and this call was not
                raise AgentDefect(name, track.delivery) from error
            outcome = _outcome_of(answered)
            watched.returned(answered)
            if outcome == "failed":
                watched.ended("failure", "AgentCompletionFailed")
            return answered
    finally:
        if audit is not None:
            kept = track.input if audit.inputs else None
            record_dispatch(
                audit,
                capability=name,
                tag=None if variant is None else variant.tag,
                decision=_DECISIONS[track.delivery],
                outcome=outcome,
                invocation=invocation.id,
                transport=invocation.transport,
                request=invocation.request,
                principal=track.principal,
                input=_kept(ground, audit, kept) if decoded and kept is not None else kept,
                clock=ground.clock,
            )


def _kept(ground: Ground, audit: Audit, given: object) -> object:
    """Copy an input for the audit; what cannot be copied is not kept, and changes nothing."""
    try:
        kept = audit.keep_input(given)
        return ground.secrets.redact(cast("JsonValue", kept)) if ground.secrets.active else kept
    except Exception as error:
        log().error("an input is not in the audit: it could not be kept", error=type(error).__name__)
        return None


def _begin(name: str, invocation: Invocation) -> Watched:
    attributes = {"capability": name, "transport": invocation.transport, "invocation": invocation.id}
    return _OPERATION.begin(resource=name, attributes=attributes)


def _outcome_of(answered: Result[Dispatched[Any], DispatchError]) -> str:
    if isinstance(answered, Failure):
        error = answered.failure()
        return "timeout" if isinstance(error, AgentCompletionTimeoutError) else tag_of(error)
    ended = answered.unwrap().completion
    return "dispatched" if ended is None else ended.status


async def _steps(
    ground: Ground,
    name: str,
    variant: Variant | None,
    given: object,
    invocation: Invocation,
    track: Track,
    *,
    decoded: bool,
    asked: bool,
    caller: Caller,
) -> Result[Dispatched[Any], DispatchError]:
    signal = invocation.signal
    # 1. Resolve. Neither an unknown capability nor an aborted call reads the model.
    if variant is None:
        return Failure(AgentUnknownCapabilityError(name))
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
    wait = Wait(signal)
    try:
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
        if variant.ask is not None and not asked:
            denied = await approve(ground, variant, input_, invocation, caller, wait)
            if denied is not None:
                return Failure(denied)
        if wait.why is not None:
            return Failure(AgentCancelledError(name))
        # 5. Construct and send.
        message = input_ if variant.to_message is None else _made(variant, input_, At(model, principal, invocation))
        return await _send(ground, name, variant, input_, message, invocation, track, wait)
    except CutOff:
        return Failure(_cut_off(name, variant, invocation, track, wait))
    finally:
        wait.close()


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


def _made(variant: Variant, given: object, at: At[Any, Any]) -> object:
    assert variant.to_message is not None, "asked for by the caller"
    assert variant.made is not None, "compiled with it"
    message = variant.to_message(given, at)
    if type(message) is not variant.message:
        raise TypeError(
            f'"{variant.name}" made a "{type(message).__name__}" Message, but is exposed as "{variant.tag}"'
        )
    fits = variant.made.encode(message)
    if isinstance(fits, Failure):
        raise TypeError(f'"{variant.name}" made a "{variant.tag}" Message that does not fit: {fits.failure()}')
    return message


async def _send(
    ground: Ground,
    name: str,
    variant: Variant,
    given: object,
    message: object,
    invocation: Invocation,
    track: Track,
    wait: Wait,
) -> Result[Dispatched[Any], DispatchError]:
    completion = variant.completion
    if completion is None:
        await _deliver(ground, message, track, wait)
        return Success(Dispatched(capability=variant.name, tag=variant.tag, message=message, invocation=invocation))
    ending = ending_of(ground, variant, completion, given, invocation)
    try:
        wait.set_deadline(ground, completion.timeout)
        await _deliver(ground, message, track, wait)
        ending.look()
        if not ending.is_over:
            if wait.why is not None:
                raise CutOff
            await wait.until(ending.wait())
        if ending.broke is not None:
            raise ending.broke
        return Success(
            Dispatched(
                capability=variant.name,
                tag=variant.tag,
                message=message,
                invocation=invocation,
                completion=ending.settled,
            )
        )
    except CutOff:
        # What came in the same turn as the cut, and was heard before it, has ended the operation all the same.
        if track.delivery == "sent" and ending.settled is not None:
            return Success(
                Dispatched(
                    capability=variant.name,
                    tag=variant.tag,
                    message=message,
                    invocation=invocation,
                    completion=ending.settled,
                )
            )
        raise
    finally:
        ending.close()


async def _deliver(ground: Ground, message: object, track: Track, wait: Wait) -> None:
    track.delivery = "attempted"
    answer = ground.dispatch(message)
    if answer is not None:
        if inspect.isawaitable(answer):
            answer = await wait.until(cast("Awaitable[object]", answer))
        if isinstance(answer, Failure):
            raise RuntimeError(f"the host failed: {tag_of(cast('Failure[object]', answer).failure())}")
    track.delivery = "sent"


def _cut_off(name: str, variant: Variant, invocation: Invocation, track: Track, wait: Wait) -> DispatchError:
    if wait.why == "timeout" and variant.completion is not None:
        return AgentCompletionTimeoutError(name, invocation.id, variant.completion.timeout, track.delivery)
    return AgentCancelledError(name, track.delivery)


def payload_of(dispatched: Dispatched[Any], variant: Variant) -> dict[str, JsonValue]:
    """Give what a surface's caller reads of a dispatch: capability, tag, and how it ended where that is known.

    Raises:
        TypeError: The message that ended it does not fit its own class.
    """
    told: dict[str, JsonValue] = {"capability": dispatched.capability, "tag": dispatched.tag}
    ended = dispatched.completion
    if ended is not None:
        completion: dict[str, JsonValue] = {"status": ended.status}
        if ended.message is not None:
            kind = type(ended.message)
            encoded = variant.completing[kind].encode(ended.message)
            if isinstance(encoded, Failure):
                raise TypeError(f'the "{kind.__name__}" Message does not fit its class: {encoded.failure()}')
            completion["message"] = {"_tag": kind.__name__, **cast("dict[str, JsonValue]", encoded.unwrap())}
        told["completion"] = completion
    return told
