"""A tool's parameters, as far as the packaged model can fill them in."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, cast

import attrs

from lamina.model import ToolSpec
from lamina.schema import JsonValue

Kind: TypeAlias = Literal["text", "path", "number", "choice", "other"]

_COUNT = re.compile(r"\{(?:\d*,)?(\d{1,9})")
_PATH = re.compile(r"\b(path|file|filename|folder|directory)\b")


@attrs.frozen
class Parameter:
    """One parameter that a call has to give.

    Attributes:
        name: The member's name.
        about: What a person would call it: its description, else its name.
        kind: How a value is found.
        schema: Its own schema, with the definitions it refers to.
        choices: What a `choice` may be.
    """

    name: str
    about: str
    kind: Kind
    schema: Mapping[str, JsonValue] = attrs.field(hash=False)
    choices: tuple[JsonValue, ...] = attrs.field(default=(), hash=False)

    @property
    def is_whole(self) -> bool:
        """Whether a `number` has to be whole."""
        return self.schema.get("type") == "integer"


def parameters_of(tool: ToolSpec) -> list[Parameter]:
    """List the parameters that a tool requires; one that may be left out is left out.

    Example:
        >>> schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
        >>> [(p.name, p.kind) for p in parameters_of(ToolSpec("read", "Read a file.", schema))]
        [('path', 'path')]
    """
    properties = _mapping(tool.input_schema.get("properties"))
    definitions = tool.input_schema.get("$defs")
    required = tool.input_schema.get("required")
    names = [name for name in properties if isinstance(required, list) and name in required]
    return [_parameter(name, _mapping(properties[name]), _mapping(definitions)) for name in names]


def _parameter(name: str, given: Mapping[str, JsonValue], definitions: Mapping[str, JsonValue]) -> Parameter:
    reference = given.get("$ref")
    if isinstance(reference, str):
        given = {**_mapping(definitions.get(reference.removeprefix("#/$defs/"))), **_without_reference(given)}
    described = given.get("description")
    about = described.rstrip(".") if isinstance(described, str) and described else name.replace("_", " ")
    whole = {**given, "$defs": dict(definitions)} if definitions else given
    choices = _choices(given)
    if choices:
        return Parameter(name, about, "choice", whole, choices)
    match given.get("type"):
        case "integer" | "number":
            return Parameter(name, about, "number", whole)
        case "string" if "format" not in given and "pattern" not in given:
            words = f"{name.replace('_', ' ')} {about}".lower()
            return Parameter(name, about, "path" if _PATH.search(words) else "text", whole)
        case _:
            return Parameter(name, about, "other", whole)


def _choices(given: Mapping[str, JsonValue]) -> tuple[JsonValue, ...]:
    if "const" in given:
        return (given["const"],)
    if given.get("type") == "boolean":
        return (True, False)
    listed = given.get("enum")
    return tuple(cast("Sequence[JsonValue]", listed)) if isinstance(listed, list | tuple) else ()


def _without_reference(given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {key: value for key, value in given.items() if key != "$ref"}


def _mapping(value: object) -> Mapping[str, JsonValue]:
    return cast("Mapping[str, JsonValue]", value) if isinstance(value, Mapping) else {}


def capped(schema: JsonValue) -> JsonValue:
    """Bound every text and list of a schema: a small model would ramble until its answer is cut off.

    What would make a grammar without end is bounded, too: the least lengths, and a pattern that counts far, which is
    left out. Who wrote the schema may be a stranger; the answer is held to all of it afterwards.

    Example:
        >>> capped({"type": "array", "items": {"type": "string"}})
        {'type': 'array', 'items': {'type': 'string', 'maxLength': 120}, 'maxItems': 4}
    """
    if isinstance(schema, list):
        return [capped(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    copy: dict[str, JsonValue] = {key: capped(value) for key, value in schema.items()}
    pattern = copy.get("pattern")
    if copy.get("type") == "string" and isinstance(pattern, str) and not _is_small(pattern):
        del copy["pattern"]
    for least, most in (("minLength", 120), ("minItems", 4)):
        if isinstance(copy.get(least), int):
            copy[least] = _least(copy[least], most)
    if copy.get("type") == "string" and not {"enum", "const", "format", "pattern"} & copy.keys():
        copy["maxLength"] = _least(copy.get("maxLength"), 120)
    if copy.get("type") == "array":
        copy["maxItems"] = _least(copy.get("maxItems"), 4)
    return copy


def _is_small(pattern: str) -> bool:
    """Tell whether a pattern stays small when it is written out: a grammar repeats what is counted."""
    counts = [int(count) for count in _COUNT.findall(pattern)]
    return len(pattern) <= 512 and math.prod(counts) <= 1_000


def _least(given: JsonValue, most: int) -> int:
    return min(given, most) if isinstance(given, int) else most
