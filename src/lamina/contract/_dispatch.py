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

from lamina.audit import Audit, Decision, record_dispatch
from lamina.call import Caller, Invocation, NoCaller
from lamina.contract._admit import Track, admit
from lamina.contract._approve import approve
from lamina.contract._errors import (
    AgentCancelledError,
    AgentCompletionTimeoutError,
    AgentDefect,
    AgentUnknownCapabilityError,
    Delivery,
    DispatchError,
)
from lamina.contract._ground import Ground
from lamina.contract._values import At, Dispatched
from lamina.contract._variant import Variant
from lamina.contract._waiting import CutOff, Wait, ending_of
from lamina.effect import is_cancelled, log, tag_of
from lamina.schema import JsonValue
from lamina.telemetry import Watched, observing, operation

_NOBODY: Final = NoCaller()
_OPERATION: Final = operation("Agent.dispatch", names=("capability", "transport", "invocation"))
_DECISIONS: Final[dict[Delivery, Decision]] = {"none": "refused", "attempted": "unknown", "sent": "dispatched"}


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


async def check(ground: Ground, variant: Variant, given: object, invocation: Invocation) -> DispatchError | None:
    """Say whether an attempt would be refused, before anybody is asked for approval: steps 1 to 4, on one snapshot.

    A refusal is an attempt like any other, in audit and telemetry; what may pass is none yet.

    Args:
        ground: What it runs over.
        variant: What is attempted.
        given: An instance of the input's class.
        invocation: The attempt.

    Raises:
        AgentDefect: A mistake of the application's showed.
    """
    track, wait = Track(given), Wait(None)
    refused: DispatchError | None = None
    outcome: str | None = "interrupted"
    try:
        try:
            admitted = await admit(ground, variant.name, variant, given, invocation, track, wait, decoded=True)
        except Exception as error:
            outcome = "AgentDefect"
            raise AgentDefect(variant.name) from error
        except anyio.get_cancelled_exc_class() as error:
            if is_cancelled():
                raise
            outcome = "AgentDefect"
            raise AgentDefect(variant.name) from error
        if isinstance(admitted, Failure):
            refused = admitted.failure()
        outcome = None if refused is None else tag_of(refused)
        return refused
    finally:
        if outcome is not None:
            with _begin(variant.name, invocation) as watched:
                if refused is not None:
                    watched.returned(Failure(refused))
                elif outcome == "AgentDefect":
                    watched.ended("defect", outcome)
                else:
                    watched.ended(None)
            _record(ground, variant.name, variant, invocation, track, outcome, decoded=True)


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
        _record(ground, name, variant, invocation, track, outcome, decoded=decoded)


def _record(
    ground: Ground,
    name: str,
    variant: Variant | None,
    invocation: Invocation,
    track: Track,
    outcome: str,
    *,
    decoded: bool,
) -> None:
    """Keep an entry of an attempt, where there is an audit."""
    audit = ground.audit
    if audit is None:
        return
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
    # 1. Resolve. Neither an unknown capability nor an aborted call reads the model.
    if variant is None:
        return Failure(AgentUnknownCapabilityError(name))
    wait = Wait(invocation.signal)
    try:
        admitted = await admit(ground, name, variant, given, invocation, track, wait, decoded=decoded)
        if isinstance(admitted, Failure):
            return Failure(admitted.failure())
        input_, at = admitted.unwrap()
        if variant.ask is not None and not asked:
            denied = await approve(ground, variant, input_, invocation, caller, wait)
            if denied is not None:
                return Failure(denied)
        if wait.why is not None:
            return Failure(AgentCancelledError(name))
        # 5. Construct and send.
        message = input_ if variant.to_message is None else _made(variant, input_, at)
        return await _send(ground, name, variant, input_, message, invocation, track, wait)
    except CutOff:
        return Failure(_cut_off(name, variant, invocation, track, wait))
    finally:
        wait.close()


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
