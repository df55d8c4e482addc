"""Suspended runs: what is kept of one, and how it goes on without asking the model again (design §8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import attrs
from returns.result import Failure, Result

from lamina.call import ToolRejected
from lamina.conversation import Resumed, Transcript
from lamina.engine._approve import act_on, honour
from lamina.engine._batch import conclude
from lamina.engine._check import check
from lamina.engine._deadline import Expired
from lamina.engine._declare import open_batch
from lamina.engine._digest import digest_of
from lamina.engine._events import RunStarted
from lamina.engine._failures import ApprovalDenied, Completed, RunCause
from lamina.engine._loop import drive, instructions_for
from lamina.engine._machine import State, settled
from lamina.engine._record import unasked
from lamina.engine._redact import clean_history, clean_response
from lamina.engine._ruling import Decisions, Ruling, rulings
from lamina.engine._run import Call, Run
from lamina.engine._steer import open_seam
from lamina.model import ModelResponse, Usage
from lamina.schema import JsonValue, codec


@attrs.frozen(kw_only=True)
class Kept:
    """What a suspension keeps of a run: its counters, the seconds it took so far, and its input.

    Time that a run is suspended does not count: waiting for a person has no limit that nobody set.
    """

    state: State
    elapsed: float
    input: JsonValue


_KEPT = codec(Kept)


def suspended_state(run: Run) -> JsonValue:
    """Give what goes into the record of a suspension."""
    kept = _KEPT.encode(Kept(state=run.state, elapsed=run.elapsed(), input=run.input))
    return kept.unwrap()


def restore(run: Run, resumed: Resumed) -> object:
    """Make a fresh run the suspended one again, and give its input.

    Raises:
        ValueError: The record is of another agent, or of another version of this one.
    """
    agent = run.prepared.agent.id
    if resumed.agent not in (None, agent):
        raise ValueError(f"the run is not one of the agent {agent}")
    kept = _KEPT.decode(resumed.state)
    if isinstance(kept, Failure):
        raise ValueError("the suspension's record cannot be read")
    found = kept.unwrap()
    given = run.prepared.agent.input.decode(found.input)
    if isinstance(given, Failure):
        raise ValueError("the input does not fit the agent any more")
    run.state = found.state
    run.began = run.prepared.clock.monotonic() - found.elapsed
    run.interruption.move(run.prepared.clock, run.began + run.prepared.policy.max_duration)
    run.input = found.input
    run.suspensions = resumed.nth
    run.blanket = dict(resumed.blanket)
    run.transcript = Transcript(clean_history(run.prepared.secrets, resumed.claim.history))
    run.journal = resumed.claim.log
    _declared(run, resumed)
    return cast("object", given.unwrap())


def _declared(run: Run, resumed: Resumed) -> ModelResponse:
    """Give the response whose batch waits, without what became known as a secret since."""
    message = resumed.response
    if message is None:
        raise ValueError("the suspension has no open batch")
    return clean_response(
        run.prepared.secrets, ModelResponse(message, message.calls, message.text, "tool-calls", Usage(0, 0))
    )


def reopen(run: Run, resumed: Resumed) -> ModelResponse:
    """Make the batch that waits the open one of a run that was taken up: from here on every end of it settles it.

    Returns:
        The response, as it was declared.
    """
    response = _declared(run, resumed)
    if run.emit is not None:
        run.emit(RunStarted)
    open_batch(run, response)
    for call in run.batch:
        if (outcome := resumed.outcomes.get(call.key.call)) is not None:
            call.outcome, call.settled = run.prepared.secrets.redact_in(outcome), True
    return response


async def interpret_resumed(
    run: Run,
    resumed: Resumed,
    response: ModelResponse,
    given: object,
    decisions: Decisions,
    shown: Mapping[str, str],
) -> Result[Completed[Any], RunCause]:
    """Go on with a run's open batch, and then as any run does.

    Stages 2 to 5 run again, on what is true now. A decision is bound to its call and to the arguments that were shown.

    Args:
        run: The run, restored, and its batch open again.
        resumed: What was suspended.
        response: The response whose batch that is.
        given: Its input.
        decisions: What was decided of the calls of which the log has no decision.
        shown: By call id, the digest of the arguments that somebody saw who made those.
    """
    system = instructions_for(run, given)
    if run.seam is not None and (failed := await open_seam(run, run.seam)) is not None:
        return Failure(failed)
    ended_by: ApprovalDenied | None = None
    ruled = rulings(resumed, decisions, shown, run.prepared.clock.now())
    for call in run.batch:
        denied = await _again(run, call, resumed, ruled.get(call.key.call))
        ended_by = ended_by or denied
    outcomes, ending = await conclude(run, run.batch, ended_by)
    run.state, decision = settled(run.state, run.prepared.policy, outcomes, ending)
    return await drive(run, system, decision, response)


async def _again(run: Run, call: Call, resumed: Resumed, ruling: Ruling | None) -> ApprovalDenied | None:
    identity = call.key.call
    if call.settled:
        return None
    await check(run, call)
    asked = resumed.requests.get(identity)
    if call.outcome is not None or call.tool is None or call.tool.tool.ask is None:
        return None
    if asked is None:
        if _asks(call):
            call.outcome = ToolRejected("denied", "The call was never shown to anybody.")
            unasked(run, call, "never-asked")
        return None
    request = asked.request
    # The clock may have been set back since it was looked whether everything is decided.
    ruling = ruling or Ruling(decision=Expired(), arguments_digest=request.arguments_digest)
    if not digest_of(call.arguments) == request.arguments_digest == ruling.arguments_digest:
        call.outcome = ToolRejected("denied", "The arguments are not those that were decided on.")
        unasked(run, call, "other-arguments")
        return None
    call.rulings = resumed.recorded.get(identity, 0)
    if ruling.recorded is not None:
        return act_on(run, call, request, ruling.recorded)
    assert ruling.decision is not None, "a ruling is recorded, or there is something to record"
    return await honour(run, call, request, ruling.decision, under=ruling.under)


def _asks(call: Call) -> bool:
    assert call.tool is not None
    ask = call.tool.tool.ask
    return ask is not None and (ask.when is None or bool(ask.when(call.input)))
