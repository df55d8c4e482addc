"""Connecting, discovery, loss and the end: real processes, and none of them left behind."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anyio
import attrs
import pytest
from returns.result import Failure

from lamina.effect import ConstructionError
from lamina.mcp import (
    ConnectionLimits,
    McpCall,
    McpConnectFailed,
    McpConnectionLost,
    McpDiscoveryFailed,
    McpToolChanged,
    connect,
    http_server,
    mcp_connections,
    stdio_server,
)
from lamina.testing import VirtualClock
from tests.unit.mcp.world import QUICK, alive, gone, noted, pids, raw, until

SHORT = ConnectionLimits(connect=0.5, discovery=0.5, close=0.2)


@pytest.mark.parametrize(
    ("flags", "limits", "why"),
    [
        pytest.param(["exit"], QUICK, "it exited with code 3", id="exits"),
        pytest.param(["huge_hello"], QUICK, "its answer is too large", id="huge"),
        pytest.param(["mute"], SHORT, "it did not answer within 0.5 s", id="mute"),
    ],
)
@pytest.mark.parametrize("protocol", ["legacy", "auto"])
async def test_who_cannot_be_connected_to(flags: list[str], limits: ConnectionLimits, why: str, protocol: str) -> None:
    async with connect(raw(*flags, limits=limits, protocol=protocol)) as connected:
        assert connected == Failure(McpConnectFailed("raw", why))


async def test_a_program_that_is_not_there() -> None:
    async with connect(stdio_server("none", "a-program-that-is-not-there")) as connected:
        assert connected == Failure(McpConnectFailed("none", "there is no such program"))


async def test_a_version_that_nobody_knows() -> None:
    async with connect(raw("ancient")) as connected:
        assert isinstance(connected.failure(), McpConnectFailed)


async def test_a_version_that_is_asked_for_and_not_spoken() -> None:
    async with connect(raw(protocol="2026-07-28")) as connected:
        assert connected == Failure(McpConnectFailed("raw", "it does not speak 2026-07-28"))


async def test_nobody_at_the_address() -> None:
    async with connect(http_server("web", "http://127.0.0.1:9/mcp")) as connected:
        assert connected == Failure(McpConnectFailed("web", "its address cannot be reached"))


@pytest.mark.parametrize(
    ("flag", "why"),
    [
        ("loop", "it gave the cursor of a page again"),
        ("endless", "it has more than 64 pages"),
        ("many", "it has more than 1024 tools"),
        ("huge_list", "a page is larger than 4194304 bytes"),
        ("notools", "a page is not what the protocol says"),
        ("slow_list", "it took longer than 0.5 s"),
    ],
)
async def test_a_list_that_cannot_be_used(flag: str, why: str) -> None:
    limits = attrs.evolve(QUICK, discovery=0.5) if flag == "slow_list" else QUICK
    async with connect(raw(flag, limits=limits)) as connected:
        assert connected == Failure(McpDiscoveryFailed("raw", why))


async def test_a_contract_with_hundreds_of_messages_is_no_trouble() -> None:
    async with connect(raw("hundreds")) as connected:
        known = connected.unwrap().server("raw")

    assert known is not None
    assert len(known.tools) == 300


@pytest.mark.parametrize("flags", [("pages",), ("pages", "blank")])
async def test_every_page_is_read(flags: tuple[str, ...]) -> None:
    async with connect(raw(*flags)) as connected, connect(raw()) as whole:
        paged, known = connected.unwrap().server("raw"), whole.unwrap().server("raw")

    assert paged is not None
    assert known is not None
    assert [tool.name for tool in paged.tools] == [tool.name for tool in known.tools]


async def test_tools_that_cannot_be_used_are_listed_with_the_reason() -> None:
    async with connect(raw("badtools")) as connected:
        known = connected.unwrap().server("raw")
        assert known is not None
        with pytest.raises(ConstructionError) as raised:
            connected.unwrap().toolkit("raw", ["badschema", "twice", "adds"])

    assert known.refused == {
        "badschema": "its input schema: at $.properties.a.type it is no valid JSON Schema",
        "twice": "two tools have this name",
        "endless": "its schemas are no JSON, or nested too deeply",
        "deep": "its schemas are no JSON, or nested too deeply",
        "large": "its input schema is larger than 65536 bytes",
    }
    report = str(raised.value)
    assert "two tools have this name" in report
    assert "no valid JSON Schema" in report
    assert "nearest: add" in report


async def test_one_that_fails_takes_the_others_with_it(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with connect(raw(name="good", notes=notes), raw("exit", name="bad")) as connected:
        assert connected == Failure(McpConnectFailed("bad", "it exited with code 3"))

    assert not alive(pids(notes)[0])


async def test_one_that_is_optional_does_not(tmp_path: Path) -> None:
    bad = raw("exit", name="bad", optional=True, limits=ConnectionLimits(reconnects=0, call=5))
    async with connect(raw(), bad) as connected:
        connections = connected.unwrap()
        known = connections.server("bad")
        result = await connections.call(McpCall(server="bad", tool="add"))

    assert known is not None
    assert known.why == "it exited with code 3"
    assert result == Failure(McpConnectionLost("bad", "it exited with code 3"))


# --- coming back ------------------------------------------------------------------------------------------------------


async def test_reconnecting_is_bounded_spaced_and_given_up(tmp_path: Path) -> None:
    notes, clock = tmp_path / "notes", VirtualClock()
    limits = ConnectionLimits(reconnects=3, backoff=1, reconnect_seconds=30, call=15, close=0.2)
    async with connect(raw("once", notes=notes, limits=limits), clock=clock) as connected:
        connections = connected.unwrap()
        await connections.call(McpCall(server="raw", tool="die"))
        waits: list[float] = []
        for seconds in (1, 2, 4):
            await until(lambda: clock.pending)
            await clock.advance(seconds - 0.01)
            before = len(pids(notes))
            await clock.advance(0.01)
            await until(lambda before=before: len(pids(notes)) > before)
            waits.append(seconds)
        await until(lambda: getattr(connections.server("raw"), "state", None) == "down")
        results = [await connections.call(McpCall(server="raw", tool="add")) for _ in range(20)]

        assert results == [Failure(McpConnectionLost("raw", "it exited with code 5"))] * 20
        assert len(pids(notes)) == 4  # no storm: the first, and three tries
        await clock.advance(30)
        late = await connections.call(McpCall(server="raw", tool="add", timeout=1.0))
        assert isinstance(late, Failure)
        assert len(pids(notes)) == 5

    assert waits == [1, 2, 4]


async def test_a_server_that_dies_at_each_call_is_not_connected_to_for_ever(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    limits = ConnectionLimits(reconnects=2, backoff=0.01, reconnect_seconds=600, call=15, close=0.2)
    async with connect(raw(notes=notes, limits=limits)) as connected:
        connections = connected.unwrap()
        for _ in range(6):
            await connections.call(McpCall(server="raw", tool="die"))

    assert len(pids(notes)) == 3


async def test_what_was_bound_is_looked_at_again_after_a_reconnect(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with connect(raw("reschema=1", "restart_renamed", notes=notes)) as connected:
        connections = connected.unwrap()
        known = connections.server("raw")
        assert known is not None
        slow, two, add = known.tool("slow"), known.tool("two"), known.tool("add")
        assert slow is not None
        assert two is not None
        assert add is not None
        await connections.call(McpCall(server="raw", tool="die"))
        other = await connections.call(McpCall(server="raw", tool="slow", digest=slow.digest))
        missing = await connections.call(McpCall(server="raw", tool="two", digest=two.digest))
        same = await connections.call(McpCall(server="raw", tool="add", arguments={"n": 1}, digest=add.digest))

    assert other == Failure(McpToolChanged("raw", "slow", "its schema is another one"))
    assert missing == Failure(McpToolChanged("raw", "two", "it is not there any more"))
    assert same.unwrap().structured == {"n": 2}
    assert "call slow" not in notes.read_text()


async def test_a_server_that_does_not_read_is_lost(tmp_path: Path) -> None:
    limits = ConnectionLimits(call=0.5, close=0.2, reconnects=0)
    async with connect(raw("deaf", limits=limits)) as connected:
        connections = connected.unwrap()
        await connections.call(McpCall(server="raw", tool="image"))
        large = {"x": "y" * 1_000_000}
        results = [await connections.call(McpCall(server="raw", tool="image", arguments=large)) for _ in range(3)]

    assert all(isinstance(result, Failure) for result in results)
    assert "it does not read its input" in str(results[-1])


# --- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_no_process_is_left_when_all_is_well(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with connect(raw(notes=notes)):
        (pid,) = pids(notes)
        assert alive(pid)

    assert not alive(pid)


@pytest.mark.anyio
async def test_one_that_does_not_want_to_end_is_killed_with_its_children(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with connect(raw("stubborn", notes=notes)):
        (pid,), (child,) = pids(notes), pids(notes, "child")

    assert not alive(pid)
    await gone(child)


async def test_it_may_be_opened_and_closed_in_different_tasks(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    connecting = connect(raw(notes=notes))
    opened = await asyncio.create_task(connecting.__aenter__())
    result = await asyncio.create_task(opened.unwrap().call(McpCall(server="raw", tool="slow")))
    await asyncio.create_task(connecting.__aexit__(None, None, None))

    assert result.unwrap().contents.content
    assert not alive(pids(notes)[0])


async def test_repeated_cancels_leave_no_process(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    inside = asyncio.Event()

    async def use() -> None:
        async with connect(raw("stubborn", notes=notes)) as connected:
            inside.set()
            await connected.unwrap().call(McpCall(server="raw", tool="hang"))

    task = asyncio.create_task(use())
    await inside.wait()
    await noted(notes, "call hang")
    while not task.done():
        task.cancel()
        await asyncio.sleep(0.01)

    assert task.cancelled()
    assert not alive(pids(notes)[0])
    await gone(pids(notes, "child")[0])


async def test_a_cancel_while_connecting_leaves_no_process(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.touch()

    async def use() -> None:
        async with connect(raw("mute", notes=notes)):
            raise AssertionError("it never answers")

    task = asyncio.create_task(use())
    await until(lambda: pids(notes))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert not alive(pids(notes)[0])


async def test_closing_does_not_wait_for_calls(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    connecting = connect(raw(notes=notes))
    connections = (await connecting.__aenter__()).unwrap()
    hanging = asyncio.create_task(connections.call(McpCall(server="raw", tool="hang")))
    await noted(notes, "call hang")
    await connecting.__aexit__(None, None, None)

    assert "raw" in str((await hanging).failure())
    assert not alive(pids(notes)[0])


async def test_closing_does_not_wait_for_a_reconnect(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    limits = ConnectionLimits(connect=600, call=600, close=0.2, backoff=0.01)
    with anyio.fail_after(15):
        async with connect(raw("mute_again", notes=notes, limits=limits)) as connected:
            await connected.unwrap().call(McpCall(server="raw", tool="die"))
            await until(lambda: len(pids(notes)) == 2)

    assert not any(map(alive, pids(notes)))


async def test_one_that_fails_does_not_wait_for_the_others(tmp_path: Path) -> None:
    patient = ConnectionLimits(connect=600, close=0.2)
    with anyio.fail_after(15):
        async with connect(raw("mute", name="mute", limits=patient), raw("exit", name="bad")) as connected:
            assert connected == Failure(McpConnectFailed("bad", "it exited with code 3"))


# --- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "a__b", "a_", "_a", "a b", "x" * 33])
def test_names_that_servers_cannot_have(name: str) -> None:
    with pytest.raises(ConstructionError, match="its name has up to 32"):
        stdio_server(name, "program")


@pytest.mark.parametrize(
    "url", ["ftp://a/b", "http://", "http://user:word@host/", "mcp", "http://[a", "http://a:99999/", "http://a b/"]
)
def test_addresses_that_servers_cannot_have(url: str) -> None:
    with pytest.raises(ConstructionError, match="url is http or https"):
        http_server("web", url)


@pytest.mark.parametrize("limits", [{"call": 0}, {"tools": 1.5}, {"reconnects": -1}, {"connect": 1e9}, {"pages": True}])
def test_limits_have_limits(limits: dict[str, float]) -> None:
    with pytest.raises(ConstructionError, match=f"{next(iter(limits))} is more than 0 and at most"):
        ConnectionLimits(**limits)  # type: ignore[arg-type]


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(ConstructionError) as raised:
        stdio_server("a_", "", cwd="/not/there", protocol="1999", roots=["http://x"])

    assert len(raised.value.problems[0].lines) == 6


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"env": {"A": "\0"}}, "a variable has a name"),
        ({"secret_env": {"A=B": "x"}}, "a variable has a name"),
        ({"env": {"A": "\ud800"}}, "a variable has a name"),
        ({"inherit": "PATH"}, "inherit is several names"),
    ],
)
def test_environments_that_no_process_can_have(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConstructionError, match=why):
        stdio_server("raw", "program", **given)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"headers": {"a b": "c"}}, "a header's name"),
        ({"secret_headers": {"": "c"}}, "a header's name"),
        ({"headers": {"a": "b\0"}}, "a header's value"),
        ({"bearer": ""}, "bearer is a token"),
        ({"bearer": "token", "secret_headers": {"authorization": "Bearer other"}}, "bearer stands alone"),
    ],
)
def test_headers_that_no_request_can_have(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConstructionError, match=why):
        http_server("web", "http://a.example/mcp", **given)


def test_two_servers_of_one_name() -> None:
    with pytest.raises(ConstructionError, match='two servers are named "raw"'):
        mcp_connections(raw(), raw())


def test_no_server() -> None:
    with pytest.raises(ConstructionError, match="1 to 64 servers"):
        mcp_connections()
