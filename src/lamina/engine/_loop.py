"""The one interpreter: it carries out what the turn machine decides (RUN-001)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from returns.result import Failure, Result, Success

from lamina.conversation import InputRecorded, Record, ResponseDeclared, RunBegan
from lamina.engine._ask import ask_model
from lamina.engine._batch import refuse_batch, run_batch
from lamina.engine._declare import readable, tell_of_provider
from lamina.engine._events import BudgetWarning, OutputRejected, RunCompleted, RunStarted, TurnCompleted, TurnStarted
from lamina.engine._failures import AgentInputError, Completed, RunCause
from lamina.engine._machine import (
    AskModel,
    Decision,
    Fail,
    Finish,
    Repair,
    RunBatch,
    again,
    begin,
    responded,
    settled,
    warnings,
)
from lamina.engine._output import decode_answer, repair_message
from lamina.engine._redact import clean_input
from lamina.engine._run import Run
from lamina.engine._steer import before_request, goes_on, open_seam
from lamina.model import AssistantMessage, ModelResponse, SystemMessage, UserMessage

Enter: TypeAlias = Callable[[tuple[Record, ...]], Awaitable[RunCause | None]]
"""Commits a run's first records, and takes its conversation with them; gives what keeps the run from beginning."""


async def interpret(run: Run, given: object, enter: Enter | None = None) -> Result[Completed[Any], RunCause]:
    """Run to the end, from the input on; cancellation passes through.

    Args:
        run: A fresh run.
        given: The agent's input, not yet encoded.
        enter: Commits the opening; None where nothing keeps records.
    """
    agent, secrets = run.prepared.agent, run.prepared.secrets
    encoded = agent.input.encode(given)
    if isinstance(encoded, Failure):
        return Failure(AgentInputError(encoded.failure().problems))
    run.input = secrets.redact(encoded.unwrap())
    text = str(run.input) if agent.plain_input else agent.input.encode_json(given).unwrap().decode()
    text = clean_input(secrets, text)
    system = instructions_for(run, given)
    if enter is not None:
        opening = (RunBegan(run.id, agent.id), InputRecorded(run.id, f"{run.id}:0", "user", run.author, text))
        if (refused := await enter(opening)) is not None:
            return Failure(refused)
    run.transcript.say(UserMessage.of(text))
    if run.seam is not None and (failed := await open_seam(run, run.seam)) is not None:
        return Failure(failed)
    if run.emit is not None:
        run.emit(RunStarted)
    run.state, decision = begin(run.state)
    return await drive(run, system, decision, None)


def instructions_for(run: Run, given: object) -> SystemMessage:
    """Evaluate the agent's instructions, once a run."""
    agent = run.prepared.agent
    instructions = agent.instructions if isinstance(agent.instructions, str) else agent.instructions(given)
    if not isinstance(instructions, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a function may err
        raise TypeError("the agent's instructions gave something else than a text")
    return SystemMessage(run.prepared.secrets.redact_text(instructions))


async def drive(
    run: Run, system: SystemMessage, decision: Decision, response: ModelResponse | None
) -> Result[Completed[Any], RunCause]:
    """Carry out decisions until the run ends.

    Args:
        run: The run, as of the decision.
        system: The instructions.
        decision: What is to be done next.
        response: What it is about; None before the first response.
    """
    agent, policy, emit = run.prepared.agent, run.prepared.policy, run.emit
    while True:
        if emit is not None:
            _warn(run)
        match decision:
            case AskModel(tools):
                if run.interruption.asked():
                    await run.interruption.renew()
                if run.seam is not None and (unfed := await before_request(run, run.seam)) is not None:
                    return Failure(unfed)
                if emit is not None:
                    emit(TurnStarted, turn=run.state.turn + 1)
                asked = await ask_model(run, system, tools=tools)
                if isinstance(asked, Failure):
                    return Failure(asked.failure())
                response = asked.unwrap()
                answer = None if response.calls else decode_answer(agent, response.text, run.prepared.secrets)
                run.state, decision = responded(run.state, policy, response, answer)
                if emit is not None and not isinstance(decision, Fail):
                    tell_of_provider(run, response)
                if emit is not None and not isinstance(decision, RunBatch):
                    _complete_turn(run, response)
            case RunBatch():
                assert response is not None
                outcomes, ended_by = await run_batch(run, response)
                if emit is not None:
                    _complete_turn(run, response)
                run.state, decision = settled(run.state, policy, outcomes, ended_by)
            case Repair(problems):
                assert response is not None
                run.transcript.say(response.message)
                run.transcript.say(repair := repair_message(problems))
                if run.journal is not None:
                    answered = ResponseDeclared(run.id, run.state.turn, response.message, response.usage)
                    asked_for = f"{run.id}:{run.state.turn}"
                    run.later(answered, InputRecorded(run.id, asked_for, "directive", None, repair.text))
                if emit is not None:
                    emit(OutputRejected, turn=run.state.turn, problems=problems)
                run.state, decision = again(run.state, policy)
            case Finish(output):
                assert response is not None
                run.transcript.say(response.message)
                if run.journal is not None:
                    run.later(ResponseDeclared(run.id, run.state.turn, response.message, response.usage))
                if run.seam is not None:
                    more = await goes_on(run, run.seam)
                    if isinstance(more, Failure):
                        return Failure(more.failure())
                    if more.unwrap():
                        run.state, decision = again(run.state, policy)
                        continue
                return Success(Completed(output, run.report(), run.state.exhausted))
            case Fail(cause):
                return Failure(cause)
            case _:  # RefuseBatch
                assert response is not None
                refuse_batch(run, response)
                run.state, decision = again(run.state, policy)


def completion_event(run: Run, completed: Completed[Any]) -> None:
    """Tell the observers of the answer."""
    if run.emit is not None:
        agent = run.prepared.agent
        answer = run.transcript.messages[-1]
        text = answer.text if isinstance(answer, AssistantMessage) else ""
        output = text if agent.plain_output else run.prepared.secrets.redact(readable(text))
        run.emit(
            RunCompleted,
            output=output,
            turns=run.state.turn,
            finish_reason=completed.finish_reason,
            exhausted=completed.exhausted,
        )


def _complete_turn(run: Run, response: ModelResponse) -> None:
    assert run.emit is not None
    usage = response.usage
    run.emit(
        TurnCompleted,
        turn=run.state.turn,
        finish_reason=response.finish,
        input_tokens=usage.input_tokens if usage else 0,
        output_tokens=usage.output_tokens if usage else 0,
    )


def _warn(run: Run) -> None:
    assert run.emit is not None
    run.state, due = warnings(run.state, run.prepared.policy, run.elapsed())
    for limit, consumed, limit_value in due:
        run.emit(BudgetWarning, turn=run.state.turn or None, limit=limit, consumed=consumed, limit_value=limit_value)
