"""A store in PostgreSQL: for several processes, on several machines (design §8)."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Never
from urllib.parse import urlsplit

import anyio
import attrs
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from returns.result import Failure, Result, Success

from lamina.effect import ConstructionError, Layer, Problem, attempt, caller_where, log
from lamina.store._check import check_unit, first_word
from lamina.store._postgres_errors import is_out_of_connections, store_error
from lamina.store._postgres_schema import migrate
from lamina.store._postgres_session import Address, Outcome, Session
from lamina.store.port import (
    Row,
    Rows,
    Statement,
    StatementError,
    Store,
    StoreError,
    StoreUnavailable,
    Unmet,
    Value,
    ValueRefused,
)

INSTALL = 'pip install "lamina[postgres]"'
_HOST = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(:[0-9]*)?")
CONNECTIONS = 10
QUEUE = 1024
PATIENCE = 1.0
"""Seconds for which no further connection is asked of a server that has no more of them."""


@attrs.define(eq=False)
class _Job:
    """A unit, or a query, that waits for a connection, and its caller with it."""

    statements: tuple[Statement, ...]
    only_reads: bool = False
    done: anyio.Event = attrs.field(factory=anyio.Event)
    outcome: Outcome | None = None
    abandoned: bool = False


@attrs.define(eq=False)
class _Link:
    """The connection of a task that serves; it may have none."""

    session: Session | None


class PostgresStore(Store):
    """Tasks that each own a connection take units from one queue; a new one begins while all others are busy.

    A caller that is cancelled leaves its unit to the task that has begun it, so none breaks off in the middle.
    """

    durable = True

    def __init__(self, address: Address, connections: int, queue: int) -> None:
        self._address = address
        self._limit = connections
        self._alive = 0
        self._connected = 0
        self._grows_from = -math.inf
        self._waiting = 0
        self._closed = False
        self._ended = anyio.Event()
        self._handed: deque[_Job] = deque()
        self._group = anyio.create_task_group()
        streams: tuple[MemoryObjectSendStream[_Job], MemoryObjectReceiveStream[_Job]]
        streams = anyio.create_memory_object_stream[_Job](queue)
        self._jobs, self._queue = streams

    async def write(self, *statements: Statement) -> Result[Rows, StoreError | Unmet]:
        """Commit statements as one unit; see `Store.write`."""
        if not statements and not self._closed:
            return Success(())
        return await self._ask(_Job(statements))

    async def read(self, sql: str, *parameters: Value) -> Result[tuple[Row, ...], StoreError]:
        """Give the rows of one query; see `Store.read`."""
        answer = await self._ask(_Job((Statement(sql, parameters),), only_reads=first_word(sql) == "SELECT"))
        if not isinstance(answer, Failure):
            return Success(answer.unwrap()[0])
        why = answer.failure()
        if isinstance(why, Unmet):
            raise StatementError("a query that inserts is a unit: give it to write")
        return Failure(StoreUnavailable(why.why) if isinstance(why, StoreUnavailable) else why)

    async def _ask(self, job: _Job) -> Result[Rows, StoreError | Unmet]:
        if isinstance(refused := check_unit(job.statements), ValueRefused):
            return Failure(refused)
        if self._closed:
            return Failure(StoreUnavailable("closed"))
        self._waiting += 1
        try:
            if self._waiting > self._alive and self._alive < self._limit and anyio.current_time() >= self._grows_from:
                self._alive += 1
                self._group.start_soon(self._serve, None)
            try:
                self._jobs.send_nowait(job)
            except anyio.WouldBlock:
                await self._jobs.send(job)
            await job.done.wait()
        except anyio.ClosedResourceError:
            return Failure(StoreUnavailable("closed"))
        except BaseException:
            job.abandoned = True
            raise
        finally:
            self._waiting -= 1
        assert job.outcome is not None
        if isinstance(job.outcome, StatementError):
            raise job.outcome
        return job.outcome

    async def _serve(self, session: Session | None) -> None:
        """Carry jobs out on one connection, which is made again when it is lost.

        Where the server has no connection left, one that it gave before takes the job, and this task ends.
        """
        link = _Link(session)
        try:
            while (job := await self._next()) is not None:
                handed_on = False
                try:
                    if job.abandoned:
                        continue
                    job.outcome = await self._carry_out(job, link)
                    if handed_on := job.outcome is None:
                        return
                except Exception as error:
                    job.outcome = Failure(_not_connected(error))
                finally:
                    if not handed_on:
                        if job.outcome is None:
                            job.outcome = Failure(StoreUnavailable("closed", in_doubt=True))
                        job.done.set()
        finally:
            self._alive -= 1
            if link.session is not None:
                self._connected -= 1
                await _leave(link.session)

    async def _carry_out(self, job: _Job, link: _Link) -> Outcome | None:
        """Give what came of a job; None where it was handed on.

        What was certainly not done when its connection broke, is done on another one: a server that starts again, or
        ends a connection, fails nobody whose unit it did not have yet.
        """
        outcome, session = await self._try(job, link)
        if session is None or not session.is_closed or not _may_be_done_again(job, outcome):
            return outcome
        return (await self._try(job, link))[0]

    async def _try(self, job: _Job, link: _Link) -> tuple[Outcome | None, Session | None]:
        try:
            session = await self._connection(link)
        except Exception as error:
            handed_on = is_out_of_connections(error) and self._hand_on(job)
            return None if handed_on else Failure(_not_connected(error)), None
        return await session.write(job.statements), session

    async def _connection(self, link: _Link) -> Session:
        if link.session is not None and not link.session.is_closed:
            return link.session
        self._connected -= link.session is not None
        link.session = None
        link.session = await Session.connect(self._address)
        self._connected += 1
        return link.session

    def _hand_on(self, job: _Job) -> bool:
        """Give a job to the tasks that have a connection; False where none has."""
        self._grows_from = anyio.current_time() + PATIENCE
        if not self._connected or self._closed:
            return False
        try:
            self._jobs.send_nowait(job)
        except anyio.WouldBlock:  # then none of them is idle, and each looks here before it takes another
            self._handed.append(job)
        return True

    async def _next(self) -> _Job | None:
        if self._handed:
            return self._handed.popleft()
        try:
            return self._queue.receive_nowait()
        except anyio.WouldBlock:
            try:
                return await self._queue.receive()
            except anyio.EndOfStream:
                return None
        except anyio.EndOfStream:
            return None

    @asynccontextmanager
    async def serving(self, session: Session) -> AsyncGenerator[None, None]:
        """Take units while it is held; then carry out what was accepted, and let the connections go."""
        try:
            async with self._group as group:
                self._alive += 1
                self._connected += 1
                group.start_soon(self._serve, session)
                try:
                    yield
                finally:
                    self._closed = True
                    self._jobs.close()
        finally:
            while (job := await self._next()) is not None:
                job.outcome = Failure(StoreUnavailable("closed"))
                job.done.set()
            self._queue.close()


def _not_connected(error: Exception) -> StoreError:
    known = store_error(error, closed=False)
    if known is None:
        log().error("the store's connection broke", database="postgres", exc_info=error)
    return known or StoreUnavailable("lost")


def _may_be_done_again(job: _Job, outcome: Outcome | None) -> bool:
    """Tell whether a job is as if it had not been tried: it was undone for certain, or is a query."""
    if not isinstance(outcome, Failure):
        return False
    why = outcome.failure()
    if not isinstance(why, StoreUnavailable) or why.why != "lost":
        return False
    return job.only_reads or not why.in_doubt


async def _leave(session: Session) -> None:
    try:
        with anyio.CancelScope(shield=True):
            await session.close()
    except Exception as error:
        store_error(error, closed=True)
        session.terminate()


def postgres_store(
    dsn: str,
    *,
    schema: str = "lamina",
    connections: int = CONNECTIONS,
    queue: int = QUEUE,
    timeout: float = 30.0,
    lock_timeout: float = 5.0,
) -> Layer[Never, Store, StoreError]:
    """Offer a store in a PostgreSQL database, which any number of processes may use at once; asyncio only.

    Its tables are in a namespace of their own. Whether a commit is on the disk when it is answered, is the server's
    `synchronous_commit`. Through PgBouncer it needs session pooling.

    Args:
        dsn: `postgresql://user:password@host:port/database`; the database has to be there.
        schema: The namespace: small letters, digits and underscores. It is made where it is missing.
        connections: How many units and queries may run at once.
        queue: How many may wait for a connection; whoever brings one more waits for a place.
        timeout: Seconds that connecting, and each statement, may take.
        lock_timeout: Seconds to wait for a row that another writes, before `StoreLocked`.

    Raises:
        ConstructionError: asyncpg is not installed, or an argument is out of range.

    Example:
        >>> postgres_store("postgresql://agent@localhost/agents")
        Layer(offers Store; needs nothing more)
    """
    wrong = [
        *_wrong_with(dsn),
        *([] if re.fullmatch(r"[a-z][a-z0-9_]{0,62}", schema) else ["schema is small letters, digits and underscores"]),
        *([] if min(connections, queue) >= 1 else ["connections and queue have to be at least 1"]),
        *([] if min(timeout, lock_timeout) > 0 else ["timeout and lock_timeout have to be more than 0"]),
    ]
    missing = find_spec("asyncpg") is None
    if wrong or missing:
        where = caller_where()
        lines = tuple(f"{each}  {where}" for each in (*wrong, *(["asyncpg is not installed"] if missing else [])))
        raise ConstructionError([Problem("STORE", "postgres_store", lines, INSTALL if missing else None)])
    address = Address(dsn, schema, timeout, lock_timeout)

    async def postgres() -> AsyncIterator[Result[Store, StoreError]]:
        opened = await _open(address)
        if isinstance(opened, Failure):
            yield Failure(opened.failure())
            return
        store = PostgresStore(address, connections, queue)
        async with store.serving(opened.unwrap()):
            yield Success(store)

    return attempt(postgres)


def _wrong_with(dsn: str) -> list[str]:
    """Say why an address cannot be read, without quoting it; asyncpg itself would quote what it cannot read."""
    if not dsn.startswith(("postgresql://", "postgres://")):
        return ["dsn has to begin with postgresql://"]
    try:
        parts = urlsplit(dsn)
    except ValueError:
        return ["dsn is no address"]
    hosts = parts.netloc.rpartition("@")[2].split(",")
    if parts.fragment or "@" in parts.path or not all(map(_HOST.fullmatch, hosts)):
        return ["dsn is no address: a port is a number, and what is special in a password is written as %XX"]
    return []


async def _open(address: Address) -> Result[Session, StoreError]:
    """Connect for the first time, and bring the schema up."""
    session: Session | None = None
    try:
        session = await Session.connect(address)
        refused = await migrate(session, address.schema)
    except Exception as error:
        known = store_error(error, closed=session is not None and session.is_closed)
        if session is not None:
            session.terminate()
        if known is None and session is None and isinstance(error, ValueError):  # options that the driver refuses
            log().warning("the store's address was refused", database="postgres", exc_info=error)
            known = StoreUnavailable("refused")
        if known is None:
            raise
        return Failure(known)
    except BaseException:
        if session is not None:
            session.terminate()
        raise
    if refused is not None:
        await _leave(session)
        return Failure(refused)
    return Success(session)
