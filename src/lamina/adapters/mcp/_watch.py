"""Telling clients of changes: only of real ones, and once for many that come together."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable

from mcp.server.subscriptions import InMemorySubscriptionBus, ServerEvent
from mcp.shared.subscriptions import ResourceUpdated, ToolsListChanged
from returns.result import Failure

from lamina.call import ReadDefect, Surface
from lamina.effect import is_cancelled, log


class Watcher:
    """Watches one surface for everybody who listens to it, and nothing where nobody does.

    What is available, and each resource that somebody subscribed to, is compared with what it was: the first look is
    silent.

    Args:
        surface: The surface.
        debounce: Seconds between a change and the look at what came of it.
    """

    def __init__(self, surface: Surface, debounce: float) -> None:
        self.bus = InMemorySubscriptionBus()
        self._surface = surface
        self._debounce = debounce
        self._listeners = 0
        self._uris: Counter[str] = Counter()
        self._available: frozenset[str] | None = None
        self._contents: dict[str, object] = {}
        self._stop: Callable[[], None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._again = False

    async def listen(self, listener: Callable[[ServerEvent], None], uris: Iterable[str] = ()) -> Callable[[], None]:
        """Listen, after a look that is the baseline.

        Returns:
            What ends it; calling it again does nothing.
        """
        watched = tuple(uris)
        if self._stop is None:
            self._stop = self._surface.subscribe(self._changed)
        self._listeners += 1
        unsubscribe = self.bus.subscribe(listener)
        over: list[bool] = []

        def stop() -> None:
            if over:
                return
            over.append(True)
            unsubscribe()
            self.forget(watched)
            self._listeners -= 1
            if self._listeners == 0:
                self._rest()

        try:
            if self._available is None:
                self._available = await self._look_at_tools()
            for uri in watched:
                await self.watch(uri)
        except BaseException:
            stop()
            raise
        return stop

    async def watch(self, uri: str) -> None:
        """Watch a resource, too."""
        self._uris[uri] += 1
        if self._uris[uri] == 1:
            self._contents[uri] = await self._look_at(uri)

    def forget(self, uris: Iterable[str]) -> None:
        """Watch resources no more, where nobody else does."""
        for uri in uris:
            self._uris[uri] -= 1
            if self._uris[uri] <= 0:
                del self._uris[uri]
                self._contents.pop(uri, None)

    def close(self) -> None:
        """Look at nothing any more, until somebody listens anew."""
        self._rest()

    def _rest(self) -> None:
        stop, self._stop = self._stop, None
        if stop is not None:
            stop()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
        self._available = None  # whoever listens next has a baseline of its own

    def _changed(self) -> None:
        self._again = True
        if self._task is None and self._stop is not None:
            self._task = asyncio.get_running_loop().create_task(self._tell(), name="lamina mcp changes")

    async def _tell(self) -> None:
        try:
            while self._again:
                await asyncio.sleep(self._debounce)
                self._again = False
                for event in await self._differences():
                    await self.bus.publish(event)
        except Exception:
            log().exception("looking for changes of a surface broke; nobody is told")
        finally:
            if self._task is asyncio.current_task():
                self._task = None

    async def _differences(self) -> list[ServerEvent]:
        events: list[ServerEvent] = []
        available, before = await self._look_at_tools(), self._available
        self._available = available
        if before is not None and available is not None and available != before:
            events.append(ToolsListChanged())
        for uri in tuple(self._uris):
            content, known = await self._look_at(uri), self._contents.get(uri)
            if uri in self._uris:
                self._contents[uri] = content
                if content != known:
                    events.append(ResourceUpdated(uri=uri))
        return events

    async def _look_at_tools(self) -> frozenset[str] | None:
        """Give what is available; None where that cannot be told, which is no change."""
        try:
            return await self._surface.available()
        except (Exception, asyncio.CancelledError):
            if is_cancelled():
                raise
            log().exception("what is available cannot be told")
            return self._available

    async def _look_at(self, uri: str) -> object:
        try:
            read = await self._surface.read(uri)
        except (Exception, asyncio.CancelledError):
            if is_cancelled():
                raise
            log().exception("a resource that is watched cannot be read")
            return self._contents.get(uri)
        if isinstance(read, Failure):
            # One that is gone is different; of one that cannot be read now nobody knows.
            return self._contents.get(uri) if isinstance(read.failure(), ReadDefect) else None
        # Whole contents may be large, and of many resources; their hash says enough.
        return hash((read.unwrap().text, read.unwrap().blob))
