"""What the types of layers let through, and what they refuse."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, Never, TypeVar, assert_type, overload

from returns.result import Failure, Result, Success

from lamina.effect import (
    Buildable,
    Clock,
    Handler,
    Layer,
    SeedsFor,
    Try,
    attempt,
    bind,
    fallible,
    handler,
    layer,
    scoped,
    seed,
)

R = TypeVar("R")
S = TypeVar("S")
N = TypeVar("N")
Have = TypeVar("Have", contravariant=True)
Command = TypeVar("Command")
Answer = TypeVar("Answer")


class Runtime(Generic[Have]):
    async def run(self, asked: Handler[Have, Command, Answer], command: Command) -> Answer:
        raise NotImplementedError


class Open(Generic[R, S]):
    def given(self, values: Layer[Never, S, Never]) -> Runtime[R | S]:
        raise NotImplementedError


@overload
def build(app: Buildable[R, R, Never]) -> AbstractAsyncContextManager[Runtime[R]]: ...
@overload
def build(app: Buildable[N, R, Never], *, seeds: SeedsFor[R, N, S]) -> AbstractAsyncContextManager[Open[R, S]]: ...
def build(app: Any, *, seeds: Any = None) -> Any:
    raise NotImplementedError


# --- services -------------------------------------------------------------------------------------------------------


class Log:
    def say(self) -> None: ...


class Db(ABC):
    @abstractmethod
    def rows(self) -> int: ...


class PgDb(Db):
    def __init__(self, log: Log) -> None: ...

    def rows(self) -> int:
        return 1


class FakeDb(Db):
    def rows(self) -> int:
        return 0


class Users:
    def __init__(self, db: Db, log: Log) -> None: ...

    def count(self) -> int:
        return 0


class Tx:
    def commit(self) -> None: ...


class Mailer:
    def send(self) -> None: ...


class Principal:
    name: str


class Caller:
    address: str


class Repo(Generic[R]):
    def one(self) -> R:
        raise NotImplementedError


class Refused:
    host: str


async def make_tx(db: Db) -> AsyncIterator[Tx]:
    yield Tx()


async def make_mailer(log: Log) -> Mailer:
    return Mailer()


@attempt
async def connect(log: Log) -> Result[Db, Refused]:
    return Failure(Refused())


log = layer(Log)
pg = bind(Db).to(PgDb)
users = layer(Users)
tx = scoped(make_tx, life="request")
mailer = layer(make_mailer)
app = users | pg | log | tx | mailer

# --- what constructors read -----------------------------------------------------------------------------------------

assert_type(log, Layer[Never, Log, Never])
assert_type(pg, Layer[Log, Db, Never])
assert_type(users, Layer[Db | Log, Users, Never])
assert_type(tx, Layer[Db, Tx, Never])
assert_type(mailer, Layer[Log, Mailer, Never])
assert_type(connect, Layer[Log, Db, Refused])
assert_type(bind(Tx).to(make_tx), Layer[Db, Tx, Never])
assert_type(bind(Mailer).to(make_mailer), Layer[Log, Mailer, Never])
assert_type(bind(Db).value(FakeDb()), Layer[Never, Db, Never])

# --- operators ------------------------------------------------------------------------------------------------------

assert_type(layer(Log) | layer(Tx), Layer[Never, Log | Tx, Never])
assert_type(layer(Log) | layer(Users), Layer[Db | Log, Log | Users, Never])
assert_type(layer(Users).provide(bind(Db).to(PgDb) | layer(Log)), Layer[Log, Users, Never])
assert_type(users.provide(pg | log), Layer[Log, Users, Never])
assert_type(pg.provide(log), Layer[Never, Db, Never])
assert_type(pg.provide_merge(log), Layer[Never, Db | Log, Never])
assert_type(connect.catch(pg), Layer[Log, Db, Never])
assert_type(connect.catch(bind(Db).to(FakeDb)), Layer[Log, Db, Never])
assert_type(connect.retry(3), Layer[Log | Clock, Db, Refused])
assert_type(app.fresh(), Layer[Db | Log, Users | Db | Log | Tx | Mailer, Never])
users.provide(pg)  # ERR: Log is needed, and not provided
connect.catch(log)  # ERR: the fallback offers another service

bind(Db).to(Mailer)  # ERR: a Mailer is no Db
bind(Db).value(Mailer())  # ERR: a Mailer is no Db
scoped(make_mailer)  # ERR: no generator
attempt(make_mailer)  # ERR: no Result
attempt(connect_again := make_tx)  # ERR: no Result


async def held(log: Log) -> AsyncIterator[Result[Db, Refused]]:
    yield Success(PgDb(log))


assert_type(attempt(held), Layer[Log, Db, Refused])
attempt(held, life="request")  # ERR: a call's type has no place for the failure

# --- building -------------------------------------------------------------------------------------------------------

assert_type(build(log), AbstractAsyncContextManager[Runtime[Log]])
build(app)
build(users.provide_merge(pg | log) | log)
build(bind(Users).to(Users).provide(bind(Db).to(PgDb).provide_merge(layer(Log))))
build(connect.catch(bind(Db).to(PgDb)) | layer(Log))
build(layer(Log) | layer(PgDb) | bind(Db).to(PgDb) | layer(Users))
build(layer(Users) | bind(Db).to(PgDb) | layer(Log))
build(users | pg)  # ERR: Log is missing
build(users | log)  # ERR: Db is missing
build(users | layer(PgDb) | log)  # ERR: PgDb is offered, Db is needed: write bind(Db).to(PgDb)
build(connect | log)  # ERR: it may be Refused
build(connect.retry(2) | log)  # ERR: Clock is missing, and it may be Refused
build(connect.catch(connect) | log)  # ERR: the fallback may be Refused, too

# --- replacing ------------------------------------------------------------------------------------------------------

build(app.replace(bind(Db).to(FakeDb)))
build(app.replace(bind(Db).to(PgDb), bind(Mailer).to(make_mailer)))
build(app.replace(bind(Db).to(PgDb).provide(layer(Log))))
assert_type(app.replace(bind(Db).to(FakeDb)), Layer[Db | Log, Users | Db | Log | Tx | Mailer, Never])
app.replace(bind(Principal).to(Principal))  # ERR: the app offers no Principal
log.replace(bind(Db).to(FakeDb))  # ERR: it offers no Db

# --- generic services -----------------------------------------------------------------------------------------------


def numbers() -> Repo[int]:
    return Repo()


def needs_numbers(repo: Repo[int]) -> Tx:
    return Tx()


def needs_words(repo: Repo[str]) -> Tx:
    return Tx()


build(layer(numbers) | layer(needs_numbers))
build(layer(numbers) | layer(needs_words))  # ERR: Repo[int] is no Repo[str]

# --- handlers -------------------------------------------------------------------------------------------------------


class NotFound:
    number: int


class Conflict:
    number: int


def load(number: int) -> Result[str, NotFound]:
    return Success("x") if number else Failure(NotFound())


def store(number: int) -> Result[str, Conflict]:
    return Failure(Conflict())


@fallible
async def buy(command: int, ok: Try[NotFound | Conflict], users: Users, tx: Tx) -> int:
    assert_type(ok(load(command)), str)
    ok(store(command))
    if command > 3:
        ok.fail(Conflict())
    return users.count()


@fallible
async def undeclared(command: int, ok: Try[NotFound]) -> int:
    ok(load(command))
    ok(store(command))  # ERR: Conflict is not declared
    ok.fail(Conflict())  # ERR: Conflict is not declared
    return 1


@handler
async def ask(command: str, principal: Principal, users: Users) -> Result[int, NotFound]:
    return Success(1)


@handler
async def alone(command: bytes) -> None: ...


assert_type(buy, Handler[Users | Tx, int, Result[int, NotFound | Conflict]])
assert_type(ask, Handler[Principal | Users, str, Result[int, NotFound]])
assert_type(alone, Handler[Never, bytes, None])


@handler  # ERR: a plain function
def plain(command: int) -> int:
    return 1


async def runs() -> None:
    async with build(app) as runtime:
        assert_type(await runtime.run(buy, 1), Result[int, NotFound | Conflict])
        await runtime.run(alone, b"")
        await runtime.run(ask, "x")  # ERR: Principal is not there
        await runtime.run(buy, "tea")  # ERR: the command is a number
    async with build(app.replace(bind(Db).to(FakeDb))) as runtime:
        await runtime.run(buy, 1)


# --- seeds ----------------------------------------------------------------------------------------------------------


class Session:
    def __init__(self, principal: Principal, db: Db) -> None: ...


seeded = layer(Session, life="request") | app


async def seeds() -> None:
    async with build(seeded, seeds=seed(Principal) | seed(Caller)) as opened:
        runtime = opened.given(bind(Caller).value(Caller()) | bind(Principal).value(Principal()))
        await runtime.run(ask, "x")
        await runtime.run(buy, 1)
        opened.given(bind(Principal).value(Principal()))  # ERR: Caller is forgotten
        opened.given(bind(Principal).value(Principal()) | bind(Caller).value(Caller()) | log)  # ERR: Log is no seed
        opened.given(bind(Principal).value(Caller()) | bind(Caller).value(Caller()))  # ERR: a Caller is no Principal
        await opened.run(buy, 1)  # ERR: nothing has been given
    async with build(app, seeds=seed(Principal)) as opened_one:
        await opened_one.given(bind(Principal).value(Principal())).run(ask, "x")
    build(seeded)  # ERR: Principal is missing
    build(seeded, seeds=seed(Caller))  # ERR: Principal is missing
    build(seeded | connect.provide(log), seeds=seed(Principal))  # ERR: it may be Refused
