from __future__ import annotations

import errno
import gc
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
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
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
    Unmet,
    memory_store,
    sqlite_store,
)
from lamina.testing._store_ground import opened

START = "INSERT INTO conversation (id, created, head_seq, head_digest) VALUES ($1, 0, 0, '')"
IDS = "SELECT id FROM conversation ORDER BY id"
MOVE = "UPDATE conversation SET head_seq = head_seq + 1 WHERE id = $1"

pytestmark = pytest.mark.anyio


def start(name: str) -> Statement:
    return Statement(START, (name,), 1)


async def ids(store: Store) -> list[Any]:
    return [row[0] for row in (await store.read(IDS)).unwrap()]


class Executed:
    """What the store's connections execute, and a gate in front of a commit."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.at_gate = threading.Event()
        self.counts: Counter[str] = Counter()
        self._fails_at: dict[tuple[str, int], int] = {}

    def fail_next(self, sql: str, code: int) -> None:
        """Have a statement fail the next time that somebody comes to it."""
        self._fails_at[sql, self.counts[sql] + 1] = code

    def reach(self, sql: str) -> int | None:
        """Come to a statement; give the code that it fails with."""
        self.statements.append(sql if sql.startswith("PRAGMA") else sql.split()[0])
        self.counts[sql] += 1
        code = self._fails_at.pop((sql, self.counts[sql]), None)
        if sql == "COMMIT":
            self.at_gate.set()
            assert self.gate.wait(10)
        return code


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Executed]:
    seen = Executed()

    class Watched(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            if (code := seen.reach(sql)) is not None:
                error = sqlite3.OperationalError("injected")
                error.sqlite_errorcode, error.sqlite_errorname = code, "INJECTED"
                raise error
            return super().execute(sql, *parameters)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Watched))
    yield seen
    seen.gate.set()


async def reached(event: threading.Event) -> None:
    assert await anyio.to_thread.run_sync(event.wait, 10)


# --- the file -------------------------------------------------------------------------------------------------------


async def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        async with opened(sqlite_store(tmp_path / "store.db")) as store:
            await store.write(start("c"))
            modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in os.scandir(tmp_path)}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("store.db", "store.db-wal", "store.db-shm"), 0o600)
    assert os.listdir(tmp_path) == ["store.db"], "the log was not folded into the file"


async def test_the_writer_closes_after_the_readers_and_so_folds_the_log_into_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []
    writer_closed = threading.Event()

    class Watched(sqlite3.Connection):
        def close(self) -> None:
            thread = threading.current_thread().name
            if thread == "lamina store reader":
                writer_closed.wait(0.2)  # gives a writer that does not wait for it the time to be first
            closed.append(thread)
            super().close()
            if thread == "lamina store writer":
                writer_closed.set()

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Watched))
    async with opened(sqlite_store(tmp_path / "store.db")) as store:
        await store.write(start("c"))
        await store.read("SELECT 1")
    assert closed == ["lamina store reader", "lamina store writer"]
    assert os.listdir(tmp_path) == ["store.db"]


async def test_a_second_store_on_a_file_leaves_the_first_its_locks(tmp_path: Path) -> None:
    # Who believes that nobody else has the database open folds the log away when it leaves: what is written after that
    # into the log that has no name any more is lost.
    path = tmp_path / "store.db"
    other = [sys.executable, "-c", f"import sqlite3; c = sqlite3.connect({str(path)!r}); print(*c.execute({IDS!r}))"]

    async def seen_by_another() -> bytes:
        return (await anyio.run_process(other)).stdout

    async with opened(sqlite_store(path)) as store:
        await store.write(start("a"))
        async with opened(sqlite_store(path)) as second:
            await second.write(start("b"))
        assert await seen_by_another() == b"('a',) ('b',)\n"
        await store.write(start("c"))
        assert await seen_by_another() == b"('a',) ('b',) ('c',)\n"
    assert await seen_by_another() == b"('a',) ('b',) ('c',)\n"


@pytest.mark.parametrize("who", ["writer", "reader"])
async def test_a_system_that_has_no_thread_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str) -> None:
    begin = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == f"lamina store {who}":
            raise RuntimeError("can't start new thread")
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    overloaded = Failure(StoreUnavailable("overloaded"))
    with anyio.fail_after(10):
        if who == "writer":
            async with try_build(sqlite_store(tmp_path / "store.db")) as built:
                assert built == overloaded
            return
        async with opened(sqlite_store(tmp_path / "store.db")) as store:
            assert await store.read("SELECT 1") == overloaded
            monkeypatch.undo()
            assert await store.read("SELECT 1") == Success(((1,),))


async def test_a_commit_waits_for_the_disk(tmp_path: Path, executed: Executed) -> None:
    async with opened(sqlite_store(tmp_path / "store.db")):
        assert {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL"} <= set(executed.statements)


@pytest.mark.parametrize(("code", "error"), [(errno.EROFS, StoreReadOnly()), (errno.ENOSPC, StoreFull())])
async def test_a_place_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, error: StoreError
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("lamina.store._sqlite_file.os.open", refuse)
    async with try_build(sqlite_store(tmp_path / "store.db")) as built:
        assert built == Failure(error)


@pytest.mark.parametrize("place", ["missing/store.db", ".", "file/store.db"])
async def test_a_place_that_is_not_there(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    async with try_build(sqlite_store(tmp_path / place)) as built:
        assert built == Failure(StoreUnavailable("missing"))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("",), "has to name a file"),
        (("a\0b",), "has to name a file"),
        ((":memory:",), "memory_store"),
        (("a.db", {"group": 0}), "at least 1"),
        (("a.db", {"queue": 0}), "at least 1"),
        (("a.db", {"readers": 0}), "at least 1"),
        (("a.db", {"busy_timeout": -1}), "cannot be negative"),
    ],
)
async def test_a_layer_that_cannot_be(arguments: tuple[Any, ...], why: str) -> None:
    place, options = (*arguments, {})[:2]
    with pytest.raises(ConstructionError, match=why):
        sqlite_store(place, **options)


def store_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("lamina store")]


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what ends in another thread, which takes a moment after its last word."""
    with anyio.fail_after(10):
        while not holds():  # noqa: ASYNC110 - a thread tells nobody that it ends
            await anyio.sleep(0.005)


async def test_no_thread_and_no_file_is_left(tmp_path: Path) -> None:
    def open_files() -> list[str]:
        return [os.readlink(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd") if _is_open(each)]

    def ours() -> list[str]:
        return [each for each in open_files() if str(tmp_path) in each]

    for _ in range(5):
        async with opened(sqlite_store(tmp_path / "store.db", readers=3)) as store:
            async with anyio.create_task_group() as group:
                for _ in range(10):
                    group.start_soon(store.read, "SELECT 1")
            assert sorted(set(store_threads())) == ["lamina store reader", "lamina store writer"]
            assert ours()
        await until(lambda: store_threads() == [])
        assert ours() == []


def _is_open(descriptor: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{descriptor}")


# --- group commit ---------------------------------------------------------------------------------------------------


async def test_what_waits_for_the_disk_shares_the_next_commit(tmp_path: Path, executed: Executed) -> None:
    async with opened(sqlite_store(tmp_path / "store.db")) as store:
        executed.statements.clear()
        executed.at_gate.clear()
        executed.gate.clear()
        async with anyio.create_task_group() as group:
            group.start_soon(store.write, start("first"))
            await reached(executed.at_gate)
            for number in range(100):
                group.start_soon(store.write, start(f"c{number:02}"))
            await anyio.wait_all_tasks_blocked()
            assert await ids(store) == []
            executed.gate.set()
        assert executed.statements.count("COMMIT") == 2
        assert executed.statements.count("SAVEPOINT") == 0
        assert len(await ids(store)) == 101


async def test_a_refused_unit_takes_no_other_with_it(tmp_path: Path, executed: Executed) -> None:
    answers: dict[str, Any] = {}
    async with opened(sqlite_store(tmp_path / "store.db")) as store:
        executed.at_gate.clear()
        executed.gate.clear()

        async def write(name: str, *statements: Statement) -> None:
            answers[name] = await store.write(*statements)

        async with anyio.create_task_group() as group:
            group.start_soon(store.write, start("first"))
            await reached(executed.at_gate)
            executed.statements.clear()
            group.start_soon(write, "before", start("c0"))
            group.start_soon(write, "taken", start("c1"), start("first"))
            group.start_soon(write, "missing", start("c2"), Statement(MOVE, ("missing",), 1))
            group.start_soon(write, "after", start("c3"), Statement(MOVE, ("c3",), 1))
            await anyio.wait_all_tasks_blocked()
            executed.gate.set()
        assert answers == {
            "before": Success(((),)),
            "taken": Failure(Unmet(1)),
            "missing": Failure(Unmet(1)),
            "after": Success(((), ())),
        }
        assert await ids(store) == ["c0", "c3", "first"]
        assert executed.statements.count("SAVEPOINT") == 4, "they were not done again with savepoints"
        assert executed.statements.count("COMMIT") == 1


@pytest.mark.parametrize(("group_of", "commits"), [(1, 101), (10, 11), (64, 3)])
async def test_a_commit_holds_no_more_than_it_may(
    tmp_path: Path, executed: Executed, group_of: int, commits: int
) -> None:
    async with opened(sqlite_store(tmp_path / "store.db", group=group_of)) as store:
        executed.statements.clear()
        executed.at_gate.clear()
        executed.gate.clear()
        async with anyio.create_task_group() as group:
            group.start_soon(store.write, start("first"))
            await reached(executed.at_gate)
            for number in range(100):
                group.start_soon(store.write, start(f"c{number:02}"))
            await anyio.wait_all_tasks_blocked()
            executed.gate.set()
        assert executed.statements.count("COMMIT") == commits


async def test_a_lone_writer_needs_no_savepoint(tmp_path: Path, executed: Executed) -> None:
    async with opened(sqlite_store(tmp_path / "store.db")) as store:
        executed.statements.clear()
        await store.write(start("a"), Statement(MOVE, ("a",), 1))
        assert executed.statements == ["BEGIN", "INSERT", "UPDATE", "COMMIT"]
        executed.statements.clear()
        assert await store.write(start("b"), Statement(MOVE, ("missing",), 1)) == Failure(Unmet(1))
        assert executed.statements == ["BEGIN", "INSERT", "UPDATE", "ROLLBACK"]


async def test_a_full_queue_makes_writers_wait(tmp_path: Path, executed: Executed) -> None:
    async with opened(sqlite_store(tmp_path / "store.db", queue=5)) as store:
        executed.at_gate.clear()
        executed.gate.clear()
        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(store.write, start(f"c{number:02}"))
            await reached(executed.at_gate)
            await anyio.wait_all_tasks_blocked()
            assert store._writer._places.statistics().tasks_waiting == 15  # type: ignore[attr-defined]
            executed.gate.set()
        assert len(await ids(store)) == 20


# --- trouble while it commits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", ["BEGIN IMMEDIATE", "SAVEPOINT unit", "RELEASE unit", "COMMIT"])
async def test_what_fails_for_all_is_tried_for_each(tmp_path: Path, executed: Executed, at: str) -> None:
    answers = await several_when(tmp_path, executed, at, sqlite3.SQLITE_FULL, refused=at.endswith("unit"))
    if at == "BEGIN IMMEDIATE":
        assert {str(answer) for answer in answers} == {"<Failure: The store has no space left.>"}
    else:
        assert answers == [Success(((),))] * 5


async def test_an_io_error_at_the_commit_leaves_it_in_doubt(tmp_path: Path, executed: Executed) -> None:
    answers = await several_when(tmp_path, executed, "COMMIT", sqlite3.SQLITE_IOERR_FSYNC)
    assert answers == [Failure(StoreUnavailable("io", in_doubt=True))] * 5


async def test_an_io_error_before_it_does_not(tmp_path: Path, executed: Executed) -> None:
    answers = await several_when(tmp_path, executed, "SAVEPOINT unit", sqlite3.SQLITE_IOERR_WRITE, refused=True)
    assert answers == [Failure(StoreUnavailable("io"))] * 5


async def several_when(tmp_path: Path, executed: Executed, at: str, code: int, *, refused: bool = False) -> list[Any]:
    """Give what five writers are told that share a commit in which something fails; beside a refused one, if asked."""
    answers: list[Any] = []
    async with opened(sqlite_store(tmp_path / "store.db")) as store:

        async def write(number: int) -> None:
            answers.append(await store.write(start(f"c{number}")))

        executed.at_gate.clear()
        executed.gate.clear()
        async with anyio.create_task_group() as group:
            group.start_soon(store.write, start("first"))
            await reached(executed.at_gate)
            for number in range(5):
                group.start_soon(write, number)
            if refused:  # only then savepoints are needed
                group.start_soon(store.write, start("first"))
            await anyio.wait_all_tasks_blocked()
            executed.fail_next(at, code)
            executed.gate.set()
        expected = ["first"] + [f"c{number}" for number, answer in enumerate(answers) if isinstance(answer, Success)]
        assert sorted(await ids(store)) == sorted(expected)
        assert await store.write(start("after")) == Success(((),)), "it does not go on"
    return answers


# --- a file that does not stay ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
async def test_nothing_is_called_committed_that_nobody_would_find(tmp_path: Path, how: str) -> None:
    path = tmp_path / "store.db"
    async with opened(sqlite_store(path)) as store:
        assert await store.write(start("before")) == Success(((),))
        for name in ("store.db", "store.db-wal", "store.db-shm"):
            file = tmp_path / name
            file.unlink() if how == "deleted" else file.rename(tmp_path / f"old {name}")
        if how == "replaced":
            path.touch()
        assert await store.write(start("a"), start("a")) == Failure(Unmet(1))
        assert await store.write(start("b")) == Failure(StoreUnavailable("missing"))
        if how != "replaced":
            assert await store.read("SELECT 1 FROM conversation") == Failure(StoreUnavailable("missing"))
            assert not path.exists(), "a reader has made an empty one"


async def test_a_commit_into_a_file_that_was_moved_meanwhile_is_in_doubt(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with opened(sqlite_store(path)) as store:
        path.rename(tmp_path / "other.db")
        assert await store.write(start("a")) == Failure(StoreUnavailable("missing", in_doubt=True))
        assert await store.write(start("b")) == Failure(StoreUnavailable("missing"))
        (tmp_path / "other.db").rename(path)


async def test_a_path_may_hold_what_an_address_may_not(tmp_path: Path) -> None:
    folder = tmp_path / "50% of #1?mode=memory&a=b \u2603"
    folder.mkdir()
    async with opened(sqlite_store(folder / "a?b#c%41.db")) as store:
        await store.write(start("a"))
        assert await ids(store) == ["a"]
        assert (folder / "a?b#c%41.db").exists()


ELSEWHERE = """
import asyncio, sys
from lamina.runtime import try_build
from lamina.store import Statement, sqlite_store
from lamina.testing._store_ground import opened

async def main(path, name):
    async with opened(sqlite_store(path)) as store:
        start = "INSERT INTO conversation (id, created, head_seq, head_digest) VALUES ($1, 0, 0, $2)"
        (await store.write(*[Statement(start, (f"{name} {number}", "x" * 900)) for number in range(40)])).unwrap()
        print(*[row[0] for row in (await store.read("SELECT id FROM conversation WHERE id LIKE 'here%'")).unwrap()])

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there are no locks of an open file")
@pytest.mark.parametrize("also", ["-wal", "-shm"])
async def test_a_tool_that_reads_the_file_costs_no_commit(tmp_path: Path, also: str) -> None:
    """To close any descriptor of a file takes the locks of its process away, SQLite's too."""
    path = tmp_path / "store.db"

    async def elsewhere(name: str) -> list[str]:
        path.read_bytes()
        (tmp_path / f"store.db{also}").read_bytes()
        command = [sys.executable, "-c", ELSEWHERE, str(path), name]
        done = await anyio.to_thread.run_sync(
            lambda: subprocess.run(command, capture_output=True, text=True, timeout=50)
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    async with opened(sqlite_store(path)) as store:
        assert await store.write(start("here1")) == Success(((),))
        assert await elsewhere("one") == ["here1"]
        assert await store.write(start("here2")) == Success(((),))
        assert await elsewhere("two") == ["here1", "here2"]
        assert await store.write(start("here3")) == Success(((),))
        async with opened(sqlite_store(path)) as other:
            assert await other.write(start("here4")) == Success(((),))
        assert await elsewhere("three") == ["here1", "here2", "here3", "here4"]
        assert await store.write(start("here5")) == Success(((),))
    assert os.listdir(tmp_path) == ["store.db"], "the last one folds the log"
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("SELECT count(*) FROM conversation").fetchone() == (125,)


WRITING = """
import asyncio, sys
from lamina.store import Statement, sqlite_store
from lamina.testing._store_ground import opened

async def main(path):
    async with opened(sqlite_store(path, busy_timeout=0.1)) as store:
        start = "INSERT INTO conversation (id, created, head_seq, head_digest) VALUES ($1, 0, 0, '')"
        for line in sys.stdin:
            print(await store.write(Statement(start, (line.strip(),))), flush=True)

asyncio.run(main(sys.argv[1]))
"""


def writing(path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITING, str(path)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there are no locks of an open file")
async def test_a_tool_that_reads_the_index_of_the_log_lets_no_second_writer_in(
    tmp_path: Path, executed: Executed
) -> None:
    path = tmp_path / "store.db"
    async with opened(sqlite_store(path)) as store:
        await store.write(start("first"))
        with writing(path) as other:
            patience = threading.Timer(50, other.kill)
            patience.start()

            async def write(name: str) -> str:
                assert other.stdin is not None
                assert other.stdout is not None
                other.stdin.write(f"{name}\n")
                other.stdin.flush()
                return (await anyio.to_thread.run_sync(other.stdout.readline)).strip()

            assert await write("a") == "<Success: ((),)>"
            executed.at_gate.clear()
            executed.gate.clear()
            async with anyio.create_task_group() as group:
                group.start_soon(store.write, start("second"))
                await reached(executed.at_gate)
                (tmp_path / "store.db-shm").read_bytes()
                assert await write("b") == "<Failure: The store is locked by another.>"
                executed.gate.set()
            assert await write("c") == "<Success: ((),)>"
            patience.cancel()
            other.communicate(timeout=50)
        assert await ids(store) == ["a", "c", "first", "second"]


FORKING = """
import asyncio, os, sys
from lamina.runtime import try_build
from lamina.store import sqlite_store

async def open_(path):
    async with try_build(sqlite_store(path)) as built:
        return str(built)

async def main(path, other):
    async with try_build(sqlite_store(path)):
        if not (child := os.fork()):
            asyncio._set_running_loop(None)
            print(asyncio.run(open_(path)), asyncio.run(open_(other)), sep="\\n", flush=True)
            os._exit(0)
        os.waitpid(child, 0)
    if not (child := os.fork()):
        asyncio._set_running_loop(None)
        print(asyncio.run(open_(path)), flush=True)
        os._exit(0)
    os.waitpid(child, 0)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_does_not_open_what_its_parent_has_open(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKING, str(tmp_path / "a.db"), str(tmp_path / "b.db")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50)
    first, second, third = done.stdout.splitlines()
    assert first == "<Failure: The store cannot be used: refused.>", "it would rely on locks that nobody holds"
    assert "Success" in second
    assert "Success" in third, "what the parent had closed by then is not refused"


# --- cancellation and the end ---------------------------------------------------------------------------------------


async def test_a_unit_that_waits_is_left_out_when_its_caller_is_cancelled(tmp_path: Path, executed: Executed) -> None:
    async with opened(sqlite_store(tmp_path / "store.db")) as store:
        executed.at_gate.clear()
        executed.gate.clear()
        async with anyio.create_task_group() as group:
            group.start_soon(store.write, start("begun"))
            await reached(executed.at_gate)
            group.start_soon(store.write, start("waits"))
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        executed.gate.set()
        await store.write(start("after"))
        assert await ids(store) == ["after", "begun"]


async def test_places_in_the_queue_come_back_from_who_is_cancelled(tmp_path: Path) -> None:
    async with opened(sqlite_store(tmp_path / "store.db", queue=2)) as store:
        for number in range(20):
            async with anyio.create_task_group() as group:
                for each in range(5):
                    group.start_soon(store.write, start(f"{number} {each}"))
                await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
        with anyio.fail_after(10):
            assert await store.write(start("after")) == Success(((),))


async def test_a_cancelled_query_is_forgotten(tmp_path: Path) -> None:
    async with opened(sqlite_store(tmp_path / "store.db", readers=1)) as store:
        with anyio.move_on_after(0):
            await store.read("SELECT 1")
        assert await store.read("SELECT 2") == Success(((2,),))


async def test_a_cancelled_opening_ends_its_thread(tmp_path: Path) -> None:
    for _ in range(5):
        with anyio.move_on_after(0):
            async with try_build(sqlite_store(tmp_path / "store.db")):
                raise AssertionError
    await until(lambda: store_threads() == [])


# --- statements -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("durable", [False, True])
async def test_a_mistake_keeps_what_the_database_said_as_its_cause(tmp_path: Path, durable: bool) -> None:
    async with opened(sqlite_store(tmp_path / "store.db") if durable else memory_store()) as store:
        assert store.durable is durable
        with pytest.raises(StatementError, match="the statement 1 of the unit") as caught:
            await store.write(start("a"), Statement("INSERT INTO nowhere VALUES ($1)", ("canary",)))
        assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
        assert "canary" not in str(caught.value)
        with pytest.raises(StatementError, match="the statement 0 of the unit"):
            await store.read("SELECT nothing FROM nowhere")
        assert await ids(store) == []


async def test_two_stores_in_memory_know_nothing_of_each_other() -> None:
    async with opened(memory_store()) as one, opened(memory_store()) as other:
        await one.write(start("c"))
        assert (await ids(one), await ids(other)) == (["c"], [])


async def test_nothing_warns_of_what_was_not_closed(tmp_path: Path) -> None:
    for layer in (memory_store(), sqlite_store(tmp_path / "store.db")):
        async with opened(layer) as store:
            await store.write(start("c"))
            await store.read("SELECT 1")
    gc.collect()  # pytest makes a warning of an unclosed database an error
