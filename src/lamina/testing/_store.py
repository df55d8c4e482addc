"""The suite that every `Store` passes, ours and yours (TEST-004)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never, cast

import anyio
import attrs

from lamina.effect import Layer
from lamina.store import Statement, Store
from lamina.testing._outcomes import Broken, require
from lamina.testing._store_cases import CASES
from lamina.testing._store_ground import TABLES, Ground, is_kept, opened, wrote


@attrs.frozen
class StoreReport:
    """What a suite has looked at.

    Attributes:
        checked: The cases that the store passed.
        left_out: Those that are only for durable stores, where this one is not.
    """

    checked: tuple[str, ...]
    left_out: tuple[str, ...]


class StoreConformanceError(AssertionError):
    """A store does not do what its port says; `problems` has every one, as `case: what`."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join((f"{len(problems)} problems", *problems)))
        self.problems = problems


async def check_store(make: Callable[[], Layer[Never, Store, Any]], *, patience: float = 60.0) -> StoreReport:
    """Hold a store to its port: units are whole, races have one winner, values come back, and an end is an end.

    Args:
        make: Gives the layer of the store. It is called many times, and where the store is durable, each time for the
            same database. The suite makes tables of its own in it, whose names begin with `lamina_check`, and drops
            them.
        patience: How many seconds one case may take, before it counts as stuck.

    Returns:
        What was checked, and what was left out.

    Raises:
        StoreConformanceError: With every problem that was found.

    Example:
        >>> import anyio
        >>> from lamina.store import memory_store
        >>> anyio.run(check_store, memory_store).left_out
        ('it keeps what was committed', 'it sees what another has committed', 'many open it at once')
    """
    checked: list[str] = []
    left_out: list[str] = []
    problems: list[str] = []
    async with opened(make()) as store:
        durable = store.durable
    for case in CASES:
        name = case.__name__.replace("_", " ")
        if is_kept(case) and not durable:
            left_out.append(name)
            continue
        try:
            with anyio.fail_after(patience):
                async with opened(make()) as store:
                    await wrote(store, *(Statement(f"DROP TABLE IF EXISTS {table}") for table in TABLES))
                    await wrote(store, *(Statement(f"CREATE TABLE {table} {body}") for table, body in TABLES.items()))
                    await case(Ground(store, make))
                    require(store.durable == durable, "`durable` is not the same each time")
                    await wrote(store, *(Statement(f"DROP TABLE {table}") for table in TABLES))
            checked.append(name)
        except TimeoutError:
            problems.append(f"{name}: not done after {patience:g} s")
        except Exception as error:  # a store that raises breaks its port; go on and look at the rest
            problems.append(f"{name}: {_what(error)}")
    if problems:
        raise StoreConformanceError(tuple(problems))
    return StoreReport(tuple(checked), tuple(left_out))


def _what(error: BaseException) -> str:
    """Say what came out of a case; a task group may be around it."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return str(error) if isinstance(error, Broken) else f"it raised {type(error).__name__}"
