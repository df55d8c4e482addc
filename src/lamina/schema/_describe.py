"""Where a schema's shared parts stand: `$defs`, with names that depend on nothing but the type."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

from lamina.schema._terms import Schema

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_FIELD = re.compile(r" {1,4}(\w+)(?: \([^)]*\))?: (.+)")
_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


class Definitions:
    """The `$defs` of one schema, filled while it is described."""

    def __init__(self) -> None:
        self._names: dict[object, str] = {}
        self.bodies: dict[str, Schema] = {}

    def ref(self, shape: object, name: str, body: Callable[[Definitions], Schema]) -> Schema:
        """Refer to a shape, and describe it the first time; two classes of one name get two entries."""
        known = self._names.get(shape)
        if known is None:
            base = _NO_NAME.sub("_", name).strip("_") or "Type"
            known, count = base, 1
            while known in self.bodies:
                count += 1
                known = f"{base}_{count}"
            self._names[shape] = known
            self.bodies[known] = {}  # takes the name before the parts are described
            self.bodies[known] = body(self)
        return {"$ref": f"#/$defs/{known}"}

    def whole(self, root: Schema) -> Schema:
        """Give the finished document."""
        return {"$schema": DIALECT, **root, **({"$defs": dict(self.bodies)} if self.bodies else {})}


def summary(doc: str | None) -> str | None:
    """Give the first paragraph of a docstring, on one line."""
    if not doc:
        return None
    first = inspect.cleandoc(doc).split("\n\n", 1)[0]
    return " ".join(first.split()) or None


def field_summaries(doc: str | None) -> dict[str, str]:
    """Give what the `Attributes:` (or `Args:`) part of a docstring says of each field."""
    lines = inspect.cleandoc(doc or "").splitlines()
    heads = [index for index, line in enumerate(lines) if line.rstrip() in ("Attributes:", "Args:")]
    found: dict[str, str] = {}
    name = ""
    for line in lines[heads[0] + 1 :] if heads else []:
        indent = len(line) - len(line.lstrip())
        if not line.strip() or not indent:
            break
        if match := _FIELD.match(line):
            name, found[match[1]] = match[1], match[2]
        elif name:
            found[name] += f" {line.strip()}"
    return found
