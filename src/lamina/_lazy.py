"""Names that a package imports when they are first asked for: who does not use them does not pay for them (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module


def lazily(
    package: str, home_of: Mapping[str, str], public: Iterable[str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Make a package's `__getattr__` and `__dir__`.

    Args:
        package: Its `__name__`.
        home_of: For each lazy name the module in the package that holds it.
        public: All of its public names.
    """

    def __getattr__(name: str) -> object:  # noqa: N807 - what it becomes
        """Import a public name from its module, once."""
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object = getattr(import_module(f"{package}.{home}"), name)
        setattr(sys.modules[package], name, found)
        return found

    def __dir__() -> list[str]:  # noqa: N807 - as above
        """List the public names."""
        return sorted(public)

    return __getattr__, __dir__
