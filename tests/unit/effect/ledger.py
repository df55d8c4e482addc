"""Resources that keep a ledger: what was acquired, and what was released, each time it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

from lamina.effect import Layer, Life, Need, caller_where
from lamina.effect._tree import Leaf


class Ledger:
    """What happened, in order; a resource is released when its release has run to its end."""

    def __init__(self) -> None:
        self.acquired: list[str] = []
        self.released: list[str] = []
        self.thrown: list[str] = []

    def assert_balanced(self) -> None:
        assert Counter(self.released) == Counter(self.acquired)


def resource(
    ledger: Ledger, key: type, *needs: type, life: Life = "app", waits: int = 2, holds_group: bool = False
) -> Layer[Any, Any, Any]:
    """Make a layer of a resource that waits while it comes up, and while it is released."""
    name = key.__name__

    async def make(*made_of: Any) -> AsyncIterator[Any]:
        async with anyio.create_task_group() if holds_group else nullcontext() as group:
            if group is not None:
                group.start_soon(anyio.sleep_forever)
            for _ in range(waits):
                await checkpoint()
            ledger.acquired.append(name)
            try:
                service = key()
                service.made_of = made_of
                yield service
            except BaseException as error:
                ledger.thrown.append(f"{name} {type(error).__name__}")
                raise
            finally:
                for _ in range(waits):
                    await checkpoint()
                ledger.released.append(name)
                if group is not None:
                    group.cancel_scope.cancel()

    asked = tuple(Need(need.__name__.lower(), need) for need in needs)
    return Layer(Leaf(key, asked, make, "scope", life, name, caller_where()))
