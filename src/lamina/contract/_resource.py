"""Resources: what a contract lets be read, apart from the context."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs

from lamina.contract._messages import NAME
from lamina.contract._projection import Reading, struct
from lamina.effect import ConstructionError, Problem, caller_where


@attrs.frozen(kw_only=True, eq=False)
class DeclaredResource:
    """A named read-only projection.

    Attributes:
        name: Its name.
        description: What it is.
        reading: The projection, ready to be read.
    """

    name: str
    description: str
    reading: Reading


def declared_resource(
    model: type[Any],
    name: str,
    description: str,
    schema: type[Any],
    read: Callable[[Any], Any],
    observes: tuple[str, ...],
    others: Iterable[DeclaredResource],
) -> DeclaredResource:
    """Check a resource beside the others of its contract, and make it ready to be read.

    Raises:
        ConstructionError: As `Contract.resource`.
    """
    lines: list[str] = []
    if not isinstance(name, str) or not NAME.fullmatch(name):  # pyright: ignore[reportUnnecessaryIsInstance] - past the types
        lines.append("a resource's name has 1 to 128 letters, digits, _ or -")
    if not callable(read):
        lines.append("read is a function of the model")
    if any(one.name == name for one in others):
        lines.append(f'Duplicate agent resource name "{name}"')
    if lines:
        raise ConstructionError([Problem("RESOURCE", str(name)[:128], (*lines, str(caller_where())))])
    reading = struct(model, schema, read, observes=observes).reading(model)
    return DeclaredResource(name=name, description=description, reading=reading)
