"""The keywords that all overloads of `Contract.variant` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypedDict, TypeVar

from lamina.call import ExecutionClass
from lamina.contract._completion import Completion
from lamina.contract._values import Attempt, Authorized

I = TypeVar("I")  # noqa: E741 - the input
M = TypeVar("M")
P = TypeVar("P")


class VariantKeywords(TypedDict, Generic[I, M, P], total=False):
    """What `Contract.variant` takes of a message whose input is `I`, however it is made and approved."""

    name: str | None
    """What agents call it; the tag, in lower case, without it."""
    available: Callable[[M], bool] | None
    """Whether it is offered in a model. It is asked before the input is decoded."""
    authorize: Callable[[Attempt[I, M, P]], Authorized] | None
    """Whether an attempt may go on: true, false, `Denied(reason)`, or a `Result` of one; may be async."""
    completion: Completion[M, I] | None
    """What ends the operation, by `completes` or `when`; without it, sending is all."""
    execution: ExecutionClass
    """What doing it twice would do; `uncertain` without it."""
