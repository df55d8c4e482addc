"""What the type checkers must accept and reject of remote tools; marked lines must be rejected."""

from __future__ import annotations

from typing import Never, assert_type

from lamina import Agent, AgentPolicy, Approval, Toolkit, bind, build, seed, try_build
from lamina.approval import TerminalApproval
from lamina.call import Caller
from lamina.effect import Layer
from lamina.mcp import McpConnectError, McpConnections, connect, mcp_connections, remote_toolkit, stdio_server
from lamina.testing import FakeMcp, ScriptedModel

time = stdio_server("time", "mcp-server-time")
policy = AgentPolicy(max_turns=2, max_tool_calls=2, max_duration=10, tool_concurrency=1)

assert_type(mcp_connections(time), Layer[Never, McpConnections, McpConnectError])
assert_type(remote_toolkit("time"), Toolkit[McpConnections])
assert_type(remote_toolkit("time", {"now"}, needs_approval=True), Toolkit[McpConnections | Approval])
assert_type(remote_toolkit("time", {"now"}, caller=True), Toolkit[McpConnections | Caller])

plain = Agent("plain", instructions="", toolkit=remote_toolkit("time"), policy=policy).on(ScriptedModel())
asking = Agent("asking", instructions="", toolkit=remote_toolkit("time", needs_approval=True), policy=policy).on(
    ScriptedModel()
)
fake = bind(McpConnections).value(FakeMcp("time"))


async def connections_may_fail_to_open() -> None:
    async with try_build(mcp_connections(time), programs=[plain]) as built:
        await built.unwrap().run(plain, "go")
    build(mcp_connections(time))  # ERR


async def what_a_remote_tool_needs_is_in_its_type() -> None:
    async with build(fake) as rt:
        await rt.run(plain, "go")
        await rt.run(asking, "go")  # ERR
    async with build(fake | bind(Approval).to(TerminalApproval)) as rt:
        await rt.run(asking, "go")


async def a_caller_is_a_seed() -> None:
    toolkit = remote_toolkit("time", caller=True)
    async with build(fake, seeds=seed(Caller)) as opened:
        opened.surface(toolkit)
    async with build(fake) as rt:
        rt.surface(toolkit)  # ERR


async def tools_of_a_connection_need_nothing() -> None:
    async with connect(time) as connected:
        connections = connected.unwrap()
        assert_type(connections.toolkit("time"), Toolkit[Never])
        assert_type(connections.toolkit("time", needs_approval=True), Toolkit[Approval])
