"""The suite that every `Store` passes, ours and yours (TEST-004)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never

from lamina.effect import Layer
from lamina.store import Statement, Store
from lamina.testing._store_cases import CASES
from lamina.testing._store_ground import TABLES, Case, Ground, opened, wrote
from lamina.testing._suite import ConformanceReport, hold_to, require


async def check_store(make: Callable[[], Layer[Never, Store, Any]], *, patience: float = 60.0) -> ConformanceReport:
    """Hold a store to its port: units are whole, races have one winner, values come back, and an end is an end.

    Args:
        make: Gives the layer of the store. It is called many times, and where the store is durable, each time for the
            same database. The suite makes tables of its own in it, whose names begin with `lamina_check`, and drops
            them.
        patience: How many seconds one case may take, before it counts as stuck.

    Returns:
        What was checked, and what was left out.

    Raises:
        ConformanceError: With every problem that was found.

    Example:
        >>> import anyio
        >>> from lamina.store import memory_store
        >>> anyio.run(check_store, memory_store).left_out
        ('it keeps what was committed', 'it sees what another has committed', 'many open it at once')
    """
    async with opened(make()) as store:
        durable = store.durable

    async def run(case: Case) -> None:
        async with opened(make()) as store:
            await wrote(store, *(Statement(f"DROP TABLE IF EXISTS {table}") for table in TABLES))
            await wrote(store, *(Statement(f"CREATE TABLE {table} {body}") for table, body in TABLES.items()))
            await case(Ground(store, make))
            require(store.durable == durable, "`durable` is not the same each time")
            await wrote(store, *(Statement(f"DROP TABLE {table}") for table in TABLES))

    return await hold_to(CASES, run, durable=durable, patience=patience)
