"""The same calls over stdio and HTTP, before and since 2026-07-28, against a server of the SDK's."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import attrs
import pytest

from lamina.call import Elicited, Sampled, TextContent
from lamina.mcp import (
    ConnectionLimits,
    Elicitation,
    ElicitHook,
    McpCall,
    McpConnections,
    McpOutcomeUnknown,
    SampleHook,
    Sampling,
    ServerSpec,
    connect,
    http_server,
    stdio_server,
)
from tests.unit.mcp.world import QUICK, SERVERS, noted, program

ERAS = [
    pytest.param("legacy", "2025-11-25", id="2025"),
    pytest.param("auto", "2026-07-28", id="2026"),
    pytest.param("2026-07-28", "2026-07-28", id="2026-said"),
]


async def who(question: Elicitation) -> Elicited:
    return Elicited("accept", {"name": "Ada"})


@asynccontextmanager
async def serving(
    transport: str,
    protocol: str,
    notes: Path,
    elicit: ElicitHook = who,
    sample: SampleHook | None = None,
    limits: ConnectionLimits = QUICK,
) -> AsyncIterator[ServerSpec]:
    if transport == "stdio":
        script = str(SERVERS / "both.py")
        yield stdio_server(
            "both",
            sys.executable,
            script,
            "stdio",
            env={"NOTES": str(notes)},
            protocol=protocol,
            elicit=elicit,
            sample=sample,
            limits=limits,
        )
        return
    async with program("both.py", "http", notes=notes) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        yield http_server("both", url, protocol=protocol, elicit=elicit, sample=sample, limits=limits)


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(("protocol", "version"), ERAS)
async def test_values_progress_questions_and_cancels(
    transport: str, protocol: str, version: str, tmp_path: Path
) -> None:
    told: list[float] = []
    notes = tmp_path / "notes"
    notes.touch()

    async def tell(done: float, total: float | None, message: str) -> None:
        told.append(done)

    async with serving(transport, protocol, notes) as server, connect(server) as connected:
        connections: McpConnections = connected.unwrap()
        known = connections.server("both")
        added = await connections.call(McpCall(server="both", tool="add", arguments={"n": 1}))
        asked = await connections.call(McpCall(server="both", tool="who"))
        await connections.call(McpCall(server="both", tool="steps", progress=tell))
        late = await connections.call(McpCall(server="both", tool="hang", timeout=0.2))
        await noted(notes, "hang cancelled")
        async with anyio.create_task_group() as group:
            group.start_soon(connections.call, McpCall(server="both", tool="hang"))
            await noted(notes, "call hang", 2)
            group.cancel_scope.cancel()
        await noted(notes, "hang cancelled", 2)

    assert known is not None
    assert known.identity is not None
    assert (known.identity.name, known.identity.protocol) == ("both", version)
    assert added.unwrap().structured == {"n": 2}
    (text,) = asked.unwrap().contents.content
    assert isinstance(text, TextContent)
    assert json.loads(text.text) == {"action": "accept", "content": {"name": "Ada"}}
    assert told[-1] == 3
    assert isinstance(late.failure(), McpOutcomeUnknown)


@pytest.mark.parametrize(
    ("transport", "protocol", "related", "known"),
    [
        ("stdio", "auto", False, True),
        ("http", "auto", False, True),
        ("http", "legacy", True, True),
        ("http", "legacy", False, False),
        ("stdio", "legacy", True, False),
    ],
)
async def test_a_question_tells_for_which_call_it_is_asked_where_the_protocol_does(
    transport: str, protocol: str, related: bool, known: bool, tmp_path: Path
) -> None:
    asked: list[Elicitation] = []
    all_asked = anyio.Event()

    async def together(question: Elicitation) -> Elicited:
        asked.append(question)
        if len(asked) == 3:
            all_asked.set()
        with anyio.fail_after(15):
            await all_asked.wait()
        return Elicited("accept", {"name": "nobody" if question.call is None else str(question.call.arguments["n"])})

    more = {"related": True} if related else {}
    calls = [McpCall(server="both", tool="who", arguments={"n": n, **more}) for n in range(3)]
    answers: dict[int, str] = {}
    async with serving(transport, protocol, tmp_path / "notes", together) as server, connect(server) as connected:

        async def ask(n: int) -> None:
            answered = (await connected.unwrap().call(calls[n])).unwrap().contents.content[0]
            assert isinstance(answered, TextContent)
            answers[n] = json.loads(answered.text)["content"]["name"]

        async with anyio.create_task_group() as group:
            for n in range(3):
                group.start_soon(ask, n)
        # Nothing of those calls is left for the next one.
        alone = McpCall(server="both", tool="who", arguments={"n": 4, **more})
        await connected.unwrap().call(alone)

    assert answers == {n: str(n) if known else "nobody" for n in range(3)}
    assert all(set(map(id, question.during)) <= set(map(id, calls)) for question in asked[:3])
    assert all(question.call in (*question.during, None) for question in asked)
    assert asked[3].during == (alone,)
    assert (asked[3].call is alone) == known


async def test_in_an_older_era_one_call_at_a_time_is_the_one_that_is_asked_for(tmp_path: Path) -> None:
    asked: list[Elicitation] = []

    async def note(question: Elicitation) -> Elicited:
        asked.append(question)
        return Elicited("decline")

    limits = attrs.evolve(QUICK, concurrent_calls=1)
    calls = [McpCall(server="both", tool="who", arguments={"n": n}) for n in range(3)]
    async with (
        serving("stdio", "legacy", tmp_path / "notes", note, limits=limits) as server,
        connect(server) as connected,
        anyio.create_task_group() as group,
    ):
        for call in calls:
            group.start_soon(connected.unwrap().call, call)

    assert [question.during for question in asked] == [(call,) for call in calls]


@pytest.mark.parametrize("protocol", ["legacy", "auto"])
async def test_what_a_model_is_asked_tells_it_too(protocol: str, tmp_path: Path) -> None:
    asked: list[Sampling] = []

    async def answer(request: Sampling) -> Sampled:
        asked.append(request)
        return Sampled(text="Hi", model="m")

    call = McpCall(server="both", tool="model")
    async with serving("stdio", protocol, tmp_path / "notes", sample=answer) as server, connect(server) as connected:
        (said,) = (await connected.unwrap().call(call)).unwrap().contents.content

    assert said == TextContent("Hi")
    (request,) = asked
    assert (request.server, request.max_tokens, request.during) == ("both", 5, (call,))
    assert request.call is (call if protocol == "auto" else None)
