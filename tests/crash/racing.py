"""A process that does what it is told, at the moment it is told: `-m tests.crash.racing KIND PLACE NAME LEASE`.

It reads one JSON list a line, a word and what that needs, and answers with one line of JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Never

import anyio
import attrs
from anyio.to_thread import run_sync
from returns.result import Failure

from lamina.approval import Approval, Approved, DeferredApproval
from lamina.conversation import JournalFailed, stored_conversations
from lamina.effect import Try, bind, message_of, tag_of
from lamina.engine import RunSuspended
from lamina.runtime import build
from lamina.schema import codec
from lamina.store import postgres_store, sqlite_store
from lamina.testing import ScriptedModel, call_tool, say
from lamina.tools import tool
from tests.conversing import Ledger, act, send, the_conversations
from tests.unit.engine.world import Word, agent_with


async def next_line() -> str:
    return await run_sync(sys.stdin.readline)


@tool()
async def wait(call: Word, ok: Try[Never], ledger: Ledger) -> str:
    """Say that it has begun, and wait to be told to go on."""
    ledger.ran.append(call.text)
    print(json.dumps("begun"), flush=True)
    await next_line()
    return call.text


async def main(kind: str, place: str, name: str, lease: float) -> None:
    store: Any = sqlite_store(place) if kind == "sqlite" else postgres_store(place, connections=2)
    app: Any = stored_conversations(lease=lease) | store | bind(Approval).value(DeferredApproval())
    ledger = Ledger()
    async with build(app | bind(Ledger).value(ledger)) as rt:
        conversations = await rt.run(the_conversations, None)

        def agent(*turns: Any) -> Any:
            return agent_with(act | send | wait).on(ScriptedModel(*turns))

        print(json.dumps("ready"), flush=True)
        while line := await next_line():
            word, conversation, *more = json.loads(line)
            ledger.ran.clear()
            turns: tuple[Any, ...] = call_tool("act", text=name, id=name), say(name)
            if word == "wait":
                turns = call_tool("wait", text=name, id="w"), call_tool("act", text="never", id="n"), say(name)
            elif word == "suspend":
                turns = (call_tool("send", text="sent", id="s"),)
            if word == "fork":
                answer: Any = await conversations.fork(conversation, more[0])
            elif word == "resume":
                waiting = codec(RunSuspended).decode_json(more[0].encode()).unwrap()
                answer = await rt.resume(agent(say(name)), waiting, {"s": Approved(name)})
            else:
                busy = "queue" if word == "queue" else "reject"
                answer = await rt.run(agent(*turns), f"from {name}", conversation=conversation, busy=busy)
            print(json.dumps([*_said(answer), ledger.ran]), flush=True)


def _said(answer: Any) -> list[Any]:
    if not isinstance(answer, Failure):
        return ["done", str(getattr(answer.unwrap(), "output", ""))]
    cause = getattr(answer.failure(), "cause", answer.failure())
    if isinstance(cause, RunSuspended):
        return ["suspended", codec(RunSuspended).encode_json(cause).unwrap().decode()]
    why = cause.cause if isinstance(cause, JournalFailed) else None
    return [tag_of(cause), message_of(cause) if why is None else tag_of(why)]


# --- in the process that looks --------------------------------------------------------------------------------------


@attrs.define
class Racer:
    """Another process."""

    process: subprocess.Popen[str]

    def tell(self, *what: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "it has ended"
        return json.loads(line)

    def ask(self, *what: str) -> Any:
        self.tell(*what)
        return self.hear()


@contextmanager
def racers(kind: str, place: str, *names: str, lease: float = 30.0) -> Iterator[list[Racer]]:
    """Start processes over one store, and give them when all are ready."""
    started: list[Racer] = []
    try:
        for name in names:
            command = [sys.executable, "-m", "tests.crash.racing", kind, place, name, f"{lease}"]
            pipe = subprocess.PIPE
            process = subprocess.Popen(
                command, cwd=Path(__file__).parents[2], stdin=pipe, stdout=pipe, stderr=pipe, text=True
            )
            started.append(Racer(process))
        for racer in started:
            assert racer.hear() == "ready"
        yield started
        for racer in started:
            _, err = racer.process.communicate(timeout=60)  # which closes its input, so that it ends
            assert racer.process.returncode == 0, err
    finally:
        for racer in started:
            racer.process.kill()
            racer.process.wait()
            for pipe_ in (racer.process.stdin, racer.process.stdout, racer.process.stderr):
                if pipe_ is not None:
                    pipe_.close()


def at_once(racing: list[Racer], what: Callable[[int], tuple[str, ...]]) -> list[Any]:
    """Tell each something, then hear what came of all."""
    for number, racer in enumerate(racing):
        racer.tell(*what(number))
    return [racer.hear() for racer in racing]


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:4], float(sys.argv[4]))
