"""From `$1` to what `sqlite3` binds: question marks, and the parameters in the order in which they stand."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from typing import TypeAlias

from lamina.store.port import StatementError, Value

Reorder: TypeAlias = Callable[[tuple[Value, ...]], tuple[Value, ...]]

_TOKEN = re.compile(
    r"""
    \$(?P<number>[0-9]+)            # a parameter
    | '(?:[^']|'')*'                # a text
    | "(?:[^"]|"")*"                # a name
    | --[^\n]*                      # a comment
    | /\*.*?\*/
    """,
    re.VERBOSE | re.DOTALL,
)


@lru_cache(maxsize=1024)
def for_sqlite(sql: str) -> tuple[str, Reorder | None]:
    """Translate a statement, once.

    Numbered question marks would do without the second half, but some releases of Python take them for names.

    Returns:
        The text, and how its parameters have to be ordered; `None` where they are in order.

    Example:
        >>> text, reorder = for_sqlite("UPDATE t SET a = $2 WHERE b = $1 AND c <> '$3'")
        >>> text
        "UPDATE t SET a = ? WHERE b = ? AND c <> '$3'"
        >>> reorder(("one", "two"))
        ('two', 'one')
    """
    order: list[int] = []

    def place(found: re.Match[str]) -> str:
        if found["number"] is None:
            return found[0]
        order.append(int(found["number"]) - 1)
        return "?"

    text = _TOKEN.sub(place, sql)
    count = max(order, default=-1) + 1
    if order == list(range(count)):
        return text, None
    if missing := sorted(set(range(count)) - set(order)):
        raise StatementError(f"a statement has a parameter ${count} and no ${missing[0] + 1}")

    pick = itemgetter(*order)  # of two or more: one alone would be in order

    def reorder(parameters: tuple[Value, ...]) -> tuple[Value, ...]:
        if len(parameters) != count:
            raise StatementError(f"a statement has {count} parameters, and was given {len(parameters)}")
        picked: tuple[Value, ...] = pick(parameters)
        return picked

    return text, reorder
