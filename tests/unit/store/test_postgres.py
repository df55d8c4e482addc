from __future__ import annotations

import re
import signal
import sys
from typing import Any

import anyio
import pytest
from returns.result import Failure, Success

from lamina.effect import ConstructionError
from lamina.runtime import try_build
from lamina.store import (
    Statement,
    StatementError,
    Store,
    StoreForeign,
    StoreLocked,
    StoreReadOnly,
    StoreUnavailable,
    Unmet,
    ValueRefused,
    postgres_store,
)
from lamina.store._postgres_session import _as_one_trip
from lamina.testing._store_ground import opened
from tests.postgres import cluster

needs_postgres = pytest.mark.needs("postgres")
START = "INSERT INTO conversation (id, created, head_seq, head_digest) VALUES ($1, 0, 0, '')"
MOVE = "UPDATE conversation SET head_seq = head_seq + 1 WHERE id = $1"


def start(name: str) -> Statement:
    return Statement(START, (name,), 1)


def move(name: str) -> Statement:
    return Statement(MOVE, (name,), 1)


async def ids(store: Store) -> list[Any]:
    return [row[0] for row in (await store.read("SELECT id FROM conversation ORDER BY id")).unwrap()]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("agent.db", {}), "postgresql://"),
        (("postgresql://ada:s3c/ret@a/b", {}), "written as %XX"),
        (("postgresql://ada:s3c#ret@a/b", {}), "written as %XX"),
        (("postgresql://a:port/b", {}), "a port is a number"),
        (("postgresql://[a/b", {}), "no address"),
        (("postgresql://a", {"schema": 'x"; DROP'}), "small letters"),
        (("postgresql://a", {"connections": 0}), "at least 1"),
        (("postgresql://a", {"queue": 0}), "at least 1"),
        (("postgresql://a", {"timeout": 0}), "more than 0"),
    ],
)
def test_a_layer_that_cannot_be(arguments: tuple[str, dict[str, Any]], why: str) -> None:
    dsn, options = arguments
    with pytest.raises(ConstructionError, match=re.escape(why)):
        postgres_store(dsn, **options)


def test_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lamina.store.postgres.find_spec", lambda name: None)
    with pytest.raises(
        ConstructionError, match=r'asyncpg is not installed.*\n  write: pip install "lamina\[postgres\]"'
    ):
        postgres_store("postgresql://a")


def test_making_the_layer_imports_nothing() -> None:
    import subprocess

    code = "import sys, lamina.store as s; s.postgres_store('postgresql://a'); print('asyncpg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


def test_a_password_is_shown_nowhere() -> None:
    assert "canary" not in repr(postgres_store("postgresql://user:canary@host/db"))


@pytest.mark.parametrize(
    ("statement", "is_one"),
    [
        (Statement("SELECT 1"), True),
        (Statement("INSERT INTO t VALUES (1) RETURNING a"), True),
        (Statement("INSERT INTO t VALUES (1)", (), 1), True),
        (Statement("update t set a = 1", (), 0), True),
        (Statement("DELETE FROM t", (), 5), True),
        (Statement("INSERT INTO t VALUES (1) returning a", (), 1), False),
        (Statement("SELECT 1", (), 1), False),
        (Statement("WITH a AS (SELECT 1) DELETE FROM t", (), 1), False),
    ],
)
def test_which_units_take_one_trip(statement: Statement, is_one: bool) -> None:
    assert (_as_one_trip(statement) is not None) is is_one


# --- a server that is not there -------------------------------------------------------------------------------------


@needs_postgres
@pytest.mark.parametrize(
    ("dsn", "why"),
    [
        ("postgresql://lamina@127.0.0.1:1/postgres", "lost"),
        ("postgresql://lamina@/postgres?host=/nowhere", "lost"),
    ],
)
async def test_nobody_listens(dsn: str, why: Any) -> None:
    async with try_build(postgres_store(dsn)) as built:
        assert built == Failure(StoreUnavailable(why))


@needs_postgres
async def test_a_database_that_is_missing() -> None:
    async with try_build(postgres_store(cluster().dsn("nothing"))) as built:
        assert built == Failure(StoreUnavailable("missing"))


@needs_postgres
async def test_a_user_that_is_refused() -> None:
    dsn = cluster().dsn().replace("lamina@", "nobody@")
    async with try_build(postgres_store(dsn)) as built:
        assert built == Failure(StoreUnavailable("refused"))


@needs_postgres
async def test_a_server_that_goes_and_comes_back() -> None:
    server = cluster()
    async with opened(postgres_store(server.database(), connections=3)) as store:
        await store.write(start("before"))
        server.stop(signal.SIGQUIT)
        answers: list[Any] = []

        async def write(number: int) -> None:
            answers.append(await store.write(start(f"c{number}"), move(f"c{number}")))

        async with anyio.create_task_group() as group:
            for number in range(6):
                group.start_soon(write, number)
        assert {type(answer.failure()) for answer in answers} == {StoreUnavailable}
        assert {answer.failure().why for answer in answers} == {"lost"}
        read = await store.read("SELECT 1")
        assert read == Failure(StoreUnavailable("lost"))
        server.start()
        assert await store.write(start("after")) == Success(((),))
        assert await ids(store) == ["after", "before"]


@needs_postgres
async def test_a_connection_that_the_server_ends() -> None:
    async with opened(postgres_store(cluster().database(), connections=1)) as store:
        end = Statement("SELECT pg_terminate_backend(pg_backend_pid())")
        assert await store.write(start("a"), end) == Failure(StoreUnavailable("lost"))
        assert await store.write(end) == Failure(StoreUnavailable("lost", in_doubt=True))
        assert await store.write(start("b")) == Success(((),))
        assert await ids(store) == ["b"]


async def change(*statements: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(cluster().dsn())
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


# A sequence is not undone with its transaction, so that this ends only the first connection that asks.
ONCE = "SELECT pg_terminate_backend(pg_backend_pid()) FROM (SELECT nextval('lamina.ends') AS n) s WHERE n = 1"


@needs_postgres
async def test_what_was_not_done_yet_when_its_connection_ended_is_done_on_another() -> None:
    import asyncpg

    dsn = cluster().database()
    async with opened(postgres_store(dsn, connections=2)) as store:
        other = await asyncpg.connect(dsn)
        await other.execute("CREATE SEQUENCE lamina.ends")
        answer = await store.write(start("a"), Statement(ONCE))
        assert answer == Success(((), ())), "the unit was not committed, for certain"
        await other.execute("ALTER SEQUENCE lamina.ends RESTART")
        assert await store.read(ONCE) == Success(()), "a query keeps nothing"
        await other.execute("ALTER SEQUENCE lamina.ends RESTART")
        assert await store.write(Statement(ONCE)) == Failure(StoreUnavailable("lost", in_doubt=True))
        await other.close()
        assert await ids(store) == ["a"]


@needs_postgres
async def test_a_server_that_gives_fewer_connections_serves_all_the_same() -> None:
    dsn = cluster().database()
    name = dsn.split("/")[3].partition("?")[0]
    await change("CREATE ROLE few LOGIN CONNECTION LIMIT 2", f"GRANT ALL ON DATABASE {name} TO few")
    answers: list[Any] = []

    async def write(number: int) -> None:
        answers.append(await store.write(start(f"c{number:02}"), Statement("SELECT pg_sleep(0.01)")))

    # The queue is full, too: what is handed on needs no place in it.
    with anyio.fail_after(30):
        async with opened(postgres_store(dsn.replace("lamina@", "few@"), connections=8, queue=4)) as store:
            async with anyio.create_task_group() as group:
                for number in range(40):
                    group.start_soon(write, number)
            assert await ids(store) == [f"c{number:02}" for number in range(40)]
    assert {type(answer) for answer in answers} == {Success}
    few = postgres_store(dsn.replace("lamina@", "few@"))
    async with opened(few) as one, opened(few.fresh()) as two, try_build(few) as refused:
        assert await ids(two) == await ids(one)
        assert refused == Failure(StoreUnavailable("overloaded"))


@needs_postgres
async def test_a_database_whose_texts_lack_most_characters() -> None:
    for name, encoding in (("latin", "LATIN1"), ("bytes", "SQL_ASCII")):
        await change(f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    async with try_build(postgres_store(cluster().dsn("latin"))) as refused:
        assert refused == Failure(StoreForeign("encoding LATIN1"))
    async with opened(postgres_store(cluster().dsn("bytes"))) as store:
        await store.write(start("\u2603"))
        assert await ids(store) == ["\u2603"]


@needs_postgres
async def test_units_ask_for_no_more_isolation_than_they_rely_on() -> None:
    dsn = cluster().database()
    name = dsn.split("/")[3].partition("?")[0]
    await change(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    async with opened(postgres_store(dsn)) as store:
        assert await store.read("SELECT current_setting('transaction_isolation')") == Success((("read committed",),))


# --- one that waits -------------------------------------------------------------------------------------------------


@needs_postgres
async def test_a_statement_that_takes_too_long() -> None:
    async with opened(postgres_store(cluster().database(), connections=1, timeout=0.2)) as store:
        sleep = Statement("SELECT pg_sleep(30)")
        assert await store.write(start("a"), sleep) == Failure(StoreUnavailable("timeout"))
        assert await store.write(sleep) == Failure(StoreUnavailable("timeout", in_doubt=True))
        assert await store.read("SELECT pg_sleep(30)") == Failure(StoreUnavailable("timeout"))
        assert await store.write(start("b")) == Success(((),))
        assert await ids(store) == ["b"]


@needs_postgres
async def test_a_row_that_another_holds() -> None:
    import asyncpg

    dsn = cluster().database()
    async with opened(postgres_store(dsn, lock_timeout=0.05)) as store:
        await store.write(start("c"))
        other = await asyncpg.connect(dsn)
        async with other.transaction():
            await other.execute("UPDATE lamina.conversation SET head_seq = 5")
            assert await store.write(start("d"), move("c")) == Failure(StoreLocked())
            assert await store.write(move("c")) == Failure(StoreLocked())
            assert await ids(store) == ["c"]
        await other.close()
        assert await store.write(move("c")) == Success(((),))


@needs_postgres
async def test_units_that_wait_for_each_other_both_succeed() -> None:
    async with opened(postgres_store(cluster().database())) as store:
        await store.write(start("a"), start("b"))
        wait = Statement("SELECT pg_sleep(0.2)")  # until both have their first row; the server then ends one of them
        answers: list[Any] = []

        async def write(first: str, second: str) -> None:
            answers.append(await store.write(move(first), wait, move(second)))

        async with anyio.create_task_group() as group:
            group.start_soon(write, "a", "b")
            group.start_soon(write, "b", "a")
        assert [isinstance(answer, Success) for answer in answers] == [True, True]
        assert await store.read("SELECT head_seq FROM conversation") == Success(((2,), (2,)))


# --- statements -----------------------------------------------------------------------------------------------------


@needs_postgres
async def test_a_unit_of_one_statement_is_undone_when_it_affects_too_many() -> None:
    async with opened(postgres_store(cluster().database())) as store:
        await store.write(start("a"), start("b"))
        unit = Statement("UPDATE conversation SET head_seq = 7", (), 1)
        assert await store.write(unit) == Failure(Unmet(0))
        assert await store.write(Statement("UPDATE conversation SET head_seq = 7", (), 2)) == Success(((),))
        with pytest.raises(StatementError):  # a division of its own is no miscount
            await store.write(Statement("SELECT 1 / (head_seq - 7) FROM conversation"))


@needs_postgres
async def test_a_mistake_keeps_what_the_server_said_as_its_cause() -> None:
    async with opened(postgres_store(cluster().database())) as store:
        with pytest.raises(StatementError, match="the statement 1 of the unit") as caught:
            await store.write(start("a"), Statement("INSERT INTO nowhere VALUES ($1)", ("canary",)))
        assert type(caught.value.__cause__).__name__ == "UndefinedTableError"
        with pytest.raises(StatementError):
            await store.write(start("a"), Statement(MOVE, (5,)))
        assert await ids(store) == []


@needs_postgres
async def test_an_id_that_no_index_takes() -> None:
    async with opened(postgres_store(cluster().database())) as store:
        import random

        noise = "".join(random.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=20_000))  # which does not compress
        assert await store.write(start("a"), start(noise)) == Failure(ValueRefused(1, 0, "size"))
        assert await ids(store) == []


@needs_postgres
async def test_a_database_that_may_only_be_read() -> None:
    dsn = cluster().database()
    async with opened(postgres_store(dsn)) as store:
        await store.write(start("a"))
    name = re.search(r"/(t\d+)\?", dsn)
    assert name is not None
    async with opened(postgres_store(cluster().dsn())) as store:
        await store.write(Statement(f"ALTER DATABASE {name[1]} SET default_transaction_read_only = on"))
    async with opened(postgres_store(dsn)) as store:
        assert await store.write(start("b"), start("c")) == Failure(StoreReadOnly())
        assert await ids(store) == ["a"]


@needs_postgres
async def test_two_namespaces_are_two_stores() -> None:
    dsn = cluster().database()
    async with opened(postgres_store(dsn, schema="one")) as one, opened(postgres_store(dsn, schema="two")) as two:
        await one.write(start("c"))
        assert (await ids(one), await ids(two)) == (["c"], [])


@needs_postgres
async def test_statements_are_prepared_once_and_connections_made_when_needed() -> None:
    async with opened(postgres_store(cluster().database(), connections=5)) as store:
        count = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'lamina'"
        )
        for number in range(10):
            await store.write(start(f"{number}"))
        assert await store.read(count) == Success(((1,),))
        prepared = await store.read(
            "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%INTO conversation%'"
        )
        assert prepared == Success(((2,),))  # the insertion, and this question
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(store.read, "SELECT pg_sleep(0.02)")
        assert await store.read(count) == Success(((5,),))


@needs_postgres
async def test_no_connection_is_left() -> None:
    dsn = cluster().database()
    async with opened(postgres_store(dsn, connections=4)) as store, anyio.create_task_group() as group:
        for number in range(10):
            group.start_soon(store.write, start(f"{number}"))
    async with opened(postgres_store(dsn, connections=1)) as store:
        count = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'lamina'"
        )
        with anyio.fail_after(10):
            while (await store.read(count)).unwrap() != ((1,),):  # noqa: ASYNC110 - the server tells nobody that they went
                await anyio.sleep(0.01)
