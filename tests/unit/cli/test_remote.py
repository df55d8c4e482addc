"""`lamina mcp`: what is asked for wrongly, and servers that are none; `tests/e2e` calls real ones."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.commands import Commands, lamina

__all__ = ["lamina"]

URL = ("--url", "http://127.0.0.1:9/mcp")
HERE = ("--stdio", "a-program-that-is-not-there")

# A server that speaks the older protocol just well enough, and whose one tool answers as it is told.
SERVER = """
import json
import os
import signal
import sys
import time

how = sys.argv[1]
if how == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if how == "hangs":
    time.sleep(600)
for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if number is None:
        continue
    if method == "initialize":
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "evil \\x1b[2J name", "version": "1\\x07"},
            "instructions": "Use \\x1b[31mit\\nwell.",
        }
    elif method == "tools/list":
        schema = {
            "type": "object",
            "properties": {"text": {"type": "string"}, "count": {"type": "integer"}, "any": {}},
            "required": ["text"],
        }
        result = {"tools": [{"name": "tell", "description": "Tell\\x1b[2J it.\\nAll of it.", "inputSchema": schema}]}
    elif method == "tools/call" and how == "dies":
        os._exit(3)
    elif method == "tools/call" and how == "stubborn":
        with open("pid", "w") as file:
            file.write(str(os.getpid()))
        time.sleep(600)
    elif method == "tools/call" and how == "stalls":
        time.sleep(600)
    elif method == "tools/call" and how == "fails":
        result = {"isError": True, "content": [{"type": "text", "text": "no\\x1b[2J\\nway"}]}
    elif method == "tools/call":
        result = {
            "content": [
                {"type": "text", "text": json.dumps(message["params"]["arguments"]) + "\\n\\x1b[2Jsecond"},
                {"type": "image", "data": "AAAA", "mimeType": "image/png"},
                {"type": "audio", "data": "AAAAAAAA", "mimeType": "audio/wav"},
                {"type": "resource_link", "uri": "app://there", "name": "there"},
                {"type": "resource", "resource": {"uri": "app://here", "mimeType": "text/plain", "text": "inside"}},
            ]
        }
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)
"""


@pytest.fixture
def server(lamina: Commands) -> str:
    (lamina.folder / "server.py").write_text(SERVER)
    return f"{sys.executable} server.py"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("list",), "One of the arguments --stdio --url is required."),
        (("list", *URL, *HERE), "Argument --stdio: not allowed with argument --url."),
        (("list", "--stdio", ""), "--stdio names no program."),
        (("list", "--stdio", "a 'b"), "--stdio is no command: No closing quotation."),
        (("list", "--url", "nonsense"), "'nonsense' is no address of a server."),
        (("list", "--url", "ftp://a.example"), "'ftp://a.example' is no address of a server."),
        (("list", "--url", "http://[::1"), "'http://[::1' is no address of a server."),
        (("list", "--url", "http://a:99999/"), "'http://a:99999/' is no address of a server."),
        (("list", "--url", "http://me:word@a.example/"), "'http://me:word@a.example/' is no address of a server."),
        (("list", "--url", "http://a\x1b[2J\n"), "'http://a\ufffd[2J' is no address of a server."),
        (("list", *URL, "--env", "A"), "--env is for a server that is a program: --stdio."),
        (("list", *HERE, "--header", "a=b"), "--header and --bearer-env are for a server that is reached by --url."),
        (("list", *HERE, "--env", "1 2"), "'1 2' is no variable."),
        (("list", *URL, "--header", "nonsense"), "'nonsense' is no header."),
        (("list", *URL, "--header", "a b=c"), "'a b=c' is no header."),
        (("list", "--url", "http://a b/"), "'http://a b/' is no address of a server."),
        (("list", *URL, "--header", "a=b\r\nc: d"), "'a=b c: d' is no header."),
        (("list", *URL, "--bearer-env", "NOT_THERE"), "The variable NOT_THERE holds no token."),
        (("list", *URL, "--timeout", "0"), "Argument --timeout: more than 0 seconds are wanted."),
        (("list", *URL, "--protocol", "1999"), "Argument --protocol: invalid choice: '1999'"),
        (("call", *URL), "The following arguments are required: TOOL."),
        (("call", *URL, "t", "--arg", "nonsense"), "'nonsense' is no argument."),
        (("call", *URL, "t", "--arg", "a=1", "--arg", "a=2"), "The argument a is given twice."),
        (("call", *URL, "t", "--arg", "a=\udcff"), "An argument is no UTF-8 text."),
        (("call", *URL, "t", "--arg", "a=1", "--arguments", "{}"), "--arg and --arguments exclude each other."),
        (("call", *URL, "t", "--arguments", "[1]"), "--arguments is no object."),
        (("call", *URL, "t", "--arguments", "{nonsense"), "--arguments is no JSON: Expecting property name"),
        (("call", *URL, "t", "--arguments", "[" * 100_000), "--arguments is no JSON."),
        (("call", *URL, "t", "--arguments", '{"a": NaN}'), "--arguments is no JSON."),
        (("list", *HERE), 'The MCP server "a-program-that-is-not-there" could not be connected to: there is no such'),
        (("list", "--stdio", "/"), 'The MCP server "server" could not be connected to: '),
        (("list", *URL), 'The MCP server "server" could not be connected to: '),
        (("call", *URL, "t"), 'The MCP server "server" could not be connected to: '),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(lamina: Commands, arguments: tuple[str, ...], said: str) -> None:
    ended = lamina("mcp", *arguments)

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"lamina: {said}"), ended.err
    assert "\x1b" not in ended.err
    assert "Traceback" not in ended.err


def test_a_token_in_a_variable_is_nowhere_shown(lamina: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "s3cr3t-canary")
    monkeypatch.setenv("BAD", "s3cr3t\ncanary")

    good, bad = (lamina("mcp", "list", *URL, "--bearer-env", name) for name in ("TOKEN", "BAD"))

    assert good.code == bad.code == 2
    assert bad.err == "lamina: What BAD holds is no token.\n"
    assert "s3cr3t" not in good.err + bad.err


def test_who_it_is_and_what_it_offers(lamina: Commands, server: str) -> None:
    ended = lamina("mcp", "list", "--stdio", f"{server} works")

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "evil \ufffd[2J name 1\ufffd  protocol 2025-11-25",
        "  Use \ufffd[31mit",
        "  well.",
        "",
        "1 tool:",
        "  tell(text, count?, any?)  Tell\ufffd[2J it. All of it.",
    ]


def test_the_same_as_json(lamina: Commands, server: str) -> None:
    ended = lamina("mcp", "list", "--json", "--stdio", f"{server} works")

    identity, tool = ended.lines
    assert (identity["version"], identity["protocol"]) == ("1\x07", "2025-11-25")
    assert (tool["tool"], tool["input_schema"]["required"]) == ("tell", ["text"])
    assert "\x1b" not in ended.out


def test_arguments_are_texts_or_json_by_the_tools_own_schema(lamina: Commands, server: str) -> None:
    given = ("--arg", "text=7", "--arg", "count=3", "--arg", "any=[1, 2]")
    ended = lamina("mcp", "call", "tell", *given, "--stdio", f"{server} works")
    lines = ended.out.splitlines()

    assert (ended.code, ended.err) == (0, "")
    assert json.loads(lines[0]) == {"text": "7", "count": 3, "any": [1, 2]}
    assert lines[1:] == [
        "\ufffd[2Jsecond",
        "[image/png, 3 bytes]",
        "[audio/wav, 6 bytes]",
        "[there: app://there]",
        "[app://here, text/plain]",
        "inside",
    ]


def test_all_arguments_at_once_and_a_result_as_json(
    lamina: Commands, server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ended = lamina("mcp", "call", "tell", "--arguments", '{"text": "a"}', "--json", "--stdio", f"{server} works")
    (tmp_path / "in").write_text('{"text": "b"}')
    with (tmp_path / "in").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        read = lamina("mcp", "call", "tell", "--arguments", "-", "--json", "--stdio", f"{server} works")

    for each, text in ((ended, "a"), (read, "b")):
        assert each.code == 0, each
        assert each.last["result"] == "completed"
        assert each.last["content"][0]["text"].startswith(json.dumps({"text": text}))
        assert [item["type"] for item in each.last["content"]] == ["text", "image", "audio", "link", "document"]


def test_a_tool_that_is_not_there_is_1_and_near_names(lamina: Commands, server: str) -> None:
    ended = lamina("mcp", "call", "tel\x1b", "--stdio", f"{server} works")

    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "lamina: The server has no tool 'tel\ufffd'.\n  There is tell.\n"


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("fails", "no\ufffd[2J way"),
        ("dies", "It is not known whether tell took effect on the MCP server "),
        ("stalls", "It is not known whether tell took effect on the MCP server "),
    ],
)
def test_a_call_that_fails_is_1_and_a_line(lamina: Commands, server: str, how: str, said: str) -> None:
    timeout = ("--timeout", "1.5") if how == "stalls" else ()
    given = ("mcp", "call", "tell", "--arg", "text=a", *timeout, "--stdio", f"{server} {how}")
    ended = lamina(*given)

    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"lamina: {said}"), ended.err
    assert ended.err.count("\n") == 1


def test_a_failure_as_json_has_its_tag(lamina: Commands, server: str) -> None:
    ended = lamina("mcp", "call", "tell", "--arg", "text=a", "--json", "--stdio", f"{server} fails")

    assert (ended.code, ended.err) == (1, "")
    assert ended.last["error"] == {"_tag": "McpToolFailed", "message": "no\x1b[2J\nway"}


def test_a_server_that_hangs_is_not_waited_for(lamina: Commands, server: str) -> None:
    ended = lamina("mcp", "list", "--timeout", "0.5", "--stdio", f"{server} hangs")

    assert (ended.code, ended.out) == (2, "")
    assert "could not be connected to" in ended.err


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_no_server_outlives_a_command_that_is_told_to_end(lamina: Commands, server: str, name: str, code: int) -> None:
    arguments = ("mcp", "call", "tell", "--arg", "text=a", "--stdio", f"{server} stubborn")
    os.mkfifo(lamina.folder / "pid")
    with subprocess.Popen(
        [sys.executable, "-m", "lamina.cli", *arguments], stderr=subprocess.PIPE, cwd=lamina.folder, text=True
    ) as command:
        pid = int((lamina.folder / "pid").read_text())  # written when it is called
        command.send_signal(getattr(signal, name))
        said = command.communicate(timeout=30)[1]

    assert (command.returncode, said.splitlines()[-1]) == (code, "lamina: Interrupted.")
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
