"""What a hostile peer sends, and what an application does that it should not: nothing else is touched by it."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
from collections.abc import Callable
from typing import Any, Never

import mcp_types as wire
import pytest
from returns.result import Result, Success

from lamina.adapters.mcp import Identity, McpHttp, McpLimits, McpServer, serve_mcp
from lamina.adapters.mcp._finish import finish
from lamina.adapters.mcp._lines import Lines
from lamina.call import (
    Caller,
    Capability,
    Invocation,
    Outcome,
    Prompt,
    PromptArgument,
    ResourceContent,
    ResourceInfo,
    Surface,
    ToolSuccess,
)
from lamina.effect import Try, bind, seed
from lamina.redaction import Secrets
from lamina.runtime import build
from lamina.tools import tool
from tests.protocols.over_http import META, listening, told
from tests.protocols.over_http import Caller as HttpCaller
from tests.unit.adapters.mcp.test_lines import INITIALIZE, READY, call, wired
from tests.unit.adapters.mcp.world import (
    LEGACY,
    MODERN,
    Name,
    Nothing,
    World,
    ask,
    echo,
    served,
    surface_of,
    talking,
    until,
)

PASSWORD = "hunter2-hunter2"


@pytest.mark.parametrize("given", [{"requestId": [1]}, {"requestId": {}}, {"requestId": None}, {}, {"requestId": True}])
async def test_84_a_cancel_that_names_anything_ends_nothing(given: Any) -> None:
    async with wired(World()) as (wire, _):
        wire.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": given})
        assert (await wire.ask(call("echo", {"text": "x"})))["result"]["content"][0]["text"] == "x"


async def test_an_input_that_breaks_has_ended() -> None:
    async def receive() -> bytes:
        raise OSError(5, "the terminal hung up")

    async def send(data: bytes) -> None: ...

    async with surface_of(World(), echo) as surface, asyncio.timeout(5):
        await McpServer(surface).serve(Lines(receive, send))


class Broken(Surface):
    """Is cancelled by something of its own, wherever it is asked."""

    name = "broken"
    capabilities = (Capability(name="do", description="Do.", input_schema={"type": "object"}),)
    resources = (ResourceInfo(name="text", uri="app://text"),)

    async def available(self) -> frozenset[str]:
        raise asyncio.CancelledError

    async def invoke(self, name: str, payload: Any, invocation: Invocation, caller: Caller) -> Outcome:
        raise asyncio.CancelledError

    async def read(self, uri: str) -> Any:
        raise asyncio.CancelledError


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_a_surface_that_is_cancelled_by_itself_ends_no_session(mode: str) -> None:
    async with talking(McpServer(Broken()), mode) as client:
        for ask_it in (
            client.list_tools,
            lambda: client.call_tool("do", {}),
            lambda: client.read_resource("app://text"),
        ):
            for _ in range(2):
                with pytest.raises(Exception, match="failed unexpectedly"):
                    await ask_it()


async def test_a_token_that_cannot_be_verified_is_503_whatever_verify_does() -> None:
    async def verify(token: str) -> Any:
        if token == "cancelled":
            raise asyncio.CancelledError
        return True  # no `Identity`

    async with surface_of(World(), echo) as surface, listening(McpServer(surface), McpHttp(verify=verify)) as http:
        for token in ("cancelled", "odd"):
            assert (await HttpCaller(http, token=token).modern("tools/list")).status_code == 503


async def test_a_call_that_waits_is_refused_where_its_arguments_are_no_json() -> None:
    capable = json.dumps({**META, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}})
    world = World()
    async with surface_of(world, ask) as surface, listening(McpServer(surface)) as http:
        for arguments in ("NaN", '"\\ud800"', "[" * 900 + "]" * 900):
            body = (
                '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
                f'{{"name":"ask","arguments":{{"x":{arguments}}},"_meta":{capable}}}}}'
            )
            headers = {"mcp_protocol_version": MODERN, "mcp_method": "tools/call", "mcp_name": "ask"}
            assert told(await HttpCaller(http).post(body.encode(), **headers))["error"]["code"] == -32602
    assert world.ran == []


# Watching.


async def subscribe(client: Any, uri: str) -> None:
    params = wire.SubscribeRequestParams(uri=uri)
    await client.session.send_request(wire.SubscribeRequest(params=params), wire.EmptyResult)


async def test_only_what_is_there_is_watched_and_only_so_much() -> None:
    limits = McpLimits(debounce=0.001, watched=2)
    async with served(World(), LEGACY, limits=limits) as (client, _):
        with pytest.raises(Exception, match="no such resource"):
            await subscribe(client, "app://nowhere")
        await subscribe(client, "app://text")
        await subscribe(client, "app://item/1")
        await subscribe(client, "app://item/1")
        with pytest.raises(Exception, match="Too many resources are watched"):
            await subscribe(client, "app://item/2")
    async with served(World(), MODERN, limits=limits) as (client, _):
        with pytest.raises(Exception, match="Too many resources are watched"):
            async with client.listen(resource_subscriptions=[f"app://item/{n}" for n in range(3)]):
                pass


async def test_a_session_that_never_says_that_it_is_ready_leaves_nothing_watched() -> None:
    world = World()
    async with surface_of(world) as surface:
        server = McpServer(surface)
        watcher = server._views.only.watcher  # type: ignore[union-attr]
        async with wired_to(server) as say:
            await say(INITIALIZE)
            await say({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "app://text"}})
            assert dict(watcher._uris) == {"app://text": 1}
        assert dict(watcher._uris) == {}


class wired_to:
    """A client of one line at a time."""

    def __init__(self, server: McpServer) -> None:
        self.server = server
        self.up, self.down = asyncio.Queue[bytes](), asyncio.Queue[bytes]()

    async def say(self, message: Any) -> Any:
        self.up.put_nowait(json.dumps(message).encode() + b"\n")
        if "id" not in message:
            return None
        async with asyncio.timeout(5):
            return json.loads(await self.down.get())

    async def __aenter__(self) -> Callable[[Any], Any]:
        self.task = asyncio.create_task(self.server.serve(Lines(self.up.get, self.down.put)))
        return self.say

    async def __aexit__(self, *_: object) -> None:
        self.up.put_nowait(b"")
        await self.task


class Slow(Surface):
    """Takes its time to say what is available, and counts who listens."""

    name = "slow"
    capabilities = (Capability(name="do", description="Do.", input_schema={"type": "object"}),)

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.asked = 0

    async def available(self) -> frozenset[str]:
        self.asked += 1
        await self.go.wait()
        return frozenset()

    async def invoke(self, name: str, payload: Any, invocation: Invocation, caller: Caller) -> Outcome:
        return ToolSuccess({})


async def test_a_session_that_says_often_that_it_is_ready_listens_once() -> None:
    surface = Slow()
    server = McpServer(surface)
    async with wired_to(server) as say:
        await say(INITIALIZE)
        for _ in range(5):
            await say(READY)
        await say({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        surface.go.set()
        await say({"jsonrpc": "2.0", "id": 2, "method": "ping"})
        await until(lambda: "lamina mcp session" in names())
        assert names().count("lamina mcp session") == 1
        assert server._views.only.watcher._listeners == 1  # type: ignore[union-attr]


def names() -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks()]


async def test_a_session_whose_claims_change_leaves_nothing_watched() -> None:
    claims = {"one": {"admin": False}, "two": {"admin": True}}

    async def verify(token: str) -> Identity:
        return Identity(subject="ada", claims=claims[token])  # type: ignore[arg-type]

    world = World()
    async with surface_of(world) as surface:
        server = McpServer(lambda who: surface, limits=McpLimits(debounce=0.001))
        async with listening(server, McpHttp(verify=verify)) as http:
            ada = HttpCaller(http, token="one")
            await ada.begin()
            for token, uri in (("one", "app://text"), ("two", "app://item/1")):
                ada.token = token
                assert "result" in told(await ada.post(ada.message("resources/subscribe", {"uri": uri})))
            watchers = [view.watcher for view in server._views._views.values()]
            assert len(watchers) == 1
            assert dict(watchers[0]._uris) == {"app://text": 1, "app://item/1": 1}
            ada.token = "two"
            await ada.post(ada.message("resources/unsubscribe", {"uri": "app://text"}))
            assert dict(watchers[0]._uris) == {"app://item/1": 1}
            await http.delete("/mcp", headers=ada.headers())
            await until(lambda: not watchers[0]._uris)
    assert world.changes.listeners == 0


# Secrets.


@tool(asks=("elicit", "progress", "log"))
async def leaky(call: Nothing, ok: Try[Never], caller: Caller) -> str:
    """Tell the caller what nobody may be told."""
    await caller.progress(1, 2, f"at {PASSWORD}")
    await caller.log("warning", {PASSWORD: [PASSWORD]}, PASSWORD)
    answered = await caller.elicit_as(f"Is it {PASSWORD}?", Name)
    return answered.unwrap().first


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_no_secret_is_said_to_a_caller_and_its_answer_is_its_own(mode: str) -> None:
    heard: list[Any] = []

    async def person(context: Any, params: Any) -> Any:
        heard.append(params.message)
        return wire.ElicitResult(action="accept", content={"first": "Ada"})

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async def logged(params: Any) -> None:
        heard.append((params.data, params.logger))

    level: Any = {"log_level": "debug"} if mode == MODERN else {}
    async with build(bind(Secrets).value(Secrets(PASSWORD)), seeds=seed(Caller)) as opened:
        server = McpServer(opened.surface(leaky))
        async with talking(server, mode, elicitation_callback=person, logging_callback=logged, **level) as client:
            result = await client.call_tool("leaky", {}, progress_callback=progress)
    hidden = "[REDACTED:secret]"
    assert result.content[0].text == "Ada"
    assert heard == [f"at {hidden}", ({hidden: [hidden]}, hidden), f"Is it {hidden}?"]


# Ends.


async def test_what_has_to_end_ends_however_often_its_waiter_is_cancelled() -> None:
    begun, go, ended = asyncio.Event(), asyncio.Event(), list[str]()

    async def work() -> None:
        begun.set()
        await go.wait()
        ended.append("ended")

    task = asyncio.create_task(finish(work(), 5))
    await begun.wait()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["ended"]


async def test_what_does_not_end_in_time_is_cancelled() -> None:
    stuck = asyncio.Event()
    await finish(stuck.wait(), 0.01)
    await until(lambda: "lamina mcp end" not in names())


async def test_a_server_that_is_cancelled_again_and_again_leaves_nothing_behind() -> None:
    before, ports = set(asyncio.all_tasks()), asyncio.Queue[int]()
    async with surface_of(World(), echo) as surface:
        task = asyncio.create_task(McpServer(surface).http(McpHttp(port=0, started=ports.put_nowait)))
        port = await ports.get()
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", port), 1)
    gc.collect()
    assert set(asyncio.all_tasks()) == before


class Large(Surface):
    name = "large"
    resources = (ResourceInfo(name="all", uri="app://all"),)

    async def available(self) -> frozenset[str]:
        return frozenset()

    async def invoke(self, name: str, payload: Any, invocation: Invocation, caller: Caller) -> Outcome:
        raise NotImplementedError

    async def read(self, uri: str) -> Result[ResourceContent, Any]:
        return Success(ResourceContent(uri=uri, media_type="text/plain", text="x" * 5_000_000))


async def test_a_resource_that_is_read_as_a_tool_is_bounded_like_a_tool() -> None:
    from lamina.call import DEFAULT_RESULT_BYTES, NOBODY, presented

    outcome: Any = await presented(Large(), read_tools=True).invoke("read_all", {}, Invocation.new("mcp"), NOBODY)
    assert outcome.value["originalBytes"] == 5_000_002
    assert len(json.dumps(outcome.value)) <= DEFAULT_RESULT_BYTES


class Many(Large):
    """Knows many values of an argument."""

    async def complete(self, kind: Any, of: str, argument: str, begun: str) -> tuple[str, ...]:
        return tuple(map(str, range(150)))

    prompts = (Prompt(name="pick", arguments=(PromptArgument(name="one"),)),)


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_a_client_is_told_that_there_are_more_values_than_it_is_given(mode: str) -> None:
    async with talking(McpServer(Many()), mode) as client:
        given = (await client.complete(wire.PromptReference(name="pick"), {"name": "one", "value": ""})).completion
    assert (len(given.values), given.total, given.has_more) == (100, None, True)


async def test_a_port_that_is_taken_is_the_error_itself_beside_stdio_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def stdio(server: object, ending: object = None) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(McpServer, "stdio", stdio)
    async with surface_of(World(), echo) as surface, listening(McpServer(surface)) as http:
        with pytest.raises(OSError, match="in use"):
            await serve_mcp(surface, http=McpHttp(port=http.base_url.port or 0))
