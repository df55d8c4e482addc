"""What PostgreSQL's codes, and the ways in which a connection breaks, mean to the caller."""

from __future__ import annotations

from lamina.effect import log
from lamina.store.port import (
    StatementError,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreUnavailable,
    Unmet,
    ValueRefused,
)

_LOST = StoreUnavailable("lost")
_BY_CODE: dict[str, StoreError] = {
    "53100": StoreFull(),
    "55P03": StoreLocked(),
    "55006": StoreLocked(),
    "40001": StoreLocked(),
    "40P01": StoreLocked(),
    "25006": StoreReadOnly(),
    "57014": StoreUnavailable("timeout"),
    "42501": StoreUnavailable("refused"),
    "3D000": StoreUnavailable("missing"),
    "3F000": StoreUnavailable("missing"),
    "XX001": StoreCorrupt(),
    "XX002": StoreCorrupt(),
}
_BY_CLASS: dict[str, StoreError] = {
    "08": _LOST,
    "57": _LOST,
    "28": StoreUnavailable("refused"),
    "53": StoreUnavailable("overloaded"),
    "58": StoreUnavailable("io"),
}
# Another was first; only trying the whole unit again can tell what is to come of it.
_AGAIN = frozenset({"40001", "40P01"})
# A plan that a change of the schema has made useless, and a statement that has been lost with it.
_STALE = frozenset({"0A000", "26000"})
_UNMET = frozenset({"23505", "23503", "23P01"})
_TOO_LARGE = frozenset({"54000", "22001"})


def code_of(error: BaseException) -> str:
    """Give the five characters that the server sent; nothing where the error is not the server's."""
    code: object = getattr(error, "sqlstate", None)
    return code if isinstance(code, str) else ""


def store_error(error: BaseException, *, closed: bool) -> StoreError | None:
    """Give what an error says about the database; `None` where it is about the statement.

    The error's own text goes to the log.

    Args:
        error: What came out of the driver.
        closed: Whether the connection is of no use any more.
    """
    code = code_of(error)
    known = _BY_CODE.get(code) or _BY_CLASS.get(code[:2])
    if known is None and isinstance(error, TimeoutError):
        known = StoreUnavailable("timeout")
    if known is None and (closed or isinstance(error, OSError)):
        known = _LOST
    if known is not None:
        log().warning("the store's database failed", database="postgres", code=code, exc_info=error)
    return known


def is_worth_another(error: BaseException) -> bool:
    """Tell whether the server undid a unit for a reason that is not the unit's."""
    return code_of(error) in _AGAIN | _STALE


def is_out_of_connections(error: BaseException) -> bool:
    """Tell whether the server has no connection left for this user, this database, or anybody."""
    return code_of(error) == "53300"


def statement_error(error: Exception, index: int) -> Unmet | ValueRefused | StatementError:
    """Give what an error says about one statement; a `StatementError` is to be raised."""
    code = code_of(error)
    if code in _UNMET:
        return Unmet(index)
    if code in _TOO_LARGE:
        return ValueRefused(index, 0, "size")
    if isinstance(error, StatementError):
        return error
    made = StatementError(f"PostgreSQL does not take the statement {index} of the unit")
    made.__cause__ = error
    return made
