"""Steering in a store: the same on memory, SQLite and PostgreSQL, and for every process that shares it (design §8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Never, cast

from returns.result import Failure, Result, Success

from lamina.effect import Clock, Layer, SystemClock, layer
from lamina.redaction import Secrets
from lamina.steering import _sql
from lamina.steering._check import check_command, check_limit
from lamina.steering.port import (
    MOST_COMMANDS,
    Command,
    CommandConflict,
    CommandKind,
    Placed,
    Receipt,
    Steering,
    SteeringClosed,
    SteeringError,
    SteeringFull,
)
from lamina.store import Store, Unmet

_DONE: Result[None, SteeringError] = Success(None)
_TRIES = 4


class StoredSteering(Steering):
    """Keeps commands in a store, beside the conversations that they are for.

    Args:
        store: Where they are; it has to be that of the conversations, for their log says what was delivered.
        clock: What tells when a command was admitted, and whether a conversation's lease is over.
        limit: How many commands may wait for one run.
        secrets: What must not be in a text that is kept.
    """

    def __init__(
        self, store: Store, clock: Clock | None = None, limit: int = MOST_COMMANDS, secrets: Secrets | None = None
    ) -> None:
        self.durable = store.durable
        self.limit = limit
        self._store = store
        self._clock = clock or SystemClock()
        self._secrets = secrets or Secrets()

    async def open(
        self, run: str, *, conversation: str | None = None, principal: str | None = None
    ) -> Result[None, SteeringError]:
        """Take commands for a run; see `Steering.open`."""
        unit, closed = _sql.opening(run, conversation, principal)
        answer = await self._store.write(*unit)
        if not isinstance(answer, Failure):
            return _DONE
        why = answer.failure()
        if not isinstance(why, Unmet):
            return Failure(why)
        assert why.statement == closed
        return Failure(SteeringClosed(run, "ended"))

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
        for _ in range(_TRIES):
            looked = await self._look(run)
            if isinstance(looked, Failure):
                return Failure(looked.failure())
            queue = looked.unwrap()
            if queue is None or queue[1] != principal:
                return Failure(SteeringClosed(run, "takes none"))
            conversation = queue[0]
            now = _sql.microseconds(self._clock.now())
            answer = await self._store.write(*_sql.admission(run, self.limit, id, kind, author, text, now))
            if not isinstance(answer, Failure):
                position = cast("int", answer.unwrap()[1][0][0])
                return Success(self._receipt(id, run, conversation, position))
            why = answer.failure()
            if not isinstance(why, Unmet):
                return Failure(why)
            known = await self._known(_sql.scope_of(run, conversation), id, conversation, (kind, author, text))
            if known is not None:
                return known
            if why.statement == 1:  # no command of that id, but an input: in a fork, what was said before it
                return Failure(CommandConflict(id))
            refusal = await self._refusal(run)
            if refusal is not None:
                return Failure(refusal)
        return Failure(SteeringFull(run, self.limit))

    async def waiting(self, run: str, kind: CommandKind, limit: int) -> Result[tuple[Command, ...], SteeringError]:
        """Give what waits; see `Steering.waiting`."""
        read = await self._store.read(_sql.WAITING, run, kind, limit)
        return Failure(read.failure()) if isinstance(read, Failure) else Success(_sql.commands(run, read.unwrap()))

    async def delivered(self, run: str, commands: Sequence[Command]) -> Result[None, SteeringError]:
        """Note what is in the history; see `Steering.delivered`."""
        answer = await self._store.write(*_sql.delivery(run, commands))
        if not isinstance(answer, Failure):
            return _DONE
        why = answer.failure()
        return Failure(SteeringClosed(run, "ended") if isinstance(why, Unmet) else why)

    async def close(self, run: str) -> Result[bool, SteeringError]:
        """Close an empty queue; see `Steering.close`."""
        answer = await self._store.write(_sql.closing(run))
        if not isinstance(answer, Failure):
            return Success(True)
        why = answer.failure()
        if not isinstance(why, Unmet):
            return Failure(why)
        looked = await self._look(run)
        if isinstance(looked, Failure):
            return Failure(looked.failure())
        queue = looked.unwrap()
        return Success(False) if queue is not None and queue[2] == "open" else Failure(SteeringClosed(run, "ended"))

    async def pause(self, run: str) -> Result[tuple[Command, ...], SteeringError]:
        """Keep what waits for a suspended run; see `Steering.pause`."""
        answer = await self._store.write(*_sql.pausing(run))
        if not isinstance(answer, Failure):
            return Success(_sql.commands(run, answer.unwrap()[-1]))
        why = answer.failure()
        return Failure(SteeringClosed(run, "ended") if isinstance(why, Unmet) else why)

    async def end(self, run: str, delivered: Sequence[Command] = ()) -> Result[tuple[Command, ...], SteeringError]:
        """Give back what waits; see `Steering.end`."""
        answer = await self._store.write(*_sql.ending(run, delivered))
        if not isinstance(answer, Failure):
            return Success(_sql.commands(run, answer.unwrap()[-1]))
        why = answer.failure()
        return Failure(SteeringClosed(run, "ended") if isinstance(why, Unmet) else why)

    async def find(
        self,
        conversation: str,
        id: str,  # noqa: A002 - it is the command's
        *,
        principal: str | None = None,
    ) -> Result[Placed | None, SteeringError]:
        """Find a command; see `Steering.find`."""
        read = await self._store.read(_sql.ONE, conversation, id)
        if isinstance(read, Failure):
            return Failure(read.failure())
        rows = read.unwrap()
        if not rows or rows[0][1] != principal:
            return Success(None)
        return Success(_sql.placed(cast("str", rows[0][0]), rows[0][2:]))

    async def commands(self, run: str, *, principal: str | None = None) -> Result[tuple[Placed, ...], SteeringError]:
        """Give what was said to a run; see `Steering.commands`."""
        looked = await self._look(run)
        if isinstance(looked, Failure):
            return Failure(looked.failure())
        queue = looked.unwrap()
        if queue is None or queue[1] != principal:
            return Success(())
        read = await self._store.read(_sql.ALL, run)
        if isinstance(read, Failure):
            return Failure(read.failure())
        return Success(tuple([_sql.placed(run, row) for row in read.unwrap()]))

    async def _look(self, run: str) -> Result[tuple[str | None, str | None, _sql.State, int] | None, SteeringError]:
        """Give a run's conversation and principal, whether its queue is open, and how many wait in it."""
        read = await self._store.read(_sql.QUEUE, run)
        if isinstance(read, Failure):
            return Failure(read.failure())
        rows = read.unwrap()
        return Success(cast("tuple[str | None, str | None, _sql.State, int]", rows[0]) if rows else None)

    async def _known(
        self, scope: str, command: str, conversation: str | None, content: tuple[str, str | None, str]
    ) -> Result[Receipt, SteeringError] | None:
        """Answer for an id that is there: its own receipt where it is the same command; None where it is not there."""
        read = await self._store.read(_sql.BY_ID, scope, command)
        if isinstance(read, Failure):
            return Failure(read.failure())
        if not (rows := read.unwrap()):
            return None
        run, seq, kind, author, text, state = rows[0]
        if (kind, author, text) != content:
            return Failure(CommandConflict(command))
        if state == "dropped":
            return Failure(SteeringClosed(str(run), "ended"))
        return Success(self._receipt(command, str(run), conversation, cast("int", seq)))

    async def _refusal(self, run: str) -> SteeringError | None:
        """Say why a queue did not take a command; None where it would by now."""
        looked = await self._look(run)
        read = await self._store.read(_sql.IS_OVER, run, _sql.microseconds(self._clock.now()))
        match looked, read:
            case (Failure(error), _) | (_, Failure(error)):
                refused: SteeringError = error
                return refused
            case Success(None), _:
                return SteeringClosed(run, "takes none")
            case Success((_, _, "paused", _)), _:
                return SteeringClosed(run, "suspended")
            case Success((_, _, "open", queued)), Success(()):
                return SteeringFull(run, self.limit) if queued >= self.limit else None
            case _:
                return SteeringClosed(run, "ended")

    def _receipt(self, command: str, run: str, conversation: str | None, position: int) -> Receipt:
        return Receipt(command=command, run=run, conversation=conversation, position=position, durable=self.durable)


def stored_steering(
    *, limit: int = MOST_COMMANDS, clock: Clock | None = None, secrets: Secrets | None = None
) -> Layer[Store, Steering, Never]:
    """Offer steering in whatever store there is; with `stored_conversations()` over the same one.

    Args:
        limit: How many commands may wait for one run.
        clock: What tells when a command was admitted, and whether a lease is over, so the one that the conversations
            have; None is the machine's own.
        secrets: What must not be in what another process says; give the value that is bound as the runtime's `Secrets`.

    Raises:
        ConstructionError: The limit is no whole number from 1 to 1,024.

    Example:
        >>> from lamina.store import memory_store
        >>> stored_steering().provide(memory_store())
        Layer(offers Steering; needs nothing more)
    """
    check_limit(limit)

    def steering(store: Store) -> Steering:
        return StoredSteering(store, clock, limit, secrets)

    return layer(steering)
