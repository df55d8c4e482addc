"""A store by itself, without an application: opened for one piece of work, and closed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import attrs
from returns.result import Failure

from lamina.cli._exits import UsageError, is_output_lost
from lamina.cli._interrupts import interruptible
from lamina.cli._kept import Kept, kept
from lamina.cli._place import StorePlace, store_trouble
from lamina.effect import ConstructionError, log
from lamina.runtime import RuntimeBuilder, try_build


def with_store(place: StorePlace, principal: str | None, work: Callable[[Kept], Awaitable[int]]) -> int:
    """Do something with what a store keeps, and give the exit code.

    Raises:
        UsageError: There is no store there, or it cannot be opened.
    """
    place.must_be_there()
    opening = try_build(RuntimeBuilder().provide(place.layer()).program(kept))

    async def main() -> int:
        async with opening as opened:
            if isinstance(opened, Failure):
                raise store_trouble(place.title, opened.failure())
            return await work(attrs.evolve(await opened.unwrap().run(kept, None), principal=principal))

    try:
        return asyncio.run(interruptible(main()))
    except (UsageError, ConstructionError, BrokenPipeError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and is_output_lost(error):
            raise
        log().exception("the store broke")
        kind = type(error).__name__
        raise UsageError(f"The store {place.title} could not be used: {kind}.", "See --log FILE.") from None
