"""`lamina mcp`: what an MCP server offers, and one call of it, from the command line."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shlex
import sys
from collections.abc import Awaitable, Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TypeAlias, cast
from urllib.parse import urlsplit

import attrs
from returns.result import Failure
from rich.text import Text

from lamina.call import (
    AudioContent,
    Contents,
    DocumentContent,
    ImageContent,
    LinkContent,
    TextContent,
)
from lamina.cli._exits import FAILED, OK, Refused, UsageError
from lamina.cli._interrupts import interruptible
from lamina.cli._plain import count, pretty, printable, printable_lines
from lamina.cli._screen import Screen
from lamina.effect import ConstructionError, log, message_of, tag_of
from lamina.mcp import (
    INHERITED,
    ConnectionLimits,
    McpCall,
    McpCallError,
    McpConnections,
    McpToolFailed,
    RemoteResult,
    RemoteServer,
    RemoteTool,
    ServerSpec,
    connect,
    http_server,
    stdio_server,
)
from lamina.schema import JsonValue

_Work: TypeAlias = Callable[[RemoteServer, McpConnections], Awaitable[int]]
_ARGUMENT = re.compile(r"([^=]+)=(.*)", re.DOTALL)
_HEADER = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]+)=(.*)")
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:=(.*))?", re.DOTALL)
_NO_NAME = re.compile(r"[^A-Za-z0-9]+")


def mcp(options: argparse.Namespace) -> int:
    """Do what the command line says.

    Returns:
        0; 1 where the call failed, or the server has no such tool.

    Raises:
        UsageError: The command line is not as it has to be, or the server cannot be connected to.
        Refused: It has no such tool.
        ConstructionError: The package `mcp` is not installed.
    """
    server = _server(options)
    if options.verb == "list":
        return _with(server, lambda found, connected: _list(found, options))
    given = _given(options)
    return _with(server, lambda found, connected: _call(found, connected, options, given))


def _server(options: argparse.Namespace) -> ServerSpec:
    seconds = options.timeout
    limits = ConnectionLimits(reconnects=0)
    if seconds is not None:
        limits = attrs.evolve(limits, connect=seconds, discovery=seconds, call=seconds)
    if options.url is not None:
        if options.env:
            raise UsageError("--env is for a server that is a program: --stdio.")
        return _http(options, limits)
    if options.header or options.bearer_env:
        raise UsageError("--header and --bearer-env are for a server that is reached by --url.")
    try:
        words = shlex.split(options.stdio)
    except ValueError as error:
        raise UsageError(f"--stdio is no command: {printable(str(error))}.") from None
    if not words:
        raise UsageError("--stdio names no program.", 'Write --stdio "program argument …"')
    inherit, env = list[str](INHERITED), dict[str, str]()
    for each in options.env:
        found = _VARIABLE.fullmatch(each)
        if found is None:
            raise UsageError(f"{printable(each)!r} is no variable.", "Write --env NAME, or --env NAME=VALUE")
        name, value = found[1], cast("str | None", found[2])
        if value is None:
            inherit.append(name)
        else:
            env[name] = value
    name = _name_of(Path(words[0]).name)
    return stdio_server(name, words[0], *words[1:], env=env, inherit=inherit, limits=limits, protocol=options.protocol)


def _http(options: argparse.Namespace, limits: ConnectionLimits) -> ServerSpec:
    url: str = options.url
    host = _host_of(url)
    if host is None:
        raise UsageError(f"{printable(url)!r} is no address of a server.", "Write --url http://127.0.0.1:8000/mcp")
    headers: dict[str, str] = {}
    for each in options.header:
        found = _HEADER.fullmatch(each)
        if found is None or not each.isascii() or not each.isprintable():
            raise UsageError(f"{printable(each)!r} is no header.", "Write --header NAME=VALUE")
        headers[found[1]] = found[2]
    bearer = None
    if options.bearer_env is not None:
        bearer = os.environ.get(options.bearer_env)
        if not bearer:
            raise UsageError(f"The variable {printable(options.bearer_env)} holds no token.")
        if not (bearer.isascii() and bearer.isprintable()):
            raise UsageError(f"What {printable(options.bearer_env)} holds is no token.")
    return http_server(_name_of(host), url, headers=headers, bearer=bearer, limits=limits, protocol=options.protocol)


def _host_of(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        host, port, whole = parts.hostname, parts.port, parts.scheme in ("http", "https")
    except ValueError:
        return None
    return host if whole and port != 0 and parts.username is None and url.isprintable() and " " not in url else None


def _name_of(text: str) -> str:
    """Name a server for the sentences about it; an address of digits is no name."""
    name = _NO_NAME.sub("-", text).strip("-")[:32].strip("-")
    return name if any(one.isalpha() for one in name) else "server"


def _with(server: ServerSpec, work: _Work) -> int:
    async def main() -> int:
        async with connect(server) as connected:
            if isinstance(connected, Failure):
                raise UsageError(printable(message_of(connected.failure())), "See --log FILE.")
            connections = connected.unwrap()
            found = connections.server(server.name)
            assert found is not None
            return await work(found, connections)

    try:
        return asyncio.run(interruptible(main()))
    except (UsageError, ConstructionError, BrokenPipeError):
        raise
    except Exception as error:
        log().exception("the connection broke")
        raise UsageError(f"The server could not be used: {type(error).__name__}.", "See --log FILE.") from None


async def _list(found: RemoteServer, options: argparse.Namespace) -> int:
    identity = found.identity
    assert identity is not None
    if options.json:
        _write({"server": identity.name, "version": identity.version, "title": identity.title,
                "protocol": identity.protocol, "instructions": identity.instructions})  # fmt: skip
        for tool in found.tools:
            _write({"tool": tool.name, "title": tool.title, "description": tool.description,
                    "input_schema": dict(tool.input_schema),
                    "output_schema": None if tool.output_schema is None else dict(tool.output_schema),
                    "annotations": dict(tool.annotations), "digest": tool.digest})  # fmt: skip
        for name, why in found.refused.items():
            _write({"refused": name, "why": why})
        return OK
    screen = Screen()
    head = f"{printable(identity.name) or 'a server without a name'} {printable(identity.version)}".rstrip()
    screen.line(Text.assemble((head, "bold"), (f"  protocol {printable(identity.protocol)}", "dim")))
    for line in printable_lines(identity.instructions):
        screen.line(Text(f"  {line}", style="dim"), hanging=2)
    screen.line()
    screen.line(f"{count(len(found.tools), 'tool')}{':' if found.tools else '.'}")
    for tool in found.tools:
        about = " ".join((tool.description or tool.title).split())
        signature = f"({', '.join(_parameters(tool))})"
        screen.line(
            Text.assemble("  ", (printable(tool.name), "bold"), printable(signature), (f"  {printable(about)}", "dim")),
            hanging=6,
        )
    for name, why in found.refused.items():
        screen.line(Text(f"  {printable(name)}  cannot be used: {printable(why)}", style="yellow"), hanging=6)
    return OK


def _parameters(tool: RemoteTool) -> list[str]:
    properties, required = tool.input_schema.get("properties"), tool.input_schema.get("required")
    names = list(properties) if isinstance(properties, Mapping) else []
    needed = required if isinstance(required, list) else []
    return [name if name in needed else f"{name}?" for name in names]


@attrs.frozen
class _Given:
    texts: Mapping[str, str]
    whole: Mapping[str, JsonValue] | None


def _given(options: argparse.Namespace) -> _Given:
    """Read the arguments of a call; what each text means only the tool's schema says.

    Raises:
        UsageError: They are none.
    """
    if options.arguments is not None:
        if options.arg:
            raise UsageError("--arg and --arguments exclude each other.")
        return _Given({}, _object(options.arguments))
    texts: dict[str, str] = {}
    for each in options.arg:
        found = _ARGUMENT.fullmatch(each)
        if found is None:
            raise UsageError(f"{printable(each)!r} is no argument.", "Write --arg NAME=VALUE")
        if found[1] in texts:
            raise UsageError(f"The argument {printable(found[1])} is given twice.")
        texts[found[1]] = found[2]
    if any(not _is_text(text) for text in (*texts, *texts.values())):
        raise UsageError("An argument is no UTF-8 text.")
    return _Given(texts, None)


def _object(given: str) -> Mapping[str, JsonValue]:
    hint = 'Write --arguments \'{"name": "value"}\', or - to read it.'
    try:
        text = sys.stdin.read() if given == "-" else given
        if not _is_text(text):
            raise UsageError("--arguments is no UTF-8 text.")
        value = json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise UsageError(f"--arguments is no JSON: {error.msg}, at character {error.pos + 1}.", hint) from None
    except (ValueError, RecursionError, AttributeError):
        raise UsageError("--arguments is no JSON.", hint) from None
    if not isinstance(value, dict):
        raise UsageError("--arguments is no object.", hint)
    return cast("Mapping[str, JsonValue]", value)


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeError:
        return False
    return True


def _no_number(word: str) -> float:
    raise ValueError(word)


def _arguments(given: _Given, tool: RemoteTool) -> Mapping[str, JsonValue]:
    if given.whole is not None:
        return given.whole
    properties = tool.input_schema.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    return {name: _value(text, known.get(name)) for name, text in given.texts.items()}


def _value(text: str, schema: JsonValue) -> JsonValue:
    """Read an argument: as it is where the schema wants a text, as JSON where it is some, as it is otherwise."""
    if isinstance(schema, Mapping) and schema.get("type") == "string":
        return text
    try:
        return cast("JsonValue", json.loads(text, parse_constant=_no_number))
    except (ValueError, RecursionError):
        return text


async def _call(found: RemoteServer, connected: McpConnections, options: argparse.Namespace, given: _Given) -> int:
    tool = found.tool(options.tool)
    if tool is None:
        raise _no_tool(found, options.tool)
    screen = Screen(sys.stderr if options.json else None)

    async def progress(done: float, total: float | None, text: str) -> None:
        of = "" if total is None else f" of {total:g}"
        screen.status(f"{done:g}{of}  {printable(text)}".rstrip())

    call = McpCall(
        server=found.name, tool=tool.name, arguments=_arguments(given, tool), digest=tool.digest, progress=progress
    )
    screen.status(f"{printable(tool.name)} is called")
    try:
        answered = await connected.call(call)
    finally:
        screen.status("")
    if isinstance(answered, Failure):
        return _failed(answered.failure(), screen, json=options.json)
    result = answered.unwrap()
    if options.json:
        _write({"result": "completed", "content": _items(result.contents), "structured": result.structured})
    else:
        _show(screen, result)
    return OK


def _no_tool(found: RemoteServer, name: str) -> Refused:
    why = found.refused.get(name)
    if why is not None:
        return Refused(f"The tool {printable(name)} cannot be used: {printable(why)}.")
    names = [tool.name for tool in found.tools]
    near = get_close_matches(name, names, 3) or (names if len(names) <= 12 else [])
    hint = [f"There is {', '.join(map(printable, near))}."] if near else []
    return Refused(f"The server has no tool {printable(name)!r}.", *hint)


def _failed(error: McpCallError, screen: Screen, *, json: bool) -> int:
    said = message_of(error)
    if json:
        more: dict[str, JsonValue] = {}
        if isinstance(error, McpToolFailed):
            more = {"content": _items(Contents(error.content)), "structured": error.structured}
        _write({"result": "failed", "error": {"_tag": tag_of(error), "message": said}, **more})
    else:
        print(f"lamina: {printable(said)}", file=sys.stderr)
    return FAILED


def _items(contents: Contents) -> list[JsonValue]:
    return [attrs.asdict(item) for item in contents.content]


def _show(screen: Screen, result: RemoteResult) -> None:
    for item in result.contents.content:
        match item:
            case TextContent(text=text):
                for line in printable_lines(text):
                    screen.prose(line)
            case ImageContent(data=data, media_type=kind) | AudioContent(data=data, media_type=kind):
                screen.line(Text(f"[{printable(kind)}, {count(len(data) * 3 // 4, 'byte')}]", style="dim"))
            case DocumentContent(text=text):
                kind = f", {item.media_type}" if item.media_type else ""
                screen.line(Text(f"[{printable(item.uri)}{printable(kind)}]", style="dim"))
                for line in printable_lines(text or ""):
                    screen.prose(line)
            case LinkContent():
                screen.line(Text(f"[{printable(item.name)}: {printable(item.uri)}]", style="dim"))
    if not result.contents.content and result.structured is not None:
        for line in pretty(result.structured, screen.width):
            screen.raw(line)


def _write(value: dict[str, JsonValue]) -> None:
    # ASCII, so that it can be printed whatever the terminal's encoding is, and no control character is in it.
    sys.stdout.write(json.dumps(value) + "\n")
