"""Asking the model once: the request, the reduction of its answer, and retries of what passes by itself (MODEL-006)."""

from __future__ import annotations

from returns.result import Failure

from lamina.engine._events import ModelStarted
from lamina.engine._events import ReasoningDelta as ReasoningWritten
from lamina.engine._events import TextDelta as TextWritten
from lamina.engine._observe import model_ended
from lamina.engine._redact import Answer, Deltas, clean_answer
from lamina.engine._run import Run
from lamina.engine._status import status_line
from lamina.model import (
    Message,
    ModelRequest,
    Reasoning,
    ReasoningDelta,
    ReasoningEnd,
    Reducer,
    ResponsePart,
    StreamPart,
    UserMessage,
    reduce,
)
from lamina.telemetry import UNOBSERVED, Watched, is_observed, observe_model

_FIRST_PAUSE = 0.5


class _Broken(BaseException):
    """Ends a stream whose parts break the protocol; adapters let it pass, as they must for whatever `emit` raises."""


async def ask_model(run: Run, instructions: Message, *, tools: bool) -> Answer:
    """Send the next request; a passing failure before the first part is retried as the policy allows.

    Args:
        run: The run.
        instructions: The agent's own, for this run.
        tools: Whether the model may call tools.
    """
    turn, secrets = run.state.turn + 1, run.prepared.secrets
    request = _request(run, instructions, tools=tools)
    if is_observed():
        model = run.prepared.model
        with observe_model(turn, streamed=run.emit is not None, provider=model.provider, model=model.model) as watched:
            answer = await _ask(run, request, turn, watched)
            model_ended(watched, answer)
    else:
        answer = await _ask(run, request, turn, UNOBSERVED)
    return clean_answer(secrets, answer) if secrets.active else answer


async def _ask(run: Run, request: ModelRequest, turn: int, watched: Watched) -> Answer:
    prepared = run.prepared
    retries = 0
    while True:
        if run.emit is None:
            answered = await prepared.model.generate(request)
            if not isinstance(answered, Failure):
                return reduce(answered.unwrap())
            error, untouched = answered.failure(), True
        else:
            run.emit(ModelStarted, turn=turn, attempt=retries + 1)
            stream = _Stream(run, turn)
            try:
                streamed = await prepared.model.stream(request, stream.take)
            except _Broken:
                return stream.reducer.finish()
            except BaseExceptionGroup as group:  # the adapter emits from a task group of its own
                others = group.split(_Broken)[1]
                if not stream.broken or not (others is None or isinstance(others, Exception)):
                    raise
                return stream.reducer.finish()
            if stream.broken or not isinstance(streamed, Failure):
                return stream.reducer.finish()
            error, untouched = streamed.failure(), not stream.touched
        pause = error.retry_after if error.retry_after is not None else _FIRST_PAUSE * 2**retries
        left = prepared.policy.max_duration - run.elapsed()
        if not (error.retryable and untouched and retries < prepared.policy.model_retries and pause < left):
            return Failure(error)
        retries += 1
        watched.retried()
        await prepared.clock.sleep(pause)


class _Stream:
    """Takes the parts of one streamed response: reduces them, and tells the observers what is being written."""

    __slots__ = ("_deltas", "_run", "_turn", "broken", "reducer", "touched")

    def __init__(self, run: Run, turn: int) -> None:
        self._run = run
        self._turn = turn
        self._deltas = Deltas(run.prepared.secrets)
        self.reducer = Reducer()
        self.touched = False
        self.broken = False

    def take(self, part: StreamPart | ResponsePart) -> None:
        self.touched = True
        if self.reducer.feed(part) is not None:
            self.broken = True
            raise _Broken
        emit = self._run.emit
        if emit is None:
            return
        text = self._deltas.of(part)
        if text is not None:
            thought = isinstance(part, ReasoningDelta | ReasoningEnd | Reasoning)
            emit(ReasoningWritten if thought else TextWritten, turn=self._turn, text=text)


def _request(run: Run, instructions: Message, *, tools: bool) -> ModelRequest:
    prepared, said = run.prepared, run.transcript.messages
    shown = prepared.constants.without(prepared.secrets) if prepared.secrets.active else prepared.constants.written
    contract, after = shown.contract, run.transcript.after_system
    status = (UserMessage.of(status_line(run)),) if prepared.policy.run_status == "appended" else ()
    # With no tools allowed they are still shown: the history holds calls of theirs.
    return ModelRequest(
        # The contract follows the last system message: some providers keep only the last block of them (RUN-028).
        messages=(
            (instructions, *said[:after], *contract, *said[after:], *status)
            if after
            else (instructions, *contract, *said, *status)
        ),
        tools=shown.tools,
        tool_choice="auto" if tools or not shown.tools else "none",
        output=shown.output,
    )
