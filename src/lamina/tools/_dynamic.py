"""Tools whose schema is known only at run time: remote ones, above all (design §4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, cast

from returns.result import Failure, Result, Success

from lamina.effect import ConstructionError, Need, Problem, Where, caller_where, tagged
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
    name: str,
    schema: Mapping[str, JsonValue],
    handler: Callable[..., Awaitable[Result[Any, Any]]],
    *,
    description: str,
    options: ToolOptions,
    needs: tuple[Need, ...] = (),
    input: Codec[Any] | None = None,  # noqa: A002 - as assemble_tool has it
    success: Codec[Any] | None = None,
    failure: Codec[Any] | None = None,
    where: Where | None = None,
) -> Tool[Any, Any, Any]:
    """Make a tool of a JSON Schema and a handler of plain JSON; what `Tool.dynamic` stands on.

    Args:
        name: What the model calls it by.
        schema: JSON Schema of the arguments; its type is `object`.
        handler: Takes the arguments as plain JSON, and the services of `needs`.
        description: What the model reads.
        options: As for `@tool(...)`, checked.
        needs: The services of the handler.
        input: Of its arguments, of whoever holds them to the schema otherwise; a `SchemaCodec` without it.
        success: Of its value; any JSON without it.
        failure: Of its failures; `DynamicToolFailure` without it.
        where: Where it was written; the caller's place without it.

    Raises:
        ConstructionError: The name or the schema is no good, or the package `jsonschema` is not installed.
    """
    where = where or caller_where()
    return assemble_tool(
        label=name,
        where=where,
        description=description,
        options=options,
        needs=needs,
        handler=handler,
        input=input or SchemaCodec(schema, f"the input of tool {name}", where),
        success=success or codec(JsonValue),
        failure=failure or codec(DynamicToolFailure),
    )


class SchemaCodec(Codec[Any]):
    """Holds JSON to a JSON Schema, both ways, with the package `jsonschema`; other documents are never fetched.

    The dialect is the one that the schema names; 2020-12 where it names none. The schema is the application's own, and
    trusted: it may take as long as it takes, and a `pattern` in it is applied by Python's `re`. One that comes from
    elsewhere is for `lamina.schema.BoundedSchema`.

    Args:
        schema: The schema.
        subject: What it describes, for reports.
        where: Where that was written.
        any_type: Whether its type may be another than `object`, as that of a value may.

    Raises:
        ConstructionError: The schema is no good, or `jsonschema` is not installed.
    """

    def __init__(self, schema: Mapping[str, JsonValue], subject: str, where: Where, *, any_type: bool = False) -> None:
        try:
            from jsonschema import Draft202012Validator
            from jsonschema.exceptions import SchemaError
            from jsonschema.validators import validator_for
            from referencing import Registry
        except ImportError:
            why = (f"it is checked with the package jsonschema  {where}",)
            raise ConstructionError([Problem("EXTRA", subject, why, 'pip install "lamina[dynamic]"')]) from None
        lines: list[str] = []
        dialect: Any = validator_for(schema, default=Draft202012Validator)  # Any: the package types it only in part
        try:
            dialect.check_schema(schema)
        except SchemaError as error:
            lines.append(f"at {error.json_path} it is no valid JSON Schema")
        except RecursionError:
            lines.append("it is nested too deeply")
        if not any_type and schema.get("type") != "object":
            lines.append('its "type" is not "object"')
        if lines:
            raise ConstructionError([Problem("SCHEMA", subject, (*lines, str(where)))])
        self._plain: Codec[Any] = codec(JsonValue) if any_type else codec(dict[str, JsonValue])
        # An empty registry: a schema must not make this process fetch anything.
        make_registry = cast("Callable[[], Any]", Registry)  # Any: the package types these two only in part
        self._validator: Any = dialect(schema, registry=make_registry())
        self.type = dict
        self.name = subject
        self.json_schema = dict(schema)

    def decode(self, value: object, *, limits: JsonLimits = JsonLimits()) -> Result[Any, Mismatch]:  # noqa: B008 - frozen
        """Check a JSON object against the schema; a problem names the keyword, and quotes no value."""
        decoded = self._plain.decode(value, limits=limits)
        return decoded if isinstance(decoded, Failure) else self._checked(decoded.unwrap())

    def encode(self, value: object) -> Result[JsonValue, Mismatch]:
        """Check a JSON object against the schema, as `decode` does."""
        encoded = self._plain.encode(value)
        return encoded if isinstance(encoded, Failure) else self._checked(encoded.unwrap())

    def _checked(self, value: JsonValue) -> Result[Any, Mismatch]:
        problems: list[str] = []
        try:
            for error in self._validator.iter_errors(value):
                problems.append(f"{error.json_path}: does not fit the schema's {error.validator}")
                if len(problems) == _MOST_PROBLEMS:
                    break
        except Exception:  # a reference that leads nowhere, or a pattern that is no expression: only applying it tells
            problems = ["$: the tool's schema cannot be applied"]
        return Failure(Mismatch(tuple(problems))) if problems else Success(value)
