"""Steering in memory: for runs to which only their own process speaks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal, Never

import attrs
from returns.result import Failure, Result, Success

from lamina.effect import Clock, Layer, SystemClock, layer
from lamina.redaction import Secrets
from lamina.steering._check import check_command, check_limit
from lamina.steering.port import (
    MOST_COMMANDS,
    Command,
    CommandConflict,
    CommandKind,
    CommandState,
    Placed,
    Receipt,
    Steering,
    SteeringClosed,
    SteeringError,
    SteeringFull,
)

_KEPT = 256
_KEPT_CHARACTERS = 16 * 1024 * 1024
"""Of how many runs that are not active it is still known what was said to them, and how much that may be."""
_DONE: Result[None, SteeringError] = Success(None)


@attrs.define(eq=False)
class _Item:
    command: Command
    state: CommandState = "queued"


@attrs.define(eq=False)
class _Queue:
    run: str
    conversation: str | None
    principal: str | None
    state: Literal["open", "paused", "closed"] = "open"
    items: list[_Item] = attrs.field(factory=list[_Item])
    characters: int = 0

    @property
    def scope(self) -> tuple[str | None, str]:
        return (None, self.run) if self.conversation is None else (self.conversation, "")

    def queued(self) -> list[_Item]:
        return [item for item in self.items if item.state == "queued"]

    def placed(self, position: int) -> Placed:
        item = self.items[position - 1]
        return Placed(command=item.command, position=position, state=item.state)

    def drop(self) -> None:
        self.state = "closed"
        for item in self.queued():
            item.state = "dropped"


class MemorySteering(Steering):
    """Keeps commands in this process, and loses them with it.

    No method waits for anything, so each of them is one step that nothing comes in between.

    Args:
        clock: What tells when a command was admitted.
        limit: How many commands may wait for one run.
        secrets: What must not be in a text that is kept, nor in the id or the author of a command.
    """

    durable = False

    def __init__(self, clock: Clock | None = None, limit: int = MOST_COMMANDS, secrets: Secrets | None = None) -> None:
        self.limit = limit
        self._secrets = secrets or Secrets()
        self._clock = clock or SystemClock()
        self._queues: dict[str, _Queue] = {}
        self._idle: OrderedDict[str, _Queue] = OrderedDict()
        self._holders: dict[str, str] = {}  # by conversation, the run that took commands there last
        self._by_id: dict[tuple[tuple[str | None, str], str], tuple[_Queue, int]] = {}

    async def open(
        self, run: str, *, conversation: str | None = None, principal: str | None = None
    ) -> Result[None, SteeringError]:
        """Take commands for a run; see `Steering.open`."""
        queue = self._queues.get(run)
        if queue is not None and queue.state == "closed":
            return Failure(SteeringClosed(run, "ended"))
        if conversation is not None:
            before = self._queues.get(self._holders.get(conversation, ""))
            if before is not None and before.run != run:
                before.drop()
                self._rest(before)
            self._holders[conversation] = run
        if queue is None:
            queue = self._queues[run] = _Queue(run, conversation, principal)
        queue.state = "open"
        self._idle.pop(run, None)
        return _DONE

    async def submit(
        self,
        run: str,
        text: str,
        *,
        id: str,  # noqa: A002 - it is the command's
        kind: CommandKind = "steering",
        author: str | None = None,
        principal: str | None = None,
    ) -> Result[Receipt, SteeringError]:
        """Admit a command; see `Steering.submit`."""
        if (refused := check_command(id, text, author, kind, secrets=self._secrets)) is not None:
            return Failure(refused)
        text = self._secrets.redact_text(text)
        queue = self._queues.get(run)
        if queue is None or queue.principal != principal:
            return Failure(SteeringClosed(run, "takes none"))
        if (known := self._by_id.get((queue.scope, id))) is not None:
            return _known(known, kind, author, text)
        if queue.state != "open":
            return Failure(SteeringClosed(run, "suspended" if queue.state == "paused" else "ended"))
        if len(queue.queued()) >= self.limit:
            return Failure(SteeringFull(run, self.limit))
        command = Command(
            id=id,
            run=run,
            conversation=queue.conversation,
            kind=kind,
            author=author,
            text=text,
            created=self._clock.now(),
        )
        queue.items.append(_Item(command))
        queue.characters += len(text)
        self._by_id[queue.scope, id] = queue, len(queue.items)
        return Success(_receipt(queue, len(queue.items)))

    async def waiting(self, run: str, kind: CommandKind, limit: int) -> Result[tuple[Command, ...], SteeringError]:
        """Give what waits; see `Steering.waiting`."""
        queue = self._queues.get(run)
        found = [] if queue is None else [item.command for item in queue.queued() if item.command.kind == kind]
        return Success(tuple(found[:limit]))

    async def delivered(self, run: str, commands: Sequence[Command]) -> Result[None, SteeringError]:
        """Note what is in the history; see `Steering.delivered`."""
        named = {command.id for command in commands}
        items = [] if (queue := self._queues.get(run)) is None else [i for i in queue.queued() if i.command.id in named]
        if len(items) < len(named):
            return Failure(SteeringClosed(run, "ended"))
        for item in items:
            item.state = "delivered"
        return _DONE

    async def close(self, run: str) -> Result[bool, SteeringError]:
        """Close an empty queue; see `Steering.close`."""
        queue = self._queues.get(run)
        if queue is None or queue.state != "open":
            return Failure(SteeringClosed(run, "ended"))
        if queue.queued():
            return Success(False)
        queue.state = "closed"
        self._rest(queue)
        return Success(True)

    async def pause(self, run: str) -> Result[tuple[Command, ...], SteeringError]:
        """Keep what waits for a suspended run; see `Steering.pause`."""
        queue = self._queues.get(run)
        if queue is None or queue.state == "closed":
            return Failure(SteeringClosed(run, "ended"))
        queue.state = "paused"
        self._rest(queue)
        return Success(tuple([item.command for item in queue.queued()]))

    async def end(self, run: str, delivered: Sequence[Command] = ()) -> Result[tuple[Command, ...], SteeringError]:
        """Give back what waits; see `Steering.end`."""
        queue = self._queues.get(run)
        if queue is None:
            return Success(())
        named = {command.id for command in delivered}
        for item in queue.queued():
            if item.command.id in named:
                item.state = "delivered"
        queue.drop()
        self._rest(queue)
        return Success(tuple([item.command for item in queue.items if item.state == "dropped"]))

    async def find(
        self,
        conversation: str,
        id: str,  # noqa: A002 - it is the command's
        *,
        principal: str | None = None,
    ) -> Result[Placed | None, SteeringError]:
        """Find a command; see `Steering.find`."""
        found = self._by_id.get(((conversation, ""), id))
        if found is None or found[0].principal != principal:
            return Success(None)
        queue, position = found
        return Success(queue.placed(position))

    async def commands(self, run: str, *, principal: str | None = None) -> Result[tuple[Placed, ...], SteeringError]:
        """Give what was said to a run; see `Steering.commands`."""
        queue = self._queues.get(run)
        if queue is None or queue.principal != principal:
            return Success(())
        return Success(tuple([queue.placed(position) for position in range(1, len(queue.items) + 1)]))

    def _rest(self, queue: _Queue) -> None:
        """Keep a queue that takes nothing now, and let those go that have been so for longest, if there is much."""
        self._idle.pop(queue.run, None)
        self._idle[queue.run] = queue
        kept = sum(each.characters for each in self._idle.values())
        while len(self._idle) > _KEPT or (kept > _KEPT_CHARACTERS and len(self._idle) > 1):
            run, oldest = self._idle.popitem(last=False)
            kept -= oldest.characters
            del self._queues[run]
            for item in oldest.items:
                self._by_id.pop((oldest.scope, item.command.id), None)
            if oldest.conversation is not None and self._holders.get(oldest.conversation) == run:
                del self._holders[oldest.conversation]


def _receipt(queue: _Queue, position: int) -> Receipt:
    command = queue.items[position - 1].command
    return Receipt(command=command.id, run=queue.run, conversation=queue.conversation, position=position, durable=False)


def _known(
    known: tuple[_Queue, int], kind: CommandKind, author: str | None, text: str
) -> Result[Receipt, SteeringError]:
    queue, position = known
    item = queue.items[position - 1]
    command = item.command
    if (command.kind, command.author, command.text) != (kind, author, text):
        return Failure(CommandConflict(command.id))
    if item.state == "dropped":
        return Failure(SteeringClosed(queue.run, "ended"))
    return Success(_receipt(queue, position))


def memory_steering(
    *, limit: int = MOST_COMMANDS, clock: Clock | None = None, secrets: Secrets | None = None
) -> Layer[Never, Steering, Never]:
    """Offer steering in memory.

    Args:
        limit: How many commands may wait for one run.
        clock: What tells when a command was admitted; None is the machine's own.
        secrets: What must not be in what is said; give the value that is bound as the runtime's `Secrets`. What a run
            takes in is looked through by itself, with the runtime's own.

    Raises:
        ConstructionError: The limit is no whole number from 1 to 1,024.

    Example:
        >>> memory_steering()
        Layer(offers Steering; needs nothing more)
    """
    check_limit(limit)

    def steering() -> Steering:
        return MemorySteering(clock, limit, secrets)

    return layer(steering)
