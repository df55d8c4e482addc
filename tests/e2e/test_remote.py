"""`lamina mcp` against `lamina serve`: both commands as processes, over both transports."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
from pathlib import Path

import pytest

from tests.e2e.served import TODO, WAITING, serving
from tests.e2e.terminal import LAMINA, run_lamina

ENV = ("--env", "PYTHONPATH")
SERVED = shlex.join([*LAMINA, "serve", *TODO, "--mcp", "stdio"])


def test_a_program_of_ours_is_listed_and_called() -> None:
    listed = run_lamina("mcp", "list", "--stdio", SERVED, *ENV)
    called = run_lamina("mcp", "call", "create_todo", "--arg", "title=milk", "--json", "--stdio", SERVED, *ENV)

    assert listed.stdout == "todo 0.1.0  protocol 2026-07-28\n\n1 tool:\n  create_todo(title)  Create a new todo\n"
    assert (called.returncode, called.stderr) == (0, "")
    assert json.loads(called.stdout)["structured"]["completion"]["message"]["id"] == "todo-1"


@pytest.mark.parametrize("protocol", ["legacy", "2026-07-28", "auto"])
async def test_a_server_at_a_port_is_called_in_both_eras(protocol: str) -> None:
    async with serving(*TODO, "--mcp", "http", "--port", "0") as server:
        where = ("--url", f"http://127.0.0.1:{await server.port()}/mcp", "--protocol", protocol)
        made = await asyncio.to_thread(run_lamina, "mcp", "call", "create_todo", "--arg", "title=milk", *where)
        selected = await asyncio.to_thread(run_lamina, "mcp", "call", "select_todo", "--arg", "id=todo-1", *where)
        deleted = await asyncio.to_thread(run_lamina, "mcp", "call", "delete_selected_todo", *where)
        again = await asyncio.to_thread(run_lamina, "mcp", "call", "delete_selected_todo", *where)

        assert (made.returncode, made.stdout) == (0, "Completed: SubmittedTodo\n")
        assert (selected.returncode, selected.stdout) == (0, "Dispatched RequestedSelectTodo\n")
        assert (deleted.returncode, deleted.stdout) == (0, "Dispatched RequestedDeleteTodo\n")
        assert again.returncode == 1
        assert again.stderr.startswith("lamina: The server has no tool 'delete_selected_todo'.\n")


async def test_ctrl_c_ends_a_call_and_the_server_is_told(tmp_path: Path) -> None:
    (tmp_path / "waiting.py").write_text(WAITING)
    async with serving("waiting:app", "kit", "--mcp", "http", "--port", "0", cwd=tmp_path) as server:
        url = f"http://127.0.0.1:{await server.port()}/mcp"
        process = await asyncio.create_subprocess_exec(
            *LAMINA, "mcp", "call", "write", "--url", url, stderr=asyncio.subprocess.PIPE
        )
        await server.until("write has begun")
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
        assert (process.returncode, err) == (130, b"lamina: Interrupted.\n")
        await server.until("write has ended")
