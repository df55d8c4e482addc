"""A remote tool's schemas, applied in bounded time: who wrote them is not trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
from returns.result import Failure, Result, Success

from lamina.schema import BoundedSchema, Codec, JsonLimits, JsonValue, Mismatch, codec

_OBJECT: Codec[Any] = codec(dict[str, JsonValue])
_ANY: Codec[Any] = codec(JsonValue)


@attrs.frozen(eq=False)
class ToolSchemas:
    """What was read of a tool's schemas.

    Attributes:
        input: Of its arguments.
        output: Of its structured value; None where it promises none.
    """

    input: BoundedSchema
    output: BoundedSchema | None

    @property
    def unapplied(self) -> tuple[str, ...]:
        """Where an expression stands that is not applied, as `input $.path`."""
        sides = (("input", self.input), ("output", self.output))
        return tuple(f"{side} {at}" for side, schema in sides if schema is not None for at in schema.unapplied)


def read_schemas(
    inputs: Mapping[str, JsonValue], outputs: Mapping[str, JsonValue] | None
) -> Result[ToolSchemas, tuple[str, ...]]:
    """Read the schemas of a tool, or say why they cannot be applied."""
    given = BoundedSchema.read(inputs)
    if isinstance(given, Failure):
        return Failure(tuple(f"its input schema: {why}" for why in given.failure()))
    if outputs is None:
        return Success(ToolSchemas(given.unwrap(), None))
    made = BoundedSchema.read(outputs)
    if isinstance(made, Failure):
        return Failure(tuple(f"its output schema: {why}" for why in made.failure()))
    return Success(ToolSchemas(given.unwrap(), made.unwrap()))


class RemoteCodec(Codec[Any]):
    """Holds JSON to a schema of a server's, both ways; a problem names the keyword, and quotes no value.

    Args:
        schema: The schema, as it was advertised.
        read: The same, read.
        subject: What it describes, for reports.
        any_type: Whether it may describe another value than an object.
    """

    def __init__(
        self, schema: Mapping[str, JsonValue], read: BoundedSchema, subject: str, *, any_type: bool = False
    ) -> None:
        self._plain = _ANY if any_type else _OBJECT
        self._read_schema = read
        self.type = dict
        self.name = subject
        self.json_schema = dict(schema)

    def decode(self, value: object, *, limits: JsonLimits = JsonLimits()) -> Result[Any, Mismatch]:  # noqa: B008 - frozen
        """Check a value that came."""
        decoded = self._plain.decode(value, limits=limits)
        return decoded if isinstance(decoded, Failure) else self._checked(decoded.unwrap())

    def encode(self, value: object) -> Result[JsonValue, Mismatch]:
        """Check a value that goes."""
        encoded = self._plain.encode(value)
        return encoded if isinstance(encoded, Failure) else self._checked(encoded.unwrap())

    def _checked(self, value: JsonValue) -> Result[Any, Mismatch]:
        problems = self._read_schema.problems(value)
        return Failure(Mismatch(problems)) if problems else Success(value)
