"""What a session's streams said, for a client whose connection was lost."""

from __future__ import annotations

import secrets
from collections import deque
from typing import Any

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import JSONRPCMessage


class MemoryReplay(EventStore):
    """Keeps the last events of one session, of all its streams together.

    A stream is taken up again after an event of its own, and gives what it said since: nothing of another stream.

    Args:
        most: How many are kept.
    """

    def __init__(self, most: int) -> None:
        self._events: deque[tuple[str, str, JSONRPCMessage | None]] = deque(maxlen=most)
        self._named = secrets.token_urlsafe(8)
        self._count = 0

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep an event, and give its id."""
        self._count += 1
        event_id = f"{self._named}-{self._count}"
        self._events.append((event_id, stream_id, message))
        return event_id

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send what the stream of an event said after it; None where that event is not known any more."""
        kept = tuple(self._events)
        at = next((at for at, (event_id, _, _) in enumerate(kept) if event_id == last_event_id), None)
        if at is None:
            return None
        stream = kept[at][1]
        for event_id, stream_id, message in kept[at + 1 :]:
            if stream_id == stream and message is not None:
                await send_callback(EventMessage(message, event_id))
        return stream


class Sessions(StreamableHTTPSessionManager):
    """The SDK's sessions, each with a memory of its own.

    The SDK names streams by their requests' ids, which are unique in one session only: in a memory that sessions share,
    one could read what another was told.
    """

    def __init__(self, *, replay: int, **settings: Any) -> None:  # Any: those of the SDK's own class
        self._replay = replay
        super().__init__(**settings)

    @property
    def event_store(self) -> EventStore | None:
        """A new memory, each time that one is asked for: the SDK asks once a session."""
        return MemoryReplay(self._replay) if self._replay else None

    @event_store.setter
    def event_store(self, store: EventStore | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Take what the SDK's constructor sets, which is nothing."""
