"""What a service is called in a report: its class's name, or the alias as one writes it."""

from __future__ import annotations

from typing import cast, get_args, get_origin


def name_of(key: object) -> str:
    """Give the name of a service's key, without its module.

    Example:
        >>> name_of(dict[str, int]), name_of(int)
        ('dict[str, int]', 'int')
    """
    origin = get_origin(key)
    if origin is not None:
        return f"{name_of(origin)}[{', '.join(map(name_of, get_args(key)))}]"
    name = cast("str | None", getattr(key, "__qualname__", None) or getattr(key, "__name__", None))
    return name.rpartition("<locals>.")[2] if name else repr(key)
