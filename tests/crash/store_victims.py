"""Kill processes that write to one SQLite store, and look at what they leave.

It is run as `-m tests.crash.store_victims FOLDER KILLS SEED`.

Each victim is a process of its own, forked from this one, which has imported everything and runs no thread. Every
second one is killed from outside at a random moment; the others kill themselves at a failpoint, before or after one of
the statements that the store executes. A victim tells what was answered to it through a pipe, which outlives it.
"""

from __future__ import annotations

import json
import random
import sqlite3
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from returns.result import Failure

from lamina.effect import handler
from lamina.runtime import try_build
from lamina.store import Statement, Store, Unmet, sqlite_store
from tests.crash.forking import die, fork, tell

CONVERSATIONS = 4
BATCH = 3
LONGEST = 0.08  # seconds that a victim lives


@handler
async def the_store(_: None, store: Store) -> Store:
    return store


def unit(conversation: str, expected: int) -> list[Statement]:
    """Append a batch of records, as conversations do."""
    move = "UPDATE conversation SET head_seq = $2, head_digest = $3 WHERE id = $1 AND head_seq = $4"
    add = (
        "INSERT INTO record (conversation, seq, id, batch, kind, version, created, payload, digest) "
        "VALUES ($1, $2, $3, $4, 'kind', 1, 0, $5, '')"
    )
    end = expected + BATCH
    records = [
        Statement(add, (conversation, seq, f"record-{seq}", f"batch-{end}", "x" * 700))
        for seq in range(expected + 1, end + 1)
    ]
    return [Statement(move, (conversation, end, f"batch-{end}", expected), rows=1), *records]


async def write(path: Path, pipe: int, losing: bool) -> None:
    """Append to all conversations for ever, and tell what was answered; maybe beside one whose units are refused."""
    async with try_build(sqlite_store(path)) as built:
        if isinstance(built, Failure):
            tell(pipe, f"failed to open: {built.failure()!r}")
            return
        store = await built.unwrap().run(the_store, None)

        async def append(conversation: str) -> None:
            start = "INSERT INTO conversation (id, created, head_seq, head_digest) VALUES ($1, 0, 0, '')"
            answer = await store.write(Statement(start, (conversation,)))
            if isinstance(answer, Failure) and answer.failure() != Unmet(0):
                tell(pipe, f"failed to start: {answer.failure()!r}")
            rows = (await store.read("SELECT head_seq FROM conversation WHERE id = $1", conversation)).unwrap()
            head = int(str(rows[0][0]))
            while True:
                answer = await store.write(*unit(conversation, head))
                if isinstance(answer, Failure):
                    tell(pipe, f"failed to append: {answer.failure()!r}")
                    return
                head += BATCH
                tell(pipe, f"ok {conversation} {head}")

        async def lose() -> None:
            """Be refused for ever, after a first statement that is undone; what shares its commit is done again."""
            start = "INSERT INTO conversation (id, created, head_seq, head_digest) VALUES ($1, 0, 0, '')"
            move = "UPDATE conversation SET head_seq = 1 WHERE id = 'nowhere'"
            while True:
                answer = await store.write(Statement(start, ("undone",)), Statement(move, rows=1))
                if answer != Failure(Unmet(1)):
                    tell(pipe, f"failed to be refused: {answer!r}")
                    return

        async with anyio.create_task_group() as group:
            for number in range(CONVERSATIONS):
                group.start_soon(append, f"c{number}")
            if losing:
                group.start_soon(lose)


Failpoint = tuple[str, int]
"""The first word of statements, and the number of the one that is meant; without a word, all are counted."""

WORDS = ("BEGIN", "SAVEPOINT", "UPDATE", "INSERT", "RELEASE", "COMMIT")


def die_at(failpoint: Failpoint, before: bool, pipe: int) -> None:
    """Have this process kill itself before or after that statement."""
    word, number = failpoint
    count = 0

    class Watched(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            nonlocal count
            count += sql.startswith(word)
            here = count == number and sql.startswith(word)
            if here and before:
                die(pipe, f"before {sql.split()[0]}")
            cursor = super().execute(sql, *parameters)
            if here:  # an insertion of what is there has raised by now, and its victim is killed from outside
                die(pipe, f"after {sql.split()[0]}")
            return cursor

    sqlite3.connect = partial(sqlite3.connect, factory=Watched)  # type: ignore[assignment]


def kill_one(path: Path, failpoint: Failpoint | None, before: bool, moment: float) -> tuple[bool, list[str]]:
    """Fork a victim, see it die, and give whether it was killed and what it told."""

    async def main(pipe: int) -> None:
        if failpoint is not None:
            die_at(failpoint, before, pipe)
        await write(path, pipe, losing=failpoint is not None or moment > LONGEST / 2)

    return fork(main, moment if failpoint is None else 1.0)


def wrong_with(path: Path, answered: dict[str, int]) -> list[str]:
    """Look at what is in the file, without the store."""
    found: list[str] = []
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        check = connection.execute("PRAGMA quick_check").fetchall()
        if check != [("ok",)]:
            found.append(f"the file is damaged: {check[:3]}")
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and not {"schema_version", "conversation", "record", "audit"} <= tables:
            found.append(f"half a schema: {sorted(tables)}")
        if not tables:
            return [*found, *(["an answered batch is lost"] if answered else [])]
        heads = dict(connection.execute("SELECT id, head_seq FROM conversation"))
        if "undone" in heads:
            found.append("a unit that was refused is there")
        logs = {
            conversation: (first, last, count)
            for conversation, first, last, count in connection.execute(
                "SELECT conversation, min(seq), max(seq), count(*) FROM record GROUP BY conversation"
            )
        }
        for conversation, head in heads.items():
            if logs.get(conversation, (1, 0, 0)) != (1, head, head):
                found.append(f"{conversation} ends at {head} and has {logs.get(conversation)}")
            if head < answered.get(conversation, 0):
                found.append(f"{conversation} ends at {head}, and {answered[conversation]} was answered")
        torn = connection.execute(
            "SELECT conversation, batch FROM record GROUP BY conversation, batch HAVING count(*) <> ?", (BATCH,)
        ).fetchall()
        found += [f"a torn batch: {each}" for each in torn]
        if lost := sorted(set(answered) - set(heads)):
            found.append(f"an answered batch is lost: {lost}")
    finally:
        connection.close()
    return found


def forget(path: Path) -> None:
    """Empty the log, so that looking at it stays quick."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DELETE FROM record")
    connection.execute("DELETE FROM conversation")
    connection.close()


def main(folder: Path, kills: int, seed: int) -> None:
    random.seed(seed)
    problems: list[str] = []
    points: Counter[str] = Counter()
    killed = {"at random": 0, "at failpoints": 0, "while it was made": 0}
    answered: dict[str, int] = {}
    last: dict[str, int] = {}
    path = folder / "log.db"
    while killed["at random"] + killed["at failpoints"] < kills and len(problems) < 10:
        failpoint: Failpoint | None = None
        if killed["at random"] > killed["at failpoints"]:
            word = WORDS[killed["at failpoints"] % len(WORDS)]
            failpoint = word, random.randint(1, 5 if word in ("BEGIN", "COMMIT") else 30)
        before = killed["at failpoints"] // len(WORDS) % 2 == 0
        dead, told = kill_one(path, failpoint, before, random.uniform(0.005, LONGEST))
        reached = any(line.startswith("at ") for line in told)
        killed["at failpoints" if reached else "at random"] += dead
        for line in told:
            match line.split():
                case ["ok", conversation, seq]:
                    answered[conversation] = int(seq)
                case ["at", when, word]:
                    points[f"{when} {word}"] += 1
                case _:
                    problems.append(line)
        problems += wrong_with(path, answered)
        if sum(killed.values()) % 10 == 0:
            last |= {conversation: max(seq, last.get(conversation, 0)) for conversation, seq in answered.items()}
            forget(path)
            answered.clear()
    for number in range(1, 40, 2):  # a database that is being made
        for before in (True, False):
            new = folder / f"new-{number}-{before}.db"
            dead, told = kill_one(new, ("", number), before, 0)
            killed["while it was made"] += dead
            problems += wrong_with(new, {line.split()[1]: int(line.split()[2]) for line in told if line[:2] == "ok"})
            _, told = kill_one(new, None, False, 0.05)
            problems += [line for line in told if not line.startswith("ok ")]
            problems += wrong_with(new, {})
    print(json.dumps({"killed": killed, "points": points, "answered": last, "problems": problems[:10]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
