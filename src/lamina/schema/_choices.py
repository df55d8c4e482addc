"""A fixed set of values: `Literal`, and enums by value."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from lamina.schema._describe import Definitions
from lamina.schema._json import JsonValue, is_text
from lamina.schema._mismatch import bad
from lamina.schema._shape import Shape
from lamina.schema._terms import Hook, Kind, Schema, Undescribable

_TOLD = 20
_MISSING = object()
_KINDS: dict[type, frozenset[Kind]] = {
    str: frozenset({"string"}),
    int: frozenset({"integer", "number"}),
    float: frozenset({"integer", "number"}),
    bool: frozenset({"boolean"}),
    type(None): frozenset({"null"}),
}


class Choice(Shape):
    """Some JSON scalars and the Python value of each; `True` is not `1`, but `1.0` is, as in JSON Schema."""

    def __init__(self, members: Iterable[tuple[JsonValue, object]], description: str | None = None) -> None:
        self.members = tuple(members)
        self.description = description
        numbers: dict[Any, object] = {}
        self._read: dict[type, dict[Any, object]] = {str: {}, bool: {}, type(None): {}, int: numbers, float: numbers}
        self._write: dict[tuple[type, object], JsonValue] = {}
        kinds: set[Kind] = set()
        for value, member in self.members:
            table = self._read.get(type(value))
            if table is None or value != value or (isinstance(value, str) and not is_text(value)):
                raise Undescribable(f"the choice {type(value).__name__} is no JSON string, number, boolean or null")
            if table.setdefault(value, member) is not member:
                raise Undescribable("two choices are the same JSON value")
            self._write[type(member), member] = value
            kinds |= _KINDS[type(value)]
        self._kinds = frozenset(kinds)
        self._classes: tuple[type, ...] = tuple(dict.fromkeys(type(member) for _, member in self.members))

    def kinds(self) -> frozenset[Kind]:
        return self._kinds

    def classes(self) -> tuple[type, ...]:
        return self._classes

    def describe(self, defs: Definitions) -> Schema:
        if not self.members:
            return {"not": {}}
        values: list[JsonValue] = [value for value, _ in self.members]
        kinds = {type(value) for value in values}
        told: Schema = {"type": "string"} if kinds == {str} else {}
        if self.description is not None:
            told["description"] = self.description
        return {**told, "const": values[0]} if len(values) == 1 else {**told, "enum": values}

    def reader(self, detail: bool) -> Hook:
        tables, why = self._read, self._why()

        def read(value: object, _: object = None) -> Any:
            table = tables.get(type(value))
            made = _MISSING if table is None else table.get(value, _MISSING)
            if made is _MISSING:
                raise bad(why)
            return made

        return read

    def writer(self, detail: bool) -> Hook:
        table, why = self._write, self._why()

        def write(value: Any) -> JsonValue:
            try:
                return table[type(value), value]
            except (KeyError, TypeError):  # the latter from a value that cannot be hashed
                raise bad(why) from None

        return write

    def _why(self) -> str:
        if not self.members:
            return "expected nothing: no value fits"
        shown = [json.dumps(value, ensure_ascii=False)[:60] for value, _ in self.members[:_TOLD]]
        if len(shown) == 1:
            return f"expected {shown[0]}"
        return f"expected one of {', '.join(shown)}{', …' if len(self.members) > _TOLD else ''}"
