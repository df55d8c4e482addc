"""The suite that every `Conversations` passes, ours and yours (TEST-004)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Never, cast
from uuid import uuid4

import anyio
import attrs
from returns.result import Failure

from lamina.conversation import Conversations
from lamina.effect import Clock, Layer, handler
from lamina.runtime import try_build
from lamina.testing._clock import VirtualClock
from lamina.testing._conversation_cases import CASES
from lamina.testing._conversation_scene import Scene, is_kept
from lamina.testing._outcomes import Broken


@attrs.frozen
class ConversationsReport:
    """What a suite has looked at.

    Attributes:
        checked: The cases that the conversations passed.
        left_out: Those that are only for durable ones, where these are not.
    """

    checked: tuple[str, ...]
    left_out: tuple[str, ...]


class ConversationsConformanceError(AssertionError):
    """Conversations do not do what their port says; `problems` has every one, as `case: what`."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join((f"{len(problems)} problems", *problems)))
        self.problems = problems


async def check_conversations(
    make: Callable[[Clock], Layer[Never, Conversations, Any]], *, lease: float = 30.0, patience: float = 60.0
) -> ConversationsReport:
    """Hold conversations to their port: one owner at a time, whole batches, valid histories, and nothing told twice.

    Args:
        make: Gives their layer, with the clock that leases are measured by. It is called many times, and where they
            are durable, each time for the same place; every case uses ids of its own there.
        lease: Seconds for which an append keeps a conversation there.
        patience: How many seconds one case may take, before it counts as stuck.

    Returns:
        What was checked, and what was left out.

    Raises:
        ConversationsConformanceError: With every problem that was found.

    Example:
        >>> import anyio
        >>> from lamina.conversation import stored_conversations
        >>> from lamina.store import memory_store
        >>> make = lambda clock: stored_conversations(clock=clock).provide(memory_store())
        >>> anyio.run(check_conversations, make).left_out
        ('it keeps what was appended', 'two processes race for each position')
    """
    checked: list[str] = []
    left_out: list[str] = []
    problems: list[str] = []
    clock = VirtualClock()
    async with _opened(make(clock)) as conversations:
        durable = conversations.durable
    for case in CASES:
        name = case.__name__.replace("_", " ")
        if is_kept(case) and not durable:
            left_out.append(name)
            continue
        try:
            with anyio.fail_after(patience):
                async with _opened(make(clock)) as conversations:
                    again = lambda: _opened(make(clock))  # noqa: E731
                    await case(Scene(conversations, clock, lease, uuid4().hex[:12], again))
            checked.append(name)
        except TimeoutError:
            problems.append(f"{name}: not done after {patience:g} s")
        except Exception as error:  # what raises breaks its port; go on and look at the rest
            problems.append(f"{name}: {what_of(error)}")
    if problems:
        raise ConversationsConformanceError(tuple(problems))
    return ConversationsReport(tuple(checked), tuple(left_out))


@handler
async def _the_conversations(_: None, conversations: Conversations) -> Conversations:
    """Give the conversations of a runtime."""
    return conversations


@asynccontextmanager
async def _opened(app: Layer[Never, Conversations, Any]) -> AsyncGenerator[Conversations, None]:
    async with try_build(app) as built:
        if isinstance(built, Failure):
            raise Broken(f"they do not open: {built.failure()}")
        yield await built.unwrap().run(_the_conversations, None)


def what_of(error: BaseException) -> str:
    """Say what came out of a case; a task group may be around it."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return str(error) if isinstance(error, Broken) else f"it raised {type(error).__name__}"
