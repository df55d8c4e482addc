"""`lamina serve` as a process: both transports, both eras, and every way to end."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import socket
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.e2e.served import INITIALIZE, TODO, WAITING, Server, call, serving
from tests.e2e.terminal import LAMINA, Terminal, environment, run_lamina

ERAS = ("legacy", "2026-07-28")
UNKNOWN = "The call had started when it was interrupted. It may have taken effect, or not: do not assume either."


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    (tmp_path / "waiting.py").write_text(WAITING)
    return tmp_path


@pytest.mark.parametrize("era", ERAS)
async def test_the_sdks_client_works_on_the_todo_application_over_stdio(era: str) -> None:
    how = StdioServerParameters(
        command=LAMINA[0], args=[*LAMINA[1:], "serve", *TODO, "--mcp", "stdio"], env=environment()
    )
    async with asyncio.timeout(120), Client(stdio_client(how), mode=era) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["create_todo"]
        made = await client.call_tool("create_todo", {"title": "milk"})
        assert made.structured_content["completion"]["message"]["id"] == "todo-1"
        await client.call_tool("select_todo", {"id": "todo-1"})
        assert "delete_selected_todo" in [tool.name for tool in (await client.list_tools()).tools]
        await client.call_tool("delete_selected_todo", {})
        counts = json.loads((await client.read_resource("app://counts")).contents[0].text)
        assert counts == {"todos": 0, "done": 0}


async def test_two_clients_of_both_eras_share_one_application_over_http() -> None:
    async with serving(*TODO, "--mcp", "http", "--port", "0") as server:
        url = f"http://127.0.0.1:{await server.port()}/mcp"
        async with Client(url, mode=ERAS[0]) as old, Client(url, mode=ERAS[1]) as new:
            await asyncio.gather(
                *(client.call_tool("create_todo", {"title": f"{at}"}) for at in range(8) for client in (old, new))
            )
            for client in (old, new):
                counts = json.loads((await client.read_resource("app://counts")).contents[0].text)
                assert counts == {"todos": 16, "done": 0}
        server.signal(signal.SIGTERM)
        assert await server.ended() == (0, b"", "")


async def test_stdio_and_http_at_once_are_one_application_and_end_together() -> None:
    async with serving(*TODO, "--mcp", "stdio,http", "--port", "0") as server:
        port = await server.port()
        server.write(INITIALIZE, call("create_todo", {"title": "over stdio"}))
        await server.read()
        await server.read()
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            await client.call_tool("create_todo", {"title": "over http"})
            counts = json.loads((await client.read_resource("app://counts")).contents[0].text)
            assert counts == {"todos": 2, "done": 0}
        server.process.stdin.close()  # type: ignore[union-attr]
        code, out, err = await server.ended()
        assert (code, out) == (0, b"")
        assert err.endswith("is served on standard input and output\n")


async def test_what_was_asked_before_the_input_ended_is_answered() -> None:
    async with serving(*TODO, "--mcp", "stdio") as server:
        server.write(INITIALIZE, *(call("create_todo", {"title": f"{at}"}, at) for at in range(1, 20)))
        server.process.stdin.close()  # type: ignore[union-attr]
        code, out, _ = await server.ended()

    answers = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert sorted(one["id"] for one in answers) == list(range(20))
    assert not any(one["result"].get("isError") for one in answers)


async def test_standard_output_is_the_protocols_alone(waiting: Path) -> None:
    async with serving("waiting:app", "kit", "--mcp", "stdio", cwd=waiting) as server:
        server.write(INITIALIZE, call("look"))
        assert (await server.read())["id"] == 0
        assert (await server.read())["result"]["content"][0]["text"] == "seen"
        server.process.stdin.close()  # type: ignore[union-attr]
        code, out, err = await server.ended()

    assert (code, out) == (0, b"")
    for part in ("module", "layer", "handler"):
        assert f"a {part} that prints\n" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_lets_calls_over_stdio_end_and_aborts_what_does_not(waiting: Path, number: Any) -> None:
    async with serving("waiting:app", "kit", "--mcp", "stdio", "--grace", "0.3", cwd=waiting) as server:
        server.write(INITIALIZE, call("write", number=1), call("read", number=2))
        await server.read()
        await server.until("has begun")
        await server.until("has begun")
        server.signal(number)
        code, out, err = await server.ended()

    answers = {one["id"]: one["result"] for one in map(json.loads, out.splitlines())}
    assert code == 0
    assert (answers[1]["isError"], answers[1]["content"][0]["text"]) == (True, UNKNOWN)
    assert answers[2]["content"][0]["text"] == "The call was interrupted; it only reads, so it had no effect."
    assert "lamina: ending; 2 calls may still end. Again aborts what is under way.\n" in err
    assert "write has ended\n" in err


@pytest.mark.parametrize("era", ERAS)
async def test_a_signal_lets_calls_over_http_end_and_aborts_what_does_not(waiting: Path, era: str) -> None:
    async with serving("waiting:app", "kit", "--mcp", "http", "--port", "0", "--grace", "0.3", cwd=waiting) as server:
        async with Client(f"http://127.0.0.1:{await server.port()}/mcp", mode=era) as client:
            calling = asyncio.create_task(client.call_tool("write", {}))
            await server.until("write has begun")
            server.signal(signal.SIGTERM)
            ended = await calling
        code, _, _ = await server.ended()

    assert (ended.is_error, ended.content[0].text) == (True, UNKNOWN)
    assert code == 0


async def test_a_call_that_ends_in_time_keeps_its_result(waiting: Path) -> None:
    async with serving("waiting:app", "kit", "--mcp", "stdio", "--grace", "60", cwd=waiting) as server:
        server.write(INITIALIZE, call("a_moment"))
        await server.read()
        await server.until("a_moment has begun")
        server.signal(signal.SIGTERM)
        await server.until("ending; 1 call may still end")
        (waiting / "let-go").touch()
        code, out, _ = await server.ended()

    assert code == 0
    assert json.loads(out)["result"]["content"][0]["text"] == "done"


async def test_a_second_signal_does_not_wait(waiting: Path) -> None:
    async with serving("waiting:app", "kit", "--mcp", "stdio", "--grace", "3600", cwd=waiting) as server:
        server.write(INITIALIZE, call("write"))
        await server.read()
        await server.until("write has begun")
        server.signal(signal.SIGINT)
        await server.until("ending; 1 call may still end")
        server.signal(signal.SIGINT)
        code, out, _ = await server.ended()

    assert code == 0
    assert json.loads(out)["result"]["content"][0]["text"] == UNKNOWN


async def test_a_client_that_dies_ends_its_server_and_its_calls(waiting: Path) -> None:
    async with serving("waiting:app", "kit", "--mcp", "stdio", "--grace", "0.2", cwd=waiting) as server:
        server.write(INITIALIZE, call("write"))
        await server.read()
        await server.until("write has begun")
        server.process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]  # nobody reads
        server.process.stdin.close()  # type: ignore[union-attr]
        await server.until("write has ended")
        assert await server.process.wait() == 0


def test_an_input_that_is_closed_is_one_line() -> None:
    command = shlex.join([*LAMINA, "serve", *TODO, "--mcp", "stdio"])
    done = run_lamina(command=("bash", "-c", f"{command} <&-"))

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "lamina: Standard input or output is closed; the protocol is spoken over them.\n"


async def test_a_client_that_dies_over_http_leaves_the_others_alone(waiting: Path) -> None:
    async with serving("waiting:app", "kit", "--mcp", "http", "--port", "0", cwd=waiting) as server:
        url = f"http://127.0.0.1:{await server.port()}/mcp"
        async with Client(url) as client:
            dying = await asyncio.create_subprocess_exec(
                LAMINA[0], "-c", DYING, url, env=environment(), stdout=asyncio.subprocess.DEVNULL
            )
            await server.until("write has begun")
            dying.kill()
            await dying.wait()
            assert (await client.call_tool("look", {})).content[0].text == "seen"
        server.signal(signal.SIGINT)
        assert (await server.ended())[0] == 0


DYING = """
import asyncio, sys
from mcp import Client

async def main():
    async with Client(sys.argv[1], mode="2026-07-28") as client:
        await client.call_tool("write", {})

asyncio.run(main())
"""


def test_a_port_in_use_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for how in ("http", "stdio,http"):
            done = run_lamina("serve", *TODO, "--mcp", how, "--port", str(port))
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr == (
                f"lamina: 127.0.0.1:{port} cannot be listened on: Address already in use.\n"
                "  Choose another --port; 0 takes any.\n"
            )


def test_an_address_of_another_machine_is_one_line() -> None:
    done = run_lamina("serve", *TODO, "--mcp", "http", "--host", "192.0.2.1", "--allow-host", "a.example")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("lamina: 192.0.2.1:8000 cannot be listened on: ")


async def test_other_hosts_and_pages_have_to_be_allowed() -> None:
    more = ("--allow-host", "mcp.example.com", "--allow-origin", "https://app.example.com")
    async with serving(*TODO, "--mcp", "http", "--port", "0", "--host", "0.0.0.0", *more) as server:
        port = await server.port()
        said = await server.until("no token is verified")
        codes = {}
        async with httpx2.AsyncClient() as http:
            for host, origin in (
                ("mcp.example.com", None),
                ("mcp.example.com", "https://app.example.com"),
                ("mcp.example.com", "https://evil.example"),
                ("evil.example", None),
            ):
                headers = {"host": host, "accept": "application/json, text/event-stream"}
                headers |= {} if origin is None else {"origin": origin}
                response = await http.post(f"http://127.0.0.1:{port}/mcp", json=INITIALIZE, headers=headers)
                codes[host, origin] = response.status_code

    assert said == "lamina: no token is verified, so everybody who reaches it may call.\n"
    assert list(codes.values()) == [200, 200, 403, 421]


async def test_over_http_a_token_may_be_asked_for(tmp_path: Path) -> None:
    (tmp_path / "tokens.py").write_text(TOKENS)
    headers = {"accept": "application/json, text/event-stream"}
    async with serving(
        *TODO, "--mcp", "http", "--port", "0", "--verify", "tokens:verify", cwd=tmp_path, patience=45
    ) as server:
        port = await server.port()
        said = await server.until("needs a token")
        codes = {}
        async with httpx2.AsyncClient() as http:
            for token in (None, "of ada", "of bob", "of nobody", "broken", "wrong"):
                sent = headers if token is None else {**headers, "authorization": f"Bearer {token}"}
                response = await http.post(f"http://127.0.0.1:{port}/mcp", json=INITIALIZE, headers=sent)
                codes[token] = response.status_code
                if token == "of ada":
                    headers["mcp-session-id"] = response.headers["mcp-session-id"]
                    headers["mcp-protocol-version"] = "2025-11-25"
            own = {**headers, "authorization": "Bearer of ada"}
            listed = await http.post(f"http://127.0.0.1:{port}/mcp", json=LIST, headers=own)
            other = {**headers, "authorization": "Bearer of bob"}
            strange = await http.post(f"http://127.0.0.1:{port}/mcp", json=LIST, headers=other)

    assert said == "lamina: whoever calls there needs a token.\n"
    assert codes == {None: 401, "of ada": 200, "of bob": 404, "of nobody": 401, "broken": 503, "wrong": 503}
    assert (listed.status_code, strange.status_code) == (200, 404)


LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
TOKENS = """
print("a module that prints")


async def verify(token: str) -> str | None:
    if token == "broken":
        raise RuntimeError("the directory is down")
    return {"of ada": "ada", "of bob": "bob", "wrong": 5}.get(token)
"""


def test_ctrl_c_at_a_terminal_ends_it() -> None:
    with Terminal("serve", *TODO, "--mcp", "stdio") as terminal:
        terminal.expect("is served on standard input and output")
        terminal.type("\x03")
        assert terminal.end() == 0


def test_ctrl_c_while_it_serves_over_http_ends_it() -> None:
    with Terminal("serve", *TODO, "--mcp", "http", "--port", "0") as terminal:
        terminal.expect("is served at http://127.0.0.1:")
        terminal.type("\x03")
        assert terminal.end() == 0


def _serve(*arguments: str, cwd: Path | None = None) -> tuple[int, str, str]:
    done = run_lamina("serve", *arguments, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


def test_a_missing_service_is_told_before_anything_opens_or_listens(waiting: Path) -> None:
    code, out, err = _serve("waiting:lacking", "kit", "--mcp", "stdio,http", "--port", "0", cwd=waiting)

    assert (code, out) == (2, "")
    assert "MISSING Log\n" in err
    assert "tool look(log)" in err
    assert "is served" not in err
    assert "Traceback" not in err


def test_what_a_surface_asks_for_and_the_adapter_cannot_names_both(waiting: Path) -> None:
    code, _, err = _serve("waiting:app", "asking", "--mcp", "http", "--port", "0", "--json-response", cwd=waiting)

    assert code == 2
    assert "CALLER capability ask" in err
    assert 'of surface "asking" asks its caller for elicit' in err
    assert "the MCP adapter offers nothing here" in err
    assert "is served" not in err


async def test_a_handler_that_asks_its_caller_is_served(waiting: Path) -> None:
    async with serving("waiting:app", "asking", "--mcp", "stdio", cwd=waiting) as server:
        assert "asking, a toolkit with 2 tools, is served" in await server.until("is served")


async def _tools(server: Server) -> list[str]:
    server.write(INITIALIZE, {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    await server.read()
    return [tool["name"] for tool in (await server.read())["result"]["tools"]]


async def test_clients_that_see_less_are_shown_more() -> None:
    async with serving(*TODO, "--mcp", "stdio", "--list-all", "--read-tools") as server:
        names = await _tools(server)

    assert "delete_selected_todo" in names
    assert "read_counts" in names


async def test_an_agent_is_served_by_its_id() -> None:
    async with serving("lamina.demo.todo:app", "todo-assistant", "--mcp", "stdio") as server:
        server.write(INITIALIZE)
        await server.read()
        server.write({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
        (tool,) = (await server.read())["result"]["tools"]
        server.write(call(tool["name"], {"input": "Tidy up."}, 2))
        answered = await server.read()

    assert answered["result"]["content"][0]["text"].startswith("I wrote down three todos"), (tool, answered)
