"""What a server is and how it is reached, as data, checked when it is written."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit

import attrs

from lamina.call import Elicited, Sampled, SampleRequest
from lamina.effect import ConstructionError, Problem, Value, Where, caller_where
from lamina.mcp._limits import ConnectionLimits
from lamina.mcp._names import is_server_name
from lamina.mcp.port import McpCall
from lamina.schema import JsonValue

if TYPE_CHECKING:
    from httpx2 import Auth

INHERITED: Final = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
"""The environment variables that a server's process gets of ours, unless it is told otherwise."""
_PROTOCOLS = ("auto", "legacy", "2026-07-28")
MOST_SERVERS = 64
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


_DEFAULT_LIMITS: Final = ConnectionLimits()


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Elicitation(Value):
    """What a server wants to ask a person.

    Attributes:
        server: The server's name here.
        message: The question; the server's word.
        schema: JSON Schema of the answer, an object of plain members; None where a person is sent to `url` instead.
        url: Where a person is to go; None for a form.
        call: The call that it is asked for, the very value that was given to `McpConnections.call`; None where the
            protocol does not say: before 2026-07-28 over stdio, and over HTTP outside the call's own stream.
        during: The calls under way to that server, the oldest first. Where `call` is None it is asked for one of
            them, or for none.
    """

    server: str
    message: str
    schema: Mapping[str, JsonValue] | None = attrs.field(default=None, hash=False)
    url: str | None = None
    call: McpCall | None = attrs.field(default=None, hash=False)
    during: tuple[McpCall, ...] = attrs.field(default=(), hash=False)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Sampling(SampleRequest):
    """What a server wants to ask a model.

    Attributes:
        server: The server's name here.
        call: The call that it is asked for, as in `Elicitation`.
        during: The calls under way to that server, as there.
    """

    server: str
    call: McpCall | None = attrs.field(default=None, hash=False)
    during: tuple[McpCall, ...] = attrs.field(default=(), hash=False)


ElicitHook: TypeAlias = Callable[[Elicitation], Awaitable[Elicited]]
"""Answers what a server asks a person."""
SampleHook: TypeAlias = Callable[[Sampling], Awaitable[Sampled]]
"""Answers what a server asks a model."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ServerSpec(Value):
    """A server that can be connected to; made by `stdio_server` and `http_server`.

    Attributes:
        name: Its name here.
        limits: How long, how large and how many.
        trust_annotations: Whether what it says of its tools is believed.
        optional: Whether the runtime opens without it.
        protocol: `auto`, `legacy` (the handshake of 2025-11-25 and before), or the one version that is taken.
        elicit: Answers what it asks a person; it is refused without it.
        sample: Answers what it asks a model; it is refused without it.
        roots: The `file://` uris that it is told of when it asks; it is refused without them.
        where: Where it was written.
    """

    name: str
    limits: ConnectionLimits = _DEFAULT_LIMITS
    trust_annotations: bool = False
    optional: bool = False
    protocol: str = "auto"
    elicit: ElicitHook | None = attrs.field(default=None, repr=False)
    sample: SampleHook | None = attrs.field(default=None, repr=False)
    roots: tuple[str, ...] | None = None
    where: Where = attrs.field(eq=False, repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not leave."""
        return ()


@attrs.frozen(kw_only=True, eq=False, repr=False)
class StdioServer(ServerSpec):
    """A server that is a process of ours, and is spoken to over its standard input and output.

    Attributes:
        command: The program.
        args: Its arguments.
        env: Its environment, besides what it inherits.
        secret_env: The same, for values that must not leave.
        inherit: The names of the variables of ours that it gets.
        cwd: Where it runs; where this process does without it.
    """

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = attrs.field(factory=dict[str, str], hash=False)
    secret_env: Mapping[str, str] = attrs.field(factory=dict[str, str], hash=False, repr=False)
    inherit: tuple[str, ...] = INHERITED
    cwd: str | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not leave."""
        return tuple(self.secret_env.values())


@attrs.frozen(kw_only=True, eq=False, repr=False)
class HttpServer(ServerSpec):
    """A server that is spoken to over streamable HTTP.

    Attributes:
        url: Where it is.
        headers: What is sent with each request.
        secret_headers: The same, for values that must not leave.
        auth: What authorizes each request, an OAuth flow of the SDK's say.
    """

    url: str
    headers: Mapping[str, str] = attrs.field(factory=dict[str, str], hash=False)
    secret_headers: Mapping[str, str] = attrs.field(factory=dict[str, str], hash=False, repr=False)
    auth: Auth | None = attrs.field(default=None, repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not leave: each value, and what follows a scheme like `Bearer` in it."""
        values = self.secret_headers.values()
        return (*values, *(value.partition(" ")[2] for value in values if " " in value.strip()))


def stdio_server(
    name: str,
    command: str,
    *args: str,
    env: Mapping[str, str] | None = None,
    secret_env: Mapping[str, str] | None = None,
    inherit: Iterable[str] = INHERITED,
    cwd: str | Path | None = None,
    limits: ConnectionLimits = _DEFAULT_LIMITS,
    trust_annotations: bool = False,
    optional: bool = False,
    protocol: str = "auto",
    elicit: ElicitHook | None = None,
    sample: SampleHook | None = None,
    roots: Iterable[str] | None = None,
) -> StdioServer:
    """Name a server that is a program to be run.

    It runs in a process group of its own, which is ended when the connection is closed, however that happens. What it
    writes to its standard error is drained; the end of it goes to the application's own log when it exits by itself.

    Args:
        name: Its name here: up to 32 letters, digits, `-` and single `_`. Its tools are called `name__tool`.
        command: The program.
        args: Its arguments.
        env: Environment variables, besides those that it inherits.
        secret_env: The same, for values that must not leave.
        inherit: The names of the variables of ours that it gets; all others it does not see.
        cwd: Where it runs.
        limits: How long, how large and how many.
        trust_annotations: Believe what it says of its tools: one that says it only reads is `readonly`, and may be
            called again after a lost connection.
        optional: Open the runtime without it, where it cannot be connected to; an agent that needs it is refused then.
        protocol: `auto` takes the newest that both speak; `legacy` asks for none since 2026; `2026-07-28` takes only
            that one.
        elicit: Answers what the server asks a person.
        sample: Answers what the server asks a model.
        roots: The `file://` uris that it is told of.

    Raises:
        ConstructionError: An argument is no good, or the package `mcp` is not installed.

    Example:
        >>> stdio_server("time", "mcp-server-time", "--local-timezone", "UTC").args
        ('--local-timezone', 'UTC')
    """
    lines: list[str] = []
    if not command or not all(map(_is_argument, (command, *args))):
        lines.append("command is the name of a program, and no argument holds a NUL, or what has no UTF-8")
    variables = {**(env or {}), **(secret_env or {})}
    if not all(name and "=" not in name for name in variables) or not all(map(_is_argument, chain(*variables.items()))):
        lines.append("a variable has a name without =, and neither that nor its value holds a NUL, or has no UTF-8")
    if isinstance(inherit, str):
        lines.append("inherit is several names, and not one text")
    if cwd is not None and not Path(cwd).is_dir():
        lines.append("cwd is a folder")
    _refuse(name, protocol, roots, lines)
    return StdioServer(
        name=name,
        command=command,
        args=tuple(args),
        env=dict(env or {}),
        secret_env=dict(secret_env or {}),
        inherit=tuple(inherit),
        cwd=None if cwd is None else str(cwd),
        limits=limits,
        trust_annotations=trust_annotations,
        optional=optional,
        protocol=protocol,
        elicit=elicit,
        sample=sample,
        roots=None if roots is None else tuple(roots),
        where=caller_where(),
    )


def http_server(
    name: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    secret_headers: Mapping[str, str] | None = None,
    bearer: str | None = None,
    auth: Auth | None = None,
    limits: ConnectionLimits = _DEFAULT_LIMITS,
    trust_annotations: bool = False,
    optional: bool = False,
    protocol: str = "auto",
    elicit: ElicitHook | None = None,
    sample: SampleHook | None = None,
    roots: Iterable[str] | None = None,
) -> HttpServer:
    """Name a server that is spoken to over streamable HTTP.

    Redirects are followed within the server's own origin only, and answers are not taken compressed, so that their
    size is known.

    Args:
        name: As for `stdio_server`.
        url: Where it is: `http` or `https`, without a user or password.
        headers: What is sent with each request.
        secret_headers: The same, for values that must not leave.
        bearer: A token, for a header `Authorization: Bearer …`.
        auth: What authorizes each request: `mcp.client.auth.OAuthClientProvider`, say.
        limits: As for `stdio_server`.
        trust_annotations: As for `stdio_server`.
        optional: As for `stdio_server`.
        protocol: As for `stdio_server`.
        elicit: As for `stdio_server`.
        sample: As for `stdio_server`.
        roots: As for `stdio_server`.

    Raises:
        ConstructionError: An argument is no good, or the package `mcp` is not installed.

    Example:
        >>> http_server("docs", "https://example.com/mcp", bearer="a-long-token")
        HttpServer(name='docs', limits=..., url='https://example.com/mcp', headers={})
    """
    lines: list[str] = []
    secret = dict(secret_headers or {})
    named = (*(headers or {}), *secret)
    if bearer is not None:
        secret["Authorization"] = f"Bearer {bearer}"
    if not _is_address(url):
        lines.append("url is http or https, with a host, and without a user or a space")
    if bearer is not None and (auth is not None or any(each.lower() == "authorization" for each in named)):
        lines.append("bearer stands alone: no auth=, and no other Authorization header")
    if bearer is not None and not bearer.strip():
        lines.append("bearer is a token, and not empty")
    if not all(map(_HEADER.fullmatch, named)):
        lines.append("a header's name is letters, digits and some signs, and no space")
    if not all(text.isascii() and text.isprintable() for text in (*(headers or {}).values(), *secret.values())):
        lines.append("a header's value is one line of ASCII")
    _refuse(name, protocol, roots, lines)
    return HttpServer(
        name=name,
        url=url,
        headers=dict(headers or {}),
        secret_headers=secret,
        auth=auth,
        limits=limits,
        trust_annotations=trust_annotations,
        optional=optional,
        protocol=protocol,
        elicit=elicit,
        sample=sample,
        roots=None if roots is None else tuple(roots),
        where=caller_where(),
    )


def _is_argument(text: str) -> bool:
    """Tell whether a process can be given a text."""
    try:
        return b"\0" not in text.encode("utf-8", "surrogateescape")  # a file's name may be other bytes
    except UnicodeEncodeError:
        return False


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return False
    whole = parts.scheme in ("http", "https") and bool(host) and port != 0 and parts.username is None
    return whole and url.isprintable() and " " not in url


def _refuse(name: str, protocol: str, roots: Iterable[str] | None, lines: list[str]) -> None:
    if not is_server_name(name):
        lines.append("its name has up to 32 letters, digits, - and single _, and begins and ends with none of _")
    if protocol not in _PROTOCOLS:
        lines.append(f"protocol is one of {', '.join(_PROTOCOLS)}")
    if any(not root.startswith("file://") for root in roots or ()):
        lines.append("a root is a file:// uri")
    problems = [Problem("MCP", f'server "{name[:64]}"', (*lines, str(caller_where())))] if lines else []
    if find_spec("mcp") is None:
        line = f"it is spoken to with the package mcp  {caller_where()}"
        problems.append(Problem("EXTRA", f'server "{name[:64]}"', (line,), 'pip install "lamina[mcp]"'))
    if problems:
        raise ConstructionError(problems)
