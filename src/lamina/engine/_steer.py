"""Where commands come into a run: before a request, and where the run would stop (RUN-014, RUN-015).

A command is read, becomes part of the transcript and of the log, and only then is noted as delivered. What ends the run
in between finds it in the log, so that it is never delivered twice; what ends the run before gives it back.
"""

from __future__ import annotations

from returns.result import Failure, Result, Success

from lamina.conversation import InputRecorded
from lamina.effect import log
from lamina.engine import _record as record
from lamina.engine._events import SteeringAdmitted, SteeringDelivered
from lamina.engine._failures import RunCause, SteeringFailed
from lamina.engine._machine import has_turn
from lamina.engine._run import Run
from lamina.engine._seam import Seam, input_of
from lamina.model import UserMessage
from lamina.steering import (
    CommandKind,
    Receipt,
    SteeringClosed,
    SteeringError,
    check_command,
)


async def open_seam(run: Run, seam: Seam) -> SteeringFailed | None:
    """Take commands from now on."""
    seam.state = "open"  # also where this is cut off: whether it was opened is then not known
    opened = await seam.service.open(run.id, conversation=run.conversation, principal=run.author)
    if isinstance(opened, Failure):
        seam.state = "closed"
        return SteeringFailed(opened.failure())
    seam.ready.set()
    if seam.early:  # what was said before the run began is in its first request
        await seam.heard.wait()
    return None


async def submit(
    run: Run, kind: CommandKind, text: str, author: str | None, given: str | None
) -> Result[Receipt, SteeringError]:
    """Say something to a run, from its own process; one that begins is waited for."""
    seam = run.seam
    if seam is None:
        return Failure(SteeringClosed(run.id, "takes none"))
    command = run.prepared.ids.new("command") if given is None else given
    if (refused := check_command(command, text, author, secrets=run.prepared.secrets)) is not None:
        return Failure(refused)
    if seam.ready.is_set():
        return await _submit(run, seam, kind, text, author, command)
    seam.early += 1
    seam.heard.clear()
    try:
        await seam.ready.wait()
        return await _submit(run, seam, kind, text, author, command)
    finally:
        seam.early -= 1
        if not seam.early:
            seam.heard.set()


async def _submit(
    run: Run, seam: Seam, kind: CommandKind, text: str, author: str | None, command: str
) -> Result[Receipt, SteeringError]:
    if run.ended is not None:
        return Failure(SteeringClosed(run.id, "ended"))
    author = run.author if author is None else author
    text = run.prepared.secrets.redact_text(text)
    answer = await seam.service.submit(run.id, text, id=command, kind=kind, author=author, principal=run.author)
    record.admission(run, kind, answer)
    if not isinstance(answer, Failure) and run.ended is None and answer.unwrap().run == run.id:
        _announce(run, seam, command, kind, author, text)
    return answer


async def before_request(run: Run, seam: Seam) -> RunCause | None:
    """Bring in what was said since the last request; gives what ends the run."""
    if seam.is_fed:
        seam.is_fed = False
        return None
    brought = await _bring_in(run, seam, "steering")
    return brought.failure() if isinstance(brought, Failure) else None


async def goes_on(run: Run, seam: Seam) -> Result[bool, RunCause]:
    """Where the run would stop with its answer: stop, if nobody said any more, or bring that in.

    Steering comes before follow-ups. Where no turn is left the queue stays as it is, for the end of the run to settle.
    """
    for _ in range(2):
        closed = await seam.service.close(run.id)
        if isinstance(closed, Failure):
            return Failure(SteeringFailed(closed.failure()))
        if closed.unwrap():
            seam.state = "closed"
            return Success(False)
        if not has_turn(run.state, run.prepared.policy):
            return Success(False)
        kinds: tuple[CommandKind, ...] = ("steering", "follow-up")
        for kind in kinds:
            brought = await _bring_in(run, seam, kind)
            if isinstance(brought, Failure):
                return Failure(brought.failure())
            if brought.unwrap():
                seam.is_fed = True
                return Success(True)
    raise RuntimeError("a queue is neither empty nor gives what is in it")


async def _bring_in(run: Run, seam: Seam, kind: CommandKind) -> Result[bool, RunCause]:
    most = seam.service.limit if run.prepared.policy.steering_drain == "all" else 1
    read = await seam.service.waiting(run.id, kind, most)
    if isinstance(read, Failure):
        return Failure(SteeringFailed(read.failure()))
    commands = read.unwrap()
    if not commands:
        return Success(False)
    texts = [run.prepared.secrets.redact_text(command.text) for command in commands]  # it may come from elsewhere
    for command, text in zip(commands, texts, strict=True):
        _announce(run, seam, command.id, command.kind, command.author, text)
        run.transcript.say(UserMessage.of(text))
        run.later(InputRecorded(run.id, input_of(command), command.kind, command.author, text))
        seam.taken.append(command)
    if not await run.commit():
        assert run.journal_failure is not None
        return Failure(run.journal_failure)
    noted = await seam.service.delivered(run.id, commands)
    if isinstance(noted, Failure):
        return Failure(SteeringFailed(noted.failure()))
    seam.taken.clear()
    seam.logged.clear()
    if run.emit is not None:
        for command, text in zip(commands, texts, strict=True):
            run.emit(
                SteeringDelivered,
                turn=run.state.turn + 1,
                command=command.id,
                kind=command.kind,
                author=command.author,
                text=text,
            )
    return Success(True)


async def pause_seam(run: Run, seam: Seam) -> None:
    """Take no more while the run is suspended; what waits is kept for it."""
    paused = await seam.service.pause(run.id)
    if isinstance(paused, Failure):
        log().error("the commands of a suspended run were not kept", run=run.id, why=str(paused.failure()))
        return
    seam.undelivered = run.prepared.secrets.redact_in(paused.unwrap())


async def end_seam(run: Run, seam: Seam) -> None:
    """Take no more, and settle what waits: it will not be delivered, and the run's report says so."""
    # What the log did not take is in nobody's history but this run's own, and so was not delivered.
    logged = [command for command in seam.taken if run.journal is None or input_of(command) in seam.logged]
    ended = await seam.service.end(run.id, logged)
    if isinstance(ended, Failure):
        seam.failure = ended.failure()
        log().error("the commands of a run were not settled", run=run.id, why=str(seam.failure))
        return
    seam.state = "closed"
    seam.undelivered = run.prepared.secrets.redact_in(ended.unwrap())
    for command in seam.undelivered:
        _announce(run, seam, command.id, command.kind, command.author, command.text)


def _announce(run: Run, seam: Seam, command: str, kind: CommandKind, author: str | None, text: str) -> None:
    """Tell the observers of an admission, once, and before anything that comes of it."""
    if run.emit is not None and command not in seam.announced:
        seam.announced.add(command)
        run.emit(SteeringAdmitted, command=command, kind=kind, author=author, text=text)
