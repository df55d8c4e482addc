"""Choosing and filling in, over a server that says how likely words are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from lamina.model import (
    ModelRequest,
    ToolChoice,
    ToolMessage,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
    reduce,
)
from lamina.providers.local import LocalConfig, LocalModel
from lamina.providers.local._arguments import fill
from lamina.providers.local._llama import Llama
from lamina.providers.local._router import choose, context
from lamina.providers.openai import OpenAIModel
from lamina.providers.openai._transport import Client


class Likely:
    """Answers as llama.cpp's server does; a context that holds one of its words is likely."""

    def __init__(self, **likelihood: float) -> None:
        self.likelihood = likelihood
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    async def ask(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked.append((path, body))
        if path.endswith("/tokenize"):
            return {"tokens": [1, 2, 3]}
        usage = {"prompt_tokens": 10, "completion_tokens": 3}
        if "logprobs" in body:
            found = [value for word, value in self.likelihood.items() if word in body["prompt"]]
            tokens = [{"logprob": found[0] if found else -9.0}]
            return {"choices": [{"logprobs": {"content": tokens}}], "usage": usage}
        if "grammar" in body:
            last = body["grammar"].removeprefix("root ::= ").split(" | ")[-1]
            return {"choices": [{"text": json.loads(last)}], "usage": usage}
        return {"choices": [{"text": '["written"]'}], "usage": usage}


def tool(name: str, description: str, **properties: Any) -> ToolSpec:
    return ToolSpec(name, description, {"type": "object", "properties": properties, "required": list(properties)})


TEXT = {"type": "string"}
READ = tool("read_file", "Open a document.", path=TEXT)
FIND = tool("find", "Look something up.", text=TEXT)
TIMER = tool("timer", "Wait a while.", minutes={"type": "integer"})


def llama_over(server: Likely) -> Llama:
    return Llama(cast("Client", server), "http://127.0.0.1:1")


async def test_the_tool_under_which_the_request_is_likely_is_chosen() -> None:
    server = Likely(look=-1.0, open=-5.0, talk=-4.0)
    assert await choose(llama_over(server), "where is it", [READ, FIND], ["a.txt"]) is FIND


async def test_talk_is_chosen_where_it_is_likelier_than_any_tool() -> None:
    server = Likely(talk=-1.0)
    assert await choose(llama_over(server), "good day", [FIND]) is None
    assert await choose(llama_over(server), "good day", [FIND], must=True) is FIND


async def test_a_tool_that_needs_what_is_not_in_sight_is_not_chosen() -> None:
    server = Likely(open=-0.1, wait=-0.1, talk=-5.0)
    assert await choose(llama_over(server), "go ahead", [READ, TIMER]) is None
    assert await choose(llama_over(server), "go ahead", [READ, TIMER], ["a.txt"]) is READ
    assert await choose(llama_over(server), "go ahead", [READ, TIMER], must=True) in (READ, TIMER)


async def test_a_path_in_the_request_speaks_for_the_tool_that_takes_one() -> None:
    server = Likely(open=-4.0, look=-3.0)
    assert await choose(llama_over(server), "a.txt", [READ, FIND]) is READ


async def test_a_request_without_words_asks_the_model_nothing() -> None:
    server = Likely()
    assert await choose(llama_over(server), "  ", [FIND]) is None
    assert await choose(llama_over(server), "hi", []) is None
    assert server.asked == []


def test_a_tasks_words_are_bounded_and_of_one_line() -> None:
    assert context("Read it.\nSecret") == "A user asks an assistant to do this: read it.\nThe user says:"
    assert len(context("x" * 9000)) < 300


async def test_arguments_are_copied_and_where_they_cannot_be_are_written() -> None:
    server = Likely()
    spec = tool("note", "Note it.", text=TEXT, minutes={"type": "integer"}, tags={"type": "array", "items": TEXT})
    llama = llama_over(server)
    assert json.loads(await fill(llama, "note buy milk within 20", spec)) == {
        "text": "20",
        "minutes": 20,
        "tags": ["written"],
    }
    assert llama.usage == Usage(20, 6)


def model_over(server: Likely) -> LocalModel:
    served = OpenAIModel.__new__(OpenAIModel)
    served.model = "test"
    return LocalModel(served, cast("Client", server), "http://127.0.0.1:1", LocalConfig())


async def routed(text: str, *after: ToolMessage, tool_choice: ToolChoice = "auto") -> Any:
    server = Likely(open=-1.0, look=-2.0, talk=-8.0)
    request = ModelRequest((UserMessage.of(text), *after), (READ, FIND), tool_choice)
    parts: list[Any] = []
    model = model_over(server)
    assert (await model.stream(request, parts.append)).unwrap() is None
    streamed = reduce(parts).unwrap()
    assert reduce((await model.generate(request)).unwrap()).unwrap() == streamed
    return streamed


async def test_a_call_streams_as_it_comes_whole_and_costs_what_choosing_took() -> None:
    response = await routed("Read a.txt")
    assert [(call.id, call.name, json.loads(call.arguments)) for call in response.calls] == [
        ("local-1", "read_file", {"path": "a.txt"})
    ]
    assert response.finish == "tool-calls"
    assert response.usage.input_tokens == 30


async def test_each_result_moves_on_to_the_next_sentence() -> None:
    done = ToolMessage((ToolResult("local-1", "read_file", "x"),))
    response = await routed("Read a.txt. Read b.txt.", done)
    assert [(call.id, json.loads(call.arguments)) for call in response.calls] == [("local-2", {"path": "b.txt"})]


async def test_a_call_that_is_required_is_made_even_after_the_last_step() -> None:
    done = ToolMessage((ToolResult("local-1", "read_file", "x"),))
    assert len((await routed("Read a.txt", done, tool_choice="required")).calls) == 1
