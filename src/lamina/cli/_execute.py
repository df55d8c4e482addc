"""One run, from an application to an exit code: opened, watched, interrupted by Ctrl-C, and closed again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

from returns.result import Failure

from lamina.cli._choose import AnyBinding
from lamina.cli._exits import FAILED, INTERRUPTED, OK, UsageError
from lamina.cli._load import AnyApp
from lamina.cli._output import Output
from lamina.cli._plain import printable
from lamina.effect import ConstructionError, log, message_of, tag_of
from lamina.engine import RunHandle, RunInterrupted
from lamina.runtime import try_build

_TICK = 0.12


def execute(
    app: AnyApp, binding: AnyBinding, given: object, output: Output, model: str, tick: Callable[[], None] | None = None
) -> int:
    """Run an agent to its end and show it.

    Args:
        app: The application, with the agent in it.
        binding: The agent.
        given: Its input.
        output: What shows the run.
        model: The model's name, for people.
        tick: Called eight times a second while the run is shown; None for what does not move.

    Returns:
        0 for a completed run, 1 for a failed one, 130 for one that was interrupted.

    Raises:
        ConstructionError: The application has problems; nothing was opened.
        UsageError: A service could not be opened.
        KeyboardInterrupt: Ctrl-C came before the run had begun.
    """
    opening = try_build(app)
    output.begin(binding.agent.id, model)

    async def main() -> int:
        with _interrupts() as interrupts:
            try:
                async with _ticking(tick), opening as opened:
                    if isinstance(opened, Failure):
                        error = opened.failure()
                        raise UsageError(
                            f"The application did not open: {tag_of(error)}: {printable(message_of(error))}"
                        )
                    return await _watch(opened.unwrap(), interrupts)
            except asyncio.CancelledError:
                if interrupts.count:
                    raise KeyboardInterrupt from None
                raise

    async def _watch(runtime: Any, interrupts: _Interrupts) -> int:  # Any: the runtime of whatever application it is
        began = time.monotonic()
        handle: RunHandle[Any] = runtime.start(binding, given)
        async with handle as run:
            interrupts.run = run
            async for event in run.events():
                output.event(event)
            ended = await run.result()
        output.end(ended, time.monotonic() - began)
        if not isinstance(ended, Failure):
            return OK
        return INTERRUPTED if isinstance(ended.failure().cause, RunInterrupted) else FAILED

    try:
        return asyncio.run(main())
    except (UsageError, ConstructionError, BrokenPipeError):
        raise
    except Exception as error:
        log().exception("the application broke")
        kind = type(error).__name__
        raise UsageError(f"The application could not be opened or closed: {kind}.", "See --log FILE.") from None


class _Interrupts:
    """What Ctrl-C does: the first ends the run, the second says that it is ending, the third gives up waiting."""

    def __init__(self, task: asyncio.Task[Any]) -> None:
        self.count = 0
        self.run: RunHandle[Any] | None = None
        self._task = task

    def __call__(self) -> None:
        self.count += 1
        if self.count == 1:
            if self.run is None:
                self._task.cancel()
            else:
                self.run.interrupt()
        elif self.count == 2:
            print("\nEvery call gets its outcome first; Ctrl-C again ends without.", file=sys.stderr)
        else:
            os._exit(INTERRUPTED)


@contextlib.contextmanager
def _interrupts() -> Generator[_Interrupts]:
    task = asyncio.current_task()
    assert task is not None
    interrupts, loop = _Interrupts(task), asyncio.get_running_loop()
    try:
        loop.add_signal_handler(signal.SIGINT, interrupts)
    except (NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread: asyncio's own way
        yield interrupts
        return
    try:
        yield interrupts
    finally:
        loop.remove_signal_handler(signal.SIGINT)


@contextlib.asynccontextmanager
async def _ticking(tick: Callable[[], None] | None) -> AsyncGenerator[None]:
    if tick is None:
        yield
        return

    async def forever() -> None:
        while True:
            await asyncio.sleep(_TICK)
            tick()

    task = asyncio.create_task(forever())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
