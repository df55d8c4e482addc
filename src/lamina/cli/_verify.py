"""`--verify`: an async function of the application's that says whom a token speaks for."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import cast

from lamina.adapters.mcp import Identity, Verify
from lamina.cli._exits import UsageError
from lamina.cli._load import Wanted, load

_WANTED = Wanted(
    "FUNCTION",
    (),
    "app.tokens:verify",
    "write async def verify(token: str) -> str | None at its top level.",
    called="async function",
    test=lambda value: _is_asynchronous(value),
)


def find_verify(target: str) -> Verify:
    """Find the function, and make it one of the adapter's.

    It takes the token, and answers an `Identity`, the text that is its subject, or None for nobody.

    Args:
        target: `MODULE:FUNCTION`.

    Raises:
        UsageError: There is none, or it is no async function of one argument.
        ConstructionError: The module itself puts together what cannot be.
    """
    function = cast("Callable[[str], Awaitable[object]]", load(target, _WANTED).value)
    try:
        inspect.signature(function).bind("token")
    except TypeError:
        raise UsageError(f"{target} does not take a token alone.", "Write async def verify(token: str)") from None

    async def verify(token: str) -> Identity | None:
        answer = await function(token)
        if answer is None or isinstance(answer, Identity):
            return answer
        if isinstance(answer, str) and answer:
            return Identity(subject=answer)
        # Nobody is let in by a slip; whoever runs the server reads of it in the log.
        raise TypeError(f"{target} answered a {type(answer).__name__}; it answers an Identity, a subject or None")

    return verify


def _is_asynchronous(value: object) -> bool:
    if inspect.isclass(value):
        return False
    return inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(getattr(value, "__call__", None))  # noqa: B004
