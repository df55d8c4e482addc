"""Ending what a server has begun, however often whoever waits for it is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import anyio


async def finish(work: Coroutine[Any, Any, object], seconds: float) -> None:
    """Do something in a task of its own and wait for it; a cancel is raised afterwards.

    A shield alone is lost at the second native cancel.

    Args:
        work: What has to be done.
        seconds: How long it may take; then it is cancelled.
    """
    task = asyncio.create_task(work, name="lamina mcp end")
    loop = asyncio.get_running_loop()
    over, cancelled = loop.time() + seconds, None
    with anyio.CancelScope(shield=True):
        while not task.done() and (left := over - loop.time()) > 0:
            try:
                await asyncio.wait({task}, timeout=left)
            except asyncio.CancelledError as error:
                cancelled = error
    task.cancel()  # which does nothing to one that has ended
    if cancelled is not None:
        raise cancelled
    if task.done() and not task.cancelled():
        task.result()
