"""The caller of a call: told meanwhile, and asked; in the older era by requests, in the newer one by rounds."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as wire
import pytest
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter

from lamina.adapters.mcp import McpLimits, McpServer
from lamina.call import Caller, CallerUnable, NotElicited
from lamina.effect import ConstructionError, Try
from lamina.tools import tool
from tests.unit.adapters.mcp.world import (
    LEGACY,
    MODERN,
    Name,
    Nothing,
    World,
    ask,
    echo,
    greet,
    served,
    surface_of,
    tell,
    until,
)

ERAS = pytest.mark.parametrize("era", [LEGACY, MODERN])


def answering(*answers: Any) -> dict[str, Any]:
    """Give a client's callbacks: a person who says these things, and a model that echoes."""
    left = list(answers)

    async def person(context: Any, params: Any) -> Any:
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def model(context: Any, params: Any) -> Any:
        said = f"{params.system_prompt}:{params.messages[0].content.text}"
        return wire.CreateMessageResult(role="assistant", content=wire.TextContent(text=said), model="m-1")

    return {"elicitation_callback": person, "sampling_callback": model}


def accept(**content: Any) -> wire.ElicitResult:
    return wire.ElicitResult(action="accept", content=content)


@ERAS
async def test_progress_comes_where_the_client_wants_it(era: str) -> None:
    heard: list[Any] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, total, message))

    async with served(World(), era) as (client, _):
        assert (await client.call_tool("tell", {"text": "x"})).content[0].text == "log"
        answer = await client.call_tool("tell", {"text": "x"}, progress_callback=progress)
        await until(lambda: len(heard) == 2)
    assert answer.content[0].text == "log,progress"
    assert heard == [(1, 2, "half"), (2, 2, None)]


async def test_log_messages_come_from_the_level_that_a_session_set() -> None:
    heard: list[Any] = []

    async def logged(params: Any) -> None:
        heard.append((params.level, params.data, params.logger))

    async with served(World(), LEGACY, logging_callback=logged) as (client, _):
        await client.call_tool("tell", {"text": "x"})
        await until(lambda: len(heard) == 2)
        await client.session.send_request(
            wire.SetLevelRequest(params=wire.SetLevelRequestParams(level="warning")), wire.EmptyResult
        )
        await client.call_tool("tell", {"text": "y"})
        await until(lambda: len(heard) == 3)
    assert heard == [
        ("debug", "quiet", None),
        ("warning", {"said": "x"}, "shop"),
        ("warning", {"said": "y"}, "shop"),
    ]


async def test_in_the_newer_era_log_messages_are_asked_for_with_each_request() -> None:
    heard: list[Any] = []

    async def logged(params: Any) -> None:
        heard.append(params.level)

    async with served(World(), MODERN, logging_callback=logged) as (client, _):
        await client.call_tool("tell", {"text": "x"})
        await client.call_tool("tell", {"text": "x"}, meta={"io.modelcontextprotocol/logLevel": "warning"})
        await until(lambda: len(heard) == 1)
    assert heard == ["warning"]


@ERAS
async def test_a_person_is_asked_and_the_body_runs_once(era: str) -> None:
    world = World()
    async with served(world, era, **answering(accept(first="Ada", size="s"))) as (client, server):
        answer = await client.call_tool("ask", {})
        assert server.waiting == 0
    assert answer.content[0].text == "Ada s"
    assert world.ran == ["ask"]


@ERAS
async def test_a_person_and_then_a_model_are_asked_and_the_body_runs_once(era: str) -> None:
    world = World()
    async with served(world, era, **answering(accept(first="Ada"))) as (client, server):
        answer = await client.call_tool("ask_twice", {})
        assert server.waiting == 0
    assert answer.content[0].text == "Be.:Ada by m-1"
    assert world.ran == ["ask_twice"]


@ERAS
async def test_two_questions_at_once(era: str) -> None:
    async with served(World(), era, **answering(accept(first="Ada"))) as (client, _):
        assert (await client.call_tool("ask_both", {})).content[0].text == "Ada None:hi"


@ERAS
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (wire.ElicitResult(action="decline"), "The caller gave no answer: decline."),
        (wire.ElicitResult(action="cancel"), "The caller gave no answer: cancel."),
        (
            accept(first=5),
            "The caller cannot be asked (elicit): the answer does not fit what was asked for.",
        ),
    ],
)
async def test_no_answer_is_a_declared_failure(era: str, answer: Any, text: str) -> None:
    async with served(World(), era, **answering(answer)) as (client, _):
        failed = await client.call_tool("ask", {})
    assert failed.is_error
    assert failed.content[0].text == text


@ERAS
async def test_a_peer_that_is_unable_gets_a_typed_refusal(era: str) -> None:
    async with served(World(), era) as (client, _):
        tried = await client.call_tool("try_ask", {})
    assert tried.content[0].text == (
        "The caller cannot be asked (elicit): it does not offer that."
        "|The caller cannot be asked (sample): it does not offer that."
    )


async def test_in_the_newer_era_a_client_is_told_what_it_would_have_had_to_declare() -> None:
    async with served(World(), MODERN) as (client, _):
        with pytest.raises(MCPError) as refused:
            await client.call_tool("ask", {})
    assert refused.value.code == -32021
    assert refused.value.data == {"requiredCapabilities": {"elicitation": {}}}


async def test_what_a_capability_does_not_say_it_is_not_given() -> None:
    for era in (LEGACY, MODERN):
        async with served(World(), era, **answering(accept(first="Ada"))) as (client, _):
            tried = await client.call_tool("try_ask", {})
        assert tried.content[0].text.endswith(
            "The caller cannot be asked (sample): the capability does not say that it asks for it."
        )


async def test_a_client_that_breaks_while_it_is_asked_is_one_that_refused() -> None:
    async with served(World(), LEGACY, **answering(ValueError("no"))) as (client, _):
        failed = await client.call_tool("ask", {})
    assert failed.content[0].text == "The caller cannot be asked (elicit): it refused, or cannot be reached."


async def test_a_client_that_never_answers_is_waited_for_so_long() -> None:
    async def person(context: Any, params: Any) -> Any:
        await asyncio.Event().wait()

    limits = McpLimits(patience=0.01)
    async with served(World(), LEGACY, limits=limits, elicitation_callback=person) as (client, _):
        failed = await client.call_tool("ask", {})
    assert failed.content[0].text == "The caller cannot be asked (elicit): it did not answer in time."


@ERAS
async def test_a_prompt_may_ask_its_caller_too(era: str) -> None:
    world = World()
    async with served(world, era, **answering(accept(first="Ada"))) as (client, server):
        assert (await client.get_prompt("interview")).messages[0].content.text == "For Ada."
        assert server.waiting == 0
    async with served(world, era) as (client, _):
        assert (await client.get_prompt("interview")).messages[0].content.text == "For nobody."
    assert world.ran == ["interview", "interview"]


# Rounds of the newer era, one by one.


async def raw_call(client: Any, name: str, **more: Any) -> Any:
    """Call without the SDK's own loop over rounds."""
    return await client.session.call_tool(name, more.pop("arguments", {}), allow_input_required=True, **more)


async def test_a_reference_works_once_and_for_its_call_only() -> None:
    world = World()
    async with served(world, MODERN, **answering()) as (client, server):
        first = await raw_call(client, "ask")
        assert isinstance(first, wire.InputRequiredResult)
        (key,) = first.input_requests or {}
        state, answers = first.request_state, {key: accept(first="Ada")}
        assert server.waiting == 1
        tampered = state[:-1] + ("0" if state[-1] != "0" else "1")
        for name, arguments, given in (
            ("ask", {}, tampered),
            ("ask", {}, "nonsense"),
            ("ask", {}, ""),
            ("ask", {}, "ä.1.ö"),
            ("ask", {"x": 1}, state),
            ("ask_both", {}, state),
        ):
            with pytest.raises(MCPError) as refused:
                await raw_call(client, name, arguments=arguments, request_state=given, input_responses=answers)
            assert refused.value.code == -32602
        wrong = wire.CreateMessageResult(role="assistant", content=wire.TextContent(text="x"), model="m")
        with pytest.raises(MCPError) as misfit:
            await raw_call(client, "ask", request_state=state, input_responses={key: wrong})
        assert misfit.value.message == "An input response is not an answer to what was asked"
        done = await raw_call(client, "ask", request_state=state, input_responses={**answers, "other": accept(x=1)})
        assert done.content[0].text == "Ada m"
        with pytest.raises(MCPError) as again:
            await raw_call(client, "ask", request_state=state, input_responses=answers)
        assert "nothing was run again" in again.value.message
        assert server.waiting == 0
    assert world.ran == ["ask"]


async def test_an_answer_that_is_missing_is_asked_for_again() -> None:
    async with served(World(), MODERN, **answering()) as (client, _):
        first = await raw_call(client, "ask_both")
        requests = first.input_requests or {}
        assert sorted(requests) == ["elicit-1", "sample-2"]
        second = await raw_call(
            client,
            "ask_both",
            request_state=first.request_state,
            input_responses={"elicit-1": accept(first="Ada")},
        )
        assert isinstance(second, wire.InputRequiredResult)
        assert list(second.input_requests or {}) == ["sample-2"]
        assert second.request_state != first.request_state
        said = wire.CreateMessageResult(role="assistant", content=wire.TextContent(text="hello"), model="m")
        done = await raw_call(
            client, "ask_both", request_state=second.request_state, input_responses={"sample-2": said}
        )
        assert done.content[0].text == "Ada hello"


async def test_a_call_whose_caller_does_not_come_back_is_aborted() -> None:
    world = World()
    limits = McpLimits(patience=0.02)
    async with served(world, MODERN, limits=limits, **answering()) as (client, server):
        first = await raw_call(client, "ask")
        await until(lambda: server.waiting == 0)
        with pytest.raises(MCPError):
            await raw_call(client, "ask", request_state=first.request_state)


async def test_only_so_many_calls_wait_at_once() -> None:
    limits = McpLimits(held=1)
    async with served(World(), MODERN, limits=limits, **answering()) as (client, server):
        assert isinstance(await raw_call(client, "ask"), wire.InputRequiredResult)
        refused = await raw_call(client, "ask")
        assert refused.content[0].text == "The caller cannot be asked (elicit): too many calls wait for an answer."
        assert server.waiting == 1
    assert server.waiting == 0  # the end of the connection has aborted it


# What an adapter cannot ask for is refused when it is made.


async def test_a_surface_that_asks_for_more_than_plain_json_can_is_refused_and_both_are_named() -> None:
    async with surface_of(World()) as surface:
        with pytest.raises(ConstructionError) as refused:
            McpServer(surface, json_response=True)
    told = str(refused.value)
    assert "CALLER capability ask\n" in told
    assert 'of surface "shop" asks its caller for elicit\n' in told
    assert "the MCP adapter offers nothing here" in told
    assert "capability tell" in told
    assert "prompt interview" in told
    async with surface_of(World(), echo, prompts=[greet]) as surface:
        McpServer(surface, json_response=True)
    async with surface_of(World(), tell | ask) as surface:
        McpServer(surface)


@tool(asks=("roots",))
async def folders(call: Nothing, ok: Try[CallerUnable], caller: Caller) -> str:
    """Ask for folders."""
    return ",".join(f"{root.uri} {root.name}" for root in ok(await caller.roots()))


@ERAS
async def test_a_client_says_in_which_folders_it_works(era: str) -> None:
    async def roots(context: Any) -> Any:
        made: list[Any] = [{"uri": "file:///here", "name": "here"}, {"uri": "file:///there"}]
        return wire.ListRootsResult(roots=made)

    async with served(World(), era, toolkit=folders | echo, list_roots_callback=roots) as (client, _):
        told = await client.call_tool("folders", {})
    assert told.content[0].text == "file:///here here,file:///there "


async def test_a_client_that_works_in_no_folder_is_not_asked() -> None:
    async with served(World(), LEGACY, toolkit=folders | echo) as (client, _):
        told = await client.call_tool("folders", {})
    assert told.content[0].text == "The caller cannot be asked (roots): it does not offer that."
    async with served(World(), MODERN, toolkit=folders | echo) as (client, _):
        with pytest.raises(MCPError) as refused:
            await client.call_tool("folders", {})
    assert refused.value.error.code == wire.MISSING_REQUIRED_CLIENT_CAPABILITY
    assert refused.value.error.data == {"requiredCapabilities": {"roots": {}}}


@tool(asks=("elicit",))
async def named(call: Nothing, ok: Try[NotElicited | CallerUnable], caller: Caller) -> str:
    """Ask by a name, twice, and then without one."""
    first = ok(await caller.elicit_as("Who?", Name, key="who"))
    second = ok(await caller.elicit_as("And who?", Name, key="who"))
    third = ok(await caller.elicit_as("And?", Name))
    return f"{first.first} {second.first} {third.first}"


async def asked_next(client: Any, state: str | None, **responses: wire.InputResponse) -> Any:
    params = wire.CallToolRequestParams(
        name="named", arguments={}, request_state=state, input_responses=responses or None
    )
    kind: Any = wire.CallToolResult | wire.InputRequiredResult
    return await client.session.send_request(wire.CallToolRequest(params=params), TypeAdapter(kind))


async def test_a_question_with_a_name_may_be_answered_before_it_is_asked_and_only_once() -> None:
    async with served(World(), MODERN, toolkit=named | echo, **answering()) as (client, server):
        upfront = {"who": accept(first="Ada"), "elicit-1": accept(first="Eve"), "other": accept(first="Mallory")}
        second = await asked_next(client, None, **upfront)
        third = await asked_next(client, second.request_state, who=accept(first="Bob"))
        ended = await asked_next(client, third.request_state, **{[*third.input_requests][0]: accept(first="Cy")})
        assert ([*second.input_requests], len(third.input_requests)) == (["who"], 1)
        assert "who" not in third.input_requests
        assert ended.content[0].text == "Ada Bob Cy"
        assert server.waiting == 0
