"""Tools whose schema is known only at run time: remote ones, above all (design §4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, cast

from returns.result import Failure, Result, Success

from lamina.effect import ConstructionError, Problem, Where, caller_where, tagged
from lamina.schema import Codec, JsonLimits, JsonValue, Mismatch, codec
from lamina.tools._options import ToolOptions
from lamina.tools._read import assemble_tool
from lamina.tools._tool import Tool

Arguments: TypeAlias = Mapping[str, JsonValue]
_MOST_PROBLEMS = 32


@tagged("{message}")
class DynamicToolFailure:
    """What a dynamic tool's handler answers when the call failed as it may.

    Attributes:
        message: One sentence for the model.
        content: More of it, as JSON.
    """

    message: str
    content: JsonValue = None


DynamicHandler: TypeAlias = Callable[[Arguments], Awaitable[Result[JsonValue, DynamicToolFailure]]]


def dynamic_tool(
    name: str, schema: Mapping[str, JsonValue], handler: DynamicHandler, *, description: str, options: ToolOptions
) -> Tool[Any, Any, Any]:
    """Make a tool of a JSON Schema and a handler of plain JSON.

    Raises:
        ConstructionError: The name or the schema is no good, or the package `jsonschema` is not installed.
    """
    where = caller_where()
    return assemble_tool(
        label=name,
        where=where,
        description=description,
        options=options,
        needs=(),
        handler=handler,
        input=SchemaCodec(schema, name, where),
        success=codec(JsonValue),
        failure=codec(DynamicToolFailure),
    )


class SchemaCodec(Codec[Any]):
    """Holds JSON objects to a JSON Schema, with the package `jsonschema`; references to other documents are refused."""

    def __init__(self, schema: Mapping[str, JsonValue], name: str, where: Where) -> None:
        try:
            from jsonschema import Draft202012Validator
            from jsonschema.exceptions import SchemaError
            from referencing import Registry
        except ImportError:
            why = (f"it checks its arguments with the package jsonschema  {where}",)
            raise ConstructionError([Problem("EXTRA", f"tool {name}", why, 'pip install "lamina[dynamic]"')]) from None
        lines: list[str] = []
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            lines.append(f"at {error.json_path} it is no valid JSON Schema 2020-12")
        if schema.get("type") != "object":
            lines.append('its "type" is not "object"')
        if lines:
            raise ConstructionError([Problem("SCHEMA", f"the input of tool {name}", (*lines, str(where)))])
        self._objects: Codec[dict[str, JsonValue]] = codec(dict[str, JsonValue])
        # An empty registry: the schema comes from elsewhere, and must not make this process fetch anything.
        make_registry = cast("Callable[[], Any]", Registry)  # Any: the package types these two only in part
        self._validator: Any = Draft202012Validator(schema, registry=make_registry())
        self.type = dict
        self.name = name
        self.json_schema = dict(schema)

    def decode(self, value: object, *, limits: JsonLimits = JsonLimits()) -> Result[Any, Mismatch]:  # noqa: B008 - frozen
        """Check a JSON object against the schema; a problem names the keyword, and quotes no value."""
        decoded = self._objects.decode(value, limits=limits)
        if isinstance(decoded, Failure):
            return decoded
        problems: list[str] = []
        try:
            for error in self._validator.iter_errors(decoded.unwrap()):
                problems.append(f"{error.json_path}: does not fit the schema's {error.validator}")
                if len(problems) == _MOST_PROBLEMS:
                    break
        except Exception:  # a reference that leads nowhere, or a pattern that is no expression: only applying it tells
            problems = ["$: the tool's schema cannot be applied"]
        return Failure(Mismatch(tuple(problems))) if problems else Success(decoded.unwrap())
