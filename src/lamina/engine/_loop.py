"""The one interpreter: it carries out what the turn machine decides (RUN-001)."""

from __future__ import annotations

from typing import Any

from returns.result import Failure, Result, Success

from lamina.engine._ask import ask_model
from lamina.engine._batch import refuse_batch, run_batch
from lamina.engine._declare import readable, tell_of_provider
from lamina.engine._events import BudgetWarning, OutputRejected, RunCompleted, RunStarted, TurnCompleted, TurnStarted
from lamina.engine._failures import AgentInputError, Completed, RunCause
from lamina.engine._machine import AskModel, Fail, Finish, Repair, RunBatch, again, begin, responded, settled, warnings
from lamina.engine._output import decode_answer, repair_message
from lamina.engine._run import Run
from lamina.model import AssistantMessage, ModelResponse, SystemMessage, UserMessage


async def interpret(run: Run, given: object) -> Result[Completed[Any], RunCause]:
    """Run to the end, from the input on; cancellation passes through.

    Args:
        run: A fresh run.
        given: The agent's input, not yet encoded.
    """
    agent, policy = run.prepared.agent, run.prepared.policy
    encoded = agent.input.encode(given)
    if isinstance(encoded, Failure):
        return Failure(AgentInputError(encoded.failure().problems))
    text = encoded.unwrap() if agent.plain_input else agent.input.encode_json(given).unwrap().decode()
    instructions = agent.instructions if isinstance(agent.instructions, str) else agent.instructions(given)
    if not isinstance(instructions, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a function may err
        raise TypeError("the agent's instructions gave something else than a text")
    system = SystemMessage(instructions)
    run.transcript.say(UserMessage.of(str(text)))
    emit = run.emit
    if emit is not None:
        emit(RunStarted)
    run.state, decision = begin(run.state)
    response: ModelResponse | None = None
    while True:
        if emit is not None:
            _warn(run)
        match decision:
            case AskModel(tools):
                if run.interruption.asked():
                    await run.interruption.renew()
                if emit is not None:
                    emit(TurnStarted, turn=run.state.turn + 1)
                asked = await ask_model(run, system, tools=tools)
                if isinstance(asked, Failure):
                    return Failure(asked.failure())
                response = asked.unwrap()
                answer = None if response.calls else decode_answer(agent, response.text)
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
                run.transcript.say(repair_message(problems))
                if emit is not None:
                    emit(OutputRejected, turn=run.state.turn, problems=problems)
                run.state, decision = again(run.state, policy)
            case Finish(output):
                assert response is not None
                run.transcript.say(response.message)
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
        output = text if agent.plain_output else readable(text)
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
