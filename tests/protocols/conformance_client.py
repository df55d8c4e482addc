"""Our client as the official suite runs it: it connects to a scenario's server, and does what any of them needs.

Whatever a server offers is called; what the suite expects is seen at its own end. The suite starts all its scenarios at
once, a program each, and importing costs more than a scenario does: so this program is started once, as
`python conformance_client.py SOCKET`, and forks for each scenario, whose program is `conformance_call.py`.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl
from returns.result import Failure

from lamina.call import Elicited, Sampled, SampleRequest
from lamina.mcp import ConnectionLimits, Elicitation, McpCall, McpConnections, RemoteTool, connect, http_server

if TYPE_CHECKING:
    from lamina.schema import JsonValue

LONGEST = 50.0
"""Seconds that a scenario may take, which is less than what the suite waits for it."""
CALLBACK = AnyUrl("http://localhost:3000/callback")
METADATA_URL = "https://conformance-test.local/client-metadata.json"
VALUES: dict[str, JsonValue] = {"number": 5, "integer": 5, "string": "text", "boolean": True, "array": [], "object": {}}


class Scenario:
    """One scenario, as the suite tells it.

    Args:
        arguments: The program's; the last one is the server's address.
        env: The suite's part of its environment.
    """

    def __init__(self, arguments: list[str], env: Mapping[str, str]) -> None:
        self.url = arguments[-1]
        self.name = env["MCP_CONFORMANCE_SCENARIO"]
        self.context: dict[str, Any] = json.loads(env.get("MCP_CONFORMANCE_CONTEXT") or "{}")
        self.legacy = env["MCP_CONFORMANCE_PROTOCOL_VERSION"] < "2026"


# --- who answers a server -------------------------------------------------------------------------------------------


async def accept(asked: Elicitation) -> Elicited:
    """Say yes, and leave the form to its defaults where it has them."""
    content: dict[str, JsonValue] = {}
    properties = (asked.schema or {}).get("properties")
    for name, member in properties.items() if isinstance(properties, dict) else ():
        if isinstance(member, dict) and "default" not in member:
            content[name] = VALUES[str(member.get("type", "string"))]
    return Elicited("accept", content)


async def answer(request: SampleRequest) -> Sampled:
    return Sampled(text="an answer", model="none", stop_reason="endTurn")


# --- who the client is ----------------------------------------------------------------------------------------------


class Storage:
    """Keeps tokens while the program runs."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Person:
    """Opens the page of the authorization server, which says yes at once, and reads where it is sent back to."""

    def __init__(self) -> None:
        self.sent: dict[str, list[str]] = {}

    async def open(self, url: str) -> None:
        async with httpx2.AsyncClient() as browser:
            response = await browser.get(url, follow_redirects=False)
        self.sent = parse_qs(urlsplit(response.headers["location"]).query)

    async def come_back(self) -> AuthorizationCodeResult:
        sent = {name: values[0] for name, values in self.sent.items()}
        return AuthorizationCodeResult(code=sent["code"], state=sent.get("state"), iss=sent.get("iss"))


def auth_of(scenario: Scenario) -> httpx2.Auth | None:
    """Give what authorizes the requests of a scenario; the flows are the SDK's."""
    if not scenario.name.startswith("auth/"):
        return None
    url, context, storage, person = scenario.url, scenario.context, Storage(), Person()
    client_id, secret = context.get("client_id"), context.get("client_secret")
    if scenario.name == "auth/client-credentials-jwt":
        signed = SignedJWTParameters(
            issuer=str(client_id),
            subject=str(client_id),
            signing_algorithm=context.get("signing_algorithm", "ES256"),
            signing_key=context["private_key_pem"],
        )
        return PrivateKeyJWTOAuthProvider(
            server_url=url,
            storage=storage,
            client_id=str(client_id),
            assertion_provider=signed.create_assertion_provider(),
        )
    if scenario.name == "auth/client-credentials-basic":
        return ClientCredentialsOAuthProvider(
            server_url=url, storage=storage, client_id=str(client_id), client_secret=str(secret)
        )
    if client_id:
        storage.client = OAuthClientInformationFull(
            client_id=client_id,
            client_secret=secret,
            redirect_uris=[CALLBACK],
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
            issuer=context.get("issuer"),
        )
    return OAuthClientProvider(
        server_url=url,
        client_metadata=OAuthClientMetadata(
            client_name="lamina",
            redirect_uris=[CALLBACK],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
        ),
        storage=storage,
        redirect_handler=person.open,
        callback_handler=person.come_back,
        client_metadata_url=METADATA_URL,
    )


# --- what it does ---------------------------------------------------------------------------------------------------


def arguments_of(tool: RemoteTool, tools: Mapping[str, RemoteTool]) -> dict[str, JsonValue]:
    """Make arguments that a tool's schema asks for; what is called `schema` is another tool's."""
    properties, required = tool.input_schema.get("properties"), tool.input_schema.get("required")
    made: dict[str, JsonValue] = {}
    for name in required if isinstance(required, list) else ():
        member = properties.get(str(name)) if isinstance(properties, dict) else None
        kind = member.get("type") if isinstance(member, dict) else None
        made[str(name)] = VALUES.get(str(kind), "text")
    focal = tools.get("json_schema_2020_12_tool")
    if focal is not None and focal is not tool:
        made["schema"] = dict(focal.input_schema)
    return made


async def use(connections: McpConnections, context: Mapping[str, Any]) -> None:
    """Call what is offered: what the scenario names, or everything once."""
    found = connections.server("peer")
    assert found is not None
    tools = {tool.name: tool for tool in found.tools}
    calls = [(call["name"], call["arguments"]) for call in context.get("toolCalls", ())]
    calls = calls or [(name, arguments_of(tool, tools)) for name, tool in tools.items()]

    async def call(name: str, arguments: dict[str, JsonValue]) -> None:
        called = await connections.call(McpCall(server="peer", tool=name, arguments=arguments))
        print(f"{name}: {called}")

    # Side by side, as an agent's batch is; a scenario looks whether answers are kept apart.
    async with anyio.create_task_group() as group:
        for name, arguments in calls:
            group.start_soon(call, name, arguments)


async def play(scenario: Scenario) -> int:
    """Play a scenario; gives the exit code, 1 where the server cannot be connected to, which some scenarios want."""
    server = http_server(
        "peer",
        scenario.url,
        protocol="legacy" if scenario.legacy else "auto",
        auth=auth_of(scenario),
        elicit=accept,
        sample=answer,
        limits=ConnectionLimits(reconnects=1, connect=20, call=20),
    )
    with anyio.fail_after(LONGEST):
        async with connect(server) as connected:
            if isinstance(connected, Failure):
                print(connected.failure())
                return 1
            await use(connected.unwrap(), scenario.context)
    return 0


def forked(connection: socket.socket) -> None:
    """Play, in a process of its own, what the other end asks for; what is said goes there, and last the exit code."""
    with connection.makefile("rb") as asked:
        request = json.loads(asked.readline())
    os.dup2(connection.fileno(), 1)
    os.dup2(connection.fileno(), 2)
    code = 2
    try:
        code = anyio.run(play, Scenario(request["arguments"], request["env"]))
    except BaseException:
        traceback.print_exc()
    print(f"\n{code}", flush=True)


def main(path: str) -> None:
    """Fork for each that asks, until this is ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen(128)
        print("listening", flush=True)
        while True:
            connection, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                try:
                    forked(connection)
                finally:
                    os._exit(0)
            connection.close()


if __name__ == "__main__":
    main(sys.argv[1])
