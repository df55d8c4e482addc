"""A chosen tool's arguments, copied out of the request: the model only says which of its words they are."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from lamina.model import ToolSpec
from lamina.providers._wire import written
from lamina.providers.local._llama import Llama
from lamina.providers.local._schema import Parameter, capped, parameters_of
from lamina.providers.local._values import values_of
from lamina.schema import JsonValue

# How a task, a request for it and the value of a parameter stand together; no tool of anybody's.
_SHOWN = (
    ("Could you put on Moonlight Sonata by Beethoven", "Play music", "Name of the piece", "Moonlight Sonata"),
    ("please translate good morning to Italian", "Translate a text", "Language to translate into", "Italian"),
    ("order two pizzas for Maria", "Order food", "Who gets the food", "Maria"),
    ("look up what photosynthesis means", "Look a word up in the dictionary", "The word", "photosynthesis"),
)


async def fill(llama: Llama, request: str, tool: ToolSpec, known: Sequence[str] = ()) -> str:
    """Give the arguments of a call as JSON.

    Args:
        llama: The model.
        request: What is asked for.
        tool: The tool that was chosen for it.
        known: Paths that earlier results named.
    """
    given: dict[str, JsonValue] = {}
    for parameter in parameters_of(tool):
        used = [value for value in given.values() if isinstance(value, str)]
        own = f"{tool.name} {tool.description}"
        values = values_of(parameter, request, known, own, used)
        prompt = _prompt(request, tool, parameter)
        given[parameter.name] = await (_pick(llama, prompt, values) if values else _write(llama, prompt, parameter))
    return written(given)


async def _pick(llama: Llama, prompt: str, values: list[JsonValue]) -> JsonValue:
    spoken = [value if isinstance(value, str) else written(value) for value in values]
    return values[spoken.index(await llama.pick(prompt, spoken))]


async def _write(llama: Llama, prompt: str, parameter: Parameter) -> JsonValue:
    """Let the model write a value that the request does not hold; one that it does not finish is left empty."""
    written = await llama.write(prompt, capped(dict(parameter.schema)), 128)
    try:
        value: JsonValue = orjson.loads(written)
    except orjson.JSONDecodeError:
        return None
    return value


def _prompt(request: str, tool: ToolSpec, parameter: Parameter) -> str:
    shown = "".join(f"Request: {said}\nTask: {task}\n{about}: {value}\n\n" for said, task, about, value in _SHOWN)
    task = (tool.description or tool.name).strip().partition("\n")[0].rstrip(".")
    return f"{shown}Request: {request[:1000]}\nTask: {task}\n{parameter.about}:"
