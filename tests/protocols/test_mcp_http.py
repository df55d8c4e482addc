"""The MCP server over real HTTP: who may reach it, whose a session is, and what it does with bad input."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp_types import JSONRPCNotification

from lamina.adapters.mcp import Identity, McpApp, McpHttp, McpLimits, McpServer
from lamina.adapters.mcp._http import bound_to
from lamina.adapters.mcp._replay import MemoryReplay
from lamina.call import Surface
from lamina.effect import ConstructionError
from tests.protocols.over_http import LEGACY, META, MODERN, Caller, listening, told
from tests.unit.adapters.mcp.world import SECRET, World, echo, surface_of, until

TOKENS = {
    "ada-1": Identity(subject="ada", client="app", claims={"a": 1, "b": 2}),
    "ada-2": Identity(subject="ada", client="app", claims={"b": 2, "a": 1}),
    "ada-admin": Identity(subject="ada", client="app", claims={"admin": True}),
    "bob": Identity(subject="bob", client="app"),
}


async def verify(token: str) -> Identity | None:
    if token == "broken":
        raise ValueError(SECRET)
    return TOKENS.get(token)


async def test_both_eras_with_the_sdks_own_client() -> None:
    world = World()
    async with surface_of(world) as surface, listening(McpServer(surface)) as http:
        for mode in ("legacy", MODERN, "auto"):
            async with Client(f"{http.base_url}/mcp", mode=mode) as client:
                assert len((await client.list_tools()).tools) == 11
                assert (await client.call_tool("echo", {"text": "tea"})).content[0].text == "tea"
                assert (await client.read_resource("app://text")).contents[0].text == "one"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil:80",
        "",
        "[::2]",
        "a[::1]",
        "[::1",
        "localhost:80@evil.example",
        "localhost:",
    ],
)
async def test_a_host_that_is_not_this_machine_is_421(host: str) -> None:
    async with surface_of(World(), echo) as surface, listening(McpServer(surface)) as http:
        response = await Caller(http).post({}, host=host)
    assert (response.status_code, response.text) == (421, "Invalid Host header")


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://127.0.0.1.evil.example",
        "file://localhost",
        "localhost",
        "",
        "http://[",
        "http://localhost:80@evil.example",
    ],
)
async def test_89_an_origin_that_is_not_listed_is_403_before_anybody_is_authenticated(origin: str) -> None:
    settings = McpHttp(verify=verify)
    async with surface_of(World(), echo) as surface, listening(McpServer(surface), settings) as http:
        response = await Caller(http, token="nonsense").post({}, origin=origin)
    assert (response.status_code, response.text) == (403, "Invalid Origin header")


async def test_hosts_and_origins_that_are_listed_pass() -> None:
    settings = McpHttp(hosts=("MCP.example.com",), origins=("https://App.example.com",))
    async with surface_of(World(), echo) as surface, listening(McpServer(surface), settings) as http:
        for more in (
            {"host": "mcp.example.com"},
            {"host": "mcp.example.com:8443"},
            {"origin": "https://app.example.com"},
            {"origin": "http://localhost:3000"},
            {"host": "localhost:1", "origin": "http://[::1]:5"},
        ):
            response = await Caller(http).modern("tools/list", None, **more)
            assert response.status_code == 200
        refused = await Caller(http).modern("tools/list", None, origin="https://app.example.com:444")
        assert refused.status_code == 403


async def test_another_path_is_404() -> None:
    async with surface_of(World(), echo) as surface, listening(McpServer(surface)) as http:
        assert (await http.get("/")).status_code == 404
        assert (await http.post("/mcp/x")).status_code == 404


async def test_no_token_and_a_wrong_one_are_401_and_a_verifier_that_breaks_says_nothing() -> None:
    settings = McpHttp(verify=verify)
    async with surface_of(World(), echo) as surface, listening(McpServer(surface), settings) as http:
        for more in ({}, {"authorization": "Basic x"}, {"authorization": "Bearer no"}):
            response = await Caller(http).post({}, **more)
            assert response.status_code == 401
            assert response.headers["www-authenticate"].startswith('Bearer realm="mcp"')
        broken = await Caller(http, token="broken").post({})
        assert (broken.status_code, SECRET in broken.text) == (503, False)
        assert (await Caller(http, token="bob").begin()).status_code == 200


async def test_91_92_a_session_is_its_callers_and_a_renewed_token_goes_on_with_it() -> None:
    settings = McpHttp(verify=verify)
    async with surface_of(World(), echo) as surface, listening(McpServer(surface), settings) as http:
        ada = Caller(http, token="ada-1")
        await ada.begin()
        assert (await ada.call("echo", {"text": "x"}))["result"]["content"][0]["text"] == "x"
        renewed = Caller(http, token="ada-2")
        renewed.session = ada.session
        assert (await renewed.call("echo", {"text": "y"}))["result"]["content"][0]["text"] == "y"
        stranger = Caller(http, token="bob")
        stranger.session = ada.session
        theirs = await stranger.post(stranger.message("tools/list"))
        stranger.session = "0" * 32
        unknown = await stranger.post(stranger.message("tools/list"))
        assert theirs.status_code == unknown.status_code == 404
        assert told(theirs)["error"] == told(unknown)["error"]
        stranger.session = ada.session
        assert (await http.delete("/mcp", headers=stranger.headers())).status_code == 404
        assert (await http.get("/mcp", headers=stranger.headers(accept="text/event-stream"))).status_code == 404
        assert (await ada.call("echo", {"text": "z"}))["result"]["content"][0]["text"] == "z"


async def test_91_94_an_idle_session_ends_and_a_strangers_attempts_do_not_keep_it() -> None:
    settings, limits = McpHttp(verify=verify), McpLimits(idle=0.15)
    async with surface_of(World(), echo) as surface, listening(McpServer(surface, limits=limits), settings) as http:
        ada, stranger = Caller(http, token="ada-1"), Caller(http, token="bob")
        await ada.begin()
        stranger.session = ada.session
        async with asyncio.timeout(5):
            while True:
                assert (await stranger.post(stranger.message("tools/list"))).status_code == 404
                await asyncio.sleep(0.02)
                if ada.session not in _sessions(http):
                    break
        response = await ada.post(ada.message("tools/list"))
        assert response.status_code == 404


def _sessions(http: httpx2.AsyncClient) -> Any:
    import gc

    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    found: dict[str, Any] = {}
    for each in gc.get_objects():
        if isinstance(each, StreamableHTTPSessionManager):
            found.update(each._server_instances)
    return found


async def test_93_each_caller_has_a_surface_of_its_own_and_one_in_the_params_counts_for_nothing() -> None:
    world, made = World(), list[Any]()
    async with surface_of(world) as first, surface_of(world, echo) as second:

        def factory(identity: Identity | None) -> Surface:
            made.append(identity)
            return first if identity is not None and identity.subject == "ada" else second

        settings = McpHttp(verify=verify)
        async with listening(McpServer(factory), settings) as http:
            ada, bob, admin = (Caller(http, token=token) for token in ("ada-1", "bob", "ada-admin"))
            listed = {}
            for caller in (ada, bob, Caller(http, token="ada-2")):
                await caller.begin()
                reply = told(await caller.post(caller.message("tools/list", {"principal": "ada"})))
                modern = told(await caller.modern("tools/list"))
                listed[caller.token] = (len(reply["result"]["tools"]), len(modern["result"]["tools"]))
            assert listed == {"ada-1": (11, 11), "bob": (1, 1), "ada-2": (11, 11)}
            assert [each.subject for each in made] == ["ada", "bob"]
            await admin.modern("tools/list")
            assert len(made) == 3  # other claims, another surface


async def test_only_so_many_surfaces_are_kept() -> None:
    made: list[str] = []

    async def anybody(token: str) -> Identity | None:
        return Identity(subject=token)

    async with surface_of(World(), echo) as surface:

        async def factory(identity: Identity | None) -> Surface:
            assert identity is not None
            made.append(identity.subject)
            return surface

        server = McpServer(factory, limits=McpLimits(callers=2))
        async with listening(server, McpHttp(verify=anybody)) as http:
            for token in ("a", "b", "a", "c", "a", "b"):
                assert (await Caller(http, token=token).modern("tools/list")).status_code == 200
    assert made == ["a", "b", "c", "b"]


async def test_a_factory_that_breaks_or_makes_too_much_says_nothing() -> None:
    async with surface_of(World()) as surface:

        def breaks(identity: Identity | None) -> Surface:
            raise ValueError(SECRET)

        for factory, plain in ((breaks, False), (lambda _: surface, True)):
            server = McpServer(factory, json_response=plain)
            async with listening(server, McpHttp(json_response=plain)) as http:
                response = await Caller(http).modern("tools/list")
                assert told(response)["error"]["message"] == "Handling tools/list failed unexpectedly"
                assert SECRET not in response.text


async def test_a_body_that_is_too_large_is_413_in_both_eras() -> None:
    async with surface_of(World(), echo) as surface, listening(McpServer(surface)) as http:
        large = {"name": "echo", "arguments": {"text": "x" * 5_000_000}}
        assert (await Caller(http).modern("tools/call", large)).status_code == 413
        caller = Caller(http)
        await caller.begin()
        assert (await caller.post(caller.message("tools/call", large))).status_code == 413
        assert (await caller.call("echo", {"text": "x"}))["result"]


async def test_90_accept_must_allow_both_and_wildcards_do() -> None:
    async with surface_of(World(), echo) as surface, listening(McpServer(surface)) as http:
        caller = Caller(http)
        await caller.begin()
        listing = caller.message("tools/list")
        for accept, status in (
            ("*/*", 200),
            ("application/*, text/*", 200),
            ("application/json;q=0.1, text/event-stream;q=0.9", 200),
            ("application/json", 406),
            ("text/event-stream", 406),
            ("text/html", 406),
        ):
            assert (await caller.post(listing, accept=accept)).status_code == status, accept
            assert (await caller.modern("tools/list", None, accept=accept)).status_code == status, accept


async def test_bad_bodies_and_headers_are_refused_as_the_protocol_says() -> None:
    world = World()
    async with surface_of(world) as surface, listening(McpServer(surface)) as http:
        caller = Caller(http)
        await caller.begin()
        batch = [caller.message("tools/call", {"name": "buy", "arguments": {}})]
        for body in (b"{nonsense", b"\xff\xfe", batch, [], 5, {"jsonrpc": "1.0"}):
            for version in (LEGACY, MODERN):
                response = await caller.post(body, mcp_protocol_version=version)
                assert response.status_code == 400, (body, version)
                assert told(response)["error"]["code"] in (-32700, -32600, -32602)
        odd = await caller.post(caller.message("tools/list"), mcp_protocol_version="1999-01-01")
        assert odd.status_code == 400
        plain = await caller.post(caller.message("tools/list"), content_type="text/plain")
        assert plain.status_code in (400, 415)
        nobody = Caller(http)
        assert (await nobody.post(nobody.message("tools/list"))).status_code == 400
        assert (await http.put("/mcp", headers=caller.headers())).status_code == 405
        mismatch = await caller.modern("tools/call", {"name": "buy", "arguments": {}}, mcp_name="echo")
        assert mismatch.status_code == 400
        for arguments in ([], "x", 5):
            refused = await caller.post(caller.message("tools/call", {"name": "buy", "arguments": arguments}))
            assert told(refused)["error"]["code"] == -32602
            refused = await caller.modern("tools/call", {"name": "buy", "arguments": arguments})
            assert told(refused)["error"]["code"] == -32602
    assert world.ran == []


async def test_97_98_a_notification_is_202_and_a_deleted_session_is_gone() -> None:
    async with surface_of(World(), echo) as surface, listening(McpServer(surface)) as http:
        caller = Caller(http)
        await caller.begin()
        noted = await caller.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}})
        assert (noted.status_code, noted.content) == (202, b"")
        stream = asyncio.create_task(http.get("/mcp", headers=caller.headers(accept="text/event-stream")))
        await asyncio.sleep(0.05)
        assert (await http.delete("/mcp", headers=caller.headers())).status_code in (200, 204)
        assert (await stream).status_code == 200  # its stream has ended
        late = await http.get("/mcp", headers=caller.headers(accept="text/event-stream"))
        assert late.status_code == 404
        assert (await caller.post(caller.message("tools/list"))).status_code == 404


async def test_only_so_many_sessions_at_once() -> None:
    limits = McpLimits(sessions=2)
    async with surface_of(World(), echo) as surface, listening(McpServer(surface, limits=limits)) as http:
        first, second, third = Caller(http), Caller(http), Caller(http)
        assert (await first.begin()).status_code == (await second.begin()).status_code == 200
        assert (await third.begin()).status_code == 503
        await http.delete("/mcp", headers=first.headers())
        assert (await third.begin()).status_code == 200


async def test_what_is_refused_leaves_no_session_behind() -> None:
    limits = McpLimits(sessions=1)
    async with surface_of(World(), echo) as surface, listening(McpServer(surface, limits=limits)) as http:
        for _ in range(5):
            await Caller(http).post({}, host="evil.example")
            await Caller(http).post({}, origin="https://evil.example")
            await Caller(http).post(b"{nonsense")
            await Caller(http).post(Caller(http).message("tools/list"))
            await http.get("/mcp", headers={"accept": "text/event-stream"})
        assert (await Caller(http).begin()).status_code == 200


async def test_in_the_newer_era_a_client_that_goes_away_aborts_its_call() -> None:
    world = World()
    async with surface_of(world) as surface, listening(McpServer(surface)) as http:
        task = asyncio.create_task(Caller(http).modern("tools/call", {"name": "wait", "arguments": {}}))
        await world.begun.wait()
        task.cancel()
        await asyncio.wait({task})
        await until(lambda: world.ended == ["cancelled"])


async def test_in_the_older_era_a_cancelled_notification_aborts_and_a_lost_connection_does_not() -> None:
    world = World()
    async with surface_of(world) as surface, listening(McpServer(surface)) as http:
        caller = Caller(http)
        await caller.begin()
        message = caller.message("tools/call", {"name": "wait", "arguments": {}})
        task = asyncio.create_task(caller.post(message))
        await world.begun.wait()
        task.cancel()
        await asyncio.wait({task})
        assert (await caller.call("echo", {"text": "x"}))["result"]
        assert world.ended == []
        await caller.post(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": message["id"]}}
        )
        await until(lambda: world.ended == ["cancelled"])


async def test_85_no_era_tells_what_an_exception_says() -> None:
    async with surface_of(World()) as surface, listening(McpServer(surface)) as http:
        caller = Caller(http)
        await caller.begin()
        old = await caller.post(caller.message("tools/call", {"name": "boom", "arguments": {}}))
        new = await caller.modern("tools/call", {"name": "boom", "arguments": {}})
        for response in (old, new):
            assert told(response)["result"]["content"][0]["text"] == 'Capability "boom" failed unexpectedly'
            assert SECRET not in response.text + repr(response.headers)


async def test_plain_json_in_both_eras() -> None:
    settings = McpHttp(json_response=True)
    async with (
        surface_of(World(), echo, prompts=[]) as surface,
        listening(McpServer(surface, json_response=True), settings) as http,
    ):
        caller = Caller(http)
        await caller.begin()
        for response in (
            await caller.post(caller.message("tools/call", {"name": "echo", "arguments": {"text": "x"}})),
            await caller.modern("tools/call", {"name": "echo", "arguments": {"text": "x"}}, accept="application/json"),
        ):
            assert response.headers["content-type"].startswith("application/json")
            assert response.json()["result"]["structuredContent"] == {"result": "x"}


async def test_a_stranger_does_not_get_the_call_that_another_holds() -> None:
    world = World()
    async with surface_of(world) as surface, listening(McpServer(surface), McpHttp(verify=verify)) as http:
        ada, bob = Caller(http, token="ada-1"), Caller(http, token="bob")
        capable = {**META, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}

        async def go(caller: Caller, **more: Any) -> Any:
            params = {"name": "ask", "arguments": {}, "_meta": capable, **more}
            headers = {"mcp_protocol_version": MODERN, "mcp_method": "tools/call", "mcp_name": "ask"}
            return told(await caller.post(caller.message("tools/call", params), **headers))

        asked = (await go(ada))["result"]
        assert asked["resultType"] == "input_required"
        answers = {key: {"action": "accept", "content": {"first": "Ada"}} for key in asked["inputRequests"]}
        more = {"requestState": asked["requestState"], "inputResponses": answers}
        assert (await go(bob, **more))["error"]["code"] == -32602
        assert (await go(ada, **more))["result"]["content"][0]["text"] == "Ada m"
    assert world.ran == ["ask"]


async def test_the_application_runs_again_after_it_has_ended_and_is_mounted_in_another() -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    async with surface_of(World(), echo) as surface:
        app: McpApp = McpServer(surface).app(McpHttp(path="/mcp"))
        for place in ("", "/api/v1"):
            mounted = Starlette(routes=[Mount(place or "/", app=app)])
            transport = httpx2.ASGITransport(app=mounted)
            base = f"http://localhost{place}"
            async with app.running(), httpx2.AsyncClient(transport=transport, base_url=base) as http:
                assert (await Caller(http).modern("tools/list")).status_code == 200
                with pytest.raises(RuntimeError, match="runs already"):
                    async with app.running():
                        pass


async def test_progress_and_changes_come_over_http() -> None:
    world, heard = World(), list[Any]()

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(done)

    async def message(event: Any) -> None:
        heard.append(getattr(event, "method", event))

    limits = McpLimits(debounce=0.001)
    async with surface_of(world) as surface, listening(McpServer(surface, limits=limits)) as http:
        async with Client(f"{http.base_url}/mcp", mode="legacy", message_handler=message) as client:
            await client.call_tool("tell", {"text": "x"}, progress_callback=progress)
            await until(lambda: 2 in heard)
            await until(lambda: world.changes.listeners == 1)

            # The client opens its stream by itself, and says nothing of it: it hears the first change after that.
            async with asyncio.timeout(10):
                while "notifications/tools/list_changed" not in heard:
                    world.open = not world.open
                    world.changes.announce()
                    await asyncio.sleep(0.02)  # longer than changes are gathered for
        async with (
            Client(f"{http.base_url}/mcp", mode=MODERN) as client,
            client.listen(tools_list_changed=True) as stream,
        ):
            world.open = not world.open
            world.changes.announce()
            async with asyncio.timeout(5):
                assert type(await anext(stream)).__name__ == "ToolsListChanged"


async def test_the_parts_of_an_answer_are_sent_at_once() -> None:
    seen: asyncio.Queue[int] = asyncio.Queue()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.put_nowait(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with bound_to("127.0.0.1", 0) as bound:
        async with await asyncio.start_server(connected, sock=bound), asyncio.timeout(5):
            _, writer = await asyncio.open_connection(*bound.getsockname())
            assert await seen.get() != 0
            writer.close()
            await writer.wait_closed()


async def test_a_port_that_is_taken_is_an_error_of_the_one_who_listens() -> None:
    async with surface_of(World(), echo) as surface, listening(McpServer(surface)) as http:
        with pytest.raises(OSError, match="in use"):
            await McpServer(surface).http(McpHttp(port=http.base_url.port or 0))


# A stream that was lost.


async def events(response: httpx2.Response) -> AsyncGenerator[tuple[str, Any]]:
    """Read a stream's events: their ids, and what they say."""
    named = ""
    async for line in response.aiter_lines():
        if line.startswith("id:"):
            named = line[3:].strip()
        elif line.startswith("data:") and line[5:].strip():
            yield named, json.loads(line[5:])
        elif line.startswith("data:"):
            yield named, None


async def test_96_a_stream_that_ended_early_is_taken_up_again_and_gives_nothing_of_another() -> None:
    world = World()
    settings = McpHttp(replay=100, poll_after=0.05)
    async with surface_of(world) as surface, listening(McpServer(surface), settings) as http:
        caller, other = Caller(http), Caller(http)
        await caller.begin()
        await other.begin()
        message = caller.message("tools/call", {"name": "wait", "arguments": {}})
        headers = caller.headers(mcp_protocol_version=LEGACY)
        async with http.stream("POST", "/mcp", json=message, headers=headers) as response:
            seen = [event async for event in events(response)]  # it ends before the answer
        assert [said for _, said in seen] == [None]
        assert (await caller.call("echo", {"text": "of another stream"}, mcp_protocol_version=LEGACY))["result"]
        assert (await other.call("echo", {"text": "of another session"}, mcp_protocol_version=LEGACY))["result"]
        world.go.set()
        resumed = caller.headers(
            accept="text/event-stream", mcp_protocol_version=LEGACY, last_event_id=seen[-1][0], content_type=None
        )
        async with asyncio.timeout(5), http.stream("GET", "/mcp", headers=resumed) as response:
            async for _, said in events(response):
                if said is not None:
                    assert (said["id"], said["result"]["content"][0]["text"]) == (message["id"], "went")
                    break
    assert world.ran == ["wait"]


async def test_a_session_remembers_only_so_much_and_only_its_own() -> None:
    kept, told_again = MemoryReplay(3), list[Any]()

    async def send(event: Any) -> None:
        told_again.append((event.event_id, event.message))

    said: list[Any] = [JSONRPCNotification(jsonrpc="2.0", method=f"m/{n}") for n in range(4)]
    first = await kept.store_event("1", None)
    second = await kept.store_event("1", said[0])
    await kept.store_event("2", said[1])
    third = await kept.store_event("1", said[2])
    assert await kept.replay_events_after(first, send) is None  # forgotten
    assert await kept.replay_events_after(second, send) == "1"
    assert told_again == [(third, said[2])]
    stranger = MemoryReplay(3)
    await stranger.store_event("1", said[3])
    assert await stranger.replay_events_after(second, send) is None


def test_settings_that_cannot_be() -> None:
    with pytest.raises(ConstructionError, match="give replay, too"):
        McpHttp(poll_after=1)
    with pytest.raises(ConstructionError, match="replay is 0 or more"):
        McpHttp(replay=-1)
    with pytest.raises(ConstructionError, match="calls is positive"):
        McpLimits(calls=0)


_HEAD = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Accept: application/json, text/event-stream\r\n"
)
_NEWER = b"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n"


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"", b""),
        (_HEAD, b""),
        (_HEAD + b"Content-Length: 1000\r\n\r\n{", b"HTTP/1.1 408 "),
        (_HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", b"HTTP/1.1 408 "),
        (_HEAD + _NEWER + b"Content-Length: 1000\r\n\r\n{", b"HTTP/1.1 408 "),
        (b"GET /elsewhere HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + _HEAD, b"HTTP/1.1 404 "),
    ],
    ids=["nothing", "head", "body", "chunks", "newer", "second"],
)
async def test_a_request_that_does_not_arrive_keeps_no_connection(sent: bytes, answer: bytes) -> None:
    limits = McpLimits(arrival=0.2)
    async with surface_of(World()) as surface, listening(McpServer(surface, limits=limits)) as http:
        reader, writer = await asyncio.open_connection("127.0.0.1", http.base_url.port)
        writer.write(sent)
        async with asyncio.timeout(10):
            told = await reader.read()  # until the server closes it
        writer.close()
        assert told.startswith(answer)
        assert told.count(b"HTTP/1.1 ") == bool(answer)
        caller = Caller(http)
        await caller.begin()
        assert (await caller.call("echo", {"text": "a"}))["result"]["isError"] is False


async def test_a_call_may_take_longer_than_its_request_took_to_arrive() -> None:
    world = World()
    limits = McpLimits(arrival=0.1)
    async with surface_of(world) as surface, listening(McpServer(surface, limits=limits)) as http:
        caller = Caller(http)
        await caller.begin()
        waiting = asyncio.create_task(caller.call("wait"))
        await world.begun.wait()
        await asyncio.sleep(0.3)  # three times what a request has, and it is at work
        world.go.set()
        async with asyncio.timeout(10):
            assert (await waiting)["result"]["isError"] is False
