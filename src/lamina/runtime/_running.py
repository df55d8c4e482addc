"""A run from its making to its end: where it is to be, who listens, and what goes on with a suspended one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from returns.result import Failure, Result

from lamina.agent import Binding
from lamina.conversation import History, Record
from lamina.effect import ConstructionError, Problem, caller_where
from lamina.engine import (
    Completed,
    Decisions,
    Emitter,
    EventLog,
    Given,
    Run,
    RunCause,
    RunFailure,
    RunHandle,
    RunSuspended,
    Sink,
    clean_history,
    interpret,
    interpret_resumed,
    run_to_end,
)
from lamina.runtime._conversing import enter_conversation
from lamina.runtime._keeper import Keeper
from lamina.runtime._place import Busy, Place, check_busy
from lamina.runtime._taking_up import take_up

if TYPE_CHECKING:
    from lamina.runtime._core import Core


async def new_run(
    core: Core,
    given: Given,
    binding: Binding[Any, Any, Any],
    *,
    history: History | None = None,
    conversation: str | None = None,
    principal: str | None = None,
    busy: Busy = "reject",
    sink: Sink | None = None,
    run: str | None = None,
) -> tuple[Run, Place | None]:
    """Make a run, and its place where it is to be in a conversation; nothing has been written yet.

    Args:
        core: The runtime's.
        given: The values of its seeds.
        binding: The agent with its model.
        history: As in `Runtime.run`.
        conversation: As there.
        principal: As there.
        busy: As there.
        sink: Where events go; None where nobody listens.
        run: The id of a run that goes on; None for a new one.

    Raises:
        ConstructionError: It asks for what the runtime does not have, or for what does not go together.
    """
    prepared = core.agents.get(binding) or await core.agent(binding)
    await prepared.admit(None, ())
    place: Place | None = None
    if conversation is not None:
        check_busy(busy)
        if prepared.conversations is None:
            lines = (f'agent "{binding.agent.id}" (conversation=)  {caller_where()}',)
            write = '| stored_conversations() | sqlite_store("lamina.db")'
            raise ConstructionError([Problem("MISSING", "Conversations", lines, write)])
        if history is not None:
            lines = (f"a conversation has its own history  {caller_where()}",)
            raise ConstructionError([Problem("HISTORY", str(conversation)[:80], lines, "leave history= out")])
        if busy == "steer" and prepared.steering is None:
            lines = (f'agent "{binding.agent.id}" (busy="steer")  {caller_where()}',)
            write = '| memory_steering(), or | stored_steering() | sqlite_store("lamina.db")'
            raise ConstructionError([Problem("MISSING", "Steering", lines, write)])
        place = Place(
            conversations=prepared.conversations,
            conversation=conversation,
            principal=principal,
            busy=busy,
            said=core.said,
        ).without(prepared.secrets)
        conversation = place.conversation
    elif prepared.defers:
        lines = (f'agent "{binding.agent.id}" has decisions that may come later  {caller_where()}',)
        raise ConstructionError([Problem("MISSING", "conversation=", lines, 'rt.run(..., conversation="...")')])
    run_id = run or prepared.ids.new("run")
    emit = None if sink is None else Emitter(sink, run_id, conversation, binding.agent.id, prepared.clock)
    said = None if history is None else clean_history(prepared.secrets, history)
    made = Run(run_id, prepared, given, said, emit)
    made.author = principal if principal is None else prepared.secrets.redact_text(principal)
    if place is not None:
        made.journal = None  # until it has its conversation, whose log is its journal
    return made, place


async def to_end(core: Core, run: Run, place: Place | None, command: object) -> Result[Completed[Any], RunFailure]:
    """Carry a run to its end, in its place where it has one."""
    if place is None:
        enter = None if run.journal is None else run.open
        core.active.add(run)
        try:
            return await run_to_end(run, lambda: interpret(run, command, enter), core.settle)
        finally:
            core.active.remove(run)
    keeper = Keeper(run, run.prepared.clock)

    async def move_in(opening: tuple[Record, ...]) -> RunCause | None:
        refused = await enter_conversation(run, place, opening, core.lanes, core.see_through)
        if refused is None:
            keeper.begin()
        return refused

    core.active.add(run)
    try:
        return await run_to_end(run, lambda: interpret(run, command, move_in), core.settle, place.conversation)
    finally:
        try:
            await keeper.end()
        finally:
            core.lanes.left(run)
            core.active.remove(run)


def start_run(
    core: Core,
    given: Given,
    binding: Binding[Any, Any, Any],
    command: object,
    *,
    history: History | None = None,
    conversation: str | None = None,
    principal: str | None = None,
    busy: Busy = "reject",
) -> RunHandle[Any]:
    """Give the handle of a run that begins when it is entered; see `Runtime.start`."""
    places: list[Place | None] = []

    async def prepare_run(log: EventLog) -> Run:
        run, place = await new_run(
            core,
            given,
            binding,
            history=history,
            conversation=conversation,
            principal=principal,
            busy=busy,
            sink=log.append,
        )
        places.append(place)
        return run

    async def work(run: Run) -> Result[Completed[Any], RunFailure]:
        return await to_end(core, run, places[0], command)

    return RunHandle(prepare_run, work)


async def suspended_run(
    core: Core,
    given: Given,
    binding: Binding[Any, Any, Any],
    suspended: RunSuspended,
    principal: str | None,
    sink: Sink | None = None,
) -> tuple[Run, Place]:
    """Make the run that goes on with a suspended one, and its place.

    Raises:
        ConstructionError: As `new_run`, or the suspension is another agent's.
    """
    run, place = await new_run(
        core, given, binding, conversation=suspended.conversation, principal=principal, sink=sink, run=suspended.run
    )
    assert place is not None
    if suspended.agent != binding.agent.id:
        lines = (f'agent "{binding.agent.id}"  {caller_where()}', f'it was suspended by agent "{suspended.agent}"')
        raise ConstructionError([Problem("RESUME", suspended.run, lines, "give the binding of that agent")])
    return run, place


async def resumed_to_end(
    core: Core, run: Run, place: Place, suspended: RunSuspended, decisions: Decisions | None
) -> Result[Completed[Any], RunFailure]:
    """Take a suspended run up, and carry it to its end."""
    given: Decisions = {} if decisions is None else decisions
    keeper = Keeper(run, run.prepared.clock)

    async def work() -> Result[Completed[Any], RunCause]:
        taken = await take_up(run, place, suspended, given, core.see_through)
        if isinstance(taken, Failure):
            return Failure(taken.failure())
        up = taken.unwrap()
        keeper.begin()
        run.author = place.principal
        return await interpret_resumed(run, up.resumed, up.response, up.given, given, suspended.shown())

    core.active.add(run)
    try:
        return await run_to_end(run, work, core.settle, suspended.conversation)
    finally:
        try:
            await keeper.end()
        finally:
            core.lanes.left(run)
            core.active.remove(run)
