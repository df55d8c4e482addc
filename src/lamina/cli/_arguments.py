"""The command line."""

from __future__ import annotations

import argparse
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn, TypeAlias

from lamina.cli._exits import UsageError
from lamina.cli._models import MODEL_HELP
from lamina.cli._place import STORE_HELP

BUSY = ("reject", "queue", "fork", "steer")
_APP_HELP = "a RuntimeBuilder in a module: lamina.demo:app; modules of the current directory are found too"

_CONTRACT_HELP = "a Contract in a module: lamina.demo.todo:contract"


class _Parser(argparse.ArgumentParser):
    """Raises what argparse would print, so that all mistakes look alike."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(
            f"{message[:1].upper()}{message[1:]}.", self.format_usage().strip().replace("usage:", "Usage:")
        )


class _Version(argparse.Action):
    """Prints the version, which is looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"lamina {version('lamina')}")
        parser.exit()


_Commands: TypeAlias = "argparse._SubParsersAction[_Parser]"  # pyright: ignore[reportPrivateUsage] - as below


def parser() -> argparse.ArgumentParser:
    """Make the parser of `lamina`."""
    root = _Parser("lamina", description="Watch a demo, run an agent, look after its sessions.")
    root.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)

    demo = commands.add_parser(
        "demo", help="watch an agent triage a folder of bug reports, or drive a todo application"
    )
    demo.add_argument(
        "folder",
        nargs="?",
        metavar="FOLDER|todo",
        help="text files to work on, in place; else a copy of ours. todo: an application, driven through its contract",
    )
    demo.add_argument("--keep", action="store_true", help="keep the copy, and say where it is")
    _add_run_options(demo)

    run = commands.add_parser("run", help="run an agent of an application")
    run.add_argument("app", metavar="MODULE:APP", help=_APP_HELP)
    run.add_argument(
        "words", nargs="*", metavar="[AGENT] INPUT", help="the input, JSON unless the agent takes text, or - to read it"
    )
    _add_run_options(run)
    _add_session_options(run)

    check = commands.add_parser("check", help="check an application, and run nothing")
    check.add_argument("app", metavar="MODULE:APP", help=_APP_HELP)
    check.add_argument("--mermaid", action="store_true", help="print the graph of layers as Mermaid text")
    check.set_defaults(log=None)

    _add_serve(commands)
    _add_contract(commands)
    _add_mcp(commands)
    _add_sessions(commands)
    _add_approvals(commands)
    return root


def _add_serve(commands: _Commands) -> None:
    command = commands.add_parser("serve", help="serve an agent, a contract or a toolkit over MCP")
    command.add_argument("app", metavar="MODULE:APP", help=f"{_APP_HELP}; or what is served, where it needs none")
    command.add_argument(
        "surface", nargs="?", metavar="SURFACE", help="an agent's id, a contract's name, or a name in the module"
    )
    command.add_argument("--mcp", required=True, metavar="HOW", help="stdio, http or stdio,http")
    command.add_argument(
        "--grace", type=_seconds, default=5.0, metavar="S", help="calls may end so long at the end (5)"
    )
    command.add_argument("--log", type=Path, metavar="FILE", help="append what is logged to a file")
    http = command.add_argument_group("over HTTP", "at first for this machine only")
    http.add_argument("--host", metavar="ADDRESS", help="where to listen (127.0.0.1)")
    http.add_argument("--port", type=_port, metavar="N", help="on which port (8000); 0 takes any, and says which")
    http.add_argument("--allow-host", action="append", default=[], metavar="NAME", help="a Host that may be asked for")
    http.add_argument("--allow-origin", action="append", default=[], metavar="URL", help="a web page that may call")
    http.add_argument(
        "--verify", metavar="MODULE:FUNCTION", help="an async function that says whom a bearer token speaks for"
    )
    http.add_argument("--json-response", action="store_true", help="plain JSON and no stream: nobody can be asked")
    less = command.add_argument_group("for clients that see less")
    less.add_argument("--list-all", action="store_true", help="list what is not available now, too")
    less.add_argument("--read-tools", action="store_true", help="offer each resource as a tool, too")
    less.add_argument("--inline-defs", action="store_true", help="write schemas without references")


def _add_mcp(commands: _Commands) -> None:
    root = commands.add_parser("mcp", help="list what an MCP server offers, and call its tools")
    verbs = root.add_subparsers(dest="verb", metavar="VERB", required=True)
    for word, text in (("list", "show who a server is, and its tools"), ("call", "call one tool")):
        verb = verbs.add_parser(word, help=text)
        where = verb.add_mutually_exclusive_group(required=True)
        where.add_argument("--stdio", metavar="COMMAND", help="a program to run, with its arguments, in quotes")
        where.add_argument("--url", metavar="URL", help="where it is reached: http://127.0.0.1:8000/mcp")
        verb.add_argument("--protocol", choices=("auto", "legacy", "2026-07-28"), default="auto", help="which to speak")
        verb.add_argument(
            "--timeout", type=_patience, metavar="S", help="seconds to connect (30), and for the call (60)"
        )
        verb.add_argument(
            "--env", action="append", default=[], metavar="NAME[=VALUE]", help="let the program have a variable"
        )
        verb.add_argument("--header", action="append", default=[], metavar="NAME=VALUE", help="send it each time")
        verb.add_argument("--bearer-env", metavar="NAME", help="the variable that holds the token to send")
        verb.add_argument("--json", action="store_true", help="print one JSON text a line")
        verb.add_argument("--log", type=Path, metavar="FILE", help="append what is logged to a file")
        if word == "call":
            verb.add_argument("tool", metavar="TOOL", help="its name, as list shows it")
            verb.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE", help="a text, or else JSON")
            verb.add_argument("--arguments", metavar="JSON", help="all arguments as an object; - reads it")


def _add_contract(commands: _Commands) -> None:
    command = commands.add_parser("contract", help="print what agents may do, or check a file that says so")
    command.add_argument("contract", metavar="MODULE:CONTRACT", help=_CONTRACT_HELP)
    what = command.add_mutually_exclusive_group(required=True)
    what.add_argument("--manifest", action="store_true", help="print it as JSON, the same bytes each time")
    what.add_argument("--markdown", action="store_true", help="print it as a page")
    what.add_argument(
        "--check", type=Path, metavar="FILE", help="show how a committed manifest differs, and end with 1"
    )
    command.add_argument("--output", type=Path, metavar="FILE", help="write there instead, over what is there")
    command.set_defaults(log=None)


def _add_session_options(run: argparse.ArgumentParser) -> None:
    group = run.add_argument_group("sessions", "a session is remembered, and goes on the next time")
    group.add_argument("--session", metavar="NAME", help="run in this session; it is made on first use")
    _add_place(group)
    group.add_argument("--busy", choices=BUSY, help="what to do while another run has the session (reject)")
    group.add_argument("--defer", action="store_true", help="suspend the run where something needs approval")
    group.add_argument("--resume", action="store_true", help="go on with the session's suspended run, without an input")


def _add_place(command: argparse._ActionsContainer) -> None:  # pyright: ignore[reportPrivateUsage] - has no other name
    command.add_argument("--store", metavar="PLACE", help=STORE_HELP)
    command.add_argument("--principal", metavar="NAME", help="whose sessions; without it, those of nobody")


def _add_sessions(commands: _Commands) -> None:
    root = commands.add_parser("sessions", help="list, show, fork and export sessions")
    verbs = root.add_subparsers(dest="verb", metavar="VERB", required=True)
    verb = _add_verb(verbs, "list", "name the sessions, and what each is doing")
    verb.add_argument("--after", metavar="SESSION", default="", help="begin behind this one")
    verb.add_argument("--limit", type=_number, default=100, metavar="N", help="at most so many, up to 1024 (100)")

    verb = _add_verb(verbs, "show", "tell what was said and done, and what waits")
    verb.add_argument("session", metavar="SESSION", help="its name")
    verb.add_argument("--after", type=_position, metavar="SEQ", help="begin behind this record; without it, at the end")
    verb.add_argument("--limit", type=_number, default=40, metavar="N", help="at most so many records, up to 1024 (40)")

    verb = _add_verb(verbs, "fork", "begin a new session with another one's beginning")
    verb.add_argument("session", metavar="SESSION", help="its name")
    verb.add_argument("--at", type=_position, metavar="SEQ", help="the last record to take over; without it, the last")
    verb.add_argument("--to", required=True, metavar="NEW", help="the new session's name")

    verb = _add_verb(verbs, "export", "write a session as JSON lines with digests", json=False)
    verb.add_argument("session", metavar="SESSION", help="its name")
    verb.add_argument("--output", type=Path, metavar="FILE", help="a new file; without it, standard output")
    verb.add_argument("--force", action="store_true", help="write over the file")


def _add_approvals(commands: _Commands) -> None:
    root = commands.add_parser("approvals", help="list what waits for a decision, approve it or deny it")
    verbs = root.add_subparsers(dest="verb", metavar="VERB", required=True)

    verb = _add_verb(verbs, "list", "show what waits for a decision")
    verb.add_argument("--limit", type=_number, default=100, metavar="N", help="at most so many, up to 1024 (100)")

    for word, text in (("approve", "let a call run"), ("deny", "keep a call from running")):
        verb = _add_verb(verbs, word, text)
        verb.add_argument("id", metavar="ID", help="the approval's id, as list shows it, or the id of the call")
        verb.add_argument("--by", metavar="NAME", help="who decides; without it, the name you are logged in with")
        if word == "deny":
            verb.add_argument("--reason", metavar="TEXT", default="", help="why; the model may be told it")
            verb.add_argument(
                "--hide",
                action="append",
                default=[],
                metavar="NAME",
                help="a variable whose value is kept out of the reason, as are those named …_KEY, …_TOKEN, …",
            )
        verb.add_argument(
            "--covers", choices=("call", "tool"), default="call", help="this call, or its tool in its run"
        )
        verb.add_argument("--digest", metavar="HEX", help="refuse unless the arguments' digest begins so")


def _add_verb(
    verbs: _Commands,
    word: str,
    text: str,
    *,
    json: bool = True,
) -> argparse.ArgumentParser:
    verb = verbs.add_parser(word, help=text)
    _add_place(verb)
    if json:
        verb.add_argument("--json", action="store_true", help="print one JSON text a line")
    verb.add_argument("--log", type=Path, metavar="FILE", help="append what is logged to a file")
    return verb


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= 1_024 and len(text) < 6):
        raise argparse.ArgumentTypeError("a whole number from 1 to 1024 is wanted")
    return int(text)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < 65_536):
        raise argparse.ArgumentTypeError("a whole number from 0 to 65535 is wanted")
    return int(text)


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 3_600:
        raise argparse.ArgumentTypeError("a number of seconds from 0 to 3600 is wanted")
    return number


def _patience(text: str) -> float:
    seconds = _seconds(text)
    if not seconds:
        raise argparse.ArgumentTypeError("more than 0 seconds are wanted")
    return seconds


def _position(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise argparse.ArgumentTypeError("the number of a record is wanted, as show prints it")
    return int(text)


def _add_run_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--model", metavar="MODEL", help=MODEL_HELP)
    command.add_argument("--base-url", metavar="URL", help="where the API of the model is: Ollama, vLLM, …")
    command.add_argument("--yes", action="store_true", help="allow every call that needs approval")
    command.add_argument("--json", action="store_true", help="print one event a line, and the result as the last")
    command.add_argument("--log", type=Path, metavar="FILE", help="append the application's own log to a file")
