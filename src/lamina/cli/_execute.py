"""One run, from an application to an exit code: opened, watched, interrupted by Ctrl-C, and closed again."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any, Protocol

from returns.result import Failure

from lamina.cli._choose import AnyBinding
from lamina.cli._exits import FAILED, INTERRUPTED, OK, SUSPENDED, UsageError, is_output_lost
from lamina.cli._interrupts import Interrupts, listening
from lamina.cli._kept import known_secrets
from lamina.cli._load import AnyApp
from lamina.cli._log import LogSecrets
from lamina.cli._output import Observed, Output
from lamina.cli._place import STORE_ERRORS, StorePlace, store_trouble
from lamina.cli._plain import printable
from lamina.effect import ConstructionError, log, message_of, tag_of
from lamina.engine import RunHandle, RunInterrupted, RunSuspended, Steered
from lamina.redaction import Secrets
from lamina.runtime import try_build

_TICK = 0.12


class Conduct(Protocol):
    """How a run is begun, and what goes with it."""

    async def begin(self, runtime: Any) -> tuple[RunHandle[Any], tuple[str, ...]]:  # Any: whatever application it is
        """Start a run; give it, and what is to be said before it."""
        ...

    async def observe(self, event: Observed) -> str | None:
        """Do what an event asks for; give what is to be said of it."""
        ...

    def steps(self, cause: object) -> tuple[str, ...]:
        """Give the commands to type after a run that ended without an answer, for that cause."""
        ...


class Alone:
    """Conducts a run that nobody remembers."""

    def __init__(self, binding: AnyBinding, given: object) -> None:
        self._binding = binding
        self._given = given

    async def begin(self, runtime: Any) -> tuple[RunHandle[Any], tuple[str, ...]]:  # Any: whatever application it is
        """Start the run."""
        handle: RunHandle[Any] = runtime.start(self._binding, self._given)
        return handle, ()

    async def observe(self, event: Observed) -> str | None:
        """Do nothing."""

    def steps(self, cause: object) -> tuple[str, ...]:
        """Give none: there is nothing to go on with."""
        return ()


def execute(
    app: AnyApp,
    conduct: Conduct,
    output: Output,
    agent: str,
    model: str,
    tick: Callable[[], None] | None = None,
    place: StorePlace | None = None,
    log_secrets: LogSecrets | None = None,
) -> int:
    """Run an agent to its end and show it.

    Args:
        app: The application, with the agent in it.
        conduct: What begins the run.
        output: What shows the run.
        agent: The agent's id, for people.
        model: The model's name, for people.
        tick: Called eight times a second while the run is shown; None for what does not move.
        place: The store that the command itself opens with the application; None where it opens none.
        log_secrets: What is told of the application's secrets, for the log; None where there is none.

    Returns:
        0 for a completed run, 1 for a failed one, 3 for one that is suspended, 130 for one that was interrupted.

    Raises:
        ConstructionError: The application has problems; nothing was opened.
        UsageError: A service could not be opened, or the run not be begun.
        KeyboardInterrupt: Ctrl-C came before the run had begun.
    """
    opening = try_build(app)
    output.begin(agent, model)

    async def main() -> int:
        with listening() as interrupts:
            try:
                async with _ticking(tick), opening as opened:
                    if isinstance(opened, Failure):
                        error = opened.failure()
                        if place is not None and isinstance(error, STORE_ERRORS):
                            raise store_trouble(place.title, error)
                        raise UsageError(
                            f"The application did not open: {tag_of(error)}: {printable(message_of(error))}"
                        )
                    runtime: Any = opened.unwrap()  # Any: the runtime of whatever application it is
                    if log_secrets is not None and Secrets in app.plan().exports:
                        log_secrets.adopt(await runtime.run(known_secrets, None))
                    return await _watch(runtime, interrupts)
            except asyncio.CancelledError:
                if interrupts.count:
                    raise KeyboardInterrupt from None
                raise

    async def _watch(runtime: Any, interrupts: Interrupts) -> int:  # Any: the runtime of whatever application it is
        began = time.monotonic()
        handle, notes = await conduct.begin(runtime)
        for note in notes:
            output.note(note)
        async with handle as run:
            interrupts.run = run
            async for event in run.events():
                if said := await conduct.observe(event):
                    output.note(said)
                output.event(event)
            ended = await run.result()
        cause = ended.failure().cause if isinstance(ended, Failure) else None
        output.end(ended, time.monotonic() - began, conduct.steps(cause))
        match cause:
            case None | Steered():
                return OK
            case RunSuspended():
                return SUSPENDED
            case RunInterrupted():
                return INTERRUPTED
            case _:
                return FAILED

    try:
        return asyncio.run(main())
    except (UsageError, ConstructionError, BrokenPipeError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and is_output_lost(error):
            raise
        log().exception("the application broke")
        kind = type(error).__name__
        raise UsageError(f"The application could not be opened or closed: {kind}.", "See --log FILE.") from None


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
